// A driver that compiles nothing and runs nothing, for plans of cuDNN on a machine without a GPU: it says that kernels were loaded,
// and how many fit. Everything else is answered with success.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int nothing(void) { return 0; }
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 0; return 0; }
int cuDeviceGet(int *device, int ordinal) { return 101; } // CUDA_ERROR_INVALID_DEVICE
int cuCtxGetCurrent(void **context) { *context = 0; return 0; }
int cuCtxPopCurrent(void **context) { *context = 0; return 0; }
int cuCtxPopCurrent_v2(void **context) { return cuCtxPopCurrent(context); }
int cuGetErrorString(int code, const char **text) { *text = "no driver"; return 0; }
int cuGetErrorName(int code, const char **text) { *text = "no driver"; return 0; }

// Handles are never looked into.
static int handle(void **place) { *place = (void *)0x1000; return 0; }
int cuLibraryLoadData(void **library, const void *code, void *a, void *b, unsigned n, void *c, void *d, unsigned m) { return handle(library); }
int cuLibraryGetKernel(void **kernel, void *library, const char *name) { return handle(kernel); }
int cuKernelGetFunction(void **function, void *kernel) { return handle(function); }
int cuLibraryUnload(void *library) { return 0; }
int cuModuleLoadData(void **module, const void *code) { return handle(module); }
int cuModuleLoadDataEx(void **module, const void *code, unsigned n, void *a, void *b) { return handle(module); }
int cuModuleGetFunction(void **function, void *module, const char *name) { return handle(function); }

// 0: threads of a block; 4: registers of a thread.
static int attribute(int *value, int which) { *value = which == 4 ? 128 : which == 0 ? 1024 : 0; return 0; }
int cuFuncGetAttribute(int *value, int which, void *function) { return attribute(value, which); }
int cuKernelGetAttribute(int *value, int which, void *kernel, int device) { return attribute(value, which); }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) { *n = 1; return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, void *f, int threads, size_t shared, unsigned flags) { *n = 1; return 0; }
int cuOccupancyMaxActiveClusters(int *n, void *function, void *shape) { *n = 66; return 0; }
int cuOccupancyMaxPotentialClusterSize(int *n, void *function, void *shape) { *n = 8; return 0; }

int cuGetExportTable(const void **table, const void *which) { return 500; } // CUDA_ERROR_NOT_FOUND
int cuGetProcAddress_v2(const char *name, void **place, int version, uint64_t flags, int *status) {
    void *found = strcmp(name, "cuGetProcAddress") ? dlsym(RTLD_DEFAULT, name) : (void *)cuGetProcAddress_v2;
    *place = found ? found : (void *)nothing;
    if (status) *status = 0;
    return 0;
}
int cuGetProcAddress(const char *name, void **place, int version, uint64_t flags) { return cuGetProcAddress_v2(name, place, version, flags, 0); }

// What is looked up by name and never called.
#define UNUSED(name) int name(void) { return 0; }
UNUSED(cuLaunchKernel) UNUSED(cuLaunchKernelEx) UNUSED(cuLaunchCooperativeKernel)
UNUSED(cuLinkCreate) UNUSED(cuLinkCreate_v2) UNUSED(cuLinkAddData) UNUSED(cuLinkAddData_v2) UNUSED(cuLinkAddFile_v2)
UNUSED(cuLinkComplete) UNUSED(cuLinkDestroy)
UNUSED(cuCtxPushCurrent) UNUSED(cuCtxPushCurrent_v2) UNUSED(cuCtxGetLimit) UNUSED(cuCtxGetDevice)
UNUSED(cuStreamGetCtx) UNUSED(cuStreamSynchronize)
UNUSED(cuLibraryLoadFromFile) UNUSED(cuKernelSetAttribute) UNUSED(cuFuncSetAttribute)
UNUSED(cuTensorMapEncodeTiled) UNUSED(cuModuleUnload) UNUSED(cuModuleLoadFatBinary) UNUSED(cuModuleGetGlobal_v2)
UNUSED(cuMemcpyDtoH_v2) UNUSED(cuDevicePrimaryCtxRetain) UNUSED(cuDevicePrimaryCtxReset) UNUSED(cuDevicePrimaryCtxRelease)
UNUSED(cuDeviceGetAttribute)
