/*
 * Arenas, allocations, pools and pinned memory.
 *
 * Device addresses are of a reservation that is never mapped: the host cannot follow them, as on a real machine; the
 * bytes lie in a second mapping at the same offset. The address range is twice the device's memory, so that running out
 * is a matter of bytes and not of fragments. Addresses are given out first fit from the lowest, so that bytes are
 * reused as early as the rules allow:
 *   - bytes whose free has executed, to anybody;
 *   - bytes whose free is queued on stream S, to an allocation on S (the free runs first). Two records then cover the
 *     same bytes until it has.
 */
#include "simulator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool open_arenas(void) {
    for (int i = 0; i < state.device_count; i++) {
        struct arena *arena = &state.devices[i].arena;
        if (arena->base != 0) continue;
        arena->span = 2 * state.total_memory;
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *addresses = mmap(NULL, arena->span, PROT_NONE, flags, -1, 0);
        void *backing = mmap(NULL, arena->span, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (addresses == MAP_FAILED || backing == MAP_FAILED) return false;
        arena->base = (uint64_t)(uintptr_t)addresses;
        arena->backing = backing;
    }
    return true;
}

static struct arena *arena_at(uint64_t address) {
    for (int i = 0; i < MAXIMUM_DEVICES; i++) {
        struct arena *arena = &state.devices[i].arena;
        if (arena->base != 0 && address >= arena->base && address - arena->base < arena->span) return arena;
    }
    return reserve_at(address);
}

bool is_device_address(uint64_t address) { return arena_at(address) != NULL; }

int standin_is_device_address(const void *address) { return is_device_address((uint64_t)(uintptr_t)address); }

void *standin_backing(uint64_t address) {
    struct arena *arena = arena_at(address);
    return arena != NULL ? arena->backing + (address - arena->base) : (void *)(uintptr_t)address;
}

static struct allocation *search(struct allocation *list, uint64_t address) {
    struct allocation *pending = NULL;
    for (struct allocation *each = list; each != NULL && each->start <= address; each = each->next) {
        if (address - each->start >= each->capacity) continue;
        if (!each->free_called) return each;
        pending = each;
    }
    return pending;
}

struct allocation *allocation_at(uint64_t address) {
    for (int i = 0; i < state.device_count; i++) {
        struct allocation *found = search(state.devices[i].allocations, address);
        if (found != NULL) return found;
    }
    return NULL;
}

struct allocation *pinned_at(uint64_t address) { return search(state.pinned, address); }

static struct allocation **list_of(const struct allocation *allocation) {
    return allocation->device < 0 ? &state.pinned : &state.devices[allocation->device].allocations;
}

static void insert(struct allocation *allocation) {
    struct allocation **at = list_of(allocation);
    while (*at != NULL && (*at)->start < allocation->start) at = &(*at)->next;
    allocation->next = *at;
    *at = allocation;
}

static void unlink_allocation(struct allocation *allocation) {
    struct allocation **at = list_of(allocation);
    while (*at != NULL && *at != allocation) at = &(*at)->next;
    if (*at != NULL) *at = allocation->next;
}

static void drop(struct allocation *allocation) {
    free(allocation->accesses);
    free(allocation);
}

void forget_if_unused(struct allocation *allocation) {
    if (allocation->free_executed && allocation->references == 0) drop(allocation);
}

size_t used_by_pool(const struct pool *pool) {
    size_t bytes = 0;
    for (struct allocation *each = state.devices[pool->object.device].allocations; each != NULL; each = each->next)
        if (each->pool == pool && !each->free_called) bytes += each->capacity;
    return bytes;
}

/* Where two records cover the same bytes, these count once. `pool` NULL: what cuMemAlloc gave out. */
static size_t held(int device, const struct pool *pool) {
    size_t bytes = 0;
    uint64_t cursor = 0;
    for (struct allocation *each = state.devices[device].allocations; each != NULL; each = each->next) {
        if (each->pool != pool || each->growing) continue;
        uint64_t start = each->start > cursor ? each->start : cursor, end = each->start + each->capacity;
        if (end > start) bytes += end - start;
        if (end > cursor) cursor = end;
    }
    return bytes;
}

size_t held_by_pool(const struct pool *pool) { return held(pool->object.device, pool); }

/* A pool hoards what it once reserved: neither another pool nor cuMemAlloc gets that before it is trimmed. */
static size_t committed(int device) {
    size_t bytes = held(device, NULL) + physical_bytes(device);
    for (int i = 0; i < state.tables[POOL].count; i++) {
        const struct pool *pool = (const struct pool *)state.tables[POOL].items[i];
        if (pool->object.device != device) continue;
        size_t now = held_by_pool(pool);
        bytes += pool->object.destroyed || now > pool->reserved ? now : pool->reserved;
    }
    return bytes;
}

size_t free_memory(int device) {
    size_t bytes = committed(device);
    return bytes < state.total_memory ? state.total_memory - bytes : 0;
}

void release_reserves(void) {
    for (int i = 0; i < state.tables[POOL].count; i++) {
        struct pool *pool = (struct pool *)state.tables[POOL].items[i];
        size_t keep = held_by_pool(pool);
        if (keep < pool->release_threshold) keep = pool->release_threshold;
        if (pool->reserved > keep) pool->reserved = keep;
    }
}

struct allocation *allocate_device(int device, struct pool *pool, size_t bytes, const struct stream *stream) {
    struct arena *arena = &state.devices[device].arena;
    if (bytes == 0 || bytes > arena->span) return NULL;
    size_t capacity = (bytes + ALLOCATION_ALIGNMENT - 1) / ALLOCATION_ALIGNMENT * ALLOCATION_ALIGNMENT;
    uint64_t cursor = arena->base;
    for (struct allocation *each = state.devices[device].allocations; each != NULL; each = each->next) {
        bool ours_to_reuse = stream != NULL && each->free_called && each->freed_on == stream && each->pool == pool;
        if (ours_to_reuse) continue;
        if (each->start >= cursor + capacity) break;
        if (each->start + each->capacity > cursor) cursor = each->start + each->capacity;
    }
    if (cursor + capacity > arena->base + arena->span) return NULL;
    struct allocation *allocation = calloc(1, sizeof *allocation);
    allocation->start = cursor;
    allocation->bytes = bytes;
    allocation->capacity = capacity;
    allocation->device = device;
    allocation->pool = pool;
    insert(allocation);
    bool too_much = committed(device) > state.total_memory ||
                    (pool != NULL && pool->maximum > 0 && held_by_pool(pool) > pool->maximum);
    if (too_much) {
        unlink_allocation(allocation);
        drop(allocation);
        return NULL;
    }
    allocation->number = ++state.allocations_made;
    if (pool != NULL) {
        size_t reserved = held_by_pool(pool), used = used_by_pool(pool);
        if (pool->reserved < reserved) pool->reserved = reserved;
        if (pool->reserved_high < pool->reserved) pool->reserved_high = pool->reserved;
        if (pool->used_high < used) pool->used_high = used;
    }
    return allocation;
}

/* The free has executed: the bytes are anybody's. */
void free_device_bytes(struct allocation *allocation) {
    memset(standin_backing(allocation->start), POISON_FREED, allocation->capacity);
    allocation->free_called = allocation->free_executed = true;
    unlink_allocation(allocation);
}

struct allocation *record_pinned(void *start, size_t bytes, bool registered) {
    struct allocation *allocation = calloc(1, sizeof *allocation);
    allocation->start = (uint64_t)(uintptr_t)start;
    allocation->bytes = allocation->capacity = bytes;
    allocation->device = -1;
    allocation->registered = registered;
    allocation->visible = true;
    allocation->number = ++state.allocations_made;
    insert(allocation);
    return allocation;
}

struct allocation *record_growing(int device, uint64_t start) {
    struct allocation *allocation = calloc(1, sizeof *allocation);
    allocation->start = start;
    allocation->device = device;
    allocation->growing = allocation->visible = true;
    allocation->number = ++state.allocations_made;
    insert(allocation);
    return allocation;
}

void forget_growing(struct allocation *allocation) {
    allocation->free_called = allocation->free_executed = true;
    unlink_allocation(allocation);
    forget_if_unused(allocation);
}

void free_pinned_record(struct allocation *allocation) {
    allocation->free_called = allocation->free_executed = true;
    unlink_allocation(allocation);
    forget_if_unused(allocation);
}

static void forget_list(struct allocation **list) {
    while (*list != NULL) {
        struct allocation *next = (*list)->next;
        drop(*list);
        *list = next;
    }
}

/* Pinned memory that is still allocated stays mapped: somebody's thread may hold it. */
void forget_memory(void) {
    forget_growth();
    forget_list(&state.pinned);
    for (int i = 0; i < MAXIMUM_DEVICES; i++) {
        struct device *device = &state.devices[i];
        forget_list(&device->allocations);
        if (device->arena.base != 0) {
            munmap(device->arena.backing, device->arena.span);
            munmap((void *)(uintptr_t)device->arena.base, device->arena.span);
        }
        device->arena = (struct arena){0};
    }
}

uint64_t standin_allocate(int device, size_t bytes) {
    struct allocation *allocation = allocate_device(device, NULL, bytes, NULL);
    if (allocation == NULL) return 0;
    allocation->visible = true;
    return allocation->start;
}

void standin_deallocate(uint64_t address) {
    struct allocation *allocation = allocation_at(address);
    if (allocation == NULL) return;
    free_device_bytes(allocation);
    forget_if_unused(allocation);
}
