/* Depthwise convolution of images whose channels lie together; the weight is (kernel..., channels). */

#include "lanes.h"
#include "windows.h"

enum { PIXELS = 4, MOST_PIXELS = 8, WEIGHTS = 2048 };

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

/* Sums of `pixels` windows that follow each other along the width and have the same taps, for LANES channels. */
INLINE void block(const Windows *d, const float *x, const float *weight, float *out, const Taps *t, int pixels) {
    Lanes sums[MOST_PIXELS] = {{0}};
    ptrdiff_t apart = d->stride[2] * d->x_stride[2], step = d->dilation[2] * d->x_stride[2];
    for (ptrdiff_t i = t[0].begin; i < t[0].end; i++)
        for (ptrdiff_t j = t[1].begin; j < t[1].end; j++) {
            const float *p = x + (t[0].start + i * d->dilation[0]) * d->x_stride[0] +
                             (t[1].start + j * d->dilation[1]) * d->x_stride[1] +
                             (t[2].start + t[2].begin * d->dilation[2]) * d->x_stride[2];
            const float *w = weight + ((i * d->kernel[1] + j) * d->kernel[2] + t[2].begin) * d->channels;
            for (ptrdiff_t k = t[2].begin; k < t[2].end; k++) {
                Lanes tap = load(w);
                for (int n = 0; n < pixels; n++) sums[n] += tap * load(p + n * apart);
                p += step;
                w += d->channels;
            }
        }
    for (int n = 0; n < pixels; n++) store(out + n * d->channels, sums[n]);
}

/* `pixels` windows from window `w` of a row on, for the channels from `begin` to `end`. */
INLINE void group(const Windows *d, const float *x, float *out, Taps *t, ptrdiff_t w, int pixels, ptrdiff_t begin,
                  ptrdiff_t end) {
    t[2] = taps_within(d, 2, d->first[2] + w);
    float *place = out + w * d->channels;
    for (ptrdiff_t c = begin; c < end; c += LANES) {
        ptrdiff_t at = c + LANES <= d->channels ? c : d->channels - LANES; /* the last block overlaps another */
        block(d, x + at, d->weight + at, place + at, t, pixels);
    }
}

/* A row of windows, for the channels from `begin` to `end`. */
INLINE void windows(const Windows *d, const float *x, float *out, Taps *t, ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t count = d->count[2], whole = 0, after, w;
    Taps edge;
    for (; whole < count; whole++) { /* windows that reach over the left edge */
        edge = taps_within(d, 2, d->first[2] + whole);
        if (edge.begin == 0) break;
        group(d, x, out, t, whole, 1, begin, end);
    }
    for (after = whole; after < count; after++) { /* windows without padding */
        edge = taps_within(d, 2, d->first[2] + after);
        if (edge.end < d->kernel[2]) break;
    }
    for (w = whole; w + MOST_PIXELS <= after; w += MOST_PIXELS) group(d, x, out, t, w, MOST_PIXELS, begin, end);
    if (w < after && after - whole >= MOST_PIXELS && after - w > PIXELS) {
        group(d, x, out, t, after - MOST_PIXELS, MOST_PIXELS, begin, end); /* overlaps the group before */
        w = after;
    }
    for (; w + PIXELS <= after; w += PIXELS) group(d, x, out, t, w, PIXELS, begin, end);
    if (w < after && after - whole >= PIXELS) {
        group(d, x, out, t, after - PIXELS, PIXELS, begin, end);
        w = after;
    }
    for (; w < count; w++) group(d, x, out, t, w, 1, begin, end);
}

KERNEL(depthwise)(const Windows *d) {
    ptrdiff_t taps = d->kernel[0] * d->kernel[1] * d->kernel[2];
    ptrdiff_t together = most(1, WEIGHTS / (LANES * taps)) * LANES; /* channels whose weights stay in the cache */
    float *out = d->out;
    for (ptrdiff_t n = 0; n < d->images; n++)
        for (ptrdiff_t i = 0; i < d->count[0]; i++)
            for (ptrdiff_t j = 0; j < d->count[1]; j++) {
                Taps t[AXES] = {taps_within(d, 0, d->first[0] + i), taps_within(d, 1, d->first[1] + j), {0, 0, 0}};
                for (ptrdiff_t c = 0; c < d->channels; c += together)
                    windows(d, d->x + n * d->image_stride, out, t, c, least(c + together, d->channels));
                out += d->count[2] * d->channels;
            }
}
