/* Facts of the whole library, compiled once: its sources, and the instruction sets of the processor. */

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *netcalc_digest = DIGEST;
/* Digest of the sources and of the command that compiled them. */
EXPORT const char *netcalc_build = BUILD;

/* Names of instruction sets that the processor has, the best first. */
EXPORT const char *netcalc_instruction_sets(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return "sse2";
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "avx512 avx2 sse2";
    return "avx2 sse2";
#elif defined(__aarch64__)
    return "neon";
#else
    return "generic";
#endif
}
