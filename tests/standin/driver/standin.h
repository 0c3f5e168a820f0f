/*
 * A scripted stand-in for libcuda.so.1 and libcublas.so.13, for tests on machines without a GPU.
 *
 * What it simulates, and why so:
 *   - A stream is a queue of commands. Nothing runs when it is enqueued; a seeded scheduler picks which stream runs
 *     next, so the only order between streams is the order that events give. A missing wait shows up as wrong data.
 *   - Device memory is an arena with records of what is allocated. Freed bytes are poisoned and reused at once (first
 *     fit, lowest address), so that a use after free reads garbage and is reported as well.
 *   - A happens-before checker (races.c) reports unordered accesses under every seed, not only under unlucky ones.
 *   - A device fault is sticky for the whole process, as on real hardware.
 *
 * This header is the control surface that tests use. simulator.h is the inside; nothing else is shared.
 * All functions are thread-safe. Texts are written with a final NUL and cut to `size`.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STANDIN_EXPORT __attribute__((visibility("default")))

enum standin_mode {
    STANDIN_AUTO = 0,       /* queries run one to three commands of one stream; synchronize calls run until done */
    STANDIN_MANUAL = 1,     /* only standin_step runs anything; synchronize calls block until another thread steps */
    STANDIN_EAGER = 2,      /* everything that can run does so at once, when it is enqueued */
    STANDIN_BACKGROUND = 3, /* a thread runs commands while the host does something else */
    STANDIN_SEEDED = 4,     /* as auto; and each call of a thread that takes part runs none to three commands first */
};

/* -- The world. Set device count and memory before the first context is retained. -- */

/* Forgets streams, events, memory, contexts, failures, faults, logs, counts and violations; the settings below go back
 * to their defaults (or what the environment says). cuInit stays done. */
STANDIN_EXPORT void standin_reset_process(void);
STANDIN_EXPORT void standin_set_device_count(int count);
STANDIN_EXPORT void standin_set_total_memory(size_t bytes_per_device);
/* An attribute of every device, by CUdevice_attribute, instead of the built-in value. -1 - 16 * DEVICE - PEER: whether the
 * one can access the memory of the other. */
STANDIN_EXPORT void standin_set_attribute(int attribute, int value);
STANDIN_EXPORT void standin_set_driver_version(int version);

/* -- Progress. -- */

STANDIN_EXPORT void standin_seed(uint64_t seed);
STANDIN_EXPORT void standin_mode(int mode);
/* Runs up to `count` commands in seeded order; the answer is how many ran (fewer: the rest waits, or nothing is left). */
STANDIN_EXPORT int standin_step(int count);
/* The same for one stream, by the number the log shows. */
STANDIN_EXPORT int standin_step_stream(int stream_number, int count);
/* Commands enqueued and not yet executed, on all streams. */
STANDIN_EXPORT int standin_pending(void);
/* Lets every `endless` kernel end that runs or is queued now. */
STANDIN_EXPORT void standin_release(void);

/* -- Faults and failures. -- */

/* The whole process is poisoned now: every later call that touches a context answers `code`. */
STANDIN_EXPORT void standin_fault(int code);
/* The same when the nth next command executes (0 = the next one). */
STANDIN_EXPORT void standin_fault_after(int nth, int code);
/* A kernel of that name faults with `code` when it executes; code 0 makes it do nothing, -1 makes it endless.
 * Of cusolverDnXgesvdp: it says that it moved the values by `code` eighths of theirs, and does so. */
STANDIN_EXPORT void standin_script(const char *kernel, int code);
/* The nth next call of that function (0 = the next one) returns `code` and has no effect. Names with or without their
 * suffix; cublas functions too, with a cublasStatus_t. */
STANDIN_EXPORT void standin_fail(const char *call, int nth, int code);
/* The nth next driver call of any kind (not cublas; not the two that only name an error). */
STANDIN_EXPORT void standin_fail_any(int nth, int code);
/* The same, and from then on the whole process is poisoned with that code. */
STANDIN_EXPORT void standin_fault_any(int nth, int code);
/* In the mode `seeded`: the calling thread takes part from now on, as this thread at this step; -1 for no more. What runs
 * at its calls, and which fail, is drawn from the seed, the thread and the step alone. */
STANDIN_EXPORT void standin_take_part(int thread, int step);
/* One in so many driver calls of those that take part fails with `code`, has no effect, until `clear`. */
STANDIN_EXPORT void standin_chance(int one_in, int code);
/* Calls of that driver function stop before they do anything, until another is named ("" for none). */
STANDIN_EXPORT void standin_hold(const char *call);
/* How many calls were made to fail since the reset. */
STANDIN_EXPORT uint64_t standin_failed(void);
/* Drops failures that have not happened yet, and scripts. */
STANDIN_EXPORT void standin_clear(void);

/* -- Kernels by their text. -- */

/* Memory that a launch may touch: the address is that of the device. */
struct standin_part {
    uint64_t address;
    unsigned char *memory;
    size_t bytes;
    int number, pinned;
};

/* The parameters follow each other without gaps. */
struct standin_launch {
    uint64_t module;
    const char *kernel;
    unsigned grid[3], block[3], shared;
    const struct standin_part *parts;
    int part_count;
    const void *parameters;
    size_t parameter_bytes;
};

/* Gives a variable an address, and its memory in this process. */
typedef uint64_t (*standin_place)(void *context, const char *name, size_t bytes, unsigned char **memory);

/* What runs the text of kernels (tests/common/machine.rs); the program tells its address in WINDLASS_STANDIN_MACHINE. Each function
 * answers 0, or the CUDA error that a GPU would have; what is wrong is written into `said`, which is empty if nothing is. */
struct standin_machine {
    int (*load)(uint64_t module, const char *text, standin_place place, void *context, char *said, size_t room);
    int (*launch)(const struct standin_launch *launch, char *said, size_t room);
};

/* 1: all kernels run by their text, also those that are written here in C; 0: only the others. */
STANDIN_EXPORT void standin_by_text(int all);
/* How many launches ran by their text since the reset. */
STANDIN_EXPORT uint64_t standin_ran_by_text(void);

/* -- What happened. -- */

/* The log has one line for each call. It is off (0) until enabled: 1 for every thread's calls, 2 for those of the thread
 * that asks, since housekeeping threads call as well. Take answers the length of the whole log and clears it
 * if it fitted into `size` (so take(NULL, 0) only asks for the length). */
STANDIN_EXPORT void standin_log_enable(int on);
STANDIN_EXPORT void standin_log_clear(void);
STANDIN_EXPORT size_t standin_log_take(char *buffer, size_t size);
STANDIN_EXPORT uint64_t standin_calls(void);
/* Of the calling thread, over its whole life. */
STANDIN_EXPORT uint64_t standin_calls_here(void);
STANDIN_EXPORT uint64_t standin_calls_of(const char *call);
/* How many commands have executed. */
STANDIN_EXPORT uint64_t standin_executed(void);

/* Answers how many violations there were; the buffer gets one line for each (the first thousand). */
STANDIN_EXPORT int standin_violations(char *buffer, size_t size);
STANDIN_EXPORT void standin_violations_clear(void);
/* Each violation ends the process at once, for programs whose tests run side by side. */
STANDIN_EXPORT void standin_strict(int on);
/* The happens-before checker, on by default. Turn it off where the host learns of completion by reading memory. */
STANDIN_EXPORT void standin_races(int on);

/* What is live now: "streams", "events", "allocations" (not yet freed by a call), "bytes" (theirs), "pools",
 * "graphs" (and their instances), "pool_bytes" (allocated from pools), "pool_reserved" (kept by pools), "pinned", "pinned_bytes", "managed", "reserves" (of
 * addresses), "physical" (memory that is mapped to them, or was made for that), "modules",
 * "contexts" (retains of primary contexts), "blas" (handles). -1 for another word. */
STANDIN_EXPORT int64_t standin_live(const char *what);

/*
 * Environment, read when the library is loaded and at each reset (it is how a child process is scripted):
 *   WINDLASS_STANDIN_SEED=7  WINDLASS_STANDIN_MODE=auto|manual|eager|background|seeded  WINDLASS_STANDIN_DEVICES=2
 *   WINDLASS_STANDIN_UUIDS=1 (those of the GPUs, exclusive or 1)  WINDLASS_STANDIN_SLOW_INIT=100 (milliseconds)
 *   WINDLASS_STANDIN_TEXT=1 (as standin_by_text)  WINDLASS_STANDIN_MACHINE=PROCESS:ADDRESS (of a struct standin_machine)
 *   WINDLASS_STANDIN_MEMORY=67108864  WINDLASS_STANDIN_RACES=0|1
 *   WINDLASS_STANDIN_FAIL=cuEventRecord:3:2,any:10:700    (name:nth:code, as standin_fail)
 *   WINDLASS_STANDIN_FAULT=12:700                         (nth:code, as standin_fault_after)
 *   WINDLASS_STANDIN_REPORT=/some/file                    (each violation is appended to it when it happens)
 */

#ifdef __cplusplus
}
#endif
#endif
