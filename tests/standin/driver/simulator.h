/*
 * The inside of the simulator: the objects, and what the files of libcuda and libcublas share.
 *
 * One mutex guards everything. Every exported function is ENTER ... LEAVE; between them the mutex is held, except while
 * a call is paused (pause_call) or waits for the device (wait_for), where other threads run.
 *
 *   state.c     the state, handles, reset           scheduler.c  streams of commands and who runs next
 *   calls.c     in and out of a call, log, counts  execute.c    what a command does when it runs
 *   script.c    failures, faults, the environment   control.c    the rest of what tests call
 *   memory.c    arenas, allocations, pools, pinned  races.c      which access is ordered after which
 *   kernels.c   PTX text and the known kernels      machine.c    kernels that run by their text
 *   cuda_*.c    the exported driver functions
 *   shared.c    what libcublas uses of all this     cublas*.c    the exported functions of libcublas
 *
 * Old names without a suffix are exported where the old function is the same (cuStreamDestroy). Where it is a 32-bit
 * one (cuMemAlloc, cuMemcpyHtoDAsync, cuDeviceTotalMem) it is left out, so that who asks for it is told here.
 */
#ifndef SIMULATOR_H
#define SIMULATOR_H

#include "standin.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORT STANDIN_EXPORT
#define MAXIMUM_DEVICES 16
#define MAXIMUM_OPERANDS 16
#define MAXIMUM_PARAMETERS 48
#define ALLOCATION_ALIGNMENT 256
#define POISON_FREED 0xDB
#define POISON_FRESH 0xFF

/* Handles are numbers, never addresses of ours: a stale or invented one is recognised, not followed. */
typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUevent, *CUmodule, *CUfunction, *CUmemoryPool;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
};

/* -- Objects. Each keeps its number for the log; none is freed before the process ends (a stale pointer of a thread
 *    that was inside a call during a reset stays valid), only what hangs on it. -- */

/* For each stream number, how many of its commands are known to come before. */
struct clock {
    uint64_t *seen;
    int count;
};

enum handle_kind { CONTEXT = 1, STREAM, EVENT, POOL, MODULE, FUNCTION, GRAPH, GRAPH_EXEC, KINDS };

struct object {
    enum handle_kind kind;
    int number;       /* from 1, by kind; a context has its device's ordinal */
    int device;
    int life;         /* which life of the device's primary context it was made in */
    bool destroyed;
    int inside;       /* threads inside a call on it */
};

struct stream {
    struct object object;
    uint64_t enqueued, executed;
    struct command *head, *tail;
    struct clock clock; /* what comes before the next command of this stream */
    struct capture *capture; /* NULL: what is submitted runs */
};

/* What is submitted to a stream is written down. */
struct capture {
    struct command *head, *tail;
    CUresult broken; /* the first call that cannot be part of it has ended it */
};

/* A graph, or an instance of one: commands in the order in which they were captured, each behind the one before it. */
struct graph {
    struct object object;
    struct command *head;
    int count;
};

struct event {
    struct object object;
    unsigned flags;
    struct stream *stream; /* NULL: never recorded, which counts as complete */
    uint64_t sequence;     /* the recording command's place in that stream */
    struct clock clock;    /* what comes before the record, itself included */
    uint64_t nanoseconds;
};

struct pool {
    struct object object;
    uint64_t release_threshold, reserved, reserved_high, used_high, maximum;
    int reuse[4]; /* by attribute number 1 to 3 */
    bool access[MAXIMUM_DEVICES];
};

/* A variable of a module: its memory lives as long as the module. */
struct variable {
    char name[64];
    uint64_t address;
    size_t bytes;
};

struct module {
    struct object object;
    char *text;
    struct variable variables[16];
    int variable_count;
    bool by_text; /* the machine has read it */
};

struct function {
    struct object object;
    struct module *module;
    char *name;
    const struct kernel *kernel; /* NULL: a name we do not know; it runs by its text, or does nothing */
    bool by_text;
    size_t parameter_bytes[MAXIMUM_PARAMETERS];
    int parameters;
    unsigned maximum_dynamic_shared, maximum_threads;
};

/* -- Memory. -- */

enum access_kind {
    TOUCH, /* an unknown kernel was given this address: it must be alive, more is not known */
    READ,
    WRITE,
};

/* `rows` runs of `width` bytes, `pitch` apart. */
struct range {
    uint64_t address;
    size_t width, pitch, rows;
};

struct access {
    struct range range;
    enum access_kind kind;
    bool lifetime; /* it allocates or frees */
    int stream;
    uint64_t sequence;
    const char *call;
};

struct allocation {
    struct allocation *next; /* by address */
    uint64_t start;
    size_t bytes, capacity;
    int number, device; /* device -1: pinned host memory */
    struct pool *pool;  /* NULL: cuMemAlloc, or pinned */
    bool registered;    /* pinned memory that belongs to the caller */
    bool managed;       /* cuda_managed.c; listed with pinned memory */
    bool growing;       /* cuda_growth.c; `bytes` is what is accessible */
    bool open_to[MAXIMUM_DEVICES]; /* of one that grows */
    bool read_mostly, kept;
    int place; /* of managed memory: a device, or -1 for the host */
    bool visible;       /* its allocating command has executed */
    bool free_called, free_executed;
    struct stream *freed_on;
    int references; /* commands that will touch it */
    struct access *accesses;
    int access_count, access_room;
};

struct arena {
    uint64_t base;          /* device addresses; not mapped, so that the host cannot follow them */
    unsigned char *backing; /* where the bytes are */
    size_t span;
};

struct device {
    bool default_pending;
    struct arena arena;
    struct allocation *allocations;
    int retains, life;
    bool active; /* the primary context exists; a reset ends it whatever the count */
};

/* -- Commands. -- */

struct operand {
    struct range range;
    enum access_kind kind;
    struct allocation *allocation; /* set when enqueued */
};

enum command_kind { WORK, WAIT, RECORD, ALLOCATE, RELEASE };

/* What a WORK command does. `payload` was copied when the call was made; pointers are device addresses, to be mapped
 * with standin_backing. */
typedef void (*work)(void *payload);

struct command {
    struct command *next;
    enum command_kind kind;
    const char *call;
    uint64_t sequence;
    struct operand operands[MAXIMUM_OPERANDS];
    int operand_count;
    work run;
    void *payload;
    size_t payload_bytes;
    struct stream *awaited;        /* WAIT */
    uint64_t awaited_sequence;
    struct event *event;           /* RECORD */
    struct allocation *allocation; /* ALLOCATE, RELEASE */
    struct function *function;     /* a launch */
    bool endless;
    bool (*ready)(void *payload); /* NULL: always; asked when the command is at the head of its stream */
};

/* -- The state. -- */

struct call {
    const char *name;
    uint64_t count;
    bool linked;
    struct call *next;
};

struct state {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool initialised, forked;
    int generation; /* of the process: counts resets, and is part of every handle */
    int device_count, driver_version, mode;
    size_t total_memory;
    struct device devices[MAXIMUM_DEVICES];
    struct { struct object **items; int count, room; } tables[KINDS];
    struct allocation *pinned;
    int allocations_made, blas_live;
    CUresult sticky;
    uint64_t random, seed, nanoseconds, executed, calls;
    struct clock host; /* what the host has seen to be complete */
    bool races;
};

extern struct state state;

/* state.c */
void *new_object(enum handle_kind kind, size_t bytes, int device);
void *handle_of(const struct object *object);
/* NULL, and a violation, unless the handle is alive and its context too. */
void *find_object(const void *handle, enum handle_kind kind);
/* The same, and marks the object while other threads may run, so that who destroys it meanwhile is caught. */
void *enter_object(const void *handle, enum handle_kind kind);
/* Also refuses the null stream and a stream of a context that is not current. */
struct stream *enter_stream(CUstream handle);
/* For destroying: refuses while another thread is inside a call on the object. */
void *destroy_object(const void *handle, enum handle_kind kind);
void pause_call(void);
const char *kind_name(enum handle_kind kind);
/* The device of the current context, or -1. */
int current_device(void);
/* Whether this thread has a current context that has been destroyed. */
bool current_is_destroyed(void);
/* The device of the context that this thread made current, alive or not. */
int bound_device(void);
void set_current(int device);
CUcontext context_handle(int device);
/* Device of a context handle, alive or not; -1 if it is none. */
int device_of_context(const void *handle);
void end_context(int device);
uint64_t next_random(void);

/* chance.c */
bool chance_fails(const char *name, CUresult *code);
void forget_chances(void);
bool takes_part_here(void);
/* What this thread draws itself, if it takes part in the seeded schedule. */
bool own_draw(uint64_t *drawn);

/* calls.c */
enum needs { NOTHING, INITIALISED, UNPOISONED, A_CONTEXT };
CUresult enter(struct call *call, enum needs needs);
CUresult leave(struct call *call, CUresult code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *current_call(void);
void name_call(const char *name);
/* Whether a name given by a test means this call. */
bool same_call(const char *asked, const char *name);
/* An address in words, for the log: `mem#3+16`, `pinned#4`, `host`. Good until the eighth next use in this thread. */
const char *address_text(uint64_t address);
void forget_calls(void);

/* script.c */
bool must_fail(const char *name, bool driver, CUresult *code);
bool is_held(const char *name);
const int *attribute_override(int attribute);
/* What a script says about a kernel; false: nothing. */
bool scripted(const char *kernel, int *code);
/* Counts a command that is about to execute. */
bool fault_is_due(int *code);
void forget_script(void);
void read_environment(void);

#define LOCKED(...)                                                                                                    \
    do {                                                                                                               \
        pthread_mutex_lock(&state.mutex);                                                                              \
        __VA_ARGS__;                                                                                                   \
        pthread_mutex_unlock(&state.mutex);                                                                            \
    } while (0)

#define ENTER(call_name, needed)                                                                                       \
    static struct call this_call = {.name = #call_name};                                                               \
    do {                                                                                                               \
        CUresult refused = enter(&this_call, needed);                                                                  \
        if (refused != CUDA_SUCCESS) return refused;                                                                   \
    } while (0)
#define LEAVE(code, ...) return leave(&this_call, code, __VA_ARGS__)

/* memory.c */
bool open_arenas(void);
bool is_device_address(uint64_t address);
/* The allocation that holds the address and has not been freed by a call; else one whose free is pending. */
struct allocation *allocation_at(uint64_t address);
struct allocation *pinned_at(uint64_t address);
/* NULL: out of memory. `stream` NULL: usable at once. */
struct allocation *allocate_device(int device, struct pool *pool, size_t bytes, const struct stream *stream);
struct allocation *record_growing(int device, uint64_t start);
void forget_growing(struct allocation *allocation);
struct allocation *record_pinned(void *start, size_t bytes, bool registered);
void free_device_bytes(struct allocation *allocation);
void forget_if_unused(struct allocation *allocation);
void free_pinned_record(struct allocation *allocation);
size_t free_memory(int device);
size_t used_by_pool(const struct pool *pool);
size_t held_by_pool(const struct pool *pool);
/* What pools keep over their release threshold goes back at a synchronization. */
void release_reserves(void);
void forget_memory(void);

/* cuda_managed.c */
/* The managed memory that an address lies in, or NULL. */
struct allocation *managed_at(uint64_t address);
void free_managed(struct allocation *allocation);
/* A command of a device has run: it has what it used. */
void move_managed(const struct stream *stream, const struct command *command);
/* After a fault: the host can no longer touch what a device has. */
void lose_managed(void);

/* cuda_growth.c */
/* The reserve that an address lies in, or NULL. */
struct arena *reserve_at(uint64_t address);
/* Bytes of memory that has handles or mappings. */
size_t physical_bytes(int device);
int64_t live_growth(bool addresses);
void forget_growth(void);

/* scheduler.c */
/* Appends to the stream; the operands are looked up and checked here. */
struct command *enqueue(struct stream *stream, enum command_kind kind);
void add_operand(struct command *command, enum access_kind kind, struct range range);
void submit(struct stream *stream, struct command *command, bool checks_peers);
/* Enqueues one WORK command with a copy of the payload. */
void submit_work(struct stream *stream, const struct operand *operands, int count, work run, const void *payload,
                 size_t payload_bytes, bool checks_peers);
void submit_work_when(struct stream *stream, const struct operand *operands, int count, bool (*ready)(void *payload), work run,
                      const void *payload, size_t payload_bytes, bool checks_peers);
bool step(struct stream *only);
void progress(void);
bool is_done(const struct stream *stream, uint64_t sequence);
/* Until another thread has changed something, perhaps; the mutex is free meanwhile. */
void wait_for_change(void);
/* SUCCESS, or the sticky code. `known`: what the host knows complete after it. */
CUresult wait_for(struct stream *stream, uint64_t sequence, const struct clock *known);
CUresult wait_for_device(int device);
void drop_commands(struct stream *stream);
void start_background(void);

/* cuda_graph.c */
/* The command becomes part of the stream's capture, or breaks it. */
void capture_command(struct stream *stream, struct command *command);
/* The call cannot be made on a stream that is captured: true, and its capture is broken with `code`. */
bool breaks_capture(struct stream *stream, CUresult code);
/* A call waits for the whole context: true if one of its streams was captured, and its capture is broken with `code`. */
bool break_captures(int device, CUresult code);
void forget_graph(struct graph *graph);
void forget_capture(struct stream *stream);

/* execute.c */
void execute(struct stream *stream, struct command *command);
struct range flat(uint64_t address, size_t bytes);

/* races.c */
void join_clock(struct clock *into, const struct clock *from);
void raise_clock(struct clock *clock, int stream, uint64_t sequence);
void forget_clock(struct clock *clock);
void check_order(struct stream *stream, const struct command *command, const struct operand *operand);
/* The host has seen this much complete. */
void host_saw(const struct clock *clock, int stream, uint64_t sequence);
/* Whether the host knows that everything that uses the allocation is over. */
bool host_knows_unused(const struct allocation *allocation);
/* Whether something may use these bytes of it, for all that the host knows. */
bool is_in_use(const struct allocation *allocation, uint64_t address, size_t bytes);

/* kernels.c */

/* What a launch keeps: each parameter at the start of its slot; `wide` holds more of those that need it, `bulk` all of one
   that is larger still, or whose size the text gives. */
struct launch {
    uint64_t threads;
    unsigned grid[3], block[3];
    const struct module *module;
    uint64_t slots[MAXIMUM_PARAMETERS];
    unsigned char wide[MAXIMUM_PARAMETERS][16];
    unsigned char bulk[4096];
};

struct kernel {
    const char *name;
    int parameters;
    size_t parameter_bytes[MAXIMUM_PARAMETERS]; /* 0: as the text says */
    void (*operands)(struct command *command, const struct launch *launch);
    work run;
    int outcome;  /* a fault's code, -1: endless */
    bool is_text; /* it is not written in C, only its operands are told */
};

const struct kernel *known_kernel(const char *name);
/* kernels_fft.c */
const struct kernel *known_fft_kernel(const char *name);
/* kernels_trigonometric.c */
const struct kernel *known_trigonometric_kernel(const char *name);
/* kernels_sparse.c */
const struct kernel *known_sparse_kernel(const char *name);
/* kernels_solver.c */
const struct kernel *known_solver_kernel(const char *name);
/* kernels_small_qr.c */
const struct kernel *known_small_kernel(const char *name);
/* kernels_small_spectra.c */
const struct kernel *known_small_spectra_kernel(const char *name);
/* kernels_tensor.c */
const struct kernel *known_tensor_kernel(const char *name);
/* kernels_expression.c */
const struct kernel *known_expression_kernel(const char *name);
/* kernels_matmul.c */
const struct kernel *known_matmul_kernel(const char *name);
/* Where the text goes on after `.entry NAME`, or NULL. */
const char *find_entry(const char *text, const char *name);
/* The sizes of the entry's parameters; how many there are, 0 as well if the text does not say. */
int parse_parameters(const char *after_name, size_t *bytes, int room);
/* Allocates the variables that the module's text declares, with what they hold at first. */
bool make_variables(struct module *module);
const struct variable *find_variable(const struct module *module, const char *name);

/* machine.c */
void find_machine(void);
/* Has the machine read the module, whose variables it then places: false, if there is none, or it cannot. */
bool load_by_text(struct module *module);
/* Whether a kernel runs by its text, which goes on at `entry`. */
bool runs_by_text(const struct module *module, const struct kernel *kernel, const char *entry);
/* What the command does then. */
void prepare_by_text(struct command *command, const struct launch *launch, unsigned shared, void **parameters);

/* turns.c, in a process that it is preloaded into. */
extern bool turns_here(void) __attribute__((weak));
extern void turns_pass(const char *what) __attribute__((weak));
extern void turns_keep(bool on_now) __attribute__((weak));
extern void turns_sleep(uint64_t nanoseconds) __attribute__((weak));

/* -- What libcublas uses as well. -- */
EXPORT CUresult standin_enter(struct call *call);
EXPORT int standin_leave(struct call *call, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
EXPORT void standin_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
EXPORT void standin_pause(void);
EXPORT const char *standin_address_text(const void *address);
EXPORT int standin_current_device(void);
EXPORT CUresult standin_sticky(void);
EXPORT int standin_generation(void);
EXPORT int standin_is_device_address(const void *address);
EXPORT void *standin_backing(uint64_t address);
/* The stream's device; -1 if the handle is no live stream (that is recorded). `number` may be NULL. */
EXPORT int standin_stream_device(CUstream stream, int *number);
EXPORT CUresult standin_enqueue(CUstream stream, const struct operand *operands, int count, work run,
                                const void *payload, size_t payload_bytes);
/* As `standin_enqueue`, of work that runs only once `ready` says so. */
EXPORT CUresult standin_enqueue_when(CUstream stream, const struct operand *operands, int count, bool (*ready)(void *payload),
                                     work run, const void *payload, size_t payload_bytes);
/* Something may be ready now. */
EXPORT void standin_nudge(void);
EXPORT CUresult standin_wait_stream(CUstream stream);
EXPORT CUresult standin_wait_device(int device);
/* Copies of a library on the default stream of a device's context. No other stream follows them: they are complete only once
 * the host has waited for that stream. */
EXPORT void standin_enqueue_default(int device);
EXPORT bool standin_default_pending(int device);
EXPORT uint64_t standin_allocate(int device, size_t bytes);
EXPORT void standin_deallocate(uint64_t address);
EXPORT void standin_count_blas(int difference);
/* What a script says about a call; false: nothing. */
EXPORT bool standin_scripted(const char *call, int *code);

#endif
