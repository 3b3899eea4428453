/* Vectors of floats, for sums and maxima, which the compiler does not vectorize since that changes their order. */

#ifndef NETCALC_LANES_H
#define NETCALC_LANES_H

#include "common.h"

/* LANES floats fill a register.  The sums of a block of a product, of ROWS by VECTORS registers, stay in registers:
   24 of the 32 of AVX-512, 12 of the 16 of AVX2, and 16 of the 32 of NEON, since more are spilled there.  Other instruction sets have no fused multiply-add, without
   which such blocks are slower than BLAS. */
#if defined(__AVX512F__)
enum { LANES = 16, ROWS = 12, LAST_ROWS = 4, VECTORS = 2, HAS_BLOCKS = 1 };
#elif defined(__AVX2__) && defined(__FMA__)
enum { LANES = 8, ROWS = 6, LAST_ROWS = 2, VECTORS = 2, HAS_BLOCKS = 1 };
#elif defined(__aarch64__)
enum { LANES = 4, ROWS = 8, LAST_ROWS = 4, VECTORS = 2, HAS_BLOCKS = 1 };
#else
enum { LANES = 4, ROWS = 4, LAST_ROWS = 2, VECTORS = 2, HAS_BLOCKS = 0 };
#endif

typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef uint32_t Bits __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

INLINE Lanes load(const float *p) { return *(const Lanes *)p; }
INLINE void store(float *p, Lanes x) { *(Lanes *)p = x; }

/* The first `count` elements, and `other` in the other lanes. */
INLINE Lanes load_part(const float *p, ptrdiff_t count, float other) {
    Lanes x = (Lanes){0} + other;
    memcpy(&x, p, (size_t)count * sizeof(float));
    return x;
}

INLINE void store_part(float *p, Lanes x, ptrdiff_t count) { memcpy(p, &x, (size_t)count * sizeof(float)); }

/* The larger of each pair; b if one is NaN. */
INLINE Lanes larger_lanes(Lanes a, Lanes b) {
    Bits first = (Bits)(a > b);
    return (Lanes)(((Bits)a & first) | ((Bits)b & ~first));
}

/* As `at_least` and `at_most` in common.h, for each lane. */
INLINE Lanes lanes_at_least(Lanes x, float b) {
    Lanes bounded;
    for (int i = 0; i < LANES; i++) bounded[i] = at_least(x[i], b);
    return bounded;
}

INLINE Lanes lanes_at_most(Lanes x, float b) {
    Lanes bounded;
    for (int i = 0; i < LANES; i++) bounded[i] = at_most(x[i], b);
    return bounded;
}

INLINE float largest_lane(Lanes x) {
    float largest = x[0];
    for (int i = 1; i < LANES; i++) largest = at_least(largest, x[i]);
    return largest;
}

INLINE float sum_of_lanes(Lanes x) {
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
}

/* exp(x) of x ≤ 0, as `exponential` in common.h without what only larger numbers need. */
INLINE Lanes decay(Lanes x) {
    Bits lost = (Bits)(x < -87.33654f);
    Lanes shifted = x * 1.44269504f + 12582912.0f; /* the integer is in the lowest bits */
    Lanes n = shifted - 12582912.0f;
    Lanes r = x - n * 0.693359375f + n * 2.12194440e-4f;
    Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    Bits power = ((Bits)shifted << 23) + (127u << 23);
    return (Lanes)((Bits)(p * (Lanes)power) & ~lost);
}

#endif
