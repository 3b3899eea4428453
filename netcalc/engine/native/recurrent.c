/* One position in time of a recurrent layer, for a single sample: the product with the state, and the cell update. */

#include "lanes.h"

enum { PANEL = 4 };

/* In the order of `_KINDS` in recurrent.py. */
enum { TANH, RELU, LSTM, GRU };

/* A range of the hidden features of a layer.  Rows of all gates are those of lower/recurrent_gates.py: for each gate
   its hidden features; rows of logistic gates are halved. */
typedef struct {
    const float *matrix; /* panels of up to PANEL · LANES rows, each (features, rows); filled up with zeros */
    const float *inputs; /* (turns, rows), `input_stride` apart: products of the inputs, with the biases */
    const float *start;  /* the state before the first position */
    const float *states; /* (positions, features), `state_stride` apart */
    float *out;          /* (positions, hidden), `out_stride` apart */
    float *cell;         /* of an LSTM */
    const float *bias;   /* of the product within the candidate of a GRU, or NULL */
    float *sums;         /* scratch for all rows of the matrix */
    ptrdiff_t kind, rows, hidden, first, features; /* `first` of the features is the first hidden one */
    ptrdiff_t input_stride, state_stride, out_stride;
    ptrdiff_t turn, time; /* numbers of the position in `inputs`, and in `states` and `out` */
} Recurrent;

/* Two sums for each row hide the latency of the additions. */
INLINE void panel(const float *matrix, const float *x, float *out, ptrdiff_t features, int width) {
    Lanes even[PANEL] = {{0}}, odd[PANEL] = {{0}};
    ptrdiff_t k = 0;
    for (; k + 2 <= features; k += 2, matrix += 2 * width * LANES)
        for (int n = 0; n < width; n++) {
            even[n] += load(matrix + n * LANES) * x[k];
            odd[n] += load(matrix + (width + n) * LANES) * x[k + 1];
        }
    if (k < features)
        for (int n = 0; n < width; n++) even[n] += load(matrix + n * LANES) * x[k];
    for (int n = 0; n < width; n++) store(out + n * LANES, even[n] + odd[n]);
}

INLINE void product(const Recurrent *r, const float *x) {
    const float *matrix = r->matrix;
    float *out = r->sums;
    for (ptrdiff_t left = (r->rows + LANES - 1) / LANES; left > 0; left -= PANEL) {
        switch (left) {
        case 1: panel(matrix, x, out, r->features, 1); break;
        case 2: panel(matrix, x, out, r->features, 2); break;
        case 3: panel(matrix, x, out, r->features, 3); break;
        default: panel(matrix, x, out, r->features, PANEL);
        }
        matrix += PANEL * LANES * r->features;
        out += PANEL * LANES;
    }
}

#define EACH _Pragma("GCC ivdep") for (ptrdiff_t h = 0; h < n; h++)

KERNEL(recurrent)(const Recurrent *r) {
    const float *previous = r->time ? r->states + (r->time - 1) * r->state_stride : r->start;
    const float *in = r->inputs + r->turn * r->input_stride, *z = r->sums, *bias = r->bias;
    float *out = r->out + r->time * r->out_stride, *cell = r->cell;
    const ptrdiff_t n = r->hidden;
    product(r, previous);
    previous += r->first;
    switch (r->kind) {
    case TANH:
        EACH out[h] = tangent(z[h] + in[h]);
        break;
    case RELU:
        EACH out[h] = at_least(z[h] + in[h], 0.0f);
        break;
    case LSTM:
        EACH {
            float input = logistic(2.0f * (z[h] + in[h])), forget = logistic(2.0f * (z[n + h] + in[n + h]));
            cell[h] = cell[h] * forget + input * tangent(z[3 * n + h] + in[3 * n + h]);
        }
        EACH out[h] = logistic(2.0f * (z[2 * n + h] + in[2 * n + h])) * tangent(cell[h]);
        break;
    case GRU:
        EACH {
            float reset = logistic(2.0f * (z[h] + in[h])), update = logistic(2.0f * (z[n + h] + in[n + h]));
            float inner = bias == NULL ? z[2 * n + h] : z[2 * n + h] + bias[h];
            float candidate = tangent(inner * reset + in[2 * n + h]);
            out[h] = candidate + update * (previous[h] - candidate);
        }
    }
}
