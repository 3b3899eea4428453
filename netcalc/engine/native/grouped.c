/* Convolution of few channels in each group, of images whose channels lie together.

   The sums of eight pixels and eight filters of a group stay in registers.  The taps of a pixel are read in place, each
   at its address, which for the padding is that of zeros.  The weight is (blocks of eight filters, kernel..., channels of a
   group, 8). */

#include "common.h"
#include "windows.h"

enum { WIDTH = 8, PIXELS = 8, MOST_TAPS = 64, MOST_CHANNELS = 4096 };

typedef float Filters __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));

static const float zeros[MOST_CHANNELS];

/* Finds the addresses of the taps of a window, which are `PIXELS` apart in `taps`. */
INLINE void find_taps(const Windows *g, ptrdiff_t window, const float **taps) {
    ptrdiff_t start[AXES], at[AXES];
    for (int axis = AXES - 1; axis >= 0; axis--) {
        start[axis] = (g->first[axis] + window % g->count[axis]) * g->stride[axis] - g->padding[axis];
        window /= g->count[axis];
    }
    const float *image = g->x + window * g->image_stride;
    for (ptrdiff_t i = 0; i < g->kernel[0]; i++)
        for (ptrdiff_t j = 0; j < g->kernel[1]; j++)
            for (ptrdiff_t k = 0; k < g->kernel[2]; k++) {
                ptrdiff_t tap[AXES] = {i, j, k};
                int inside = 1;
                for (int axis = 0; axis < AXES; axis++) {
                    at[axis] = start[axis] + tap[axis] * g->dilation[axis];
                    inside &= at[axis] >= 0 && at[axis] < g->size[axis];
                }
                *taps = inside ? image + at[0] * g->x_stride[0] + at[1] * g->x_stride[1] + at[2] * g->x_stride[2] : zeros;
                taps += PIXELS;
            }
}

KERNEL(grouped)(const Windows *g) {
    const float *taps[MOST_TAPS * PIXELS];
    ptrdiff_t number = g->kernel[0] * g->kernel[1] * g->kernel[2], filters = g->filters, blocks = filters / WIDTH;
    ptrdiff_t share = g->channels / g->groups, blocks_of_group = blocks / g->groups;
    ptrdiff_t windows = g->images * g->count[0] * g->count[1] * g->count[2];
    for (ptrdiff_t first = 0; first < windows; first += PIXELS) {
        ptrdiff_t together = windows - first < PIXELS ? windows - first : PIXELS;
        for (ptrdiff_t n = 0; n < PIXELS; n++) find_taps(g, first + (n < together ? n : 0), taps + n);
        float *out = g->out + first * filters;
        const float *weight = g->weight;
        for (ptrdiff_t block = 0; block < blocks; block++) {
            ptrdiff_t channel = block / blocks_of_group * share;
            Filters sums[PIXELS] = {{0}};
            for (ptrdiff_t tap = 0; tap < number; tap++) {
                const float *p[PIXELS];
                for (int n = 0; n < PIXELS; n++) p[n] = taps[tap * PIXELS + n] + channel;
                for (ptrdiff_t c = 0; c < share; c++) {
                    Filters w = *(const Filters *)weight;
                    for (int n = 0; n < PIXELS; n++) sums[n] += w * p[n][c];
                    weight += WIDTH;
                }
            }
            for (ptrdiff_t n = 0; n < together; n++) *(Filters *)(out + n * filters + block * WIDTH) = sums[n];
        }
    }
}
