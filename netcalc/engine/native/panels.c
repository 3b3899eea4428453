/* Packs the filters of a product in panels, in place: (columns, depth) becomes (panels, depth, VECTORS·LANES), zeros
   after the last column.  The last panel is a single vector wide if it has no more columns. */

#include "lanes.h"

typedef struct {
    float *panels;  /* the filters, and then the panels: each takes the place of its columns */
    float *scratch; /* (VECTORS·LANES, depth) */
    ptrdiff_t columns, depth;
} Panels;

/* A panel of `count` columns; some of the depth of all of them before the next, so that lines stay in the cache. */
INLINE void pack(const float *filters, float *panel, ptrdiff_t depth, ptrdiff_t count, ptrdiff_t width) {
    for (ptrdiff_t begin = 0; begin < depth; begin += 16) {
        ptrdiff_t end = least(begin + 16, depth);
        for (ptrdiff_t m = 0; m < width; m++)
            for (ptrdiff_t k = begin; k < end; k++) panel[k * width + m] = m < count ? filters[m * depth + k] : 0;
    }
}

KERNEL(panels)(const Panels *d) {
    for (ptrdiff_t c = 0; c < d->columns; c += VECTORS * LANES) {
        ptrdiff_t count = least(VECTORS * LANES, d->columns - c);
        float *panel = d->panels + c * d->depth;
        memcpy(d->scratch, panel, (size_t)(count * d->depth) * sizeof(float));
        if (count > LANES)
            pack(d->scratch, panel, d->depth, count, VECTORS * LANES);
        else
            pack(d->scratch, panel, d->depth, count, LANES);
    }
}
