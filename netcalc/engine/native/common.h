/* Common to the kernels: their names, and functions of single elements.

   Each source is compiled once for each instruction set, whose name is ISA.  Loops are written for the compiler to
   vectorize.  Arithmetic is that of float32; comparisons are such that NaN goes through. */

#ifndef NETCALC_COMMON_H
#define NETCALC_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define JOINED(name, isa) netcalc_##name##_##isa
#define NAMED(name, isa) JOINED(name, isa)
#define KERNEL(name) EXPORT void NAMED(name, ISA)
#define INLINE static inline __attribute__((always_inline))

INLINE ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
INLINE ptrdiff_t most(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* b if x is less than b, otherwise x: NaN remains. */
INLINE float at_least(float x, float b) { return x < b ? b : x; }
INLINE float at_most(float x, float b) { return x > b ? b : x; }

/* exp(x), with an error of about one unit in the last place; 0 below -87, where the result is (almost) subnormal.

   x = n·ln 2 + r with |r| ≤ ½·ln 2, and exp(x) = 2·exp(r)·2^(n-1), since 2^128 is no float32.  The polynomial is that
   of Cephes' expf (S. L. Moshier), times 2. */
INLINE float exponential(float x) {
    float bounded = at_most(at_least(x, -87.33654f), 89.0f);
    union { float value; uint32_t bits; } n, power;
    n.value = bounded * 1.44269504f + 12582912.0f; /* 1.5·2^23: rounds to an integer, in the lowest bits */
    power.bits = (n.bits << 23) + (126u << 23);
    float integer = n.value - 12582912.0f;
    float r = bounded - integer * 0.693359375f + integer * 2.12194440e-4f;
    float p = 2 * 1.9875691500e-4f;
    p = p * r + 2 * 1.3981999507e-3f;
    p = p * r + 2 * 8.3334519073e-3f;
    p = p * r + 2 * 4.1665795894e-2f;
    p = p * r + 2 * 1.6666665459e-1f;
    p = p * r + 2 * 5.0000001201e-1f;
    p = p * r + 2;
    p = p * r + 2;
    return p * power.value;
}

/* 1 / (1 + exp(-x)). */
INLINE float logistic(float x) { return 1.0f / (1.0f + exponential(-x)); }

/* tanh(x): a polynomial near 0 (Cephes' tanhf), where 1 - 2/(1 + exp(2x)) loses digits. */
INLINE float tangent(float x) {
    float s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    p = p * s * x + x;
    float far = 1.0f - 2.0f / (1.0f + exponential(2.0f * x));
    return s < 0.390625f ? p : far;
}

#endif
