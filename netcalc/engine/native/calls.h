/* Phases of a process whose jobs are calls of kernels. */

#ifndef NETCALC_CALLS_H
#define NETCALC_CALLS_H

#include "common.h"

typedef struct {
    void (*kernel)(const void *);
    const void *arguments;
} Call;

/* A phase of one process: the number of its jobs that processes share, or 0; its own ones; the first of its jobs among
   all; and 1 if their calls are known. */
typedef struct {
    int64_t shared, own, count, first, known;
} Phase;

/* The phases of a process.  Calls of a job are those from `starts[job]` to `starts[job + 1]`; of a phase that is shared
   all jobs are there, otherwise the process's own. */
typedef struct {
    const Phase *phases;
    const int64_t *starts;
    const Call *calls;
    int64_t number;
} Table;

INLINE void run_job(const Table *table, int64_t job) {
    for (int64_t i = table->starts[job]; i < table->starts[job + 1]; i++) table->calls[i].kernel(table->calls[i].arguments);
}

INLINE void run_own(const Table *table, const Phase *phase) {
    for (int64_t i = 0; i < phase->count; i++) run_job(table, phase->first + i);
}

#endif
