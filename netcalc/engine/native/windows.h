/* Windows of images whose channels lie together: the argument of the kernels of convolutions. */

#ifndef NETCALC_WINDOWS_H
#define NETCALC_WINDOWS_H

#include "common.h"

enum { AXES = 3 };

/* A part of a convolution.  Strides are in elements; axes are (depth, height, width). */
typedef struct {
    const float *x;      /* (images, sizes..., channels) */
    const float *weight; /* in the order that the kernel takes, without gaps */
    float *out;          /* (images, rows of the first axis, counts..., filters), without gaps */
    ptrdiff_t images, channels, filters, groups;
    ptrdiff_t first[AXES], count[AXES]; /* first window and number of windows along each axis */
    ptrdiff_t size[AXES], kernel[AXES], stride[AXES], dilation[AXES], padding[AXES];
    ptrdiff_t image_stride, x_stride[AXES];
} Windows;

/* Taps of a window that lie within the input, along one axis. */
typedef struct {
    ptrdiff_t start, begin, end;
} Taps;

INLINE Taps taps_within(const Windows *d, int axis, ptrdiff_t window) {
    Taps t;
    ptrdiff_t step = d->dilation[axis], size = d->size[axis];
    t.start = window * d->stride[axis] - d->padding[axis];
    t.begin = t.start >= 0 ? 0 : (-t.start + step - 1) / step;
    t.end = t.start >= size ? 0 : (size - 1 - t.start) / step + 1;
    if (t.end > d->kernel[axis]) t.end = d->kernel[axis];
    if (t.begin > t.end) t.begin = t.end;
    return t;
}

/* The place in an image of a tap of a window along the first two axes, and along all of them. */
INLINE const float *row_at(const Windows *d, const float *x, const Taps *t, ptrdiff_t i, ptrdiff_t j) {
    return x + (t[0].start + i * d->dilation[0]) * d->x_stride[0] + (t[1].start + j * d->dilation[1]) * d->x_stride[1];
}

INLINE const float *tap_at(const Windows *d, const float *x, const Taps *t, ptrdiff_t i, ptrdiff_t j, ptrdiff_t k) {
    return row_at(d, x, t, i, j) + (t[2].start + k * d->dilation[2]) * d->x_stride[2];
}

#endif
