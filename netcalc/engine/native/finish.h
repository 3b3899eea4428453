/* Operations of the epilogue that are done while a block of the result is in registers: scales and shifts by column, a
   tensor that is added, limits, hard-swish. */

#ifndef NETCALC_FINISH_H
#define NETCALC_FINISH_H

#include "epilogue.h"
#include "lanes.h"

/* `count` elements of an operand, at most LANES; it is only read where it has elements. */
INLINE Lanes operand(const float *p, ptrdiff_t count) {
    return count >= LANES ? load(p) : load_part(p, most(count, 0), 0);
}

/* Operations on a block of the result, of which `row` and `column` are the first, in registers.  It has `rows` rows of
   `vectors` vectors, numbers known to the compiler, of which `height` rows of `count` elements are in the result. */
INLINE void finish(Lanes (*x)[VECTORS], const Stage *s, ptrdiff_t row, ptrdiff_t column, ptrdiff_t height,
                   ptrdiff_t count, int rows, int vectors) {
    const float *o = s->operand + column + (s->kind == TENSOR ? row * s->stride : 0);
    if (s->code == CLIP) {
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) x[r][v] = lanes_at_least(x[r][v], s->a);
        if (s->b == __builtin_inff()) return;
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) x[r][v] = lanes_at_most(x[r][v], s->b);
    } else if (s->code == HARDSWISH) {
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                x[r][v] *= lanes_at_most(lanes_at_least(x[r][v] + 3.0f, 0), 6) * (1.0f / 6.0f);
    } else if (s->kind == TENSOR) { /* added */
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors && r < height; v++)
                x[r][v] += operand(o + r * s->stride + v * LANES, count - v * LANES);
    } else {
        Lanes w[VECTORS];
        for (int v = 0; v < vectors; v++) w[v] = operand(o + v * LANES, count - v * LANES);
        if (s->code == MULTIPLY)
#pragma GCC unroll 24
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vectors; v++) x[r][v] *= w[v];
        else
#pragma GCC unroll 24
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vectors; v++) x[r][v] += w[v];
    }
}

/* Takes a shift by column off the beginning of the epilogue, with which sums can begin; NULL if there is none. */
INLINE const float *take_shift(Epilogue *e) {
    if (e->count == 0 || e->stages->kind != COLUMNS || e->stages->code != ADD) return NULL;
    e->count--;
    return e->stages++->operand;
}

/* Number of the operations at the beginning of the epilogue that are done in registers. */
static ptrdiff_t finished_stages(const Epilogue *e) {
    ptrdiff_t n = 0;
    for (; e && n < e->count; n++) {
        const Stage *s = e->stages + n;
        int by_column = s->kind == COLUMNS && (s->code == ADD || s->code == MULTIPLY);
        int added = s->kind == TENSOR && s->code == ADD;
        if (!by_column && !added && s->code != CLIP && s->code != HARDSWISH) break;
    }
    return n;
}

#endif
