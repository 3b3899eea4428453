/* Windows of images whose channels lie together: the argument of the kernels of convolutions. */

#ifndef NETCALC_WINDOWS_H
#define NETCALC_WINDOWS_H

#include <stddef.h>

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

#endif
