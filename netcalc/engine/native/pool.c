/* The largest element or the sum of each window of images whose channels lie together.  Windows are cut at the edges; one
   without elements gives -inf or 0. */

#include "lanes.h"
#include "windows.h"

enum { TOGETHER = 4 };

typedef struct {
    Windows windows;   /* as many filters as channels, no weight */
    ptrdiff_t largest; /* 1 for the largest element, 0 for the sum */
} Pool;

/* A window, for `vectors`·LANES channels. */
INLINE void window(const Windows *d, const float *x, float *out, const Taps *t, int largest, int vectors) {
    Lanes found[TOGETHER];
    Bits lost[TOGETHER] = {{0}}; /* all bits where an element is NaN: a result with them is NaN */
    for (int v = 0; v < vectors; v++) found[v] = (Lanes){0} + (largest ? -__builtin_inff() : 0.0f);
    for (ptrdiff_t i = t[0].begin; i < t[0].end; i++)
        for (ptrdiff_t j = t[1].begin; j < t[1].end; j++)
            for (ptrdiff_t k = t[2].begin; k < t[2].end; k++) {
                const float *p = tap_at(d, x, t, i, j, k);
                for (int v = 0; v < vectors; v++) {
                    Lanes element = load(p + v * LANES);
                    if (!largest) {
                        found[v] += element;
                        continue;
                    }
                    found[v] = each_at_least(element, found[v]);
                    lost[v] |= (Bits)(element != element);
                }
            }
    for (int v = 0; v < vectors; v++) store(out + v * LANES, (Lanes)((Bits)found[v] | lost[v]));
}

/* All windows.  The last vector of channels ends with the last channel and overlaps the one before. */
INLINE void images(const Windows *d, int largest) {
    float *out = d->out;
    for (ptrdiff_t n = 0; n < d->images; n++)
        for (ptrdiff_t i = 0; i < d->count[0]; i++)
            for (ptrdiff_t j = 0; j < d->count[1]; j++)
                for (ptrdiff_t k = 0; k < d->count[2]; k++, out += d->channels) {
                    const float *x = d->x + n * d->image_stride;
                    ptrdiff_t c = 0;
                    Taps t[AXES] = {taps_within(d, 0, d->first[0] + i), taps_within(d, 1, d->first[1] + j),
                                    taps_within(d, 2, d->first[2] + k)};
                    for (; c + TOGETHER * LANES <= d->channels; c += TOGETHER * LANES)
                        window(d, x + c, out + c, t, largest, TOGETHER);
                    for (; c < d->channels; c += LANES) {
                        ptrdiff_t at = least(c, d->channels - LANES);
                        window(d, x + at, out + at, t, largest, 1);
                    }
                }
}

KERNEL(pool)(const Pool *p) {
    if (p->largest)
        images(&p->windows, 1);
    else
        images(&p->windows, 0);
}
