/* Sharing of jobs among processes, compiled once: claims of jobs, and waiting that spins for a bounded time and then
   sleeps.  All of it works on 64-bit integers in memory that the processes share.

   The owner publishes the number of a phase, which grows, and processes claim jobs by writing it into the job's word.
   A claim of an earlier phase fails, since its words all have this number or a later one. */

#if defined(__linux__)
#define _GNU_SOURCE
#include "calls.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What wakes a sleeper is apart from what is often written, in cache lines of their own. */
typedef struct {
    int64_t phase, sleepers, core, unused[5];
    int64_t done, owner_sleeps, unused_too[6];
    int64_t claims[];
} Board;

/* Of one process: when it began to work without a break, its involuntary switches and time of the processor until then,
   until when it takes its core for one that it shares, and until when another interruption shows that. */
typedef struct {
    int64_t begun, switches, used, shared_until, suspected_until;
} Breaks;

enum { MICROSECOND = 1000, MILLISECOND = 1000000 };

/* Work without a break on a shared core: well below a slice of the scheduler, behind which a process loses its core
   with a job in its hands.  A break lasts as long as the timer's slack and this. */
static const int64_t BURST = 300 * MICROSECOND, BREAK = 50 * MICROSECOND;
/* An interruption of work, or a break, of at least half a slice: of another process, since tasks of the system take less.
   A second one soon after shows that it wants the core. */
static const int64_t LATE = 1500 * MICROSECOND, SUSPICION = 50 * MILLISECOND;
/* How long a core counts as shared after that. */
static const int64_t MEMORY = 200 * MILLISECOND;
/* Spinning of a worker, and on a shared core; and of the owner, whose core a worker can use while it sleeps. */
static const int64_t SPIN = MILLISECOND, SHORT_SPIN = 20 * MICROSECOND, OWNER_SPIN = 500 * MICROSECOND;

static int64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000 * MILLISECOND + time.tv_nsec;
}

static int64_t now(void) { return read_clock(CLOCK_MONOTONIC); }

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Address of the lower half of a word, which the kernel compares. */
static uint32_t *lower(int64_t *word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint32_t *)word + 1;
#else
    return (uint32_t *)word;
#endif
}

static void wake(int64_t *word) { syscall(SYS_futex, lower(word), FUTEX_WAKE, INT_MAX, 0, 0, 0); }

/* Wait while `word` is `seen`: spin for some nanoseconds, then sleep, as `sleepers` tells others, for a limited time.
   Returns the word. */
static int64_t changed(int64_t *word, int64_t seen, int64_t *sleepers, int64_t spin, int64_t sleep) {
    for (int64_t end = now() + spin; spin > 0;) {
        for (int turn = 0; turn < 64; turn++) {
            int64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
            if (value != seen) return value;
            relax();
        }
        if (now() > end) break;
    }
    struct timespec limit = {sleep / (1000 * MILLISECOND), sleep % (1000 * MILLISECOND)};
    __atomic_fetch_add(sleepers, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == seen)
        syscall(SYS_futex, lower(word), FUTEX_WAIT, (uint32_t)seen, &limit, 0, 0);
    __atomic_fetch_sub(sleepers, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static int64_t involuntary_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* Begin to work without a break. */
static void begin(Breaks *breaks) {
    breaks->begun = now();
    breaks->used = read_clock(CLOCK_THREAD_CPUTIME_ID);
    breaks->switches = involuntary_switches();
}

/* Return 1 if another process took the core for long since then. */
static int was_interrupted(const Breaks *breaks, int64_t time) {
    return involuntary_switches() > breaks->switches &&
           time - breaks->begun > read_clock(CLOCK_THREAD_CPUTIME_ID) - breaks->used + LATE;
}

static void note_interruption(Breaks *breaks, int64_t time) {
    if (time < breaks->suspected_until) breaks->shared_until = time + MEMORY;
    breaks->suspected_until = time + SUSPICION;
}

/* Leave the owner's core, where the kernel may have woken this process, for the next one that it may use. */
static void leave(int64_t core) {
    cpu_set_t allowed, other;
    if (sched_getcpu() != core || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    CPU_ZERO(&other);
    for (int step = 1; step < CPU_SETSIZE; step++) {
        int next = (int)((core + step) % CPU_SETSIZE);
        if (CPU_ISSET(next, &allowed) && next != core) {
            CPU_SET(next, &other);
            sched_setaffinity(0, sizeof other, &other);
            sched_setaffinity(0, sizeof allowed, &allowed);
            return;
        }
    }
}

/* Begin a phase. */
EXPORT void netcalc_publish(Board *board, int64_t phase) {
    board->core = sched_getcpu();
    __atomic_store_n(&board->phase, phase, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&board->sleepers, __ATOMIC_SEQ_CST)) wake(&board->phase);
}

/* Wait for a phase behind the one seen, and return it; the same one if there is none for half a second. */
static int64_t next_phase(Board *board, Breaks *breaks, int64_t seen) {
    int64_t start = now(), spin = start < breaks->shared_until ? SHORT_SPIN : SPIN;
    int64_t phase = changed(&board->phase, seen, &board->sleepers, spin, 500 * MILLISECOND);
    if (now() > start + spin || breaks->begun == 0) { /* it slept, or has just begun */
        leave(__atomic_load_n(&board->core, __ATOMIC_RELAXED));
        begin(breaks);
    }
    return phase;
}

/* Claim the first free job from `first` on, of `count` jobs in the direction of `step`; -1 if there is none. */
EXPORT int64_t netcalc_claim(Board *board, int64_t phase, int64_t first, int64_t count, int64_t step) {
    for (int64_t job = first; count > 0; count--, job += step) {
        int64_t before = __atomic_load_n(&board->claims[job], __ATOMIC_RELAXED);
        if (before < phase && __atomic_compare_exchange_n(&board->claims[job], &before, phase, 0, __ATOMIC_ACQ_REL,
                                                          __ATOMIC_RELAXED))
            return job;
    }
    return -1;
}

/* Report a job that is done.  Then, if another process wants the core, sleep for a moment without a job in hand: the
   scheduler lets a process that sleeps go on at once where it has run for less than its share, and would otherwise
   interrupt it for milliseconds, in which the owner waits for its job. */
EXPORT void netcalc_done(Board *board, Breaks *breaks) {
    __atomic_fetch_add(&board->done, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&board->owner_sleeps, __ATOMIC_SEQ_CST)) wake(&board->done);
    int64_t time = now();
    if (time < breaks->begun + BURST) return;
    if (was_interrupted(breaks, time)) note_interruption(breaks, time);
    if (time < breaks->shared_until) {
        struct timespec moment = {0, BREAK};
        nanosleep(&moment, 0);
        int64_t after = now();
        if (after > time + LATE) note_interruption(breaks, after);
    }
    begin(breaks);
}

/* Wait until more jobs of workers are done than `seen`, and return their number; the same one after half a second, or
   for a signal. */
EXPORT int64_t netcalc_more_done(Board *board, int64_t seen) {
    return changed(&board->done, seen, &board->owner_sleeps, OWNER_SPIN, 500 * MILLISECOND);
}

/* Jobs of a shared phase: the process's own in order, then what others have left, the last first.  Returns their
   number; workers report each. */
static int64_t run_claimed(Board *board, Breaks *breaks, const Table *table, const Phase *phase, int64_t number) {
    int64_t done = 0;
    for (int others = 0; others < 2; others++)
        for (;;) {
            int64_t job = others ? netcalc_claim(board, number, phase->shared - 1, phase->shared, -1)
                                 : netcalc_claim(board, number, phase->own, phase->count, 1);
            if (job < 0) break;
            run_job(table, phase->first + job);
            if (breaks) netcalc_done(board, breaks);
            done++;
        }
    return done;
}

/* The owner's part of some phases, of which the first one has a number.  `expected` is the number of jobs of workers,
   which grows.  Returns how many phases are complete; less than `count` if workers take long for the next one. */
EXPORT int64_t netcalc_run_shared(Board *board, const Table *table, int64_t *expected, int64_t number, int64_t first,
                                  int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const Phase *phase = table->phases + first + i;
        if (phase->shared == 0) {
            run_own(table, phase);
            continue;
        }
        netcalc_publish(board, number + i);
        *expected += phase->shared - run_claimed(board, 0, table, phase, number + i);
        for (int64_t done = __atomic_load_n(&board->done, __ATOMIC_ACQUIRE), before; done < *expected;) {
            before = done;
            done = netcalc_more_done(board, before);
            if (done == before) return i;
        }
    }
    return count;
}

/* A worker's part of phases whose calls are known, behind the one seen.  Returns the number of the first other phase; or
   that of the last one, negative, if nothing comes for half a second. */
EXPORT int64_t netcalc_serve(Board *board, Breaks *breaks, const Table *table, int64_t seen) {
    for (;;) {
        int64_t number = next_phase(board, breaks, seen);
        if (number == seen) return -seen;
        const Phase *phase = table->phases + (number - 1) % table->number;
        if (!phase->known) return number;
        if (phase->shared) run_claimed(board, breaks, table, phase, number);
        seen = number;
    }
}
#endif
