/*
 * The happens-before checker.
 *
 * The scheduler shows a missing wait only when the seed is unlucky. Here every access is compared, when it is enqueued,
 * with the earlier accesses to the same bytes: one of two conflicting accesses must be ordered before the other by
 * stream order, by an event that the stream waits on, or because the host saw it complete before it enqueued this one.
 *
 * A stream's clock says, for every other stream, how many of its commands come before the next command here. A record
 * copies it into the event; a wait joins the event's into the waiting stream's; a successful query or synchronize joins
 * it into the host's, which every later command of any stream starts from.
 */
#include "simulator.h"

#include <stdlib.h>
#include <string.h>

void raise_clock(struct clock *clock, int stream, uint64_t sequence) {
    if (stream >= clock->count) {
        int count = stream + 8;
        clock->seen = realloc(clock->seen, (size_t)count * sizeof *clock->seen);
        memset(clock->seen + clock->count, 0, (size_t)(count - clock->count) * sizeof *clock->seen);
        clock->count = count;
    }
    if (clock->seen[stream] < sequence) clock->seen[stream] = sequence;
}

void join_clock(struct clock *into, const struct clock *from) {
    for (int i = 0; i < from->count; i++)
        if (from->seen[i] > 0) raise_clock(into, i, from->seen[i]);
}

void forget_clock(struct clock *clock) {
    free(clock->seen);
    *clock = (struct clock){0};
}

static bool knows(const struct clock *clock, int stream, uint64_t sequence) {
    return stream < clock->count && clock->seen[stream] >= sequence;
}

void host_saw(const struct clock *clock, int stream, uint64_t sequence) {
    join_clock(&state.host, clock);
    raise_clock(&state.host, stream, sequence);
}

static uint64_t end_of(const struct range *range) {
    return range->address + (range->rows - 1) * range->pitch + range->width;
}

static bool run_overlaps(uint64_t start, uint64_t end, const struct range *range) {
    uint64_t first = 0;
    if (range->pitch > 0 && start >= range->address + range->width)
        first = (start - range->address - range->width) / range->pitch + 1;
    if (first >= range->rows) return false;
    uint64_t row = range->address + first * range->pitch;
    return row < end && start < row + range->width;
}

/* Exact also for columns or tiles that lie between each other, which may well be written at the same time. */
static bool overlaps(const struct range *one, const struct range *other) {
    if (one->address >= end_of(other) || other->address >= end_of(one)) return false;
    for (size_t row = 0; row < one->rows; row++) {
        uint64_t start = one->address + row * one->pitch;
        if (run_overlaps(start, start + one->width, other)) return true;
    }
    return false;
}

static bool covers(const struct range *one, const struct range *other) {
    if (one->rows == 1) return one->address <= other->address && end_of(one) >= end_of(other);
    return memcmp(one, other, sizeof *one) == 0;
}

static void forget_access(struct allocation *allocation, int index) {
    allocation->accesses[index] = allocation->accesses[--allocation->access_count];
}

static void remember(struct allocation *allocation, struct access access) {
    if (allocation->access_count == allocation->access_room) {
        allocation->access_room = allocation->access_room ? 2 * allocation->access_room : 4;
        allocation->accesses =
            realloc(allocation->accesses, (size_t)allocation->access_room * sizeof *allocation->accesses);
    }
    allocation->accesses[allocation->access_count++] = access;
}

static const char *verb(enum access_kind kind) {
    return kind == WRITE ? "writes" : kind == READ ? "reads" : "may use";
}

/* A touch conflicts only with allocating and freeing, which are writes of the whole allocation. */
static bool conflict(const struct access *one, const struct access *other) {
    if (one->kind == TOUCH || other->kind == TOUCH) return one->lifetime || other->lifetime;
    return one->kind == WRITE || other->kind == WRITE;
}

void check_order(struct stream *stream, const struct command *command, const struct operand *operand) {
    struct allocation *allocation = operand->allocation;
    if (!state.races || allocation == NULL || operand->range.width == 0 || operand->range.rows == 0) return;
    struct access mine = {
        .range = operand->range,
        .kind = operand->kind,
        .lifetime = command->kind == ALLOCATE || command->kind == RELEASE,
        .stream = stream->object.number,
        .sequence = command->sequence,
        .call = command->call,
    };
    for (int i = allocation->access_count - 1; i >= 0; i--) {
        struct access theirs = allocation->accesses[i];
        bool ordered = theirs.stream == mine.stream || knows(&stream->clock, theirs.stream, theirs.sequence);
        if (!ordered && conflict(&mine, &theirs) && overlaps(&mine.range, &theirs.range)) {
            violation("race on %s#%d: it %s on stream#%d what %s %s on stream#%d, with no order between them",
                      allocation->device < 0 ? "pinned" : "mem", allocation->number, verb(mine.kind), mine.stream,
                      theirs.call, verb(theirs.kind), theirs.stream);
            forget_access(allocation, i);
        } else if (knows(&state.host, theirs.stream, theirs.sequence)) {
            forget_access(allocation, i);
        } else if (ordered && !theirs.lifetime && covers(&mine.range, &theirs.range) &&
                   (mine.kind == WRITE || (theirs.stream == mine.stream && mine.kind >= theirs.kind))) {
            /* What conflicts with the older access conflicts with this one too, which is ordered after it. */
            forget_access(allocation, i);
        }
    }
    remember(allocation, mine);
}

bool is_in_use(const struct allocation *allocation, uint64_t address, size_t bytes) {
    struct range range = {address, bytes, 0, 1};
    for (int i = 0; state.races && i < allocation->access_count; i++) {
        const struct access *each = &allocation->accesses[i];
        if (!knows(&state.host, each->stream, each->sequence) && overlaps(&each->range, &range)) return true;
    }
    return false;
}

bool host_knows_unused(const struct allocation *allocation) {
    for (int i = 0; i < allocation->access_count; i++)
        if (!knows(&state.host, allocation->accesses[i].stream, allocation->accesses[i].sequence)) return false;
    return true;
}
