/* Pools, device memory and pinned host memory. */
#include "simulator.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct location {
    int type, id;
};

struct pool_properties {
    int allocation_type, handle_types;
    struct location location;
    void *security_attributes;
    size_t maximum;
    unsigned char reserved[56];
};

struct access_description {
    struct location location;
    int flags;
};

enum { LOCATION_DEVICE = 1, ALLOCATION_PINNED = 1, HANDLE_FILE_DESCRIPTOR = 1 };
enum { RELEASE_THRESHOLD = 4, RESERVED_CURRENT, RESERVED_HIGH, USED_CURRENT, USED_HIGH };

static struct pool *make_pool(int device, size_t maximum) {
    struct pool *pool = new_object(POOL, sizeof *pool, device);
    pool->maximum = maximum;
    pool->reuse[1] = pool->reuse[2] = pool->reuse[3] = 1;
    pool->access[device] = true;
    return pool;
}

static bool is_device(struct location location) {
    return location.type == LOCATION_DEVICE && location.id >= 0 && location.id < state.device_count;
}

EXPORT CUresult cuMemPoolCreate(CUmemoryPool *made, const struct pool_properties *properties) {
    ENTER(cuMemPoolCreate, UNPOISONED);
    if (properties->allocation_type != ALLOCATION_PINNED || !is_device(properties->location) ||
        (properties->handle_types & ~HANDLE_FILE_DESCRIPTOR) != 0)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%s", "");
    struct pool *pool = make_pool(properties->location.id, properties->maximum);
    *made = handle_of(&pool->object);
    LEAVE(CUDA_SUCCESS, "pool#%d device %d handles %d", pool->object.number, pool->object.device,
          properties->handle_types);
}

/* What is still allocated stays so, and goes when it is freed. */
EXPORT CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    ENTER(cuMemPoolDestroy, UNPOISONED);
    struct pool *pool = destroy_object(handle, POOL);
    if (pool == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "pool#?");
    LEAVE(CUDA_SUCCESS, "pool#%d", pool->object.number);
}

EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void *value) {
    ENTER(cuMemPoolSetAttribute, UNPOISONED);
    struct pool *pool = find_object(handle, POOL);
    if (pool == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "pool#?");
    uint64_t now = 0;
    if (attribute >= 1 && attribute <= 3) memcpy(&pool->reuse[attribute], value, sizeof(int));
    else if (attribute >= RELEASE_THRESHOLD && attribute <= USED_HIGH) memcpy(&now, value, sizeof now);
    if (attribute == RELEASE_THRESHOLD) pool->release_threshold = now;
    /* The high-water marks can only be reset. */
    else if (attribute == RESERVED_HIGH && now == 0) pool->reserved_high = pool->reserved;
    else if (attribute == USED_HIGH && now == 0) pool->used_high = used_by_pool(pool);
    else if (attribute < 1 || attribute > 3) LEAVE(CUDA_ERROR_INVALID_VALUE, "pool#%d %d", pool->object.number, attribute);
    LEAVE(CUDA_SUCCESS, "pool#%d %d", pool->object.number, attribute);
}

EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void *value) {
    ENTER(cuMemPoolGetAttribute, UNPOISONED);
    struct pool *pool = find_object(handle, POOL);
    if (pool == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "pool#?");
    const uint64_t values[] = {pool->release_threshold, pool->reserved, pool->reserved_high, used_by_pool(pool),
                               pool->used_high};
    if (attribute >= 1 && attribute <= 3) memcpy(value, &pool->reuse[attribute], sizeof(int));
    else if (attribute >= RELEASE_THRESHOLD && attribute <= USED_HIGH)
        memcpy(value, &values[attribute - RELEASE_THRESHOLD], sizeof(uint64_t));
    else LEAVE(CUDA_ERROR_INVALID_VALUE, "pool#%d %d", pool->object.number, attribute);
    LEAVE(CUDA_SUCCESS, "pool#%d %d", pool->object.number, attribute);
}

EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
    ENTER(cuMemPoolTrimTo, UNPOISONED);
    struct pool *pool = find_object(handle, POOL);
    if (pool == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "pool#?");
    size_t held = held_by_pool(pool);
    if (keep < held) keep = held;
    if (pool->reserved > keep) pool->reserved = keep;
    LEAVE(CUDA_SUCCESS, "pool#%d to %zu", pool->object.number, keep);
}

EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool handle, const struct access_description *map, size_t count) {
    ENTER(cuMemPoolSetAccess, UNPOISONED);
    struct pool *pool = find_object(handle, POOL);
    if (pool == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "pool#?");
    for (size_t i = 0; i < count; i++) {
        bool withdraws_own = map[i].flags == 0 && map[i].location.id == pool->object.device;
        if (!is_device(map[i].location) || withdraws_own)
            LEAVE(CUDA_ERROR_INVALID_VALUE, "pool#%d device %d", pool->object.number, map[i].location.id);
        pool->access[map[i].location.id] = map[i].flags != 0;
    }
    LEAVE(CUDA_SUCCESS, "pool#%d %zu devices", pool->object.number, count);
}

EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool_handle,
                                        CUstream stream_handle) {
    ENTER(cuMemAllocFromPoolAsync, A_CONTEXT);
    struct stream *stream = enter_stream(stream_handle);
    struct pool *pool = find_object(pool_handle, POOL);
    if (stream == NULL || pool == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "%zu bytes pool#? stream#?", bytes);
    int pool_number = pool->object.number, number = stream->object.number;
    if (bytes == 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "0 bytes pool#%d stream#%d", pool_number, number);
    struct allocation *allocation = allocate_device(pool->object.device, pool, bytes, stream);
    if (allocation == NULL) LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes pool#%d stream#%d", bytes, pool_number, number);
    *address = allocation->start;
    struct command *command = enqueue(stream, ALLOCATE);
    command->allocation = allocation;
    add_operand(command, WRITE, flat(allocation->start, bytes));
    submit(stream, command, true);
    LEAVE(CUDA_SUCCESS, "%s %zu bytes pool#%d stream#%d", address_text(*address), bytes, pool_number, number);
}

/* NULL, and a violation, unless the address is where an allocation starts that has not been freed. */
static struct allocation *to_be_freed(uint64_t address) {
    struct allocation *allocation = allocation_at(address);
    if (allocation != NULL && allocation->start == address && !allocation->free_called) return allocation;
    violation(allocation != NULL && allocation->free_called ? "double free of %s"
              : allocation != NULL                          ? "free of %s, which is no start of an allocation"
                                                            : "free of %s, which is not allocated (double free?)",
              address_text(address));
    return NULL;
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    ENTER(cuMemFreeAsync, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "%s stream#?", address_text(address));
    struct allocation *allocation = to_be_freed(address);
    const char *text = address_text(address);
    if (allocation == NULL) LEAVE(CUDA_ERROR_INVALID_VALUE, "%s stream#%d", text, stream->object.number);
    struct command *command = enqueue(stream, RELEASE);
    command->allocation = allocation;
    add_operand(command, WRITE, flat(address, allocation->bytes));
    submit(stream, command, true);
    LEAVE(CUDA_SUCCESS, "%s stream#%d", text, stream->object.number);
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    ENTER(cuMemAlloc_v2, A_CONTEXT);
    if (bytes == 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "0 bytes");
    *address = standin_allocate(current_device(), bytes);
    LEAVE(*address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, "%s %zu bytes", address_text(*address), bytes);
}

/* Waits for the device first, unless the memory is a pool's: then the caller must have waited. */
EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
    ENTER(cuMemFree_v2, A_CONTEXT);
    struct allocation *managed = managed_at(address);
    if (managed != NULL && managed->start == address) {
        const char *name = address_text(address);
        CUresult waited = wait_for_device(current_device());
        if (waited == CUDA_SUCCESS) free_managed(managed);
        LEAVE(waited, "%s", name);
    }
    struct allocation *allocation = to_be_freed(address);
    const char *text = address_text(address);
    if (allocation == NULL) LEAVE(CUDA_ERROR_INVALID_VALUE, "%s", text);
    CUresult code = CUDA_SUCCESS;
    if (allocation->pool == NULL) code = wait_for_device(current_device());
    else if (state.races && !host_knows_unused(allocation))
        violation("frees %s, which the host has not seen to be unused", text);
    if (code == CUDA_SUCCESS) standin_deallocate(address);
    LEAVE(code, "%s", text);
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    ENTER(cuMemGetInfo_v2, A_CONTEXT);
    *free_bytes = free_memory(current_device());
    *total = state.total_memory;
    LEAVE(CUDA_SUCCESS, "%zu of %zu", *free_bytes, *total);
}

static size_t pages(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

EXPORT CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    ENTER(cuMemHostAlloc, A_CONTEXT);
    if (bytes == 0 || flags > 7) LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes flags %u", bytes, flags);
    void *memory = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", bytes);
    memset(memory, POISON_FRESH, bytes);
    *pointer = memory;
    struct allocation *allocation = record_pinned(memory, bytes, false);
    LEAVE(CUDA_SUCCESS, "pinned#%d %zu bytes flags %u", allocation->number, bytes, flags);
}

/* NULL, and a violation, unless it is a live record of that sort; a use that may still come is a violation too. */
static struct allocation *pinned_to_be_freed(void *pointer, bool registered) {
    struct allocation *allocation = pinned_at((uint64_t)(uintptr_t)pointer);
    if (allocation == NULL || allocation->start != (uint64_t)(uintptr_t)pointer || allocation->registered != registered) {
        violation("%p is no %s memory (double free?)", pointer, registered ? "registered" : "pinned");
        return NULL;
    }
    if (state.races && !host_knows_unused(allocation))
        violation("frees pinned#%d, which the host has not seen to be unused", allocation->number);
    return allocation;
}

/* The addresses stay reserved, so that a late use crashes where it happens instead of finding other data. */
EXPORT CUresult cuMemFreeHost(void *pointer) {
    ENTER(cuMemFreeHost, A_CONTEXT);
    struct allocation *allocation = pinned_to_be_freed(pointer, false);
    if (allocation == NULL) LEAVE(CUDA_ERROR_INVALID_VALUE, "pinned#?");
    int number = allocation->number;
    mmap(pointer, pages(allocation->bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    free_pinned_record(allocation);
    LEAVE(CUDA_SUCCESS, "pinned#%d", number);
}

EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
    ENTER(cuMemHostGetFlags, A_CONTEXT);
    struct allocation *allocation = pinned_at((uint64_t)(uintptr_t)pointer);
    if (allocation == NULL || allocation->registered) LEAVE(CUDA_ERROR_INVALID_VALUE, "%p", pointer);
    *flags = 1;
    LEAVE(CUDA_SUCCESS, "pinned#%d", allocation->number);
}

EXPORT CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
    ENTER(cuMemHostRegister_v2, A_CONTEXT);
    uint64_t start = (uint64_t)(uintptr_t)pointer;
    if (pointer == NULL || bytes == 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytes);
    if (pinned_at(start) != NULL || pinned_at(start + bytes - 1) != NULL)
        LEAVE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%s %zu bytes", address_text(start), bytes);
    struct allocation *allocation = record_pinned(pointer, bytes, true);
    LEAVE(CUDA_SUCCESS, "pinned#%d %zu bytes flags %u", allocation->number, bytes, flags);
}

EXPORT CUresult cuMemHostUnregister(void *pointer) {
    ENTER(cuMemHostUnregister, A_CONTEXT);
    struct allocation *allocation = pinned_to_be_freed(pointer, true);
    if (allocation == NULL) LEAVE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pinned#?");
    int number = allocation->number;
    free_pinned_record(allocation);
    LEAVE(CUDA_SUCCESS, "pinned#%d", number);
}
