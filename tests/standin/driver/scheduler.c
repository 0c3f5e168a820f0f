/*
 * Streams of commands, and whose turn it is.
 *
 * The turn goes to a stream chosen by the seeded generator among those whose first command can run; a third of the
 * streams, chosen by the seed, are slow, so that one stream runs far ahead of another as it does on a real device.
 */
#include "simulator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool is_done(const struct stream *stream, uint64_t sequence) { return stream == NULL || stream->executed >= sequence; }

static bool can_run(const struct stream *stream) {
    const struct command *head = stream->head;
    if (head == NULL || head->endless) return false;
    if (head->ready != NULL && !head->ready(head->payload)) return false;
    return head->kind != WAIT || is_done(head->awaited, head->awaited_sequence);
}

static bool is_slow(const struct stream *stream) {
    uint64_t mixed = (state.seed + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)stream->object.number << 32;
    mixed = (mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return (mixed >> 40) % 3 == 0;
}

static struct stream *stream_number(int index) { return (struct stream *)state.tables[STREAM].items[index]; }

static struct stream *choose(void) {
    int total = state.tables[STREAM].count, able = 0;
    for (int i = 0; i < total; i++) able += can_run(stream_number(i));
    if (able == 0) return NULL;
    struct stream *chosen = NULL;
    for (int attempt = 0; attempt < 3; attempt++) {
        int turn = (int)(next_random() % (uint64_t)able);
        for (int i = 0; i < total; i++) {
            chosen = stream_number(i);
            if (can_run(chosen) && turn-- == 0) break;
        }
        if (!is_slow(chosen)) break;
    }
    return chosen;
}

static void discard(struct command *command) {
    for (int i = 0; i < command->operand_count; i++) {
        struct allocation *allocation = command->operands[i].allocation;
        if (allocation == NULL) continue;
        allocation->references--;
        forget_if_unused(allocation);
    }
    free(command->payload);
    free(command);
}

static void unchain(struct stream *stream) {
    struct command *command = stream->head;
    stream->head = command->next;
    if (stream->head == NULL) stream->tail = NULL;
    stream->executed = command->sequence;
    state.executed++;
    discard(command);
}

bool step(struct stream *only) {
    if (state.sticky != CUDA_SUCCESS) return false;
    struct stream *stream = only != NULL ? (can_run(only) ? only : NULL) : choose();
    if (stream == NULL) return false;
    state.nanoseconds += 1000;
    int code;
    if (fault_is_due(&code)) {
        state.sticky = code;
    } else {
        execute(stream, stream->head);
        /* A faulted command never completes, and neither does anything behind it. */
        if (state.sticky == CUDA_SUCCESS) unchain(stream);
    }
    if (state.sticky != CUDA_SUCCESS) lose_managed();
    pthread_cond_broadcast(&state.changed);
    return state.sticky == CUDA_SUCCESS;
}

void progress(void) {
    if (state.mode != STANDIN_AUTO && state.mode != STANDIN_SEEDED) return;
    struct stream *stream = choose();
    for (uint64_t left = 1 + next_random() % 3; stream != NULL && left > 0 && step(stream); left--) continue;
}

struct command *enqueue(struct stream *stream, enum command_kind kind) {
    struct command *command = calloc(1, sizeof *command);
    command->kind = kind;
    command->call = current_call();
    command->sequence = ++stream->enqueued;
    join_clock(&stream->clock, &state.host);
    return command;
}

void add_operand(struct command *command, enum access_kind kind, struct range range) {
    if (range.width == 0 || range.rows == 0 || command->operand_count == MAXIMUM_OPERANDS) return;
    if (range.rows == 1) range.pitch = 0;
    command->operands[command->operand_count++] = (struct operand){.range = range, .kind = kind};
}

static bool reachable(const struct stream *stream, const struct allocation *allocation) {
    if (allocation->device < 0 || allocation->device == stream->object.device) return true;
    if (allocation->growing) return allocation->open_to[stream->object.device];
    return allocation->pool != NULL && allocation->pool->access[stream->object.device];
}

static void look_up(struct stream *stream, struct command *command, struct operand *operand, bool checks_peers) {
    uint64_t address = operand->range.address;
    bool on_device = is_device_address(address);
    struct allocation *allocation = on_device ? allocation_at(address) : pinned_at(address);
    if (allocation == NULL) {
        violation("stream#%d is given %s address %p, which is not allocated", stream->object.number,
                  on_device ? "device" : "host", (void *)(uintptr_t)address);
        return;
    }
    operand->allocation = allocation;
    allocation->references++;
    size_t span = (operand->range.rows - 1) * operand->range.pitch + operand->range.width;
    if (address - allocation->start + span > allocation->bytes)
        violation("out of bounds: %zu bytes from %s, which has %zu in all", span, address_text(address),
                  allocation->bytes);
    if (allocation->free_called && command->kind != RELEASE)
        violation("use after free: stream#%d is given %s after its free was enqueued", stream->object.number,
                  address_text(address));
    if (checks_peers && !reachable(stream, allocation))
        violation("stream#%d of device %d has no access to %s of device %d", stream->object.number,
                  stream->object.device, address_text(address), allocation->device);
    check_order(stream, command, operand);
}

void submit(struct stream *stream, struct command *command, bool checks_peers) {
    if (stream->capture != NULL) {
        stream->enqueued--;
        capture_command(stream, command);
        return;
    }
    for (int i = 0; i < command->operand_count; i++) look_up(stream, command, &command->operands[i], checks_peers);
    if (command->kind == RELEASE) {
        command->allocation->free_called = true;
        command->allocation->freed_on = stream;
    }
    if (stream->tail != NULL) stream->tail->next = command;
    else stream->head = command;
    stream->tail = command;
    pthread_cond_broadcast(&state.changed);
    while (state.mode == STANDIN_EAGER && step(NULL)) continue;
}

void submit_work(struct stream *stream, const struct operand *operands, int count, work run, const void *payload,
                 size_t payload_bytes, bool checks_peers) {
    submit_work_when(stream, operands, count, NULL, run, payload, payload_bytes, checks_peers);
}

void submit_work_when(struct stream *stream, const struct operand *operands, int count, bool (*ready)(void *payload), work run,
                      const void *payload, size_t payload_bytes, bool checks_peers) {
    struct command *command = enqueue(stream, WORK);
    command->ready = ready;
    for (int i = 0; i < count; i++) add_operand(command, operands[i].kind, operands[i].range);
    command->run = run;
    command->payload = malloc(payload_bytes);
    memcpy(command->payload, payload, payload_bytes);
    command->payload_bytes = payload_bytes;
    submit(stream, command, checks_peers);
}

/* Where threads take turns, somebody else has his. */
static bool gave_turn_away(void) {
    if (turns_here == NULL || !turns_here()) return false;
    pthread_mutex_unlock(&state.mutex);
    turns_sleep(100000);
    pthread_mutex_lock(&state.mutex);
    return true;
}

/* A synchronize call that lasts this long is usually a test that forgot to step or to release. */
void wait_for_change(void) {
    if (gave_turn_away()) return;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    if (pthread_cond_timedwait(&state.changed, &state.mutex, &until) == ETIMEDOUT)
        fprintf(stderr, "stand-in: %s has waited for 30 s\n", current_call());
}

CUresult wait_for(struct stream *stream, uint64_t sequence, const struct clock *known) {
    int generation = state.generation;
    struct clock clock = {0};
    join_clock(&clock, known);
    while (state.sticky == CUDA_SUCCESS && !is_done(stream, sequence) && generation == state.generation) {
        bool runs = state.mode == STANDIN_AUTO || state.mode == STANDIN_EAGER || state.mode == STANDIN_SEEDED;
        if (!(runs && step(NULL)) && state.sticky == CUDA_SUCCESS) wait_for_change();
    }
    if (state.sticky == CUDA_SUCCESS && generation == state.generation) {
        if (stream != NULL) host_saw(&clock, stream->object.number, sequence);
        release_reserves();
    }
    forget_clock(&clock);
    return state.sticky;
}

CUresult wait_for_device(int device) {
    /* What others enqueue while this waits is not waited for. */
    int streams = state.tables[STREAM].count;
    struct stream **waited = malloc((size_t)(streams + 1) * sizeof(struct stream *));
    uint64_t *until = malloc((size_t)(streams + 1) * sizeof *until);
    int count = 0;
    for (int i = 0; i < streams; i++) {
        struct stream *stream = stream_number(i);
        if (stream->object.device != device) continue;
        waited[count] = stream;
        until[count++] = stream->enqueued;
    }
    CUresult code = CUDA_SUCCESS;
    for (int i = 0; i < count && code == CUDA_SUCCESS; i++) {
        /* The clock may be of commands after `until` by now: at worst a race is missed that others made meanwhile. */
        code = wait_for(waited[i], until[i], &waited[i]->clock);
    }
    free(waited);
    free(until);
    return code;
}

/* The stream's context ends: its work never runs, but what it had to free is free. */
void drop_commands(struct stream *stream) {
    while (stream->head != NULL) {
        struct command *command = stream->head;
        if (command->kind == RELEASE) free_device_bytes(command->allocation);
        if (command->kind == ALLOCATE) command->allocation->visible = true;
        unchain(stream);
    }
}

static void *background(void *unused) {
    (void)unused;
    pthread_mutex_lock(&state.mutex);
    while (state.mode == STANDIN_BACKGROUND) {
        uint64_t rest = next_random() % 64;
        if (!step(NULL)) {
            if (!gave_turn_away()) pthread_cond_wait(&state.changed, &state.mutex);
            continue;
        }
        pthread_mutex_unlock(&state.mutex);
        if (rest < 16) usleep((useconds_t)rest);
        pthread_mutex_lock(&state.mutex);
    }
    pthread_mutex_unlock(&state.mutex);
    return unused;
}

/* The thread ends when the mode changes. A second one, should the mode change back before that, does no harm. */
void start_background(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, background, NULL) == 0) pthread_detach(thread);
}
