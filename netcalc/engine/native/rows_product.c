/* Products of rows with a weight as it is stored, (columns of the result, depth).

   Some of the rows, and a part of their depth, are packed into panels, in which the elements of a position along the
   depth lie together; they fit the second-level cache.  The weight is read in place: a block is the product of some of
   its rows, element by element, with a panel.  BLAS packs the weight too, which costs as much as a product of dozens
   of rows. */

#include "lanes.h"

typedef struct {
    const float *x;      /* (rows, depth) */
    const float *weight; /* (columns, depth) */
    float *out;          /* (rows, columns) */
    float *panels;       /* scratch */
    ptrdiff_t rows, depth, columns;
    ptrdiff_t x_stride, weight_stride, out_stride;
    ptrdiff_t rows_step, depth_step; /* rows (a multiple of VECTORS·LANES) and depth of the panels */
} Product;

/* Pack `count` rows, zeros after the last, `depth` elements of each, in a panel. */
INLINE void pack(const float *x, ptrdiff_t stride, ptrdiff_t count, ptrdiff_t depth, float *panel, ptrdiff_t width) {
    for (ptrdiff_t begin = 0; begin < depth; begin += LANES) {
        ptrdiff_t end = begin + LANES < depth ? begin + LANES : depth;
        for (ptrdiff_t m = 0; m < width; m++)
            if (m < count)
                for (ptrdiff_t k = begin; k < end; k++) panel[k * width + m] = x[m * stride + k];
            else
                for (ptrdiff_t k = begin; k < end; k++) panel[k * width + m] = 0;
    }
}

/* `rows` columns of the result for the `count` rows of a panel, but for the first `skipped` columns; added to what
   `out` has if `add`. */
INLINE void block(const float *weight, ptrdiff_t stride, const float *panel, ptrdiff_t depth, float *out,
                  ptrdiff_t out_stride, ptrdiff_t count, ptrdiff_t skipped, int add, int rows, int vectors) {
    Lanes sums[ROWS][VECTORS] = {{{0}}};
    for (ptrdiff_t k = 0; k < depth; k++) {
        Lanes x[VECTORS];
        for (int v = 0; v < vectors; v++) x[v] = load(panel + (k * vectors + v) * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) sums[r][v] += weight[r * stride + k] * x[v];
    }
    for (ptrdiff_t m = 0; m < count; m++, out += out_stride)
        if (add || skipped)
            for (ptrdiff_t r = skipped; r < rows; r++) out[r] = ((const float *)sums[r])[m] + (add ? out[r] : 0);
        else
            for (int r = 0; r < rows; r++) out[r] = ((const float *)sums[r])[m];
}

/* `count` rows from row `first` on, over `depth` elements from `begin` on. */
INLINE void part(const Product *d, ptrdiff_t first, ptrdiff_t count, ptrdiff_t begin, ptrdiff_t depth, int rows,
                 int vectors) {
    const float *x = d->x + first * d->x_stride + begin;
    float *out = d->out + first * d->out_stride;
    ptrdiff_t width = vectors * LANES, whole = count / width * width;
    if (count - whole > LANES) whole = count; /* otherwise the last panel has a single vector */
    for (ptrdiff_t m = 0; m < whole; m += width)
        pack(x + m * d->x_stride, d->x_stride, least(count - m, width), depth, d->panels + m * depth, width);
    if (whole < count)
        pack(x + whole * d->x_stride, d->x_stride, count - whole, depth, d->panels + whole * depth, LANES);
    for (ptrdiff_t c = 0; c < d->columns; c += rows) {
        ptrdiff_t column = least(c, d->columns - rows), skipped = c - column; /* the last block overlaps another */
        const float *weight = d->weight + column * d->weight_stride + begin;
        for (ptrdiff_t m = 0; m < whole; m += width)
            block(weight, d->weight_stride, d->panels + m * depth, depth, out + m * d->out_stride + column,
                  d->out_stride, least(count - m, width), skipped, begin > 0, rows, vectors);
        if (whole < count)
            block(weight, d->weight_stride, d->panels + whole * depth, depth, out + whole * d->out_stride + column,
                  d->out_stride, count - whole, skipped, begin > 0, rows, 1);
    }
}

INLINE void product(const Product *d, int rows, int vectors) {
    for (ptrdiff_t m = 0; m < d->rows; m += d->rows_step)
        for (ptrdiff_t k = 0; k < d->depth; k += d->depth_step)
            part(d, m, least(d->rows - m, d->rows_step), k, least(d->depth - k, d->depth_step), rows, vectors);
}

KERNEL(rows_product)(const Product *d) {
    if (d->columns < ROWS)
        product(d, 1, 1);
    else
        product(d, ROWS, VECTORS);
}
