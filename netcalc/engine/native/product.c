/* Products of windows of images, whose channels lie together, with packed filters, and operations on the results.

   A matrix is an image one pixel high.  Filters are packed once (see panels.c), in panels of VECTORS·LANES, whose numbers
   for a place in the window lie together; the windows are read in place, each tap at its address, which for the padding
   is an address of zeros.  A block of at most ROWS windows by a panel stays in registers; a part of a panel stays in the
   caches for all windows of a step, and so does what they read.  Meanwhile the next panel and what the next block reads
   and writes are fetched, line by line.  The operations of the epilogue are done on a step of windows by some
   columns while these are in the cache. */

#include "finish.h"
#include "windows.h"

enum { PART = LANES > 8 ? 768 : 320, MOST_COLUMNS = 256, MOST_TAPS = 64, MOST_CHANNELS = 4096 };
enum { WIDTH = VECTORS * LANES, LINE = 16 }; /* elements of a panel, and of a line of the cache */

typedef struct {
    Windows windows;
    const Epilogue *epilogue; /* of all windows and columns, or NULL */
    const float **taps;       /* scratch: addresses (taps, step) */
    ptrdiff_t step;           /* windows at a time, a multiple of ROWS */
    ptrdiff_t out_stride;
} Product;

/* A part of a window: the channels from `channel` on of the taps from `tap` on. */
typedef struct {
    ptrdiff_t tap, taps, channel, channels;
    ptrdiff_t depth, place; /* elements of a window, and of the parts before */
    const float *after;     /* the panel of the next part */
    int first;
} Part;

static const float zeros[MOST_CHANNELS];

/* Places along the last axis, of all windows, at which the tap `k` is within the images. */
typedef struct {
    ptrdiff_t begin, end;
} Range;

INLINE Range windows_within(const Windows *g, ptrdiff_t k) {
    ptrdiff_t place = k * g->dilation[2] - g->padding[2], step = g->stride[2], left = g->size[2] - place;
    return (Range){place >= 0 ? 0 : (-place + step - 1) / step, left <= 0 ? 0 : (left + step - 1) / step};
}

/* Writes the addresses of a tap of the windows from `begin` to `end` of a row, which starts at `x`. */
INLINE void find_tap(const float **addresses, const float *x, ptrdiff_t apart, ptrdiff_t begin, ptrdiff_t end,
                     Range within) {
    ptrdiff_t first = least(most(within.begin, begin), end), last = least(most(within.end, first), end), n = begin;
    for (; n < first; n++) *addresses++ = zeros;
    for (; n < last; n++) *addresses++ = x + n * apart;
    for (; n < end; n++) *addresses++ = zeros;
}

/* Finds the addresses of the taps of `count` windows, row by row. */
static void find_taps(const Product *d, ptrdiff_t window, ptrdiff_t count) {
    const Windows *g = &d->windows;
    ptrdiff_t apart = g->stride[2] * g->x_stride[2];
    Range within[MOST_TAPS];
    for (ptrdiff_t k = 0; k < g->kernel[2]; k++) within[k] = windows_within(g, k);
    for (ptrdiff_t n = 0, end; n < count; n = end) {
        ptrdiff_t place = (window + n) % g->count[2], row = (window + n) / g->count[2];
        ptrdiff_t a = (g->first[0] + row / g->count[1] % g->count[0]) * g->stride[0] - g->padding[0];
        ptrdiff_t b = (g->first[1] + row % g->count[1]) * g->stride[1] - g->padding[1];
        const float *image = g->x + row / (g->count[0] * g->count[1]) * g->image_stride, **taps = d->taps + n;
        end = least(n + g->count[2] - place, count);
        for (ptrdiff_t i = 0; i < g->kernel[0]; i++)
            for (ptrdiff_t j = 0; j < g->kernel[1]; j++) {
                ptrdiff_t y = a + i * g->dilation[0], z = b + j * g->dilation[1], begin = g->first[2] + place;
                int inside = y >= 0 && y < g->size[0] && z >= 0 && z < g->size[1];
                for (ptrdiff_t k = 0; k < g->kernel[2]; k++, taps += d->step) {
                    ptrdiff_t from = k * g->dilation[2] - g->padding[2];
                    const float *x = image + y * g->x_stride[0] + z * g->x_stride[1] + from * g->x_stride[2];
                    find_tap(taps, x, apart, begin, begin + end - n, inside ? within[k] : (Range){0, 0});
                }
            }
    }
}

/* A block of the result: its place there, the windows and columns of it that are kept, and what is done at the end. */
typedef struct {
    float *out;
    ptrdiff_t stride, row, column, height, count;
    const float *shift; /* by column, or NULL: where sums begin */
    const Stage *stages;
    ptrdiff_t number;   /* of stages */
    const float *ahead; /* what is fetched of the next panel meanwhile, and its elements for each of the window's */
    ptrdiff_t pace;
} Block;

/* What follows on sums of `count` columns: the parts before, operations, storing. */
INLINE void end_block(Lanes (*sums)[VECTORS], int first, const Block *block, ptrdiff_t count, int rows, int vectors) {
    if (!first)
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                sums[r][v] += operand(block->out + r * block->stride + v * LANES, count - v * LANES);
    for (ptrdiff_t i = 0; i < block->number; i++)
        finish(sums, block->stages + i, block->row, block->column, rows, count, rows, vectors);
#pragma GCC unroll 24
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            float *place = block->out + r * block->stride + v * LANES;
            if (count - v * LANES >= LANES)
                store(place, sums[r][v]);
            else if (count > v * LANES)
                store_part(place, sums[r][v], count - v * LANES);
        }
}

/* Sums of `rows` windows over a part, for `vectors` vectors of filters. */
INLINE void tile(const float *const *taps, ptrdiff_t apart, const Part *part, const float *panel, const Block *block,
                 int rows, int vectors) {
    Lanes sums[2 * ROWS][VECTORS];
    const float *ahead = block->ahead;
    for (int v = 0; v < vectors; v++) {
        Lanes start = {0};
        if (part->first && block->shift)
            start = operand(block->shift + block->column + v * LANES, block->count - v * LANES);
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++) sums[r][v] = start;
    }
#pragma GCC unroll 24
    for (int r = 0; r < rows; r++) __builtin_prefetch(block->out + (rows + r) * block->stride, 1);
    for (ptrdiff_t t = 0; t < part->taps; t++, taps += apart) {
        const float *x[2 * ROWS];
#pragma GCC unroll 24
        for (int r = 0; r < rows; r++) x[r] = taps[r] + part->channel;
        const float *next = taps[block->height > rows ? rows : 0] + part->channel; /* where windows lie together */
        for (ptrdiff_t k = 0; k < part->channels; next += rows * LINE) {
            ptrdiff_t end = least(k + LINE, part->channels);
            for (ptrdiff_t n = 0; n < block->pace; n++, ahead += LINE) __builtin_prefetch(ahead);
#pragma GCC unroll 24
            for (int r = 0; r < rows; r++) __builtin_prefetch(next + r * LINE);
            for (; k < end; k++, panel += vectors * LANES) {
                Lanes filters[VECTORS];
                for (int v = 0; v < vectors; v++) filters[v] = load(panel + v * LANES);
#pragma GCC unroll 24
                for (int r = 0; r < rows; r++)
                    for (int v = 0; v < vectors; v++) sums[r][v] += x[r][k] * filters[v];
            }
        }
    }
    if (block->count >= vectors * LANES) /* a size that the compiler knows */
        end_block(sums, part->first, block, vectors * LANES, rows, vectors);
    else
        end_block(sums, part->first, block, block->count, rows, vectors);
}

/* The same of `count` windows, at most ROWS, with a number that the compiler knows: code for each of them.  Blocks have
   at most 12 rows with any instruction set; what has more than ROWS is not reached, and needs no code. */
INLINE void tile_of(const float *const *taps, ptrdiff_t apart, const Part *part, const float *panel, const Block *block,
                    ptrdiff_t count, int vectors) {
#define CASE(rows) \
    case rows: \
        if (rows <= ROWS) tile(taps, apart, part, panel, block, rows <= ROWS ? rows : 1, vectors); \
        break
    switch (count) {
        CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); CASE(9); CASE(10); CASE(11); CASE(12);
    }
}

/* The same of `height` windows, of which `block` describes the first ones, in blocks of nearly as many each.  A single
   vector of filters is taken with twice as many windows, since as many sums must be under way. */
INLINE void strip(const Product *d, ptrdiff_t height, const Part *part, const float *panel, Block block, int vectors) {
    const float *const *taps = d->taps + part->tap * d->step;
    for (ptrdiff_t rows; height > 0; height -= rows, taps += rows) {
        ptrdiff_t blocks = (height + ROWS - 1) / ROWS;
        block.height = height;
        if (vectors == 1 && height >= 2 * ROWS)
            tile(taps, d->step, part, panel, &block, rows = 2 * ROWS, 1);
        else
            tile_of(taps, d->step, part, panel, &block, rows = (height + blocks - 1) / blocks, vectors);
        block.out += rows * block.stride;
        block.row += rows;
        block.ahead += block.pace * part->taps * part->channels;
    }
}

/* A part of the windows for the columns from `left` to `right` of a group, whose panels are at `panels`. */
static void add_part(const Product *d, ptrdiff_t height, const Part *part, const float *panels, Block block,
                     ptrdiff_t left, ptrdiff_t right) {
    for (ptrdiff_t c = left; c < right; c += WIDTH, block.out += WIDTH, block.column += WIDTH) {
        const float *panel = panels + c * part->depth;
        block.count = least(WIDTH, right - c);
        block.pace = (WIDTH * ROWS + height - 1) / height;
        block.ahead = right - c > WIDTH ? panel + (part->depth + part->place) * WIDTH : part->after;
        if (block.count > LANES)
            strip(d, height, part, panel + part->place * WIDTH, block, VECTORS);
        else
            strip(d, height, part, panel + part->place * LANES, block, 1);
    }
}

/* The columns from `left` to `right` of a group for `height` windows, of which `block` describes the first ones. */
static void columns(const Product *d, ptrdiff_t height, ptrdiff_t group, const float *panels, Block block,
                    ptrdiff_t left, ptrdiff_t right) {
    const Windows *g = &d->windows;
    ptrdiff_t number = g->kernel[0] * g->kernel[1] * g->kernel[2], share = g->channels / g->groups;
    ptrdiff_t most_taps = most(1, PART / share), parts = (number + most_taps - 1) / most_taps;
    ptrdiff_t together = (number + parts - 1) / parts, pieces = (share + PART - 1) / PART; /* nearly equal parts */
    ptrdiff_t piece = (share + pieces - 1) / pieces, stages = block.number;
    for (ptrdiff_t tap = 0; tap < number; tap += together)
        for (ptrdiff_t channel = 0; channel < share; channel += piece) {
            Part part = {tap, least(together, number - tap), group * share + channel, least(piece, share - channel),
                         number * share, tap * share + channel, 0, tap + channel == 0};
            int last = tap + together >= number && channel + piece >= share;
            part.after = panels + (last ? right * part.depth : left * part.depth + part.place * WIDTH +
                                                                   part.taps * part.channels * WIDTH);
            block.number = last ? stages : 0;
            add_part(d, height, &part, panels, block, left, right);
        }
}

KERNEL(product)(const Product *d) {
    const Windows *g = &d->windows;
    ptrdiff_t windows = g->images * g->count[0] * g->count[1] * g->count[2], outs = g->filters / g->groups;
    ptrdiff_t depth = g->kernel[0] * g->kernel[1] * g->kernel[2] * (g->channels / g->groups);
    ptrdiff_t packed = (outs + LANES - 1) / LANES * LANES;
    Epilogue rest = {0};
    if (d->epilogue) rest = *d->epilogue;
    const float *shift = take_shift(&rest);
    ptrdiff_t finished = finished_stages(&rest);
    Block block = {g->out, d->out_stride, 0, 0, 0, 0, shift, rest.stages, finished, NULL, 0};
    rest.stages += finished;
    rest.count -= finished;
    for (ptrdiff_t first = 0; first < windows; first += d->step) {
        ptrdiff_t height = least(d->step, windows - first);
        find_taps(d, first, height);
        block.row = first;
        for (ptrdiff_t group = 0; group < g->groups; group++)
            for (ptrdiff_t left = 0; left < outs; left += MOST_COLUMNS) {
                ptrdiff_t right = least(left + MOST_COLUMNS, outs);
                block.column = group * outs + left;
                block.out = g->out + first * d->out_stride + block.column;
                columns(d, height, group, g->weight + group * packed * depth, block, left, right);
                if (rest.count > 0 && g->groups == 1) epilogue_part(&rest, first, first + height, left, right);
            }
        if (rest.count > 0 && g->groups > 1) epilogue_part(&rest, first, first + height, 0, g->filters);
    }
}
