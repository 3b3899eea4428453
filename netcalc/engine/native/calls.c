/* Phases that a process runs alone, compiled once. */

#include "calls.h"

/* The process's jobs of some phases. */
EXPORT void netcalc_run_alone(const Table *table, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++) run_own(table, table->phases + i);
}
