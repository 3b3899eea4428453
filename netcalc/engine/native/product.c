/* Products of windows of images, whose channels lie together, with packed filters, and operations on the results.

   A matrix is an image one pixel high.  Filters are packed once (see panels.c), in panels of VECTORS·LANES, whose numbers
   for a place in the window lie together; the windows are read in place, each tap at its address, which for the padding
   is an address of zeros.  A block of ROWS windows by a panel stays in registers; a part of a panel stays in the
   first-level cache for all windows of a step, and what they read in the second-level cache.  The operations of the
   epilogue are done on a step of windows by some columns while these are in the cache. */

#include "finish.h"
#include "windows.h"

enum { PART = 256, MOST_COLUMNS = 256, MOST_TAPS = 64, MOST_CHANNELS = 4096, WIDTH = VECTORS * LANES, AHEAD = 512 };

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
    int first;
} Part;

static const float zeros[MOST_CHANNELS];

/* Finds the addresses of the taps of `count` windows; the last ones are repeated to fill a block. */
static void find_taps(const Product *d, ptrdiff_t window, ptrdiff_t count) {
    const Windows *g = &d->windows;
    ptrdiff_t at[AXES], offsets[MOST_TAPS], number = 0;
    for (int axis = AXES - 1; axis >= 0; axis--) {
        at[axis] = window % g->count[axis];
        window /= g->count[axis];
    }
    for (ptrdiff_t i = 0; i < g->kernel[0]; i++)
        for (ptrdiff_t j = 0; j < g->kernel[1]; j++)
            for (ptrdiff_t k = 0; k < g->kernel[2]; k++)
                offsets[number++] = i * g->dilation[0] * g->x_stride[0] + j * g->dilation[1] * g->x_stride[1] +
                                    k * g->dilation[2] * g->x_stride[2];
    for (ptrdiff_t n = 0; n < count; n++) {
        ptrdiff_t start[AXES], place = window * g->image_stride;
        int inside = 1;
        for (int axis = 0; axis < AXES; axis++) {
            start[axis] = (g->first[axis] + at[axis]) * g->stride[axis] - g->padding[axis];
            place += start[axis] * g->x_stride[axis];
            inside &= start[axis] >= 0 && start[axis] + (g->kernel[axis] - 1) * g->dilation[axis] < g->size[axis];
        }
        const float **taps = d->taps + n;
        if (inside)
            for (ptrdiff_t t = 0; t < number; t++) taps[t * d->step] = g->x + (place + offsets[t]);
        else
            for (ptrdiff_t i = 0, t = 0; i < g->kernel[0]; i++)
                for (ptrdiff_t j = 0; j < g->kernel[1]; j++)
                    for (ptrdiff_t k = 0; k < g->kernel[2]; k++, t++) {
                        ptrdiff_t a = start[0] + i * g->dilation[0], b = start[1] + j * g->dilation[1];
                        ptrdiff_t c = start[2] + k * g->dilation[2];
                        int within = a >= 0 && a < g->size[0] && b >= 0 && b < g->size[1] && c >= 0 && c < g->size[2];
                        taps[t * d->step] = within ? g->x + (place + offsets[t]) : zeros;
                    }
        for (int axis = AXES - 1; axis >= 0 && ++at[axis] == g->count[axis]; axis--) {
            at[axis] = 0;
            window += axis == 0;
        }
    }
    for (ptrdiff_t n = count; n % ROWS; n++)
        for (ptrdiff_t t = 0; t < number; t++) d->taps[t * d->step + n] = d->taps[t * d->step + count - 1];
}

/* A block of the result: its place there, the windows and columns of it that are kept, and what is done at the end. */
typedef struct {
    float *out;
    ptrdiff_t stride, row, column, height, count;
    const Stage *stages;
    ptrdiff_t number; /* of stages */
} Block;

/* Sums of `rows` windows over a part, for `vectors` vectors of filters. */
INLINE void tile(const float *const *taps, ptrdiff_t apart, const Part *part, const float *panel, const Block *block,
                 int rows, int vectors) {
    Lanes sums[ROWS][VECTORS] = {{{0}}};
    for (ptrdiff_t t = 0; t < part->taps; t++, taps += apart) {
        const float *x[ROWS];
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) x[r] = taps[r] + part->channel;
        for (ptrdiff_t k = 0; k < part->channels; k++, panel += vectors * LANES) {
            Lanes filters[VECTORS];
            __builtin_prefetch(panel + AHEAD);
            for (int v = 0; v < vectors; v++) filters[v] = load(panel + v * LANES);
#pragma GCC unroll 12
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vectors; v++) sums[r][v] += x[r][k] * filters[v];
        }
    }
    ptrdiff_t height = block->height, count = block->count;
    if (!part->first)
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors && r < height; v++)
                sums[r][v] += operand(block->out + r * block->stride + v * LANES, count - v * LANES);
    for (ptrdiff_t i = 0; i < block->number; i++)
        finish(sums, block->stages + i, block->row, block->column, height, count, rows, vectors);
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors && r < height; v++) {
            float *place = block->out + r * block->stride + v * LANES;
            if (count - v * LANES >= LANES)
                store(place, sums[r][v]);
            else if (count > v * LANES)
                store_part(place, sums[r][v], count - v * LANES);
        }
}

/* The same of `height` windows, of which `block` describes the first ones. */
INLINE void strip(const Product *d, ptrdiff_t height, const Part *part, const float *panel, Block block, int vectors) {
    const float *const *taps = d->taps + part->tap * d->step;
    for (ptrdiff_t m = 0; m < height; m += ROWS, taps += ROWS) {
        block.height = height - m;
        if (block.height > ROWS / 2)
            tile(taps, d->step, part, panel, &block, ROWS, vectors);
        else if (block.height > 1)
            tile(taps, d->step, part, panel, &block, ROWS / 2, vectors);
        else
            tile(taps, d->step, part, panel, &block, 1, vectors);
        block.out += ROWS * block.stride;
        block.row += ROWS;
    }
}

/* A part of the windows for the columns from `left` to `right` of a group, whose panels are at `panels`. */
static void add_part(const Product *d, ptrdiff_t height, const Part *part, const float *panels, Block block,
                     ptrdiff_t left, ptrdiff_t right) {
    for (ptrdiff_t c = left; c < right; c += WIDTH, block.out += WIDTH, block.column += WIDTH) {
        const float *panel = panels + c * part->depth;
        block.count = least(WIDTH, right - c);
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
    ptrdiff_t together = most(1, PART / share), pieces = (share + PART - 1) / PART;
    ptrdiff_t piece = (share + pieces - 1) / pieces, stages = block.number;
    for (ptrdiff_t tap = 0; tap < number; tap += together)
        for (ptrdiff_t channel = 0; channel < share; channel += piece) {
            Part part = {tap, least(together, number - tap), group * share + channel, least(piece, share - channel),
                         number * share, tap * share + channel, tap + channel == 0};
            int last = tap + together >= number && channel + piece >= share;
            block.number = last ? stages : 0;
            add_part(d, height, &part, panels, block, left, right);
        }
}

KERNEL(product)(const Product *d) {
    const Windows *g = &d->windows;
    ptrdiff_t windows = g->images * g->count[0] * g->count[1] * g->count[2], outs = g->filters / g->groups;
    ptrdiff_t depth = g->kernel[0] * g->kernel[1] * g->kernel[2] * (g->channels / g->groups);
    ptrdiff_t packed = (outs + LANES - 1) / LANES * LANES, finished = finished_stages(d->epilogue);
    Epilogue rest = {0};
    if (d->epilogue) rest = *d->epilogue;
    Block block = {g->out, d->out_stride, 0, 0, 0, 0, rest.stages, finished};
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
