/* Normalization of rows by their own statistics, each while it is in the first-level cache. */

#include <math.h>

#include "lanes.h"

typedef struct {
    const float *x;            /* (rows, width) */
    float *out;                /* (rows, width); may be x */
    const float *weight, *bias; /* (width), or NULL */
    ptrdiff_t rows, width, x_stride, out_stride;
    ptrdiff_t centered; /* 0 for a root mean square norm, which takes the mean as 0 */
    float eps;
} Norm;

INLINE float sum(const float *x, ptrdiff_t width) {
    Lanes a = {0}, b = {0};
    ptrdiff_t c = 0;
    for (; c + 2 * LANES <= width; c += 2 * LANES) {
        a += load(x + c);
        b += load(x + c + LANES);
    }
    for (; c < width; c += LANES) a += c + LANES <= width ? load(x + c) : load_part(x + c, width - c, 0);
    return sum_of_lanes(a + b);
}

INLINE float sum_of_squares(const float *x, ptrdiff_t width, float mean) {
    Lanes a = {0}, b = {0};
    ptrdiff_t c = 0;
    for (; c + 2 * LANES <= width; c += 2 * LANES) {
        Lanes one = load(x + c) - mean, other = load(x + c + LANES) - mean;
        a += one * one;
        b += other * other;
    }
    for (; c < width; c += LANES) {
        Lanes one = (c + LANES <= width ? load(x + c) : load_part(x + c, width - c, mean)) - mean;
        a += one * one;
    }
    return sum_of_lanes(a + b);
}

KERNEL(norm)(const Norm *d) {
    ptrdiff_t width = d->width;
    for (ptrdiff_t r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->x_stride, *weight = d->weight, *bias = d->bias;
        float *out = d->out + r * d->out_stride;
        float mean = d->centered ? sum(x, width) / (float)width : 0;
        float factor = 1.0f / sqrtf(sum_of_squares(x, width, mean) / (float)width + d->eps);
        if (weight && bias)
            for (ptrdiff_t c = 0; c < width; c++) out[c] = (x[c] - mean) * factor * weight[c] + bias[c];
        else if (weight)
            for (ptrdiff_t c = 0; c < width; c++) out[c] = (x[c] - mean) * factor * weight[c];
        else
            for (ptrdiff_t c = 0; c < width; c++) out[c] = (x[c] - mean) * factor + (bias ? bias[c] : 0);
    }
}
