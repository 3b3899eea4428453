/* Depthwise convolution of images whose channels lie together; the weight is (kernel..., channels).  Operations on the
   result are done row by row of an image, the first of them in registers where the kernel knows the taps. */

#include "finish.h"
#include "windows.h"

enum { PIXELS = 8, MOST_TAPS = 7, TOGETHER = 4, WEIGHTS = 2048, NEAR = 6144, LINE = 16 };

typedef struct {
    Windows windows;
    const Epilogue *epilogue; /* of all windows and channels, or NULL */
} Depthwise;

/* Operations that are done in registers, and the window and channel of the result where a block begins. */
typedef struct {
    const float *shift; /* by channel, or NULL: where sums begin */
    const Stage *stages;
    ptrdiff_t number, row, column;
} Finish;

static const float zeros[LANES];

/* Sums of `pixels` windows that follow each other along the width, for LANES channels.  An element of the input is loaded
   once for all windows that it is in; `taps` and `stride` along the width are numbers known to the compiler.  Elements
   beyond the edges are zeros. */
INLINE void row(const Windows *d, const float *x, const float *weight, float *out, const Taps *t, ptrdiff_t column,
                ptrdiff_t kept, Finish finish_by, int within, int pixels, int taps, int stride) {
    Lanes sums[PIXELS][VECTORS], start = finish_by.shift ? load(finish_by.shift + finish_by.column) : (Lanes){0};
    const ptrdiff_t apart = d->x_stride[2], size = d->size[2], channels = d->channels;
#pragma GCC unroll 8
    for (int n = 0; n < pixels; n++) sums[n][0] = start;
    for (ptrdiff_t i = t[0].begin; i < t[0].end; i++)
        for (ptrdiff_t j = t[1].begin; j < t[1].end; j++) {
            const float *p = row_at(d, x, t, i, j) + column * apart;
            const float *w = weight + (i * d->kernel[1] + j) * taps * channels;
            Lanes tap[MOST_TAPS];
#pragma GCC unroll 8
            for (int k = 0; k < taps; k++) tap[k] = load(w + k * channels);
#pragma GCC unroll 24
            for (int c = 0; c < (pixels - 1) * stride + taps; c++, p += apart) {
                Lanes element = load(within || (size_t)(column + c) < (size_t)size ? p : zeros);
#pragma GCC unroll 8
                for (int k = 0; k < taps; k++)
                    if (c >= k && (c - k) % stride == 0 && (c - k) / stride < pixels)
                        sums[(c - k) / stride][0] += tap[k] * element;
                __asm__("" : "+r"(p)); /* otherwise compilers keep the distances of all elements in memory */
            }
        }
    for (ptrdiff_t i = 0; i < finish_by.number; i++)
        finish(sums, finish_by.stages + i, finish_by.row, finish_by.column, kept, LANES, pixels, 1);
#pragma GCC unroll 8
    for (int n = 0; n < pixels; n++, out += channels)
        if (n < kept) store(out, sums[n][0]);
}

/* Sums of a window, for up to TOGETHER·LANES channels; for any taps. */
INLINE void window(const Windows *d, const float *x, const float *weight, float *out, const Taps *t, int vectors) {
    Lanes sums[TOGETHER] = {{0}};
    for (ptrdiff_t i = t[0].begin; i < t[0].end; i++)
        for (ptrdiff_t j = t[1].begin; j < t[1].end; j++)
            for (ptrdiff_t k = t[2].begin; k < t[2].end; k++) {
                const float *p = tap_at(d, x, t, i, j, k);
                const float *w = weight + ((i * d->kernel[1] + j) * d->kernel[2] + k) * d->channels;
                for (int v = 0; v < vectors; v++) sums[v] += load(w + v * LANES) * load(p + v * LANES);
            }
    for (int v = 0; v < vectors; v++) store(out + v * LANES, sums[v]);
}

/* The block of channels that begins with `c`, or ends with the last channel and overlaps the block before. */
INLINE ptrdiff_t block_at(const Windows *d, ptrdiff_t c) { return least(c, d->channels - LANES); }

/* A row of windows, for the channels from `begin` to `end`. */
INLINE void windows(const Windows *d, const float *x, float *out, Taps *t, ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t w = 0; w < d->count[2]; w++) {
        float *place = out + w * d->channels;
        ptrdiff_t c = begin;
        t[2] = taps_within(d, 2, d->first[2] + w);
        for (; c + TOGETHER * LANES <= end; c += TOGETHER * LANES)
            window(d, x + c, d->weight + c, place + c, t, TOGETHER);
        for (; c < end; c += LANES) {
            ptrdiff_t at = block_at(d, c);
            window(d, x + at, d->weight + at, place + at, t, 1);
        }
    }
}

/* Fetches what a block of windows in the next row reads and writes, by lines of the cache: rows and pixels are far apart,
   so that processors do not expect them. */
INLINE void fetch_next(const Windows *d, const float *x, float *out, const Taps *t, ptrdiff_t column, int pixels, int stride) {
    ptrdiff_t i = t[0].start + (d->kernel[0] - 1) * d->dilation[0];
    for (ptrdiff_t j = 1; j <= d->stride[1]; j++) {
        ptrdiff_t place = t[1].start + (d->kernel[1] - 1) * d->dilation[1] + j;
        if (place >= d->size[1] || i < 0 || i >= d->size[0]) break;
        const float *p = x + i * d->x_stride[0] + place * d->x_stride[1] + most(column, 0) * d->x_stride[2];
        for (int n = 0; n < pixels * stride; n++) __builtin_prefetch(p + n * d->x_stride[2]);
    }
    for (int n = 0; n < pixels; n++) __builtin_prefetch(out + (d->count[2] + n) * d->channels, 1);
}

/* The same of all rows, for `taps` and `stride` along the width that the compiler knows; `t` is for the first axis.  Rows
   of PIXELS windows are taken one below the other, so that what they share of the input is in the first-level cache. */
INLINE void known_windows(const Windows *d, const float *x, float *out, Taps *t, ptrdiff_t begin, ptrdiff_t end,
                          Finish by, int taps, int stride) {
    ptrdiff_t first = by.row;
    for (ptrdiff_t w = 0; w < d->count[2]; w += PIXELS) {
        ptrdiff_t kept = least(d->count[2] - w, PIXELS), column = (d->first[2] + w) * stride - d->padding[2];
        int within = column >= 0 && column + (PIXELS - 1) * stride + taps <= d->size[2] && kept == PIXELS;
        for (ptrdiff_t j = 0; j < d->count[1]; j++) {
            t[1] = taps_within(d, 1, d->first[1] + j);
            by.row = first + j * d->count[2] + w;
            for (ptrdiff_t c = begin; c < end; c += LANES) {
                ptrdiff_t at = block_at(d, c);
                float *place = out + (j * d->count[2] + w) * d->channels + at;
                by.column = at;
                if (at % LINE == 0) fetch_next(d, x + at, place, t, column, PIXELS, stride);
                if (within)
                    row(d, x + at, d->weight + at, place, t, column, PIXELS, by, 1, PIXELS, taps, stride);
                else if (kept > PIXELS / 2)
                    row(d, x + at, d->weight + at, place, t, column, kept, by, 0, PIXELS, taps, stride);
                else
                    row(d, x + at, d->weight + at, place, t, column, kept, by, 0, PIXELS / 2, taps, stride);
            }
        }
    }
}

/* True if there is a function for the taps and the stride along the width. */
INLINE int is_known(const Windows *d) {
    ptrdiff_t taps = d->kernel[2], stride = d->stride[2];
    int odd = taps == 3 || taps == 5;
    return d->dilation[2] == 1 && ((odd && (stride == 1 || stride == 2)) || (taps == 7 && stride == 1));
}

/* All windows that are at the same place along the first axis, for the channels from `begin` to `end`. */
INLINE void any_windows(const Windows *d, const float *x, float *out, Taps *t, ptrdiff_t begin, ptrdiff_t end, Finish by) {
    ptrdiff_t taps = d->kernel[2], stride = d->stride[2];
    if (!is_known(d))
        for (ptrdiff_t j = 0; j < d->count[1]; j++) {
            t[1] = taps_within(d, 1, d->first[1] + j);
            windows(d, x, out + j * d->count[2] * d->channels, t, begin, end);
        }
    else if (taps == 3 && stride == 1)
        known_windows(d, x, out, t, begin, end, by, 3, 1);
    else if (taps == 3)
        known_windows(d, x, out, t, begin, end, by, 3, 2);
    else if (taps == 5 && stride == 1)
        known_windows(d, x, out, t, begin, end, by, 5, 1);
    else if (taps == 5)
        known_windows(d, x, out, t, begin, end, by, 5, 2);
    else
        known_windows(d, x, out, t, begin, end, by, 7, 1);
}

/* Channels that are taken together: their weights, and what rows of PIXELS windows share, stay in the cache. */
INLINE ptrdiff_t channels_together(const Windows *d) {
    ptrdiff_t taps = d->kernel[0] * d->kernel[1] * d->kernel[2];
    ptrdiff_t pixels = ((PIXELS - 1) * d->stride[2] + d->kernel[2]) * (d->kernel[1] + d->stride[1]);
    ptrdiff_t most_together = most(1, least(WEIGHTS / taps, NEAR / pixels) / LANES) * LANES;
    ptrdiff_t parts = (d->channels + most_together - 1) / most_together;
    return ((d->channels + parts - 1) / parts + LANES - 1) / LANES * LANES;
}

KERNEL(depthwise)(const Depthwise *kernel) {
    const Windows own = kernel->windows, *d = &own; /* a copy, which compilers know that no result overwrites */
    ptrdiff_t together = channels_together(d), rows = d->count[1] * d->count[2];
    Epilogue rest = {0};
    if (kernel->epilogue) rest = *kernel->epilogue;
    Finish by = {is_known(d) ? take_shift(&rest) : NULL, rest.stages, is_known(d) ? finished_stages(&rest) : 0, 0, 0};
    rest.stages += by.number;
    rest.count -= by.number;
    for (ptrdiff_t n = 0; n < d->images; n++)
        for (ptrdiff_t i = 0; i < d->count[0]; i++, by.row += rows) {
            Taps t[AXES] = {taps_within(d, 0, d->first[0] + i), {0, 0, 0}, {0, 0, 0}};
            float *out = d->out + by.row * d->channels;
            for (ptrdiff_t c = 0; c < d->channels; c += together)
                any_windows(d, d->x + n * d->image_stride, out, t, c, least(c + together, d->channels), by);
            if (rest.count > 0) epilogue_part(&rest, by.row, by.row + rows, 0, d->channels);
        }
}
