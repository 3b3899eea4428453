/* Convolution of few channels in each group, of images whose channels lie together.

   Group by group, the part of the images that the windows read is copied with its padding, so that pixels of a group lie
   together and all windows are read alike: each from its first element on, the taps at the same distances from there.
   The sums of some windows and of one or two blocks of filters stay in registers.  The weight is (blocks of WIDTH or
   2·WIDTH filters, kernel..., channels of a group, filters of a block).  Groups of HALF channels and filters are taken in
   pairs, each in one half of the vectors: their weight is (pairs, kernel..., HALF channels, 2·HALF filters). */

#include "lanes.h"
#include "windows.h"

enum { WIDTH = 8, HALF = 4, PIXELS = 8, PIXELS_OF_TWO = 6, MOST_TAPS = 64, AHEAD = 512 };

typedef float Filters __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));

typedef struct {
    Windows windows;
    float *slab;       /* scratch: (extents..., channels of a group or pair) of an image */
    ptrdiff_t *starts; /* scratch: the first elements of the windows of an image, and PIXELS more */
    ptrdiff_t blocks;  /* blocks of filters that are computed together: 1 or 2 */
} Grouped;

/* Extents of the part of an image that the windows read, and where it starts. */
INLINE void find_part(const Windows *g, ptrdiff_t *extent, ptrdiff_t *start) {
    for (int axis = 0; axis < AXES; axis++) {
        extent[axis] = (g->count[axis] - 1) * g->stride[axis] + (g->kernel[axis] - 1) * g->dilation[axis] + 1;
        start[axis] = g->first[axis] * g->stride[axis] - g->padding[axis];
    }
}

/* Copies `channels` channels of the part of an image, zeros in the padding. */
INLINE void copy_part(const Windows *g, const float *image, float *slab, const ptrdiff_t *extent, const ptrdiff_t *start,
                      ptrdiff_t channels) {
    ptrdiff_t begin = least(most(-start[2], 0), extent[2]), end = least(most(g->size[2] - start[2], begin), extent[2]);
    for (ptrdiff_t i = 0; i < extent[0]; i++)
        for (ptrdiff_t j = 0; j < extent[1]; j++, slab += extent[2] * channels) {
            ptrdiff_t a = start[0] + i, b = start[1] + j;
            if (a < 0 || a >= g->size[0] || b < 0 || b >= g->size[1] || end == begin) {
                memset(slab, 0, (size_t)(extent[2] * channels) * sizeof(float));
                continue;
            }
            const float *row = image + a * g->x_stride[0] + b * g->x_stride[1] + (start[2] + begin) * g->x_stride[2];
            memset(slab, 0, (size_t)(begin * channels) * sizeof(float));
            for (ptrdiff_t k = begin; k < end; k++, row += g->x_stride[2])
                for (ptrdiff_t c = 0; c < channels; c++) slab[k * channels + c] = row[c];
            memset(slab + end * channels, 0, (size_t)((extent[2] - end) * channels) * sizeof(float));
        }
}

/* Finds the distances of taps from the first element of a window, and the first elements of all windows. */
static ptrdiff_t find_places(const Grouped *d, const ptrdiff_t *extent, ptrdiff_t channels, ptrdiff_t *taps) {
    const Windows *g = &d->windows;
    ptrdiff_t number = 0, apart[AXES] = {extent[1] * extent[2] * channels, extent[2] * channels, channels};
    for (ptrdiff_t i = 0; i < g->kernel[0]; i++)
        for (ptrdiff_t j = 0; j < g->kernel[1]; j++)
            for (ptrdiff_t k = 0; k < g->kernel[2]; k++)
                *taps++ = i * g->dilation[0] * apart[0] + j * g->dilation[1] * apart[1] + k * g->dilation[2] * apart[2];
    for (ptrdiff_t i = 0; i < g->count[0]; i++)
        for (ptrdiff_t j = 0; j < g->count[1]; j++)
            for (ptrdiff_t k = 0; k < g->count[2]; k++)
                d->starts[number++] = i * g->stride[0] * apart[0] + j * g->stride[1] * apart[1] + k * g->stride[2] * apart[2];
    for (int n = 0; n < PIXELS; n++) d->starts[number + n] = d->starts[number - 1];
    return number;
}

/* A block of filters: its weight, and where its sums go, rows that are `stride` apart. */
typedef struct {
    const float *weight;
    float *out;
    ptrdiff_t stride;
} Block;

/* Sums of `pixels` windows, of which `kept` are stored, and `blocks` blocks of filters. */
INLINE void tile(const float *slab, const ptrdiff_t *starts, const ptrdiff_t *taps, ptrdiff_t number, ptrdiff_t channels,
                 const Block *block, ptrdiff_t kept, int pixels, int blocks) {
    Filters sums[PIXELS][2] = {{{0}}};
    const float *x[PIXELS], *weight = block->weight;
#pragma GCC unroll 8
    for (int n = 0; n < pixels; n++) x[n] = slab + starts[n];
    for (ptrdiff_t t = 0; t < number; t++)
        for (ptrdiff_t k = taps[t], end = taps[t] + channels; k < end; k++, weight += blocks * WIDTH) {
            Filters w[2];
            __builtin_prefetch(weight + AHEAD);
            for (int b = 0; b < blocks; b++) w[b] = *(const Filters *)(weight + b * WIDTH);
#pragma GCC unroll 8
            for (int n = 0; n < pixels; n++)
                for (int b = 0; b < blocks; b++) sums[n][b] += w[b] * x[n][k];
        }
#pragma GCC unroll 8
    for (int n = 0; n < pixels; n++)
        for (int b = 0; b < blocks && n < kept; b++)
            *(Filters *)(block->out + n * block->stride + b * WIDTH) = sums[n][b];
}

/* The channel `c` of each half in all places of that half. */
INLINE Filters in_halves(Filters x, int c) {
    float first = x[c], second = x[HALF + c];
    return (Filters){first, first, first, first, second, second, second, second};
}

/* The same for a pair of groups. */
INLINE void tile_of_pair(const float *slab, const ptrdiff_t *starts, const ptrdiff_t *taps, ptrdiff_t number,
                         const Block *block, ptrdiff_t kept, int pixels) {
    Filters sums[PIXELS] = {{0}};
    const float *x[PIXELS], *weight = block->weight;
#pragma GCC unroll 8
    for (int n = 0; n < pixels; n++) x[n] = slab + starts[n];
    for (ptrdiff_t t = 0; t < number; t++, weight += HALF * WIDTH) {
        Filters w[HALF];
        for (int c = 0; c < HALF; c++) w[c] = *(const Filters *)(weight + c * WIDTH);
#pragma GCC unroll 8
        for (int n = 0; n < pixels; n++) {
            Filters element = *(const Filters *)(x[n] + taps[t]);
            sums[n] += w[0] * in_halves(element, 0);
            sums[n] += w[1] * in_halves(element, 1);
            sums[n] += w[2] * in_halves(element, 2);
            sums[n] += w[3] * in_halves(element, 3);
        }
    }
#pragma GCC unroll 8
    for (int n = 0; n < pixels; n++)
        if (n < kept) *(Filters *)(block->out + n * block->stride) = sums[n];
}

/* All windows of an image for a group or pair, of which `block` describes the first block of filters. */
static void all_windows(const Grouped *d, const ptrdiff_t *taps, ptrdiff_t windows, ptrdiff_t channels, ptrdiff_t filters,
                        int pair, Block block) {
    const Windows *g = &d->windows;
    ptrdiff_t number = g->kernel[0] * g->kernel[1] * g->kernel[2], together = d->blocks == 2 ? PIXELS_OF_TWO : PIXELS;
    for (ptrdiff_t f = 0; f < filters; f += d->blocks * WIDTH) {
        Block part = block;
        for (ptrdiff_t n = 0; n < windows; n += together, part.out += together * part.stride) {
            const ptrdiff_t *starts = d->starts + n;
            ptrdiff_t kept = least(together, windows - n);
            int half = kept <= together / 2;
            if (pair)
                tile_of_pair(d->slab, starts, taps, number, &part, kept, PIXELS);
            else if (d->blocks == 2 && half)
                tile(d->slab, starts, taps, number, channels, &part, kept, PIXELS_OF_TWO / 2, 2);
            else if (d->blocks == 2)
                tile(d->slab, starts, taps, number, channels, &part, kept, PIXELS_OF_TWO, 2);
            else if (half)
                tile(d->slab, starts, taps, number, channels, &part, kept, PIXELS / 2, 1);
            else
                tile(d->slab, starts, taps, number, channels, &part, kept, PIXELS, 1);
        }
        block.weight += number * channels * d->blocks * WIDTH;
        block.out += d->blocks * WIDTH;
    }
}

KERNEL(grouped)(const Grouped *d) {
    const Windows *g = &d->windows;
    ptrdiff_t extent[AXES], start[AXES], taps[MOST_TAPS], share = g->channels / g->groups, outs = g->filters / g->groups;
    int pair = outs == HALF;
    if (pair) share *= 2, outs *= 2;
    find_part(g, extent, start);
    ptrdiff_t windows = find_places(d, extent, share, taps);
    ptrdiff_t size = g->kernel[0] * g->kernel[1] * g->kernel[2] * (pair ? HALF : share) * outs; /* of a weight */
    for (ptrdiff_t n = 0; n < g->images; n++)
        for (ptrdiff_t group = 0; group * outs < g->filters; group++) {
            const float *image = g->x + n * g->image_stride + group * share;
            Block block = {g->weight + group * size, g->out + n * windows * g->filters + group * outs, g->filters};
            if (share == WIDTH)
                copy_part(g, image, d->slab, extent, start, WIDTH);
            else
                copy_part(g, image, d->slab, extent, start, share);
            all_windows(d, taps, windows, share, outs, pair, block);
        }
}
