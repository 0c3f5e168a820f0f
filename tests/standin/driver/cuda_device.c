/* Initialisation, devices and primary contexts. */
#include "simulator.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct attribute {
    int attribute, value;
};

/* Those of a Hopper part, by CUdevice_attribute; what is not here answers 0. */
static const struct attribute attributes[] = {
    {102, 1}, /* VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    {1, 1024},      /* MAX_THREADS_PER_BLOCK */
    {2, 1024},      /* MAX_BLOCK_DIM_X */
    {3, 1024},      /* MAX_BLOCK_DIM_Y */
    {4, 64},        /* MAX_BLOCK_DIM_Z */
    {5, INT_MAX},   /* MAX_GRID_DIM_X */
    {6, 65535},     /* MAX_GRID_DIM_Y */
    {7, 65535},     /* MAX_GRID_DIM_Z */
    {8, 49152},     /* MAX_SHARED_MEMORY_PER_BLOCK */
    {9, 65536},     /* TOTAL_CONSTANT_MEMORY */
    {10, 32},       /* WARP_SIZE */
    {11, INT_MAX},  /* MAX_PITCH */
    {12, 65536},    /* MAX_REGISTERS_PER_BLOCK */
    {13, 1980000},  /* CLOCK_RATE */
    {14, 512},      /* TEXTURE_ALIGNMENT */
    {15, 1},        /* GPU_OVERLAP */
    {16, 132},      /* MULTIPROCESSOR_COUNT */
    {19, 1},        /* CAN_MAP_HOST_MEMORY */
    {31, 1},        /* CONCURRENT_KERNELS */
    {32, 1},        /* ECC_ENABLED */
    {36, 3201000},  /* MEMORY_CLOCK_RATE */
    {37, 6144},     /* GLOBAL_MEMORY_BUS_WIDTH */
    {38, 62914560}, /* L2_CACHE_SIZE */
    {39, 2048},     /* MAX_THREADS_PER_MULTIPROCESSOR */
    {40, 3},        /* ASYNC_ENGINE_COUNT */
    {41, 1},        /* UNIFIED_ADDRESSING */
    {75, 9},        /* COMPUTE_CAPABILITY_MAJOR */
    {76, 0},        /* COMPUTE_CAPABILITY_MINOR */
    {78, 1},        /* STREAM_PRIORITIES_SUPPORTED */
    {79, 1},        /* GLOBAL_L1_CACHE_SUPPORTED */
    {80, 1},        /* LOCAL_L1_CACHE_SUPPORTED */
    {81, 233472},   /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
    {82, 65536},    /* MAX_REGISTERS_PER_MULTIPROCESSOR */
    {83, 1},        /* MANAGED_MEMORY */
    {87, 2},        /* SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO */
    {89, 1},        /* CONCURRENT_MANAGED_ACCESS */
    {90, 1},        /* COMPUTE_PREEMPTION_SUPPORTED */
    {91, 1},        /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
    {95, 1},        /* COOPERATIVE_LAUNCH */
    {97, 232448},   /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    {99, 1},        /* HOST_REGISTER_SUPPORTED */
    {102, 1},       /* VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED */
    {103, 1},       /* HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED */
    {106, 32},      /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    {115, 1},       /* MEMORY_POOLS_SUPPORTED */
    {119, 1},       /* MEMPOOL_SUPPORTED_HANDLE_TYPES: file descriptors */
    {120, 1},       /* CLUSTER_LAUNCH */
    {122, 1},       /* CAN_USE_64_BIT_STREAM_MEM_OPS */
    {125, 1},       /* IPC_EVENT_SUPPORTED */
    {133, 0},       /* MPS_ENABLED */
};

static bool no_device(CUdevice device) { return device < 0 || device >= state.device_count; }

EXPORT CUresult cuInit(unsigned flags) {
    const char *slow = getenv("WINDLASS_STANDIN_SLOW_INIT");
    if (slow != NULL) nanosleep(&(struct timespec){.tv_sec = atoi(slow) / 1000, .tv_nsec = atoi(slow) % 1000 * 1000000L}, NULL);
    ENTER(cuInit, NOTHING);
    if (flags != 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "%u", flags);
    if (state.device_count == 0) LEAVE(CUDA_ERROR_NO_DEVICE, "%s", "");
    state.initialised = true;
    LEAVE(CUDA_SUCCESS, "%s", "");
}

/* NVRTC asks for tables that are nobody else's business, and follows the pointer where there is no such function. */
EXPORT CUresult cuGetExportTable(const void **table, const void *identifier) {
    ENTER(cuGetExportTable, NOTHING);
    (void)identifier;
    *table = NULL;
    LEAVE(CUDA_ERROR_NOT_FOUND, "%s", "");
}

EXPORT CUresult cuDriverGetVersion(int *version) {
    ENTER(cuDriverGetVersion, NOTHING);
    *version = state.driver_version;
    LEAVE(CUDA_SUCCESS, "%s", "");
}

EXPORT CUresult cuDeviceGetCount(int *count) {
    ENTER(cuDeviceGetCount, INITIALISED);
    *count = state.device_count;
    LEAVE(CUDA_SUCCESS, "%s", "");
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER(cuDeviceGet, INITIALISED);
    if (no_device(ordinal)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", ordinal);
    *device = ordinal;
    LEAVE(CUDA_SUCCESS, "%d", ordinal);
}

EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER(cuDeviceGetName, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    if (length <= 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "%d", device);
    snprintf(name, (size_t)length, "Stand-in GPU");
    LEAVE(CUDA_SUCCESS, "%d", device);
}

EXPORT CUresult cuDeviceGetUuid_v2(char *uuid, CUdevice device) {
    ENTER(cuDeviceGetUuid_v2, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    memset(uuid, 0x5A, 16);
    const char *swapped = getenv("WINDLASS_STANDIN_UUIDS");
    uuid[15] = (char)(swapped == NULL ? device : device ^ atoi(swapped));
    LEAVE(CUDA_SUCCESS, "%d", device);
}

EXPORT CUresult cuDeviceGetUuid(char *uuid, CUdevice device) __attribute__((alias("cuDeviceGetUuid_v2")));

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    ENTER(cuDeviceGetAttribute, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d of %d", attribute, device);
    const int *replaced = attribute_override(attribute);
    *value = replaced != NULL ? *replaced : attribute == 33 ? device + 1 : 0; /* PCI_BUS_ID */
    for (size_t i = 0; replaced == NULL && i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute) *value = attributes[i].value;
    LEAVE(CUDA_SUCCESS, "%d of %d: %d", attribute, device, *value);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    ENTER(cuDeviceTotalMem_v2, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    *bytes = state.total_memory;
    LEAVE(CUDA_SUCCESS, "%d", device);
}

EXPORT CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
    ENTER(cuDeviceGetPCIBusId, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    if (length <= 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "%d", device);
    snprintf(id, (size_t)length, "0000:%02X:00.0", device + 1);
    LEAVE(CUDA_SUCCESS, "%d", device);
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    ENTER(cuDeviceCanAccessPeer, INITIALISED);
    if (no_device(device) || no_device(peer)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d %d", device, peer);
    const int *replaced = attribute_override(-1 - 16 * device - peer);
    *can = replaced != NULL ? *replaced : device != peer;
    LEAVE(CUDA_SUCCESS, "%d %d", device, peer);
}

/* NVLink joins 0 with 1, 2 with 3, and so on; nvml.c tells the rest. */
EXPORT CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer) {
    enum { NATIVE_ATOMICS = 3 };
    ENTER(cuDeviceGetP2PAttribute, INITIALISED);
    if (no_device(device) || no_device(peer)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d %d", device, peer);
    if (device == peer) LEAVE(CUDA_ERROR_INVALID_VALUE, "%d %d", device, peer);
    *value = attribute != NATIVE_ATOMICS || device / 2 == peer / 2;
    LEAVE(CUDA_SUCCESS, "%d of %d %d: %d", attribute, device, peer, *value);
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER(cuDevicePrimaryCtxRetain, UNPOISONED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    if (!open_arenas()) LEAVE(CUDA_ERROR_OUT_OF_MEMORY, "%d", device);
    state.devices[device].retains++;
    state.devices[device].active = true;
    *context = context_handle(device);
    LEAVE(CUDA_SUCCESS, "%d: %d", device, state.devices[device].retains);
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER(cuDevicePrimaryCtxRelease_v2, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    if (state.devices[device].retains == 0) {
        violation("releases the primary context of device %d more often than it was retained", device);
        LEAVE(CUDA_ERROR_INVALID_CONTEXT, "%d", device);
    }
    if (--state.devices[device].retains == 0 && state.devices[device].active) end_context(device);
    LEAVE(CUDA_SUCCESS, "%d: %d", device, state.devices[device].retains);
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) __attribute__((alias("cuDevicePrimaryCtxRelease_v2")));

/* Here for tests that play the other crate which resets the context under our feet. */
EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    ENTER(cuDevicePrimaryCtxReset_v2, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    if (state.devices[device].active) end_context(device);
    LEAVE(CUDA_SUCCESS, "%d", device);
}

EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) __attribute__((alias("cuDevicePrimaryCtxReset_v2")));

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER(cuDevicePrimaryCtxGetState, INITIALISED);
    if (no_device(device)) LEAVE(CUDA_ERROR_INVALID_DEVICE, "%d", device);
    *flags = 0;
    *active = state.devices[device].active;
    LEAVE(CUDA_SUCCESS, "%d: %d", device, *active);
}

/* Binding a thread touches no context, so it works after a fault too. */
EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
    ENTER(cuCtxGetCurrent, INITIALISED);
    int device = bound_device();
    *context = device < 0 ? NULL : context_handle(device);
    LEAVE(CUDA_SUCCESS, "context#%d", device);
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    ENTER(cuCtxSetCurrent, INITIALISED);
    int device = context == NULL ? -1 : device_of_context(context);
    if (context != NULL && (device < 0 || !state.devices[device].active)) {
        violation("makes current %s", device < 0 ? "what is no context handle" : "a destroyed context");
        LEAVE(device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED, "context#%d", device);
    }
    set_current(device);
    LEAVE(CUDA_SUCCESS, "context#%d", device);
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER(cuCtxGetDevice, A_CONTEXT);
    *device = current_device();
    LEAVE(CUDA_SUCCESS, "%d", *device);
}

EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER(cuCtxGetStreamPriorityRange, A_CONTEXT);
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    LEAVE(CUDA_SUCCESS, "%s", "");
}

EXPORT CUresult cuCtxSynchronize(void) {
    ENTER(cuCtxSynchronize, A_CONTEXT);
    int device = current_device();
    pause_call();
    CUresult code = wait_for_device(device);
    LEAVE(code, "context#%d", device);
}
