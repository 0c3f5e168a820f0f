/*
 * Reserves of addresses, and memory that is mapped to them. A reserve has addresses that are never mapped for the host, as an arena;
 * its bytes lie in a mapping of its own. What is accessible from its beginning is one allocation of the device, however many
 * mappings it consists of. Memory counts from its making until its handle and its last mapping are gone.
 */
#include "simulator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct location {
    int type, id;
};

struct properties {
    int type, handle_types;
    struct location location;
    void *security;
    unsigned char flags[8];
};

struct description {
    struct location location;
    int flags;
};

#define GRANULE ((size_t)64 << 10)
#define MAXIMUM_MAPPINGS 1024

struct physical {
    struct physical *next;
    uint64_t handle;
    size_t bytes;
    int device, mappings;
    bool released;
};

struct mapping {
    size_t offset;
    struct physical *of;
    bool open[MAXIMUM_DEVICES];
};

struct reserve {
    struct reserve *next;
    struct arena arena;
    struct mapping mappings[MAXIMUM_MAPPINGS];
    int count;
    struct allocation *allocation; /* NULL: nothing is accessible */
};

static struct reserve *reserves;
static struct physical *physicals;
static uint64_t handles;

struct arena *reserve_at(uint64_t address) {
    for (struct reserve *each = reserves; each != NULL; each = each->next)
        if (address >= each->arena.base && address - each->arena.base < each->arena.span) return &each->arena;
    return NULL;
}

static struct reserve *covering(uint64_t address, size_t bytes) {
    struct reserve *found = (struct reserve *)(void *)reserve_at(address);
    for (struct reserve *each = reserves; each != NULL; each = each->next)
        if ((void *)found == (void *)&each->arena)
            return address - each->arena.base + bytes <= each->arena.span ? each : NULL;
    return NULL;
}

size_t physical_bytes(int device) {
    size_t bytes = 0;
    for (struct physical *each = physicals; each != NULL; each = each->next) bytes += each->device == device ? each->bytes : 0;
    return bytes;
}

int64_t live_growth(bool addresses) {
    int64_t live = 0;
    if (addresses) for (struct reserve *each = reserves; each != NULL; each = each->next) live++;
    else for (struct physical *each = physicals; each != NULL; each = each->next) live++;
    return live;
}

static void forget_physical(struct physical *physical) {
    if (!physical->released || physical->mappings > 0) return;
    struct physical **at = &physicals;
    while (*at != physical) at = &(*at)->next;
    *at = physical->next;
    free(physical);
}

void forget_growth(void) {
    while (reserves != NULL) {
        struct reserve *next = reserves->next;
        munmap((void *)(uintptr_t)reserves->arena.base, reserves->arena.span);
        munmap(reserves->arena.backing, reserves->arena.span);
        free(reserves);
        reserves = next;
    }
    while (physicals != NULL) {
        struct physical *next = physicals->next;
        free(physicals);
        physicals = next;
    }
}

static bool is_asked_rightly(const struct properties *asked) {
    return asked->type == 1 && asked->location.type == 1 && asked->location.id >= 0 &&
           asked->location.id < state.device_count && asked->handle_types == 0;
}

/* What is accessible to its own device, from the beginning on; and what every peer has with it. */
static void show(struct reserve *reserve) {
    size_t extent = 0;
    for (int i = 0; i < reserve->count; i++) {
        struct mapping *mapping = &reserve->mappings[i];
        if (mapping->offset != extent || !mapping->open[mapping->of->device]) break;
        extent += mapping->of->bytes;
    }
    if (reserve->allocation == NULL && extent > 0)
        reserve->allocation = record_growing(reserve->mappings[0].of->device, reserve->arena.base);
    if (reserve->allocation == NULL) return;
    if (extent > 0) {
        reserve->allocation->bytes = reserve->allocation->capacity = extent;
        for (int device = 0; device < MAXIMUM_DEVICES; device++) {
            bool all = true;
            for (int i = 0; i < reserve->count; i++) all = all && reserve->mappings[i].open[device];
            reserve->allocation->open_to[device] = all;
        }
        return;
    }
    forget_growing(reserve->allocation);
    reserve->allocation = NULL;
}

EXPORT CUresult cuMemGetAllocationGranularity(size_t *granule, const struct properties *asked, int option) {
    ENTER(cuMemGetAllocationGranularity, INITIALISED);
    if (!is_asked_rightly(asked) || option < 0 || option > 1) LEAVE(CUDA_ERROR_INVALID_VALUE, "%d", option);
    *granule = GRANULE;
    LEAVE(CUDA_SUCCESS, "%zu", *granule);
}

EXPORT CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wanted, uint64_t flags) {
    ENTER(cuMemAddressReserve, UNPOISONED);
    if (bytes == 0 || bytes % GRANULE != 0 || alignment != 0 || wanted != 0 || flags != 0)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytes);
    int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *addresses = mmap(NULL, bytes, PROT_NONE, kind, -1, 0);
    void *backing = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (addresses == MAP_FAILED || backing == MAP_FAILED) {
        if (addresses != MAP_FAILED) munmap(addresses, bytes);
        LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", bytes);
    }
    struct reserve *reserve = calloc(1, sizeof *reserve);
    reserve->arena = (struct arena){(uint64_t)(uintptr_t)addresses, backing, bytes};
    reserve->next = reserves;
    reserves = reserve;
    *address = reserve->arena.base;
    LEAVE(CUDA_SUCCESS, "%zu bytes", bytes);
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
    ENTER(cuMemAddressFree, UNPOISONED);
    for (struct reserve **at = &reserves; *at != NULL; at = &(*at)->next) {
        struct reserve *reserve = *at;
        if (reserve->arena.base != address) continue;
        if (reserve->arena.span != bytes || reserve->count > 0) break;
        munmap((void *)(uintptr_t)reserve->arena.base, bytes);
        munmap(reserve->arena.backing, bytes);
        *at = reserve->next;
        free(reserve);
        LEAVE(CUDA_SUCCESS, "%zu bytes", bytes);
    }
    violation("frees addresses that are not reserved, or have memory");
    LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytes);
}

EXPORT CUresult cuMemCreate(uint64_t *handle, size_t bytes, const struct properties *asked, uint64_t flags) {
    ENTER(cuMemCreate, UNPOISONED);
    if (bytes == 0 || bytes % GRANULE != 0 || !is_asked_rightly(asked) || flags != 0)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytes);
    if (bytes > free_memory(asked->location.id)) LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", bytes);
    struct physical *physical = calloc(1, sizeof *physical);
    physical->bytes = bytes;
    physical->device = asked->location.id;
    physical->handle = ++handles;
    physical->next = physicals;
    physicals = physical;
    *handle = physical->handle;
    LEAVE(CUDA_SUCCESS, "memory#%d %zu bytes", (int)*handle, bytes);
}

static struct physical *physical_of(uint64_t handle) {
    for (struct physical *each = physicals; each != NULL; each = each->next)
        if (each->handle == handle && !each->released) return each;
    violation("memory#%d does not exist", (int)handle);
    return NULL;
}

EXPORT CUresult cuMemRelease(uint64_t handle) {
    ENTER(cuMemRelease, UNPOISONED);
    struct physical *physical = physical_of(handle);
    if (physical == NULL) LEAVE(CUDA_ERROR_INVALID_VALUE, "memory#?");
    physical->released = true;
    forget_physical(physical);
    LEAVE(CUDA_SUCCESS, "memory#%d", (int)handle);
}

EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
    ENTER(cuMemMap, UNPOISONED);
    struct reserve *reserve = covering(address, bytes);
    struct physical *physical = physical_of(handle);
    if (reserve == NULL || physical == NULL || physical->bytes != bytes || offset != 0 || flags != 0)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes memory#%d", bytes, (int)handle);
    size_t start = address - reserve->arena.base;
    int place = reserve->count;
    for (int i = reserve->count - 1; i >= 0; i--) {
        struct mapping *each = &reserve->mappings[i];
        if (start < each->offset + each->of->bytes && each->offset < start + bytes)
            LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes memory#%d, where memory is mapped", bytes, (int)handle);
        if (each->offset > start) place = i;
    }
    if (reserve->count == MAXIMUM_MAPPINGS) LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "memory#%d", (int)handle);
    memmove(&reserve->mappings[place + 1], &reserve->mappings[place], (size_t)(reserve->count - place) * sizeof(struct mapping));
    reserve->mappings[place] = (struct mapping){.offset = start, .of = physical};
    reserve->count++;
    physical->mappings++;
    memset(reserve->arena.backing + start, POISON_FRESH, bytes);
    LEAVE(CUDA_SUCCESS, "memory#%d %zu bytes at %zu", (int)handle, bytes, start);
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const struct description *all, size_t count) {
    ENTER(cuMemSetAccess, UNPOISONED);
    struct reserve *reserve = covering(address, bytes);
    size_t start = reserve == NULL ? 0 : address - reserve->arena.base, found = 0;
    for (int i = 0; reserve != NULL && i < reserve->count; i++) {
        struct mapping *mapping = &reserve->mappings[i];
        if (mapping->offset < start || mapping->offset + mapping->of->bytes > start + bytes) continue;
        found += mapping->of->bytes;
    }
    for (int i = 0; found == bytes && i < reserve->count; i++) {
        struct mapping *mapping = &reserve->mappings[i];
        if (mapping->offset < start || mapping->offset + mapping->of->bytes > start + bytes) continue;
        for (size_t j = 0; j < count; j++)
            if (all[j].location.type == 1 && all[j].location.id >= 0 && all[j].location.id < MAXIMUM_DEVICES)
                mapping->open[all[j].location.id] = all[j].flags == 3;
    }
    if (found != bytes || count == 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes, of which %zu are mapped", bytes, found);
    show(reserve);
    LEAVE(CUDA_SUCCESS, "%zu bytes at %zu for %zu devices", bytes, start, count);
}

/* Does not wait: the caller must know that nothing uses the bytes any more. */
EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
    ENTER(cuMemUnmap, UNPOISONED);
    struct reserve *reserve = covering(address, bytes);
    size_t start = reserve == NULL ? 0 : address - reserve->arena.base;
    for (int i = 0; reserve != NULL && i < reserve->count; i++) {
        struct mapping *mapping = &reserve->mappings[i];
        if (mapping->offset != start || mapping->of->bytes != bytes) continue;
        if (reserve->allocation != NULL && is_in_use(reserve->allocation, address, bytes))
            violation("unmaps %s, which work in flight uses", address_text(address));
        struct physical *physical = mapping->of;
        reserve->count--;
        memmove(mapping, mapping + 1, (size_t)(reserve->count - i) * sizeof *mapping);
        memset(reserve->arena.backing + start, POISON_FREED, bytes);
        madvise(reserve->arena.backing + start, bytes, MADV_DONTNEED);
        physical->mappings--;
        forget_physical(physical);
        show(reserve);
        LEAVE(CUDA_SUCCESS, "%zu bytes at %zu", bytes, start);
    }
    violation("unmaps %zu bytes that are no mapping", bytes);
    LEAVE(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytes);
}
