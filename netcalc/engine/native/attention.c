/* Attention: the scores of some dozen queries at a time, their softmax, and its product with the values.

   Keys and values are packed into panels once for all queries of a head; scores stay in the second-level cache, a row
   of them in the first-level one while its softmax is computed. */

#include "lanes.h"

enum { MASKS = 2, MOST_STEP = 48 };

/* (samples, heads, length, features), features without gaps; strides in elements. */
typedef struct {
    float *data;
    ptrdiff_t stride[3];
} Operand;

/* A mask of scores; strides in elements, by sample, head, query and key. */
typedef struct {
    const float *added;     /* numbers to be added, or NULL */
    const uint8_t *visible; /* 0 where a score is hidden, or NULL */
    ptrdiff_t stride[4];
} Mask;

typedef struct {
    Operand q, k, v, out;
    Mask masks[MASKS];
    const float *sinks; /* a further score for each head, whose weight is dropped, or NULL */
    ptrdiff_t sink_stride[2];
    float *key_panels, *value_panels, *scores; /* scratch */
    ptrdiff_t samples, heads, queries, keys, depth, width;
    ptrdiff_t step;        /* queries at a time, at most MOST_STEP */
    ptrdiff_t first, last; /* keys that the first query sees; each query sees those one further */
    float scale, cap;      /* a cap of 0 is none */
} Attention;

/* Pack keys: the features of `width` keys lie together.  Keys after the last are 0. */
INLINE void pack_keys(const Attention *d, const float *k, int width) {
    float *panel = d->key_panels;
    for (ptrdiff_t first = 0; first < d->keys; first += width, panel += width * d->depth)
        for (ptrdiff_t m = 0; m < width; m++)
            for (ptrdiff_t i = 0; i < d->depth; i++)
                panel[i * width + m] = first + m < d->keys ? k[(first + m) * d->k.stride[2] + i] : 0;
}

/* Pack values: panels have `width` features each.  Features after the last are 0. */
INLINE void pack_values(const Attention *d, const float *v, int width) {
    float *panel = d->value_panels;
    for (ptrdiff_t first = 0; first < d->width; first += width)
        for (ptrdiff_t key = 0; key < d->keys; key++, panel += width) {
            ptrdiff_t count = least(width, d->width - first);
            memcpy(panel, v + key * d->v.stride[2] + first, (size_t)count * sizeof(float));
            for (ptrdiff_t i = count; i < width; i++) panel[i] = 0;
        }
}

/* The product of `rows` rows with a panel, times a factor for each row; the first `count` columns of it. */
INLINE void tile(const float *a, ptrdiff_t stride, const float *panel, ptrdiff_t depth, float *out,
                 ptrdiff_t out_stride, ptrdiff_t count, const float *factors, int rows, int vectors) {
    Lanes sums[ROWS][VECTORS] = {{{0}}};
    for (ptrdiff_t k = 0; k < depth; k++) {
        Lanes b[VECTORS];
        for (int v = 0; v < vectors; v++) b[v] = load(panel + (k * vectors + v) * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) sums[r][v] += a[r * stride + k] * b[v];
    }
    for (int r = 0; r < rows; r++, out += out_stride)
        for (int v = 0; v < vectors; v++) {
            Lanes x = sums[r][v] * (factors ? factors[r] : 1.0f);
            ptrdiff_t left = count - v * LANES;
            if (left >= LANES)
                store(out + v * LANES, x);
            else if (left > 0)
                store_part(out + v * LANES, x, left);
        }
}

/* The product of `height` rows with a panel. */
INLINE void strip(const float *a, ptrdiff_t stride, ptrdiff_t height, const float *panel, ptrdiff_t depth, float *out,
                  ptrdiff_t out_stride, ptrdiff_t count, const float *factors, int rows, int last_rows, int vectors) {
    ptrdiff_t r = 0;
    for (; height - r >= rows; r += rows)
        tile(a + r * stride, stride, panel, depth, out + r * out_stride, out_stride, count, factors ? factors + r : 0,
             rows, vectors);
    while (r < height && height >= last_rows) { /* the last tile may overlap another */
        r = least(r, height - last_rows);
        tile(a + r * stride, stride, panel, depth, out + r * out_stride, out_stride, count, factors ? factors + r : 0,
             last_rows, vectors);
        r += last_rows;
    }
    for (; r < height; r++)
        tile(a + r * stride, stride, panel, depth, out + r * out_stride, out_stride, count, factors ? factors + r : 0,
             1, vectors);
}

/* The lanes from `first` to `last` of a vector that starts at `c`, and `other` in the others. */
INLINE Lanes within(Lanes x, ptrdiff_t c, ptrdiff_t first, ptrdiff_t last, float other) {
    for (int i = 0; i < LANES; i++) x[i] = c + i >= first && c + i < last ? x[i] : other;
    return x;
}

INLINE void hide(const Mask *mask, ptrdiff_t place, float *row, ptrdiff_t first, ptrdiff_t last) {
    ptrdiff_t step = mask->stride[3];
    for (ptrdiff_t c = first; c < last; c++)
        if (mask->visible)
            row[c] = mask->visible[place + c * step] ? row[c] : -__builtin_inff();
        else
            row[c] += mask->added[place + c * step];
}

/* Scale and mask the scores from `first` to `last`; return the largest, at least the least float. */
INLINE float masked(const Attention *d, float *row, ptrdiff_t n, ptrdiff_t h, ptrdiff_t query, ptrdiff_t first,
                    ptrdiff_t last) {
    float scale = d->scale;
    const float *added = 0;
    if (d->cap != 0) {
        for (ptrdiff_t c = first; c < last; c++) row[c] = tangent(row[c] * scale / d->cap) * d->cap;
        scale = 1;
    }
    for (int i = 0; i < MASKS; i++) {
        const Mask *mask = d->masks + i;
        if (!mask->added && !mask->visible) continue;
        ptrdiff_t place = n * mask->stride[0] + h * mask->stride[1] + query * mask->stride[2];
        if (mask->added && mask->stride[3] == 1 && !added) {
            added = mask->added + place;
            continue;
        }
        for (ptrdiff_t c = first; c < last && scale != 1; c++) row[c] *= scale;
        scale = 1;
        hide(mask, place, row, first, last);
    }
    Lanes top = (Lanes){0} - 3.40282347e38f;
    for (ptrdiff_t c = first & -LANES; c < last; c += LANES) {
        Lanes t = load(row + c) * scale;
        if (c >= first && c + LANES <= last) {
            if (added) t += load(added + c);
        } else {
            Lanes more = {0};
            for (int i = 0; i < LANES; i++)
                if (added && c + i >= first && c + i < last) more[i] = added[c + i];
            t = within(t + more, c, first, last, -__builtin_inff());
        }
        store(row + c, t);
        top = larger_lanes(t, top);
    }
    return largest_lane(top);
}

/* Replace a row of scores by exponentials, 0 where keys are hidden; return the reciprocal of their sum. */
INLINE float softmax(const Attention *d, float *row, ptrdiff_t n, ptrdiff_t h, ptrdiff_t query, ptrdiff_t begin,
                     ptrdiff_t end) {
    ptrdiff_t first = most(begin, d->first + query), last = least(end, d->last + query);
    if (last <= first) {
        memset(row + begin, 0, (size_t)(end - begin) * sizeof(float));
        return 0;
    }
    float top = masked(d, row, n, h, query, first, last), total = 0;
    if (d->sinks) {
        float sink = d->sinks[n * d->sink_stride[0] + h * d->sink_stride[1]];
        top = at_least(top, sink);
        total = exponential(sink - top);
    }
    Lanes sum = {0};
    ptrdiff_t c = first & -LANES;
    if (c > begin) memset(row + begin, 0, (size_t)(c - begin) * sizeof(float));
    for (; c < last; c += LANES) {
        Lanes e = decay(load(row + c) - top);
        store(row + c, e);
        sum += e;
    }
    if (c < end) memset(row + c, 0, (size_t)(end - c) * sizeof(float));
    total += sum_of_lanes(sum);
    return 1.0f / at_least(total, 1.17549435e-38f); /* the exponentials are 0 if all scores are -∞ */
}

INLINE void attention(const Attention *d, ptrdiff_t n, ptrdiff_t h, int rows, int last_rows, int vectors) {
    ptrdiff_t width = vectors * LANES, stride = (d->keys + width - 1) / width * width;
    const float *q = d->q.data + n * d->q.stride[0] + h * d->q.stride[1];
    float *out = d->out.data + n * d->out.stride[0] + h * d->out.stride[1], factors[MOST_STEP];
    for (ptrdiff_t r = 0; r < d->queries; r += d->step) {
        ptrdiff_t height = least(d->step, d->queries - r);
        ptrdiff_t begin = most(0, d->first + r) / width * width, end = least(d->keys, d->last + r + height - 1);
        if (end < begin) end = begin;
        const float *rows_of_q = q + r * d->q.stride[2];
        for (ptrdiff_t c = begin; c < end; c += width)
            strip(rows_of_q, d->q.stride[2], height, d->key_panels + c * d->depth, d->depth, d->scores + c, stride,
                  width, 0, rows, last_rows, vectors);
        for (ptrdiff_t i = 0; i < height; i++)
            factors[i] = softmax(d, d->scores + i * stride, n, h, r + i, begin, end);
        for (ptrdiff_t c = 0; c < d->width; c += width)
            strip(d->scores + begin, stride, height, d->value_panels + c * d->keys + begin * width, end - begin,
                  out + r * d->out.stride[2] + c, d->out.stride[2], d->width - c, factors, rows, last_rows, vectors);
    }
}

INLINE void heads(const Attention *d, int rows, int last_rows, int vectors) {
    const float *packed = 0, *packed_values = 0;
    for (ptrdiff_t n = 0; n < d->samples; n++)
        for (ptrdiff_t h = 0; h < d->heads; h++) {
            const float *k = d->k.data + n * d->k.stride[0] + h * d->k.stride[1];
            const float *v = d->v.data + n * d->v.stride[0] + h * d->v.stride[1];
            if (k != packed) pack_keys(d, k, vectors * LANES);
            if (v != packed_values) pack_values(d, v, vectors * LANES);
            packed = k;
            packed_values = v;
            attention(d, n, h, rows, last_rows, vectors);
        }
}

KERNEL(attention)(const Attention *d) {
    heads(d, ROWS, LAST_ROWS, VECTORS);
}
