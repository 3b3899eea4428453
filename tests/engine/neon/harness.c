/* A run of one kernel on drawn operands, whose results are printed as bits.  Built with -DSOURCE="NAME.c", -DOF_NAME
   and -DISA. */

#include <stdio.h>
#include <stdlib.h>

#include SOURCE

static uint32_t state = 1;

static float drawn(void) {
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)(state >> 8) / 8388608.0f - 1.0f;
}

static float *numbers(ptrdiff_t count) {
    float *x = malloc((size_t)(count + 64) * sizeof(float)); /* panels are read in whole vectors */
    for (ptrdiff_t i = 0; i < count + 64; i++) x[i] = drawn();
    return x;
}

static void show(const float *x, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        printf("%08x\n", bits);
    }
}

#if defined(OF_PRODUCT)
static void run(int n) {
    ptrdiff_t stride = 1 + n % 2, kernel = 1 + n % 3, size = 7 + n, padding = n % 2, images = 2, groups = 1 + (n == 4);
    ptrdiff_t channels = groups * (3 + n * (n == 6 ? 60 : 1)), filters = groups * 4 * LANES - (n % 4), step = 3 * ROWS;
    if (groups > 1) filters = groups * LANES;
    ptrdiff_t count = (size + 2 * padding - kernel) / stride + 1, rows = images * count * count;
    float *out = numbers(rows * filters);
    Stage stages[] = {{MULTIPLY, COLUMNS, numbers(filters), 0, 0, 0},
                      {ADD, COLUMNS, numbers(filters), 0, 0, 0},
                      {ADD, TENSOR, numbers(rows * filters), filters, 0, 0},
                      {HARDSWISH, NONE, 0, 0, 0, 0},
                      {CLIP, NONE, 0, 0, -1, n % 2 ? 2 : __builtin_inff()},
                      {GELU, NONE, 0, 0, 0, 0}};
    Epilogue e = {out, out, stages, 6, rows, filters, filters, filters};
    Product d = {{numbers(images * size * size * channels), numbers(kernel * kernel * channels * (filters + LANES)), out,
                  images, channels, filters, groups, {0}, {1, count, count}, {1, size, size}, {1, kernel, kernel},
                  {1, stride, stride}, {1, 1, 1}, {0, padding, padding}, size * size * channels,
                  {0, size * channels, channels}},
                 n % 3 ? &e : 0, malloc(kernel * kernel * step * sizeof(float *)), step, filters};
    NAMED(product, ISA)(&d);
    show(out, rows * filters);
}
#elif defined(OF_PANELS)
static void run(int n) {
    ptrdiff_t columns = 1 + n * 5, depth = 3 + n * 11, packed = (columns + LANES - 1) / LANES * LANES;
    float *panels = numbers(packed * depth);
    Panels d = {panels, numbers(2 * LANES * 8 * depth), columns, depth};
    NAMED(panels, ISA)(&d);
    show(panels, packed * depth);
}
#elif defined(OF_ATTENTION)
static void run(int n) {
    ptrdiff_t queries = 1 + n * 5, keys = 2 + n * 7, depth = 3 + n * 4, width = 1 + n * 6, heads = 2;
    ptrdiff_t padded = keys + 16, wide = width + 16;
    float *out = numbers(heads * queries * width);
    Attention d = {{numbers(heads * queries * depth), {0, queries * depth, depth}},
                   {numbers(heads * keys * depth), {0, keys * depth, depth}},
                   {numbers(heads * keys * width), {0, keys * width, width}},
                   {out, {0, queries * width, width}},
                   {{n % 2 ? numbers(queries * keys) : 0, 0, {0, 0, keys, 1}}, {0, 0, {0}}},
                   n % 3 ? numbers(heads) : 0, {0, 1},
                   numbers(padded * depth), numbers(keys * wide), numbers(48 * padded),
                   1, heads, queries, keys, depth, width, 12, n % 4 == 3 ? -3 : -1000, n % 2 ? 1 : 1000,
                   0.5f, n % 5 == 4 ? 2.0f : 0.0f};
    NAMED(attention, ISA)(&d);
    show(out, heads * queries * width);
}
#elif defined(OF_DEPTHWISE) || defined(OF_GROUPED)
static void run(int n) {
    ptrdiff_t stride = 1 + n % 2, kernel = 3 + 2 * (n % 2), size = 9 + n, channels = 16 + 8 * (n % 3), padding = n % 3;
    ptrdiff_t count = (size + 2 * padding - kernel) / stride + 1, groups = n == 6 ? channels / 4 : 2, images = 2;
    float *out = numbers(images * count * count * channels);
    Windows d = {numbers(images * size * size * channels), numbers(kernel * kernel * channels * channels), out,
                 images, channels, channels, groups, {0}, {1, count, count}, {1, size, size}, {1, kernel, kernel},
                 {1, stride, stride}, {1, 1, 1}, {0, padding, padding}, size * size * channels,
                 {0, size * channels, channels}};
#if defined(OF_DEPTHWISE)
    ptrdiff_t rows = images * count * count;
    Stage stages[] = {{MULTIPLY, COLUMNS, numbers(channels), 0, 0, 0},
                      {ADD, TENSOR, numbers(rows * channels), channels, 0, 0},
                      {HARDSWISH, NONE, 0, 0, 0, 0},
                      {CLIP, NONE, 0, 0, -1, n % 2 ? 2 : __builtin_inff()},
                      {TANH, NONE, 0, 0, 0, 0}};
    Epilogue e = {out, out, stages, n % 2 ? 4 : 5, rows, channels, channels, channels};
    Depthwise depthwise = {d, n % 4 ? &e : 0};
    NAMED(depthwise, ISA)(&depthwise);
#else
    Grouped grouped = {d, numbers((size + 8) * (size + 8) * channels),
                       malloc((size_t)(count * count + PIXELS) * sizeof(ptrdiff_t)), channels / groups % 16 == 0 ? 2 : 1};
    NAMED(grouped, ISA)(&grouped);
#endif
    show(out, images * count * count * channels);
}
#elif defined(OF_POOL)
static void run(int n) {
    ptrdiff_t stride = 1 + n % 3, kernel = 2 + n % 3, size = 9 + n, channels = 16 + 11 * n, padding = n % 2, images = 2;
    ptrdiff_t count = (size + 2 * padding - kernel) / stride + 1;
    float *out = numbers(images * count * count * channels);
    Pool d = {{numbers(images * size * size * channels), NULL, out, images, channels, channels, 1, {0}, {1, count, count},
               {1, size, size}, {1, kernel, kernel}, {1, stride, stride}, {1, 1, 1}, {0, padding, padding},
               size * size * channels, {0, size * channels, channels}}, n % 2};
    NAMED(pool, ISA)(&d);
    show(out, images * count * count * channels);
}
#elif defined(OF_RESAMPLE)
/* Places of `taps` elements for each of `count`, `step` apart, of `size`. */
static const ptrdiff_t *places(ptrdiff_t count, ptrdiff_t taps, ptrdiff_t size, ptrdiff_t step) {
    ptrdiff_t *made = malloc((size_t)(count * taps) * sizeof(ptrdiff_t));
    for (ptrdiff_t i = 0; i < count * taps; i++) made[i] = (i * size / (count * taps)) * step;
    return made;
}

static void run(int n) {
    ptrdiff_t size = 5 + n, count = 7 + n % 3, taps = 1 + n % 4, channels = 16 + 11 * n, images = 2, apart = channels + n;
    float *out = numbers(images * count * count * apart);
    Resample d = {numbers(images * size * size * channels), out,
                  {places(1, 1, 1, 0), places(count, taps, size, size * channels), places(count, taps, size, channels)},
                  {numbers(1), numbers(count * taps), numbers(count * taps)}, {1, taps, taps}, {1, count, count},
                  images, channels, size * size * channels, count * count * apart, {0, count * apart, apart}};
    NAMED(resample, ISA)(&d);
    show(out, images * count * count * apart);
}
#elif defined(OF_NORM)
static void run(int n) {
    ptrdiff_t rows = 3, width = 1 + n * 13;
    float *out = numbers(rows * width);
    Norm d = {numbers(rows * width), out, n % 2 ? numbers(width) : 0, n % 3 ? numbers(width) : 0,
              rows, width, width, width, n % 2, 1e-5f};
    NAMED(norm, ISA)(&d);
    show(out, rows * width);
}
#elif defined(OF_RECURRENT)
static void run(int n) {
    ptrdiff_t hidden = 5 + n * 3, gates[] = {1, 1, 4, 3}, rows = gates[n % 4] * hidden, packed = rows + 16;
    float *out = numbers(2 * hidden), *cell = numbers(hidden);
    Recurrent d = {numbers(packed * hidden), numbers(2 * rows), numbers(hidden), out, out, cell, numbers(hidden),
                   numbers(packed), n % 4, rows, hidden, 0, hidden, rows, hidden, hidden, 0, 0};
    for (d.time = d.turn = 0; d.time < 2; d.turn++, d.time++) NAMED(recurrent, ISA)(&d);
    show(out, 2 * hidden);
    show(cell, hidden);
}
#elif defined(OF_WINOGRAD)
static void run(int n) {
    ptrdiff_t m = n % 2 ? 2 : 4, side = 5 + n, channels = 1 + 3 * n, tiles = (side + m - 1) / m, plane = tiles * tiles * channels;
    float *planes = numbers((m + 2) * (m + 2) * plane), *image = numbers(side * side * channels);
    Winograd d = {image, planes, m, 1, tiles, tiles, channels, -1, -1, side, side, side * side * channels,
                  side * channels, channels, plane};
    NAMED(winograd_input, ISA)(&d);
    show(planes, (m + 2) * (m + 2) * plane);
    d.top = d.left = 0;
    NAMED(winograd_output, ISA)(&d);
    show(image, side * side * channels);
}
#elif defined(OF_EPILOGUE)
static void run(int n) {
    ptrdiff_t rows = 1 + n, columns = 1 + 17 * n;
    float *x = numbers(rows * columns);
    for (int32_t code = ADD; code <= RECIPROCAL; code++) {
        Stage stages[] = {{code, code < CLIP ? TENSOR : NONE, numbers(rows * columns), columns, 0.25f, 0.75f},
                          {ADD, COLUMNS, numbers(columns), 0, 0, 0}};
        Epilogue e = {numbers(rows * columns), x, stages, 2, rows, columns, columns, columns};
        NAMED(epilogue, ISA)(&e);
        show(x, rows * columns);
    }
}
#endif

int main(void) {
    for (int n = 0; n < 8; n++) run(n);
    return 0;
}
