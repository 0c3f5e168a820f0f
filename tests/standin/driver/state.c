/* The state, the handles, and what a reset forgets. */
#include "simulator.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct state state = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

/* What a reset cannot free, because a thread may be inside a call on it. Reachable, so leak checkers are content. */
static struct object **graveyard;
static size_t buried;

struct binding {
    int device, generation;
};
static _Thread_local struct binding current = {-1, 0};

/* Bits of a handle: a mark (46), the kind (40..), the generation of the process (28..39), the number (4..27). */
#define HANDLE_MARK (UINT64_C(1) << 46)
#define HANDLE_NUMBERS 0xFFFFFF
#define HANDLE_GENERATIONS 0xFFF

const char *kind_name(enum handle_kind kind) {
    static const char *names[KINDS] = {"?",      "context",  "stream", "event",         "pool",
                                       "module", "function", "graph",  "graph instance"};
    return kind > 0 && kind < KINDS ? names[kind] : "?";
}

static void *encode(enum handle_kind kind, int number) {
    uint64_t generation = (uint64_t)state.generation & HANDLE_GENERATIONS;
    uint64_t bits = HANDLE_MARK | (uint64_t)kind << 40 | generation << 28 | ((uint64_t)number & HANDLE_NUMBERS) << 4;
    return (void *)(uintptr_t)bits;
}

/* The number in a handle of that kind and of this generation; 0 if it is none, -1 if it is from before a reset. */
static int decode(const void *handle, enum handle_kind kind) {
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    int number = (int)(bits >> 4 & HANDLE_NUMBERS);
    uint64_t generation = bits >> 28 & HANDLE_GENERATIONS;
    uint64_t expected = HANDLE_MARK | (uint64_t)kind << 40 | generation << 28 | (uint64_t)number << 4;
    if (bits != expected) return 0;
    return generation == ((uint64_t)state.generation & HANDLE_GENERATIONS) ? number : -1;
}

void *new_object(enum handle_kind kind, size_t bytes, int device) {
    struct object *object = calloc(1, bytes);
    int index = state.tables[kind].count;
    if (index == state.tables[kind].room) {
        state.tables[kind].room = index ? 2 * index : 16;
        state.tables[kind].items = realloc(state.tables[kind].items, (size_t)state.tables[kind].room * sizeof(void *));
    }
    state.tables[kind].items[index] = object;
    state.tables[kind].count = index + 1;
    object->kind = kind;
    object->number = index + 1;
    object->device = device;
    object->life = device >= 0 ? state.devices[device].life : 0;
    return object;
}

void *handle_of(const struct object *object) { return encode(object->kind, object->number); }

void *find_object(const void *handle, enum handle_kind kind) {
    int number = decode(handle, kind);
    if (number < 0) {
        violation("a %s handle from before the reset", kind_name(kind));
        return NULL;
    }
    if (number == 0 || number > state.tables[kind].count) {
        violation("%p is no %s handle", (void *)(uintptr_t)handle, kind_name(kind));
        return NULL;
    }
    struct object *object = state.tables[kind].items[number - 1];
    if (object->destroyed) {
        violation("use of destroyed %s#%d", kind_name(kind), number);
        return NULL;
    }
    /* A pool belongs to the device, not to a context, and outlives it. */
    const struct device *device = &state.devices[object->device];
    if (kind != POOL && (!device->active || device->life != object->life)) {
        violation("use of %s#%d of a destroyed context", kind_name(kind), number);
        return NULL;
    }
    return object;
}

void pause_call(void) {
    pthread_mutex_unlock(&state.mutex);
    sched_yield();
    pthread_mutex_lock(&state.mutex);
}

void *enter_object(const void *handle, enum handle_kind kind) {
    struct object *object = find_object(handle, kind);
    if (object == NULL) return NULL;
    object->inside++;
    pause_call();
    object->inside--;
    /* Destroyed during the pause: whoever did it has recorded the violation. */
    return object->destroyed ? NULL : object;
}

struct stream *enter_stream(CUstream handle) {
    if ((uintptr_t)handle <= 2) {
        violation("use of the %s stream", handle == NULL ? "null" : (uintptr_t)handle == 1 ? "legacy" : "per-thread");
        return NULL;
    }
    struct stream *stream = enter_object(handle, STREAM);
    if (stream != NULL && stream->object.device != current_device()) {
        violation("stream#%d is of context#%d, but context#%d is current", stream->object.number, stream->object.device,
                  current_device());
        return NULL;
    }
    return stream;
}

void *destroy_object(const void *handle, enum handle_kind kind) {
    struct object *object = find_object(handle, kind);
    if (object == NULL) return NULL;
    if (object->inside > 0)
        violation("destroys %s#%d while another thread is inside a call on it", kind_name(kind), object->number);
    object->destroyed = true;
    return object;
}

int current_device(void) {
    if (current.device < 0 || current.generation != state.generation) return -1;
    return state.devices[current.device].active ? current.device : -1;
}

bool current_is_destroyed(void) {
    return current.device >= 0 && current.generation == state.generation && !state.devices[current.device].active;
}

int bound_device(void) { return current.generation == state.generation ? current.device : -1; }

void set_current(int device) { current = (struct binding){device, state.generation}; }

CUcontext context_handle(int device) { return encode(CONTEXT, device + 1); }

int device_of_context(const void *handle) {
    int number = decode(handle, CONTEXT);
    return number > 0 && number <= state.device_count ? number - 1 : -1;
}

/* The handles of its streams, events and modules stay, so that leaks can be counted and late uses recognised. Memory
 * stays allocated. The next retain gives the same context handle, as the real driver does. */
void end_context(int device) {
    state.devices[device].life++;
    state.devices[device].active = false;
    for (int i = 0; i < state.tables[STREAM].count; i++) {
        struct stream *stream = (struct stream *)state.tables[STREAM].items[i];
        if (stream->object.device == device) drop_commands(stream);
    }
    pthread_cond_broadcast(&state.changed);
}

uint64_t next_random(void) {
    uint64_t drawn;
    if (own_draw(&drawn)) return drawn;
    /* splitmix64: any seed is a good seed. */
    uint64_t word = state.random += UINT64_C(0x9E3779B97F4A7C15);
    word = (word ^ word >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ word >> 27) * UINT64_C(0x94D049BB133111EB);
    return word ^ word >> 31;
}

static void bury(struct object *object) {
    graveyard = realloc(graveyard, (buried + 1) * sizeof *graveyard);
    graveyard[buried++] = object;
}

static void forget_objects(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < state.tables[kind].count; i++) {
            struct object *object = state.tables[kind].items[i];
            object->destroyed = true;
            if (kind == STREAM) {
                drop_commands((struct stream *)object);
                forget_clock(&((struct stream *)object)->clock);
                forget_capture((struct stream *)object);
            }
            if (kind == GRAPH || kind == GRAPH_EXEC) forget_graph((struct graph *)object);
            if (kind == EVENT) forget_clock(&((struct event *)object)->clock);
            bury(object);
        }
        state.tables[kind].count = 0;
    }
}

static void set_defaults(void) {
    state.generation++;
    state.device_count = 2;
    state.driver_version = 13000;
    state.mode = STANDIN_AUTO;
    state.total_memory = (size_t)64 << 20;
    state.races = true;
    state.seed = state.random = 1;
    state.sticky = CUDA_SUCCESS;
    state.allocations_made = state.blas_live = 0;
    state.nanoseconds = state.executed = 0;
    for (int i = 0; i < MAXIMUM_DEVICES; i++) {
        state.devices[i].retains = 0;
        state.devices[i].active = false;
        state.devices[i].life = 0;
    }
    forget_calls();
    forget_script();
    read_environment();
    if (state.mode == STANDIN_BACKGROUND) start_background();
}

void standin_reset_process(void) {
    pthread_mutex_lock(&state.mutex);
    forget_objects();
    forget_memory();
    forget_clock(&state.host);
    set_defaults();
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.mutex);
}

/* A forked child has no driver; it must not wait for a mutex that its parent held either. */
static void after_fork(void) { state.forked = true; }

__attribute__((constructor)) static void load(void) {
    set_defaults();
    pthread_atfork(NULL, NULL, after_fork);
}
