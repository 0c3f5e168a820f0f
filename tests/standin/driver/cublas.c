/* Handles of libcublas's stand-in, and what all of its computations share. */
#include "cublas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a handle takes of the device's memory, so that creating one can fail for want of it. */
#define OWN_MEMORY ((size_t)64 << 10)
#define HANDLE_MARK (UINT64_C(1) << 45)

static struct blas *all;
static int made, made_in_generation;

static cublasHandle_t handle_of_blas(const struct blas *blas) {
    return (cublasHandle_t)(uintptr_t)(HANDLE_MARK | (uint64_t)(blas->generation & 0xFFF) << 28 |
                                       (uint64_t)blas->number << 4);
}

/* The process exits, and what the library keeps for all handles is gone. */
static volatile bool gone;

/* Registered when it is first used, as by the real one. Takes its time, so that who is not kept out comes into it. */
static void at_exit(void) {
    gone = true;
    usleep(50 * 1000);
}

static struct blas *find_blas(cublasHandle_t handle) {
    struct blas *blas = all;
    while (blas != NULL && (handle_of_blas(blas) != handle || blas->generation != standin_generation()))
        blas = blas->next;
    if (blas == NULL) standin_violation("%p is no cublas handle", handle);
    else if (blas->destroyed) standin_violation("use of destroyed blas#%d", blas->number);
    return blas == NULL || blas->destroyed ? NULL : blas;
}

struct blas *enter_blas(cublasHandle_t handle) {
    struct blas *blas = find_blas(handle);
    if (blas == NULL) return NULL;
    int device = standin_current_device();
    if (device != blas->device) {
        standin_violation("blas#%d is of context#%d, current is context#%d", blas->number, blas->device, device);
        return NULL;
    }
    if (blas->inside > 0) standin_violation("two threads inside calls on blas#%d", blas->number);
    blas->inside++;
    standin_pause();
    blas->inside--;
    return blas->destroyed ? NULL : blas;
}

bool take_scalar(const struct blas *blas, struct scalar *scalar, const void *pointer, int type) {
    *scalar = (struct scalar){.type = type};
    if (pointer == NULL) return false;
    if (blas->device_pointers) {
        scalar->address = (uint64_t)(uintptr_t)pointer;
        return true;
    }
    if (standin_is_device_address(pointer)) {
        standin_violation("a device address for a scalar in host pointer mode");
        return false;
    }
    memcpy(scalar->bytes, pointer, type_bytes(type));
    return true;
}

int add_workspace(struct operand *operands, int count, const struct blas *blas) {
    if (blas->workspace == 0 || blas->workspace_bytes == 0) return count;
    operands[count] = (struct operand){.range = {blas->workspace, blas->workspace_bytes, 0, 1}, .kind = WRITE};
    return count + 1;
}

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    BLAS_ENTER(cublasCreate_v2);
    int device = standin_current_device();
    if (handle == NULL) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "%s", "");
    if (device < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "%s", "");
    }
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "(poisoned)");
    uint64_t memory = standin_allocate(device, OWN_MEMORY);
    if (memory == 0) BLAS_LEAVE(CUBLAS_STATUS_ALLOC_FAILED, "%s", "");
    static bool watched;
    if (!watched) watched = atexit(at_exit) == 0;
    if (made_in_generation != standin_generation()) made = 0;
    made_in_generation = standin_generation();
    struct blas *blas = calloc(1, sizeof *blas);
    blas->next = all;
    all = blas;
    blas->number = ++made;
    blas->generation = standin_generation();
    blas->device = device;
    blas->own_memory = memory;
    standin_count_blas(1);
    *handle = handle_of_blas(blas);
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d context#%d", blas->number, device);
}

/* Waits for the device, as the real one does. */
EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    if (gone) {
        fputs("cublasDestroy while the process exits\n", stderr);
        _exit(86);
    }
    BLAS_ENTER(cublasDestroy_v2);
    struct blas *blas = find_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    if (blas->inside > 0) standin_violation("destroys blas#%d while another thread is inside a call on it", blas->number);
    if (standin_current_device() != blas->device)
        standin_violation("destroys blas#%d of context#%d while context#%d is current", blas->number, blas->device,
                          standin_current_device());
    blas->destroyed = true;
    standin_count_blas(-1);
    if (standin_sticky() == CUDA_SUCCESS && standin_wait_device(blas->device) == CUDA_SUCCESS)
        standin_deallocate(blas->own_memory);
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d", blas->number);
}

EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) {
    BLAS_ENTER(cublasGetVersion_v2);
    if (handle != NULL && find_blas(handle) == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    *version = 130000;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "%s", "");
}

EXPORT cublasStatus_t cublasGetProperty(int property, int *value) {
    BLAS_ENTER(cublasGetProperty);
    if (property < 0 || property > 2) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "%d", property);
    *value = property == 0 ? 13 : 0;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "%d", property);
}

EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream stream) {
    BLAS_ENTER(cublasSetStream_v2);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    int number = 0, device = stream != NULL ? standin_stream_device(stream, &number) : blas->device;
    if (device != blas->device) {
        if (device >= 0)
            standin_violation("blas#%d of context#%d is given stream#%d of context#%d", blas->number, blas->device,
                              number, device);
        BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "blas#%d stream#%d", blas->number, number);
    }
    blas->stream = stream;
    /* The real one goes back to its own workspace here, which is easily overlooked. */
    blas->workspace = 0;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d stream#%d", blas->number, number);
}

EXPORT cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, CUstream *stream) {
    BLAS_ENTER(cublasGetStream_v2);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    *stream = blas->stream;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d", blas->number);
}

EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes) {
    BLAS_ENTER(cublasSetWorkspace_v2);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    if ((uintptr_t)workspace % 256 != 0) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "blas#%d misaligned", blas->number);
    if (workspace != NULL && !standin_is_device_address(workspace)) standin_violation("a workspace in host memory");
    blas->workspace = (uint64_t)(uintptr_t)workspace;
    blas->workspace_bytes = bytes;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d %s %zu bytes", blas->number, standin_address_text(workspace), bytes);
}

EXPORT cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, int mode) {
    BLAS_ENTER(cublasSetPointerMode_v2);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    if (mode != 0 && mode != 1) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "blas#%d %d", blas->number, mode);
    blas->device_pointers = mode == 1;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d %s", blas->number, mode == 1 ? "device" : "host");
}

EXPORT cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, int *mode) {
    BLAS_ENTER(cublasGetPointerMode_v2);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    *mode = blas->device_pointers;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d", blas->number);
}

EXPORT cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int mode) {
    BLAS_ENTER(cublasSetMathMode);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    blas->math_mode = mode;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d %d", blas->number, mode);
}

EXPORT cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, int mode) {
    BLAS_ENTER(cublasSetAtomicsMode);
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    if (mode != 0 && mode != 1) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "blas#%d %d", blas->number, mode);
    blas->atomics_mode = mode;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "blas#%d %d", blas->number, mode);
}

EXPORT const char *cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_UNKNOWN";
    }
}

EXPORT const char *cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
