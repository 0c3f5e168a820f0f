/*
 * Managed memory. It is ordinary memory of the process, at one address for the host and for all devices. Where its pages
 * are is kept for each allocation as a whole: a device that writes it has it then, and one that reads it, unless it is read
 * mostly, or prefers the host, where it is. When a device faults, the host can no longer touch what a device has: on a real machine that is SIGBUS.
 */
#include "simulator.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct location {
    int type, id;
};

enum { ON_DEVICE = 1, ON_HOST = 2 };

static size_t whole_pages(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
    ENTER(cuMemAllocManaged, A_CONTEXT);
    if (bytes == 0 || (flags != 1 && flags != 2)) LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes flags %u", bytes, flags);
    void *memory = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", bytes);
    memset(memory, POISON_FRESH, bytes);
    struct allocation *allocation = record_pinned(memory, bytes, false);
    allocation->managed = true;
    allocation->place = -1;
    *address = allocation->start;
    LEAVE(CUDA_SUCCESS, "%s %zu bytes flags %u", address_text(*address), bytes, flags);
}

/* The managed memory that starts there, or NULL. */
struct allocation *managed_at(uint64_t address) {
    struct allocation *allocation = is_device_address(address) ? NULL : pinned_at(address);
    return allocation != NULL && allocation->managed ? allocation : NULL;
}

/* The addresses stay reserved, so that a late use crashes where it happens. */
void free_managed(struct allocation *allocation) {
    if (state.races && !host_knows_unused(allocation))
        violation("frees managed#%d, which the host has not seen to be unused", allocation->number);
    void *memory = (void *)(uintptr_t)allocation->start;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    mmap(memory, whole_pages(allocation->bytes), PROT_NONE, flags, -1, 0);
    free_pinned_record(allocation);
}

static bool is_place(struct location location) {
    return location.type == ON_HOST || (location.type == ON_DEVICE && location.id >= 0 && location.id < state.device_count);
}

static bool lies_inside(const struct allocation *allocation, uint64_t address, size_t bytes) {
    return allocation != NULL && bytes > 0 && address - allocation->start + bytes <= allocation->bytes;
}

struct move {
    struct allocation *allocation;
    int place;
};

static void run_move(void *payload) {
    const struct move *move = payload;
    move->allocation->place = move->place;
}

EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, struct location location, unsigned flags,
                                      CUstream handle) {
    ENTER(cuMemPrefetchAsync_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    struct allocation *allocation = managed_at(address);
    if (!lies_inside(allocation, address, bytes) || !is_place(location) || flags != 0)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%s %zu bytes to %d.%d", address_text(address), bytes, location.type, location.id);
    struct operand operand = {.range = {address, bytes, 0, 1}, .kind = READ};
    /* Read mostly: the host keeps its copy. */
    int place = location.type == ON_HOST || allocation->read_mostly ? -1 : location.id;
    struct move move = {allocation, place};
    submit_work(stream, &operand, 1, run_move, &move, sizeof move, false);
    LEAVE(CUDA_SUCCESS, "%s %zu bytes to %s stream#%d", address_text(address), bytes,
          location.type == ON_HOST ? "host" : "device", stream->object.number);
}

EXPORT CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, unsigned advice, struct location location) {
    ENTER(cuMemAdvise_v2, A_CONTEXT);
    struct allocation *allocation = managed_at(address);
    if (!lies_inside(allocation, address, bytes) || advice < 1 || advice > 6 || !is_place(location))
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%s %zu bytes advice %u", address_text(address), bytes, advice);
    if (advice <= 2) allocation->read_mostly = advice == 1;
    if (advice == 3 || advice == 4) allocation->kept = advice == 3 && location.type == ON_HOST;
    LEAVE(CUDA_SUCCESS, "%s %zu bytes advice %u of %s", address_text(address), bytes, advice,
          location.type == ON_HOST ? "host" : "device");
}

/* A command of a device has run. */
void move_managed(const struct stream *stream, const struct command *command) {
    for (int i = 0; i < command->operand_count; i++) {
        const struct operand *operand = &command->operands[i];
        struct allocation *allocation = operand->allocation;
        if (allocation == NULL || !allocation->managed || command->run == run_move) continue;
        /* What shall stay on the host, and is there, is used there. */
        bool stays = allocation->kept && allocation->place < 0;
        if (!stays && (operand->kind == WRITE || !allocation->read_mostly)) allocation->place = stream->object.device;
    }
}

/* A device has faulted: what it has is lost to the host. */
void lose_managed(void) {
    for (struct allocation *each = state.pinned; each != NULL; each = each->next)
        if (each->managed && each->place >= 0)
            mprotect((void *)(uintptr_t)each->start, whole_pages(each->bytes), PROT_NONE);
}
