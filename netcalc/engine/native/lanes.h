/* Vectors of floats, for sums and maxima, which the compiler does not vectorize since that changes their order. */

#ifndef NETCALC_LANES_H
#define NETCALC_LANES_H

#include "common.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

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

/* As `at_least` and `at_most` in common.h, for each lane: one instruction, which compilers do not find by themselves. */
INLINE Lanes each_at_least(Lanes x, Lanes b) {
#if defined(__AVX512F__)
    return (Lanes)_mm512_max_ps((__m512)b, (__m512)x);
#elif defined(__AVX2__)
    return (Lanes)_mm256_max_ps((__m256)b, (__m256)x);
#elif defined(__SSE2__)
    return (Lanes)_mm_max_ps((__m128)b, (__m128)x);
#elif defined(__aarch64__)
    return (Lanes)vmaxq_f32((float32x4_t)b, (float32x4_t)x);
#else
    Bits below = (Bits)(x < b);
    return (Lanes)(((Bits)b & below) | ((Bits)x & ~below));
#endif
}

INLINE Lanes lanes_at_least(Lanes x, float b) { return each_at_least(x, (Lanes){0} + b); }

INLINE Lanes lanes_at_most(Lanes x, float b) {
#if defined(__AVX512F__)
    return (Lanes)_mm512_min_ps(_mm512_set1_ps(b), (__m512)x);
#elif defined(__AVX2__)
    return (Lanes)_mm256_min_ps(_mm256_set1_ps(b), (__m256)x);
#elif defined(__SSE2__)
    return (Lanes)_mm_min_ps(_mm_set1_ps(b), (__m128)x);
#elif defined(__aarch64__)
    return (Lanes)vminq_f32(vdupq_n_f32(b), (float32x4_t)x);
#else
    Lanes bound = (Lanes){0} + b;
    Bits above = (Bits)(x > bound);
    return (Lanes)(((Bits)bound & above) | ((Bits)x & ~above));
#endif
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
