/* Elementwise operations on rows, block by block: all of them on one block before the next. */

#ifndef NETCALC_EPILOGUE_H
#define NETCALC_EPILOGUE_H

#include "common.h"

enum { BLOCK = 1024, MOST_VECTORS = 4 };

/* The second operand of an operation. */
enum { NONE, NUMBER, COLUMNS, TENSOR, ITSELF };

/* In the order of BINARY and UNARY in epilogue.py. */
enum {
    ADD, SUBTRACT, SUBTRACT_FROM, MULTIPLY, DIVIDE, DIVIDE_INTO, MAXIMUM, MINIMUM,
    CLIP, LEAKY_RELU, GATED, GELU, GELU_TANH, SIGMOID, TANH, HARDSIGMOID, HARDSWISH,
    EXP, SQUARE, ABS, NEG, RECIPROCAL
};

typedef struct {
    int32_t code, kind;
    const float *operand; /* a value for each column, or rows that are `stride` elements apart */
    ptrdiff_t stride;
    float a, b; /* numbers: the second operand, or attributes of the function */
} Stage;

typedef struct {
    const float *source;
    float *x;
    const Stage *stages;
    ptrdiff_t count, rows, columns, source_stride, x_stride;
} Epilogue;

/* The larger, or NaN if one of them is. */
INLINE float maximum(float a, float b) { return a >= b || a != a ? a : b; }
INLINE float minimum(float a, float b) { return a <= b || a != a ? a : b; }

/* GELU by the upper tail of the normal distribution at |x|, exp(-y)*q(t)*t with y = x²/2 and t = 1/(1 + 0.305·|x|).  The
   numbers minimize the largest relative error up to |x| = 14, by Lawson's weighted least squares: 9.4e-8.  Thus results
   keep their digits where they are small.  Beyond y = 87 the tail is 0. */
INLINE float gelu(float x) {
    float size = __builtin_fabsf(x), y = 0.5f * x * x;
    float t = 1.0f / (1.0f + 0.305f * size);
    float q = 0.036698881f;
    q = q * t - 0.152987068f;
    q = q * t + 0.185714831f;
    q = q * t - 0.0379749857f;
    q = q * t + 0.121020736f;
    q = q * t + 0.103421143f;
    q = q * t + 0.122466774f;
    q = q * t + 0.121639735f;
    float tail = y > 87.0f ? 0.0f : exponential(-y) * q * t;
    return x * (x < 0 ? tail : 1.0f - tail);
}

INLINE float gelu_tanh(float x) { return x * logistic(1.5957691216f * (x + 0.044715f * x * x * x)); }

INLINE float hard(float x) { return at_most(at_least(x + 3.0f, 0.0f), 6.0f) * (1.0f / 6.0f); }

/* `out` may be `x`, and so may `o`. */
#define EACH(expression) \
    _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < n; i++) { \
        float v = x[i]; \
        out[i] = (expression); \
    } \
    break
#define EACH_WITH(expression) \
    if (o == NULL) { \
        const float w = s->a; \
        EACH(expression); \
    } \
    _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < n; i++) { \
        float v = x[i], w = o[i]; \
        out[i] = (expression); \
    } \
    break

INLINE void apply_stage(const Stage *s, const float *x, const float *o, float *out, ptrdiff_t n) {
    const float a = s->a, b = s->b;
    switch (s->code) {
    case ADD: EACH_WITH(v + w);
    case SUBTRACT: EACH_WITH(v - w);
    case SUBTRACT_FROM: EACH_WITH(w - v);
    case MULTIPLY: EACH_WITH(v * w);
    case DIVIDE: EACH_WITH(v / w);
    case DIVIDE_INTO: EACH_WITH(w / v);
    case MAXIMUM: EACH_WITH(maximum(v, w));
    case MINIMUM: EACH_WITH(minimum(v, w));
    case CLIP: EACH(at_most(at_least(v, a), b));
    case LEAKY_RELU: EACH(v > 0 ? v : a * v);
    case GATED: EACH(v * logistic(a * v));
    case GELU: EACH(gelu(v));
    case GELU_TANH: EACH(gelu_tanh(v));
    case SIGMOID: EACH(logistic(v));
    case TANH: EACH(tangent(v));
    case HARDSIGMOID: EACH(hard(v));
    case HARDSWISH: EACH(v * hard(v));
    case EXP: EACH(exponential(v));
    case SQUARE: EACH(v * v);
    case ABS: EACH(__builtin_fabsf(v));
    case NEG: EACH(-v);
    case RECIPROCAL: EACH(1.0f / v);
    }
}

/* A block of `n` elements from `row` and `column` on; `vectors` are those that go with blocks of several rows. */
INLINE void epilogue_block(const Epilogue *e, ptrdiff_t row, ptrdiff_t column, ptrdiff_t n, float (*vectors)[BLOCK]) {
    float *out = e->x + row * e->x_stride + column;
    const float *x = e->source + row * e->source_stride + column;
    for (ptrdiff_t i = 0, used = 0; i < e->count; i++) {
        const Stage *s = e->stages + i;
        const float *operand = NULL;
        if (s->kind == COLUMNS) operand = vectors ? vectors[used++] : s->operand + column;
        if (s->kind == TENSOR) operand = s->operand + row * s->stride + column;
        if (s->kind == ITSELF) operand = x;
        apply_stage(s, x, operand, out, n);
        x = out;
    }
}

/* Repeats vectors so that they go with several rows. */
INLINE void repeat_vectors(const Epilogue *e, ptrdiff_t rows, float (*vectors)[BLOCK]) {
    for (ptrdiff_t i = 0, used = 0; i < e->count; i++) {
        if (e->stages[i].kind != COLUMNS) continue;
        for (ptrdiff_t r = 0; r < rows; r++)
            memcpy(vectors[used] + r * e->columns, e->stages[i].operand, e->columns * sizeof(float));
        used++;
    }
}

/* The operations on rows from `first` to `last`, and on columns from `left` to `right`. */
static void epilogue_part(const Epilogue *e, ptrdiff_t first, ptrdiff_t last, ptrdiff_t left, ptrdiff_t right) {
    ptrdiff_t vectors = 0, together = 1, width = right - left;
    int dense = e->x_stride == width && e->source_stride == width;
    for (ptrdiff_t i = 0; i < e->count; i++) {
        if (e->stages[i].kind == TENSOR) dense = dense && e->stages[i].stride == width;
        vectors += e->stages[i].kind == COLUMNS;
    }
    float patterns[MOST_VECTORS][BLOCK] __attribute__((aligned(64)));
    if (dense && vectors == 0) { /* one long row */
        for (ptrdiff_t at = 0, size = (last - first) * width; at < size; at += BLOCK)
            epilogue_block(e, first, at, least(BLOCK, size - at), NULL);
        return;
    }
    if (dense && 2 * width <= BLOCK && vectors <= MOST_VECTORS) {
        together = least(BLOCK / width, last - first);
        repeat_vectors(e, together, patterns);
    }
    for (ptrdiff_t row = first; row < last; row += together) {
        ptrdiff_t rows = least(together, last - row);
        for (ptrdiff_t column = left; column < right; column += BLOCK)
            epilogue_block(e, row, column, rows * least(BLOCK, right - column), together > 1 ? patterns : NULL);
    }
}

#endif
