/* Images whose channels lie together, resized by filters: each pixel of the result is a weighted sum of pixels, which are
   those of the filters along all axes, with the products of their weights. */

#include "lanes.h"
#include "windows.h"

enum { MOST_PIXELS = 64, TOGETHER = 4 };

/* Strides and places are in elements. */
typedef struct {
    const float *x;
    float *out;
    const ptrdiff_t *places[AXES]; /* (count, taps): of the pixels that the filters take along an axis */
    const float *weights[AXES];    /* (count, taps) */
    ptrdiff_t taps[AXES], count[AXES];
    ptrdiff_t images, channels, image_stride, out_image_stride, out_stride[AXES];
} Resample;

/* Pixels and their weights. */
typedef struct {
    const float *x[MOST_PIXELS];
    float weights[MOST_PIXELS];
    ptrdiff_t count;
} Pixels;

/* Each of some pixels, moved by all places of a filter. */
INLINE void spread(const Resample *d, int axis, ptrdiff_t number, const Pixels *from, Pixels *to) {
    to->count = 0;
    for (ptrdiff_t i = 0; i < from->count; i++)
        for (ptrdiff_t t = number * d->taps[axis]; t < (number + 1) * d->taps[axis]; t++, to->count++) {
            to->x[to->count] = from->x[i] + d->places[axis][t];
            to->weights[to->count] = from->weights[i] * d->weights[axis][t];
        }
}

/* The sums of `vectors`·LANES channels. */
INLINE void add_pixels(const Pixels *pixels, ptrdiff_t channel, float *out, int vectors) {
    Lanes sums[TOGETHER];
    for (int v = 0; v < vectors; v++) sums[v] = load(pixels->x[0] + channel + v * LANES) * pixels->weights[0];
    for (ptrdiff_t i = 1; i < pixels->count; i++)
        for (int v = 0; v < vectors; v++) sums[v] += load(pixels->x[i] + channel + v * LANES) * pixels->weights[i];
    for (int v = 0; v < vectors; v++) store(out + channel + v * LANES, sums[v]);
}

KERNEL(resample)(const Resample *d) {
    Pixels image = {.weights = {1}, .count = 1}, plane, row, pixels;
    for (ptrdiff_t n = 0; n < d->images; n++) {
        image.x[0] = d->x + n * d->image_stride;
        for (ptrdiff_t i = 0; i < d->count[0]; i++) {
            spread(d, 0, i, &image, &plane);
            for (ptrdiff_t j = 0; j < d->count[1]; j++) {
                spread(d, 1, j, &plane, &row);
                float *out = d->out + n * d->out_image_stride + i * d->out_stride[0] + j * d->out_stride[1];
                for (ptrdiff_t k = 0; k < d->count[2]; k++, out += d->out_stride[2]) {
                    ptrdiff_t c = 0;
                    spread(d, 2, k, &row, &pixels);
                    for (; c + TOGETHER * LANES <= d->channels; c += TOGETHER * LANES)
                        add_pixels(&pixels, c, out, TOGETHER);
                    for (; c < d->channels; c += LANES) /* the last vector may overlap the one before */
                        add_pixels(&pixels, least(c, d->channels - LANES), out, 1);
                }
            }
        }
    }
}
