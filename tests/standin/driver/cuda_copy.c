/* Copies and fills. They read their source when they run, not when they are enqueued. */
#include "simulator.h"

#include <string.h>

struct copy {
    uint64_t target, source;
    size_t target_pitch, source_pitch, width, rows;
};

static void run_copy(void *payload) {
    const struct copy *copy = payload;
    for (size_t row = 0; row < copy->rows; row++)
        memmove(standin_backing(copy->target + row * copy->target_pitch),
                standin_backing(copy->source + row * copy->source_pitch), copy->width);
}

/* A real driver copies pageable memory behind the caller's back, synchronously and slowly; none of ours should. */
static bool is_pageable(uint64_t address) {
    if (is_device_address(address) || pinned_at(address) != NULL) return false;
    violation("pageable memory in async copy: %p", (void *)(uintptr_t)address);
    return true;
}

static CUresult copy_on(struct stream *stream, struct copy copy, bool checks_peers) {
    if (copy.width == 0 || copy.rows == 0) return CUDA_SUCCESS;
    if (is_pageable(copy.source) || is_pageable(copy.target)) return CUDA_ERROR_INVALID_VALUE;
    struct operand operands[] = {
        {.range = {copy.source, copy.width, copy.source_pitch, copy.rows}, .kind = READ},
        {.range = {copy.target, copy.width, copy.target_pitch, copy.rows}, .kind = WRITE},
    };
    submit_work(stream, operands, 2, run_copy, &copy, sizeof copy, checks_peers);
    return CUDA_SUCCESS;
}

static CUresult copy_flat(struct stream *stream, uint64_t target, uint64_t source, size_t bytes, bool checks_peers) {
    return copy_on(stream, (struct copy){.target = target, .source = source, .width = bytes, .rows = 1}, checks_peers);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, CUstream handle) {
    ENTER(cuMemcpyHtoDAsync_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    CUresult code = copy_flat(stream, target, (uint64_t)(uintptr_t)source, bytes, false);
    LEAVE(code, "%s <- %s %zu bytes stream#%d", address_text(target), address_text((uint64_t)(uintptr_t)source), bytes,
          stream->object.number);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, CUstream handle) {
    ENTER(cuMemcpyDtoHAsync_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    CUresult code = copy_flat(stream, (uint64_t)(uintptr_t)target, source, bytes, false);
    LEAVE(code, "%s <- %s %zu bytes stream#%d", address_text((uint64_t)(uintptr_t)target), address_text(source), bytes,
          stream->object.number);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream handle) {
    ENTER(cuMemcpyDtoDAsync_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    CUresult code = copy_flat(stream, target, source, bytes, true);
    LEAVE(code, "%s <- %s %zu bytes stream#%d", address_text(target), address_text(source), bytes,
          stream->object.number);
}

static bool belongs_to(uint64_t address, CUcontext context) {
    const struct allocation *allocation = allocation_at(address);
    int device = device_of_context(context);
    if (allocation == NULL || allocation->device == device) return true;
    violation("%s is of device %d, the context given for it of device %d", address_text(address), allocation->device,
              device);
    return false;
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
                                  CUcontext source_context, size_t bytes, CUstream handle) {
    ENTER(cuMemcpyPeerAsync, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    bool right = belongs_to(target, target_context) && belongs_to(source, source_context);
    CUresult code = right ? copy_flat(stream, target, source, bytes, false) : CUDA_ERROR_INVALID_VALUE;
    LEAVE(code, "%s <- %s %zu bytes stream#%d", address_text(target), address_text(source), bytes,
          stream->object.number);
}

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_UNIFIED = 4 };

struct side {
    size_t x, y;
    int type;
    const void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
};

struct copy_2d {
    struct side source, target;
    size_t width, height;
};

static bool side_address(const struct side *side, size_t width, uint64_t *address) {
    if (side->type != MEMORY_HOST && side->type != MEMORY_DEVICE && side->type != MEMORY_UNIFIED) return false;
    if (side->pitch != 0 && side->pitch < side->x + width) return false;
    uint64_t start = side->type == MEMORY_HOST ? (uint64_t)(uintptr_t)side->host : side->device;
    *address = start + side->y * side->pitch + side->x;
    return true;
}

EXPORT CUresult cuMemcpy2DAsync_v2(const struct copy_2d *parameters, CUstream handle) {
    ENTER(cuMemcpy2DAsync_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    struct copy copy = {.width = parameters->width, .rows = parameters->height};
    copy.source_pitch = parameters->source.pitch != 0 ? parameters->source.pitch : copy.width;
    copy.target_pitch = parameters->target.pitch != 0 ? parameters->target.pitch : copy.width;
    CUresult code = CUDA_ERROR_INVALID_VALUE;
    if (side_address(&parameters->source, copy.width, &copy.source) &&
        side_address(&parameters->target, copy.width, &copy.target))
        code = copy_on(stream, copy, true);
    LEAVE(code, "%s <- %s %zu x %zu bytes stream#%d", address_text(copy.target), address_text(copy.source), copy.width,
          copy.rows, stream->object.number);
}

struct fill {
    uint64_t target;
    size_t pitch, count, rows;
    unsigned value, value_bytes;
};

static void run_fill(void *payload) {
    const struct fill *fill = payload;
    for (size_t row = 0; row < fill->rows; row++) {
        unsigned char *target = standin_backing(fill->target + row * fill->pitch);
        for (size_t i = 0; i < fill->count; i++) memcpy(target + i * fill->value_bytes, &fill->value, fill->value_bytes);
    }
}

static CUresult fill_on(struct stream *stream, struct fill fill) {
    size_t width = fill.count * fill.value_bytes;
    if (fill.target % fill.value_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
    if (fill.rows > 1 && (fill.pitch < width || fill.pitch % fill.value_bytes != 0)) return CUDA_ERROR_INVALID_VALUE;
    if (width == 0 || fill.rows == 0) return CUDA_SUCCESS;
    struct operand operand = {.range = {fill.target, width, fill.pitch, fill.rows}, .kind = WRITE};
    submit_work(stream, &operand, 1, run_fill, &fill, sizeof fill, true);
    return CUDA_SUCCESS;
}

#define MEMSET(name, type)                                                                                             \
    EXPORT CUresult name(CUdeviceptr target, type value, size_t count, CUstream handle) {                              \
        ENTER(name, A_CONTEXT);                                                                                        \
        struct stream *stream = enter_stream(handle);                                                                  \
        if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");                                              \
        CUresult code = fill_on(stream, (struct fill){target, 0, count, 1, value, sizeof value});                      \
        LEAVE(code, "%s value %u count %zu stream#%d", address_text(target), (unsigned)value, count,                   \
              stream->object.number);                                                                                  \
    }

MEMSET(cuMemsetD8Async, unsigned char)
MEMSET(cuMemsetD16Async, unsigned short)
MEMSET(cuMemsetD32Async, unsigned)

#define MEMSET_2D(name, type)                                                                                          \
    EXPORT CUresult name(CUdeviceptr target, size_t pitch, type value, size_t width, size_t height, CUstream handle) { \
        ENTER(name, A_CONTEXT);                                                                                        \
        struct stream *stream = enter_stream(handle);                                                                  \
        if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");                                              \
        CUresult code = fill_on(stream, (struct fill){target, pitch, width, height, value, sizeof value});             \
        LEAVE(code, "%s pitch %zu value %u %zu x %zu stream#%d", address_text(target), pitch, (unsigned)value, width,  \
              height, stream->object.number);                                                                          \
    }

MEMSET_2D(cuMemsetD2D8Async, unsigned char)
MEMSET_2D(cuMemsetD2D16Async, unsigned short)
MEMSET_2D(cuMemsetD2D32Async, unsigned)
