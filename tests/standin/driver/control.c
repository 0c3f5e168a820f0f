/* The control functions that set up the world, move it on, and count what lives in it. */
#include "simulator.h"

#include <string.h>

void standin_set_device_count(int count) {
    LOCKED(state.device_count = count < 0 ? 0 : count > MAXIMUM_DEVICES ? MAXIMUM_DEVICES : count);
}

void standin_set_total_memory(size_t bytes) { LOCKED(state.total_memory = bytes); }

void standin_set_driver_version(int version) { LOCKED(state.driver_version = version); }

void standin_seed(uint64_t seed) { LOCKED(state.seed = state.random = seed); }

void standin_mode(int mode) {
    pthread_mutex_lock(&state.mutex);
    bool begins = mode == STANDIN_BACKGROUND && state.mode != STANDIN_BACKGROUND;
    state.mode = mode;
    while (mode == STANDIN_EAGER && step(NULL)) continue;
    pthread_cond_broadcast(&state.changed);
    if (begins) start_background();
    pthread_mutex_unlock(&state.mutex);
}

int standin_step(int count) {
    int done = 0;
    pthread_mutex_lock(&state.mutex);
    name_call("standin_step");
    while (done < count && step(NULL)) done++;
    pthread_mutex_unlock(&state.mutex);
    return done;
}

int standin_step_stream(int stream_number, int count) {
    int done = 0;
    pthread_mutex_lock(&state.mutex);
    name_call("standin_step_stream");
    if (stream_number > 0 && stream_number <= state.tables[STREAM].count)
        while (done < count && step((struct stream *)state.tables[STREAM].items[stream_number - 1])) done++;
    pthread_mutex_unlock(&state.mutex);
    return done;
}

int standin_pending(void) {
    uint64_t pending = 0;
    pthread_mutex_lock(&state.mutex);
    for (int i = 0; i < state.tables[STREAM].count; i++) {
        const struct stream *stream = (const struct stream *)state.tables[STREAM].items[i];
        pending += stream->enqueued - stream->executed;
    }
    pthread_mutex_unlock(&state.mutex);
    return (int)pending;
}

void standin_release(void) {
    pthread_mutex_lock(&state.mutex);
    for (int i = 0; i < state.tables[STREAM].count; i++) {
        struct command *command = ((struct stream *)state.tables[STREAM].items[i])->head;
        for (; command != NULL; command = command->next) command->endless = false;
    }
    while (state.mode == STANDIN_EAGER && step(NULL)) continue;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.mutex);
}

uint64_t standin_executed(void) {
    uint64_t count;
    LOCKED(count = state.executed);
    return count;
}

void standin_races(int on) { LOCKED(state.races = on != 0); }

static int64_t live_objects(enum handle_kind kind) {
    int64_t live = 0;
    for (int i = 0; i < state.tables[kind].count; i++) live += !state.tables[kind].items[i]->destroyed;
    return live;
}

static int64_t live_memory(bool pinned, bool pooled, bool in_bytes) {
    int64_t live = 0;
    for (int i = -1; i < state.device_count; i++) {
        if ((i < 0) != pinned) continue;
        const struct allocation *each = i < 0 ? state.pinned : state.devices[i].allocations;
        for (; each != NULL; each = each->next)
            if (!each->free_called && !each->managed && !each->growing && (!pooled || each->pool != NULL)) live += in_bytes ? (int64_t)each->bytes : 1;
    }
    return live;
}

static int64_t live_managed(void) {
    int64_t live = 0;
    for (const struct allocation *each = state.pinned; each != NULL; each = each->next) live += each->managed;
    return live;
}

static int64_t reserved_by_pools(void) {
    int64_t bytes = 0;
    for (int i = 0; i < state.tables[POOL].count; i++) {
        const struct pool *pool = (const struct pool *)state.tables[POOL].items[i];
        if (!pool->object.destroyed) bytes += (int64_t)pool->reserved;
    }
    return bytes;
}

static int64_t live(const char *what) {
    if (strcmp(what, "streams") == 0) return live_objects(STREAM);
    if (strcmp(what, "events") == 0) return live_objects(EVENT);
    if (strcmp(what, "pools") == 0) return live_objects(POOL);
    if (strcmp(what, "graphs") == 0) return live_objects(GRAPH) + live_objects(GRAPH_EXEC);
    if (strcmp(what, "modules") == 0) return live_objects(MODULE);
    if (strcmp(what, "allocations") == 0) return live_memory(false, false, false);
    if (strcmp(what, "bytes") == 0) return live_memory(false, false, true);
    if (strcmp(what, "pool_bytes") == 0) return live_memory(false, true, true);
    if (strcmp(what, "pool_reserved") == 0) return reserved_by_pools();
    if (strcmp(what, "pinned") == 0) return live_memory(true, false, false);
    if (strcmp(what, "pinned_bytes") == 0) return live_memory(true, false, true);
    if (strcmp(what, "managed") == 0) return live_managed();
    if (strcmp(what, "reserves") == 0) return live_growth(true);
    if (strcmp(what, "physical") == 0) return live_growth(false);
    if (strcmp(what, "blas") == 0) return state.blas_live;
    if (strcmp(what, "contexts") != 0) return -1;
    int64_t retains = 0;
    for (int i = 0; i < MAXIMUM_DEVICES; i++) retains += state.devices[i].retains;
    return retains;
}

int64_t standin_live(const char *what) {
    int64_t count;
    LOCKED(count = live(what));
    return count;
}
