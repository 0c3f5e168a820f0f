/*
 * One thread at a time, and a seed that says which: preloaded into a process of its own, this makes the threads of a
 * program take turns, so that a seed has one history.
 *
 * A turn ends where a thread calls the driver (`enter` in calls.c), where it waits (a futex, a sleep, a join: every lock,
 * condition and channel of Rust's ends in one), where it wakes others, where it gives way (`sched_yield`), and at times
 * where the program has memory or gives it back, which is often in the midst of something. There the seed picks who goes
 * on among all who can. Nobody is interrupted between two such places, so the orders that this finds are fewer than a
 * machine's; what lies between is the models' business (tests/loom).
 *
 * Time is a number too: it passes a little at each look at the clock, and where nobody can go on, it is what the first of
 * the sleepers waits for. At times the seed has it come early, as on a machine that is too slow. Sixty seconds of patience
 * cost nothing.
 *
 * Only what begins in a thread that called `turns_begin` takes part, and all threads that such a thread starts; the others
 * (the test harness) meet the functions of the C library as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NEVER UINT64_MAX
#define MOST 4096
/* One switch in so many lets the first sleeper's time come though others could go on. */
#define EARLY 64
/* Where the clocks begin, in nanoseconds: a seed has one history at any time of the day. */
#define ORIGIN UINT64_C(1000000000000)
/* One in so many allocations ends a turn. */
#define INTERRUPTED 24
/* What one look at the clock takes, in nanoseconds. */
#define A_LOOK 40

enum doing { RUNS, WAITS_FOR_WORD, SLEEPS, JOINS, OVER };

struct thread {
    int number;
    enum doing doing;
    const uint32_t *word;
    uint32_t expected;
    uint64_t until;
    bool too_late;
    const struct thread *joined;
    pthread_cond_t turn;
    pthread_t handle;
    bool is_joined;
    int rounds;
    void *(*start)(void *);
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *threads[MOST];
static int count;
static struct thread *running;
static bool on;
static uint64_t now, drawn, history, turns;
static int looks;
static FILE *told;
static pthread_key_t at_end;

/* Without a call that could allocate: `malloc` is ours. */
static __thread struct thread *me __attribute__((tls_model("initial-exec")));

/* -- The functions behind ours. -- */

#define THERE(name) \
    static __typeof__(&name) name##_there(void) { \
        static _Atomic(uintptr_t) found; \
        if (found == 0) found = (uintptr_t)dlsym(RTLD_NEXT, #name); \
        return (__typeof__(&name))(uintptr_t)found; \
    }

THERE(syscall)
THERE(sched_yield)
THERE(nanosleep)
THERE(clock_nanosleep)
THERE(clock_gettime)
THERE(pthread_create)
THERE(pthread_join)
THERE(getrandom)

static uint64_t draw(void) {
    uint64_t x = drawn += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

static struct timespec timespec_of(uint64_t time) {
    return (struct timespec){(time_t)(time / UINT64_C(1000000000)), (long)(time % UINT64_C(1000000000))};
}

/* A moment of the clocks that are told, from the beginning. */
static uint64_t moment(const struct timespec *time) {
    uint64_t told_time = nanoseconds(time);
    return told_time < ORIGIN ? 0 : told_time - ORIGIN;
}

static uint64_t after(uint64_t time) { return time > NEVER - now ? NEVER : now + time; }

/* -- Turns. All of it with `lock` held. -- */

static bool can_go_on(const struct thread *thread) {
    switch (thread->doing) {
    case RUNS: return true;
    case WAITS_FOR_WORD:
        return thread->until <= now || __atomic_load_n(thread->word, __ATOMIC_SEQ_CST) != thread->expected;
    case SLEEPS: return thread->until <= now;
    case JOINS: return thread->joined->doing == OVER;
    case OVER: return false;
    }
    return false;
}

static struct thread *first_sleeper(void) {
    struct thread *first = NULL;
    for (int i = 0; i < count; i++) {
        struct thread *thread = threads[i];
        bool sleeps = thread->doing == WAITS_FOR_WORD || thread->doing == SLEEPS;
        if (sleeps && thread->until != NEVER && (first == NULL || thread->until < first->until)) first = thread;
    }
    return first;
}

static void nobody_can_go_on(void) {
    static const char *words[] = {"runs", "waits for a word", "sleeps", "joins", "is over"};
    fprintf(stderr, "turns: nobody can go on, after %llu turns\n", (unsigned long long)turns);
    for (int i = 0; i < count; i++) fprintf(stderr, "  thread %d %s\n", i, words[threads[i]->doing]);
    abort();
}

static struct thread *choose(void) {
    struct thread *sleeper = first_sleeper();
    if (sleeper != NULL && sleeper->until > now && draw() % EARLY == 0) now = sleeper->until;
    for (;;) {
        int able = 0;
        for (int i = 0; i < count; i++) able += can_go_on(threads[i]);
        if (able > 0) {
            int turn = (int)(draw() % (uint64_t)able);
            for (int i = 0; i < count; i++)
                if (can_go_on(threads[i]) && turn-- == 0) return threads[i];
        }
        if (sleeper == NULL) nobody_can_go_on();
        now = sleeper->until;
    }
}

static void note(const char *what) {
    for (const char *c = what; *c != 0; c++) history = (history ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    history = (history ^ (unsigned)me->number) * UINT64_C(0x100000001B3) ^ now;
    turns++;
    if (told != NULL) fprintf(told, "%d %s %llu\n", me->number, what, (unsigned long long)now);
}

/* Somebody's turn, perhaps again the caller's, who comes back when it is his. */
static void pass(const char *what) {
    note(what);
    running = choose();
    if (running != me) pthread_cond_signal(&running->turn);
    while (running != me && on) pthread_cond_wait(&me->turn, &lock);
    me->too_late = me->doing == WAITS_FOR_WORD && __atomic_load_n(me->word, __ATOMIC_SEQ_CST) == me->expected;
    me->doing = RUNS;
}

static struct thread *add(void) {
    if (count == MOST) abort();
    struct thread *thread = calloc(1, sizeof *thread);
    thread->number = count;
    pthread_cond_init(&thread->turn, NULL);
    return threads[count++] = thread;
}

/* The last thing that a thread does: behind the destructors of its own variables. */
static void finish(void *argument) {
    struct thread *thread = argument;
    if (thread->rounds++ < 3) {
        pthread_setspecific(at_end, thread);
        return;
    }
    pthread_mutex_lock(&lock);
    thread->doing = OVER;
    if (on) {
        note("end");
        running = choose();
        pthread_cond_signal(&running->turn);
    }
    me = NULL;
    pthread_mutex_unlock(&lock);
}

static void *begin(void *argument) {
    me = argument;
    pthread_setspecific(at_end, me);
    pthread_mutex_lock(&lock);
    while (running != me && on) pthread_cond_wait(&me->turn, &lock);
    pthread_mutex_unlock(&lock);
    return me->start(me->argument);
}

static bool takes_part(void) { return me != NULL && on; }

/* Its turn does not end where it has memory: the program works for the driver, whose lock is held. */
static __thread bool keeps __attribute__((tls_model("initial-exec")));

static void turn_ends(const char *what) {
    pthread_mutex_lock(&lock);
    pass(what);
    pthread_mutex_unlock(&lock);
}

static void sleep_until(uint64_t until) {
    pthread_mutex_lock(&lock);
    me->doing = SLEEPS;
    me->until = until;
    pass("sleep");
    pthread_mutex_unlock(&lock);
}

/* The code of the program itself: what libraries allocate, they may allocate under a lock that we do not know. */
static struct { uintptr_t begin, end; } program;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
        program.begin = info->dlpi_addr + part->p_vaddr;
        program.end = program.begin + part->p_memsz;
    }
    return 1; /* the first is the program */
}

static void may_end_turn(const void *caller, const char *what) {
    uintptr_t address = (uintptr_t)caller;
    if (!takes_part() || keeps || address < program.begin || address >= program.end) return;
    if (draw() % INTERRUPTED == 0) turn_ends(what);
}

/* -- For the stand-in and its tests. -- */

/* The calling thread takes part from now on, and all that it starts. */
EXPORT void turns_begin(uint64_t seed) {
    pthread_mutex_lock(&lock);
    if (me == NULL) {
        pthread_key_create(&at_end, finish);
        me = add();
    }
    dl_iterate_phdr(find_program, NULL);
    drawn = seed;
    history = UINT64_C(0xCBF29CE484222325);
    running = me;
    const char *file = getenv("WINDLASS_TEST_TURNS");
    if (file != NULL) told = fopen(file, "w");
    on = true;
    pthread_mutex_unlock(&lock);
}

/* Everybody goes as he comes again. What the turns were, as a number; and how many. */
EXPORT uint64_t turns_end(uint64_t *number) {
    pthread_mutex_lock(&lock);
    on = false;
    for (int i = 0; i < count; i++) pthread_cond_signal(&threads[i]->turn);
    if (told != NULL) fclose(told);
    told = NULL;
    *number = turns;
    pthread_mutex_unlock(&lock);
    return history;
}

/* The calling thread takes part. */
EXPORT bool turns_here(void) { return takes_part(); }

EXPORT void turns_pass(const char *what) {
    if (takes_part()) turn_ends(what);
}

EXPORT void turns_keep(bool on_now) { keeps = on_now; }

EXPORT void turns_sleep(uint64_t time) { sleep_until(after(time)); }

/* -- In place of the C library's. -- */

static long wait_for_word(const uint32_t *word, uint32_t expected, uint64_t until) {
    pthread_mutex_lock(&lock);
    bool waits = __atomic_load_n(word, __ATOMIC_SEQ_CST) == expected;
    if (waits) {
        me->doing = WAITS_FOR_WORD;
        me->word = word;
        me->expected = expected;
        me->until = until;
        pass("wait");
    }
    bool too_late = waits && me->too_late && until <= now;
    pthread_mutex_unlock(&lock);
    if (waits && !too_late) return 0;
    errno = waits ? ETIMEDOUT : EAGAIN;
    return -1;
}

static long wake(const uint32_t *word, uint64_t most) {
    long woken = 0;
    pthread_mutex_lock(&lock);
    int first = count > 0 ? (int)(draw() % (uint64_t)count) : 0;
    for (int i = 0; i < count && (uint64_t)woken < most; i++) {
        struct thread *thread = threads[(first + i) % count];
        if (thread->doing != WAITS_FOR_WORD || thread->word != word) continue;
        thread->doing = RUNS;
        woken++;
    }
    if (woken > 0) pass("wake");
    pthread_mutex_unlock(&lock);
    return woken;
}

EXPORT long syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    long kind = a[1] & FUTEX_CMD_MASK;
    bool waits = kind == FUTEX_WAIT || kind == FUTEX_WAIT_BITSET;
    if (number != SYS_futex || !takes_part() || !(waits || kind == FUTEX_WAKE))
        return syscall_there()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const uint32_t *word = (const uint32_t *)a[0];
    if (waits) {
        const struct timespec *time = (const struct timespec *)a[3];
        uint64_t until = time == NULL ? NEVER : kind == FUTEX_WAIT ? after(nanoseconds(time)) : moment(time);
        return wait_for_word(word, (uint32_t)a[2], until);
    }
    long others = syscall_there()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return wake(word, (uint64_t)(int)a[2]) + (others > 0 ? others : 0);
}

EXPORT int sched_yield(void) {
    if (!takes_part()) return sched_yield_there()();
    turn_ends("yield");
    return 0;
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left) {
    if (!takes_part()) return nanosleep_there()(time, left);
    sleep_until(after(nanoseconds(time)));
    return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    if (!takes_part()) return clock_nanosleep_there()(clock, flags, time, left);
    sleep_until((flags & TIMER_ABSTIME) != 0 ? moment(time) : after(nanoseconds(time)));
    return 0;
}

/* All clocks are one. Who looks again and again, at nothing but the clock, lets others go on. */
EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!takes_part()) return clock_gettime_there()(clock, time);
    pthread_mutex_lock(&lock);
    now += A_LOOK;
    *time = timespec_of(ORIGIN + now);
    if (++looks % 64 == 0) pass("look");
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    if (!takes_part()) return pthread_create_there()(handle, attributes, start, argument);
    pthread_mutex_lock(&lock);
    struct thread *thread = add();
    thread->start = start;
    thread->argument = argument;
    int code = pthread_create_there()(&thread->handle, attributes, begin, thread);
    if (code != 0) {
        thread->doing = OVER;
        thread->is_joined = true;
    } else {
        *handle = thread->handle;
        pass("start");
    }
    pthread_mutex_unlock(&lock);
    return code;
}

EXPORT int pthread_join(pthread_t handle, void **answer) {
    if (takes_part()) {
        pthread_mutex_lock(&lock);
        for (int i = count - 1; i >= 0; i--) {
            struct thread *thread = threads[i];
            if (thread->is_joined || i == 0 || !pthread_equal(thread->handle, handle)) continue;
            thread->is_joined = true;
            me->doing = JOINS;
            me->joined = thread;
            pass("join");
            break;
        }
        pthread_mutex_unlock(&lock);
    }
    return pthread_join_there()(handle, answer);
}

void *__libc_malloc(size_t size);
void __libc_free(void *memory);

EXPORT void *malloc(size_t size) {
    may_end_turn(__builtin_return_address(0), "malloc");
    return __libc_malloc(size);
}

EXPORT void free(void *memory) {
    may_end_turn(__builtin_return_address(0), "free");
    __libc_free(memory);
}

/* The keys of hash tables. */
EXPORT ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
    if (!takes_part()) return getrandom_there()(bytes, size, flags);
    memset(bytes, 42, size);
    return (ssize_t)size;
}
