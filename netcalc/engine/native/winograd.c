/* Transforms of Winograd's minimal filtering F(m×m, 3×3), for m = 2 and 4, of images whose channels lie together.

   A tile has n×n pixels, n = m + 2, and neighbors overlap by two.  The points of F(4×4, 3×3) are 0, ±A, ±B and
   infinity, chosen for their small rounding errors. */

#include "lanes.h"

#define A 0.625f
#define B 1.5f

enum { MOST = 6 };

/* Tiles of images; strides are in elements. */
typedef struct {
    float *image;           /* the first image, or the part of the result, of pixels of channels */
    float *planes;          /* (n, n, images, rows, across, channels), the first two axes of tiles apart by `plane` */
    ptrdiff_t m;            /* 2 or 4 */
    ptrdiff_t images, rows, across, channels;
    ptrdiff_t top, left;    /* place of the first tile in an image; negative in the padding */
    ptrdiff_t height, width;
    ptrdiff_t image_stride, row_stride, column_stride, plane;
} Winograd;

/* Bᵀ·d of a column d. */
INLINE void input_column(Lanes *d, int m, ptrdiff_t step) {
    Lanes d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (m == 2) {
        d[0] = d0 - d2;
        d[step] = d1 + d2;
        d[2 * step] = d2 - d1;
        d[3 * step] = d1 - d3;
        return;
    }
    Lanes d4 = d[4 * step], d5 = d[5 * step];
    Lanes near = d4 - B * B * d2, near_odd = A * (d3 - B * B * d1);
    Lanes far = d4 - A * A * d2, far_odd = B * (d3 - A * A * d1);
    d[0] = A * A * B * B * d0 - (A * A + B * B) * d2 + d4;
    d[step] = near + near_odd;
    d[2 * step] = near - near_odd;
    d[3 * step] = far + far_odd;
    d[4 * step] = far - far_odd;
    d[5 * step] = A * A * B * B * d1 - (A * A + B * B) * d3 + d5;
}

/* Aᵀ·p of a column p. */
INLINE void output_column(Lanes *p, int m, ptrdiff_t step) {
    Lanes p0 = p[0], p3 = p[3 * step];
    Lanes sum = p[step] + p[2 * step], difference = p[step] - p[2 * step];
    if (m == 2) {
        p[0] = p0 + sum;
        p[step] = difference - p3;
        return;
    }
    Lanes p4 = p[4 * step], far = p3 + p4, far_difference = p3 - p4;
    p[0] = p0 + sum + far;
    p[step] = A * difference + B * far_difference;
    p[2 * step] = A * A * sum + B * B * far;
    p[3 * step] = A * A * A * difference + B * B * B * far_difference + p[5 * step];
}

/* Addresses of the pixels of a tile.  Those outside of the image are of zeros, for all channels. */
typedef struct {
    const float *pixel[MOST * MOST];
    ptrdiff_t mask[MOST * MOST]; /* of the number of the channel */
} Pixels;

static const float zeros[LANES];

INLINE void find_pixels(const Winograd *w, const float *x, Pixels *pixels, ptrdiff_t i, ptrdiff_t j, int m) {
    int n = m + 2;
    for (int r = 0; r < n; r++)
        for (int k = 0; k < n; k++) {
            int inside = i + r >= 0 && i + r < w->height && j + k >= 0 && j + k < w->width;
            pixels->pixel[r * n + k] = inside ? x + r * w->row_stride + k * w->column_stride : zeros;
            pixels->mask[r * n + k] = -(ptrdiff_t)inside;
        }
}

/* `count` channels, from `at` on, of a tile that lies within the image if there are no addresses of its pixels. */
INLINE void input_block(const Winograd *w, const float *x, const Pixels *pixels, float *planes, ptrdiff_t at, int m,
                        ptrdiff_t count) {
    Lanes d[MOST * MOST];
    int n = m + 2;
    for (int k = 0; k < n; k++) {
        for (int r = 0; r < n; r++) {
            int q = r * n + k;
            d[q] = pixels ? load_part(pixels->pixel[q] + (at & pixels->mask[q]), count, 0)
                          : load_part(x + at + r * w->row_stride + k * w->column_stride, count, 0);
        }
        input_column(d + k, m, n);
    }
    for (int r = 0; r < n; r++) {
        input_column(d + r * n, m, 1);
        for (int k = 0; k < n; k++) memcpy(planes + at + (r * n + k) * w->plane, &d[r * n + k], count * sizeof(float));
    }
}

/* `count` channels of the pixels of a tile; those beyond the edge of the image are dropped. */
INLINE void output_block(const Winograd *w, float *y, const float *planes, ptrdiff_t i, ptrdiff_t j, int m, int whole,
                         ptrdiff_t count) {
    Lanes p[MOST * MOST];
    int n = m + 2;
    for (int k = 0; k < n; k++) {
        for (int r = 0; r < n; r++) p[r * n + k] = load_part(planes + (r * n + k) * w->plane, count, 0);
        output_column(p + k, m, n);
    }
    for (int r = 0; r < m; r++) {
        if (!whole && i + r >= w->height) break;
        output_column(p + r * n, m, 1);
        for (int k = 0; k < m; k++)
            if (whole || j + k < w->width)
                memcpy(y + r * w->row_stride + k * w->column_stride, &p[r * n + k], count * sizeof(float));
    }
}

/* The block of channels that begins with `c`, or ends with the last channel and overlaps the block before. */
INLINE ptrdiff_t block_at(const Winograd *w, ptrdiff_t c) { return c + LANES <= w->channels ? c : w->channels - LANES; }

INLINE void input_tile(const Winograd *w, const float *x, float *planes, ptrdiff_t i, ptrdiff_t j, int m) {
    Pixels pixels;
    if (w->channels >= LANES && i >= 0 && j >= 0 && i + m + 2 <= w->height && j + m + 2 <= w->width) {
        for (ptrdiff_t c = 0; c < w->channels; c += LANES) input_block(w, x, NULL, planes, block_at(w, c), m, LANES);
        return;
    }
    find_pixels(w, x, &pixels, i, j, m);
    if (w->channels < LANES)
        input_block(w, x, &pixels, planes, 0, m, w->channels);
    else
        for (ptrdiff_t c = 0; c < w->channels; c += LANES) input_block(w, x, &pixels, planes, block_at(w, c), m, LANES);
}

INLINE void output_tile(const Winograd *w, float *y, const float *planes, ptrdiff_t i, ptrdiff_t j, int m) {
    int whole = i + m <= w->height && j + m <= w->width;
    if (w->channels < LANES) {
        output_block(w, y, planes, i, j, m, 0, w->channels);
        return;
    }
    for (ptrdiff_t c = 0; c < w->channels; c += LANES) {
        ptrdiff_t at = block_at(w, c);
        if (whole)
            output_block(w, y + at, planes + at, i, j, m, 1, LANES);
        else
            output_block(w, y + at, planes + at, i, j, m, 0, LANES);
    }
}

INLINE void all_tiles(const Winograd *w, int m, int output) {
    float *planes = w->planes;
    for (ptrdiff_t n = 0; n < w->images; n++)
        for (ptrdiff_t row = 0; row < w->rows; row++)
            for (ptrdiff_t column = 0; column < w->across; column++) {
                ptrdiff_t i = w->top + row * m, j = w->left + column * m;
                float *image = w->image + n * w->image_stride + i * w->row_stride + j * w->column_stride;
                if (output)
                    output_tile(w, image, planes, i, j, m);
                else
                    input_tile(w, image, planes, i, j, m);
                planes += w->channels;
            }
}

KERNEL(winograd_input)(const Winograd *w) {
    if (w->m == 2)
        all_tiles(w, 2, 0);
    else
        all_tiles(w, 4, 0);
}

KERNEL(winograd_output)(const Winograd *w) {
    if (w->m == 2)
        all_tiles(w, 2, 1);
    else
        all_tiles(w, 4, 1);
}
