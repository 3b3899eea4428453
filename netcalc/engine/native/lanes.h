/* Vectors of floats, for sums and maxima, which the compiler does not vectorize since that changes their order. */

#ifndef NETCALC_LANES_H
#define NETCALC_LANES_H

#include "common.h"

enum { LANES = 16 };

typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef uint32_t Bits __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* True if the processor has 32 registers of LANES floats.  Blocks that were made for these do not fit the 16 registers
   of half that size which AVX2 has, and take several times as long there. */
INLINE int has_wide_registers(void) {
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(SINGLE_VERSION)
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}

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

INLINE float largest_lane(Lanes x) {
    float largest = x[0];
    for (int i = 1; i < LANES; i++) largest = at_least(largest, x[i]);
    return largest;
}

INLINE float sum_of_lanes(Lanes x) {
    float part[LANES / 2];
    for (int i = 0; i < LANES / 2; i++) part[i] = x[i] + x[i + LANES / 2];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
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
