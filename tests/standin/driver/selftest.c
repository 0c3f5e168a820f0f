/* Proves that the stand-in catches what it is there to catch. Each claim is a function; each starts from a reset. */
#include "standin.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *handle;
typedef uint64_t address;

int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGetAttribute(int *, int, int);
int cuDevicePrimaryCtxRetain(handle *, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuDevicePrimaryCtxReset_v2(int);
int cuCtxSetCurrent(handle);
int cuCtxGetCurrent(handle *);
int cuCtxSynchronize(void);
int cuStreamCreate(handle *, unsigned);
int cuStreamDestroy_v2(handle);
int cuStreamQuery(handle);
int cuStreamSynchronize(handle);
int cuStreamWaitEvent(handle, handle, unsigned);
int cuStreamWriteValue32_v2(handle, address, uint32_t, unsigned);
int cuEventCreate(handle *, unsigned);
int cuEventDestroy_v2(handle);
int cuEventRecord(handle, handle);
int cuEventQuery(handle);
int cuEventSynchronize(handle);
int cuEventElapsedTime(float *, handle, handle);
int cuMemPoolCreate(handle *, const void *);
int cuMemPoolDestroy(handle);
int cuMemPoolSetAttribute(handle, int, void *);
int cuMemPoolGetAttribute(handle, int, void *);
int cuMemPoolTrimTo(handle, size_t);
int cuMemPoolSetAccess(handle, const void *, size_t);
int cuMemAllocFromPoolAsync(address *, size_t, handle, handle);
int cuMemFreeAsync(address, handle);
int cuMemAlloc_v2(address *, size_t);
int cuMemFree_v2(address);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemHostAlloc(void **, size_t, unsigned);
struct place {
    int type, id;
};
int cuMemAllocManaged(address *, size_t, unsigned);
int cuMemPrefetchAsync_v2(address, size_t, struct place, unsigned, handle);
int cuMemAdvise_v2(address, size_t, unsigned, struct place);
int cuMemGetAllocationGranularity(size_t *, const void *, int);
int cuMemAddressReserve(address *, size_t, size_t, address, uint64_t);
int cuMemAddressFree(address, size_t);
int cuMemCreate(address *, size_t, const void *, uint64_t);
int cuMemRelease(address);
int cuMemMap(address, size_t, size_t, address, uint64_t);
int cuMemUnmap(address, size_t);
int cuMemSetAccess(address, size_t, const void *, size_t);
int cuMemFreeHost(void *);
int cuMemcpyHtoDAsync_v2(address, const void *, size_t, handle);
int cuMemcpyDtoHAsync_v2(void *, address, size_t, handle);
int cuMemcpyDtoDAsync_v2(address, address, size_t, handle);
int cuMemcpyPeerAsync(address, handle, address, handle, size_t, handle);
int cuMemcpy2DAsync_v2(const void *, handle);
int cuMemsetD8Async(address, unsigned char, size_t, handle);
int cuMemsetD32Async(address, unsigned, size_t, handle);
int cuMemsetD2D32Async(address, size_t, unsigned, size_t, size_t, handle);
int cuModuleLoadData(handle *, const void *);
int cuModuleUnload(handle);
int cuModuleGetFunction(handle *, handle, const char *);
int cuFuncGetParamInfo(handle, size_t, size_t *, size_t *);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                   void **);
int cublasCreate_v2(handle *);
int cublasDestroy_v2(handle);
int cublasSetStream_v2(handle, handle);
int cublasSetWorkspace_v2(handle, void *, size_t);
int cublasSetPointerMode_v2(handle, int);
int cublasGemmEx_64(handle, int, int, int64_t, int64_t, int64_t, const void *, address, int, int64_t, address, int,
                    int64_t, const void *, address, int, int64_t, int, int);
int cublasAxpyEx_64(handle, int64_t, const void *, int, address, int, int64_t, address, int, int64_t, int);
int cublasScalEx_64(handle, int64_t, const void *, int, address, int, int64_t, int);
int cublasDotEx_64(handle, int64_t, address, int, int64_t, address, int, int64_t, void *, int, int);
int cublasNrm2Ex_64(handle, int64_t, address, int, int64_t, void *, int, int);
int cublasCtrsv_v2_64(handle, int, int, int, int64_t, address, int64_t, address, int64_t);
int cublasZgemm_v2_64(handle, int, int, int64_t, int64_t, int64_t, const void *, address, int64_t, address, int64_t,
                      const void *, address, int64_t);
int cublasSgemmBatched_64(handle, int, int, int64_t, int64_t, int64_t, const void *, address, int64_t, address, int64_t,
                          const void *, address, int64_t, int64_t);

static int failures;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
        }                                                                                                              \
    } while (0)
#define OK(call) EXPECT((call) == 0)

/* -- What most claims start with. -- */

struct pool_properties {
    int type, handles, location_type, location;
    void *security;
    size_t maximum;
    unsigned char reserved[56];
};

static handle context, pool, first, second;

static handle make_pool(int device) {
    struct pool_properties properties = {1, 1, 1, device, NULL, 0, {0}};
    uint64_t keep_all = UINT64_MAX;
    handle made;
    OK(cuMemPoolCreate(&made, &properties));
    OK(cuMemPoolSetAttribute(made, 4, &keep_all));
    return made;
}

static void start(void) {
    standin_reset_process();
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    pool = make_pool(0);
    OK(cuStreamCreate(&first, 1));
    OK(cuStreamCreate(&second, 1));
}

static address take(size_t bytes, handle stream) {
    address made = 0;
    OK(cuMemAllocFromPoolAsync(&made, bytes, pool, stream));
    return made;
}

static void *pin(size_t bytes) {
    void *made;
    OK(cuMemHostAlloc(&made, bytes, 1));
    return made;
}

static handle event_after(handle stream) {
    handle event;
    OK(cuEventCreate(&event, 2));
    OK(cuEventRecord(event, stream));
    return event;
}

static int violations(void) { return standin_violations(NULL, 0); }

static int complains_of(const char *words) {
    static char text[200000];
    standin_violations(text, sizeof text);
    return strstr(text, words) != NULL;
}

/* For claims about correct use. */
static void expect_clean(const char *claim) {
    static char text[200000];
    if (standin_violations(text, sizeof text) == 0) return;
    failures++;
    printf("%s is not clean:\n%s", claim, text);
}

static handle kernel(const char *name) {
    static const char *text = ".version 8.0\n.visible .entry add_one_f32(\n .param .u64 p, .param .u64 n)\n{}\n"
                              ".entry axpb_f32 {}\n.entry scale_f64 {}\n.entry scale_i32 {}\n.entry fault() {}\n.entry endless() {}\n"
                              ".entry empty() {}\n.entry other(.param .u64 .ptr .global .align 4 a, .param .f32 b,\n"
                              ".param .align 4 .b8 c[12], .param .u64 d) {}";
    handle module, function;
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

static int launch(handle function, handle stream, void **parameters) {
    return cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
}

/* -- Order. -- */

/* Writes on one stream, reads on another; the answer is what was read. */
static unsigned pass_over(uint64_t seed, int waits) {
    start();
    standin_seed(seed);
    unsigned *landing = pin(4);
    address memory = take(4, first);
    OK(cuMemsetD32Async(memory, 1, 1, first));
    handle allocated = event_after(first);
    OK(cuStreamWaitEvent(second, allocated, 0));
    OK(cuMemsetD32Async(memory, 7, 1, first));
    handle written = event_after(first);
    if (waits) OK(cuStreamWaitEvent(second, written, 0));
    OK(cuMemcpyDtoHAsync_v2(landing, memory, 4, second));
    handle read = event_after(second);
    int turns = 0;
    while (cuEventQuery(read) == 600) turns++;
    EXPECT(turns > 0);
    OK(cuStreamSynchronize(first));
    return *landing;
}

static void a_missing_wait_reads_wrong_data_under_some_seed(void) {
    int wrong = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        wrong += pass_over(seed, 0) != 7;
        EXPECT(complains_of("race on mem#")); /* under every seed */
    }
    EXPECT(wrong > 0 && wrong < 50);
}

static void a_wait_always_reads_right_data(void) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        EXPECT(pass_over(seed, 1) == 7);
        expect_clean("a wait");
    }
}

static void a_seed_gives_the_same_run_again(void) {
    char one[20000], other[20000];
    for (int round = 0; round < 2; round++) {
        start();
        standin_seed(99);
        standin_log_enable(1);
        address memory[8];
        for (int i = 0; i < 8; i++) memory[i] = take(64, i % 2 ? first : second);
        for (int i = 0; i < 8; i++) OK(cuMemsetD8Async(memory[i], 1, 64, i % 2 ? first : second));
        while (cuStreamQuery(first) == 600) continue;
        EXPECT(standin_log_take(round ? other : one, 20000) > 0);
    }
    EXPECT(strcmp(one, other) == 0);
}

static void a_wait_takes_the_record_of_its_time(void) {
    start();
    standin_mode(STANDIN_MANUAL);
    handle event, never;
    OK(cuEventCreate(&event, 2));
    OK(cuEventCreate(&never, 2));
    OK(cuEventQuery(never));
    OK(cuStreamWaitEvent(second, never, 0)); /* nothing to wait for */
    EXPECT(standin_pending() == 0);
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(launch(kernel("endless"), first, NULL));
    OK(cuEventRecord(event, first)); /* the later record is not what `second` waits for */
    EXPECT(standin_step(100) == 2);
    OK(cuStreamQuery(second));
    EXPECT(cuEventQuery(event) == 600);
    standin_release();
    EXPECT(standin_step(100) == 2);
    OK(cuEventQuery(event));
    expect_clean("recording again");
}

static void what_the_host_saw_complete_needs_no_wait(void) {
    start();
    address memory = take(16, first);
    OK(cuMemsetD8Async(memory, 3, 16, first));
    handle third, chained;
    OK(cuStreamCreate(&third, 1));
    /* third waits for first, and the host waits for third: so it knows of first too. */
    chained = event_after(first);
    OK(cuStreamWaitEvent(third, chained, 0));
    OK(cuStreamSynchronize(third));
    OK(cuMemsetD8Async(memory, 4, 16, second));
    expect_clean("a host synchronization");
    OK(cuMemsetD8Async(memory, 5, 16, first));
    EXPECT(complains_of("race on mem#"));
}

static void parts_that_do_not_overlap_are_no_race(void) {
    start();
    address memory = take(4096, first);
    OK(cuStreamSynchronize(first));
    /* Columns of one matrix, between each other in memory. */
    OK(cuMemsetD2D32Async(memory, 64, 1, 4, 16, first));
    OK(cuMemsetD2D32Async(memory + 16, 64, 2, 4, 16, second));
    expect_clean("disjoint columns");
    OK(cuMemsetD2D32Async(memory + 12, 64, 2, 4, 16, second));
    EXPECT(complains_of("race on mem#"));
    OK(cuCtxSynchronize());
}

/* -- Memory. -- */

static void freed_bytes_are_reused_at_once_on_their_stream_and_later_elsewhere(void) {
    start();
    standin_mode(STANDIN_MANUAL);
    address one = take(1000, first);
    OK(cuMemFreeAsync(one, first));
    address other = take(1000, second), same = take(1000, first);
    EXPECT(same == one && other != one);
    OK(cuMemFreeAsync(same, first));
    EXPECT(standin_step(100) == 5);
    address now = take(1000, second);
    EXPECT(now == one);
    standin_step(100);
    unsigned char *landing = pin(1000);
    OK(cuMemcpyDtoHAsync_v2(landing, now, 1000, second));
    standin_step(100);
    EXPECT(landing[0] == 0xFF && landing[999] == 0xFF);
    expect_clean("reuse");
}

static void a_use_after_free_is_reported(void) {
    start();
    standin_mode(STANDIN_MANUAL);
    unsigned char *landing = pin(16);
    address memory = take(16, first);
    handle allocated = event_after(first);
    OK(cuStreamWaitEvent(second, allocated, 0));
    OK(cuMemcpyDtoHAsync_v2(landing, memory, 16, second)); /* a pending reader ... */
    OK(cuMemFreeAsync(memory, first));                     /* ... that the free does not wait for */
    EXPECT(complains_of("race on mem#2"));
    standin_violations_clear();
    EXPECT(standin_step_stream(1, 100) == 3);
    EXPECT(violations() == 0);
    EXPECT(standin_step_stream(2, 100) == 2);
    EXPECT(complains_of("use after free"));
    EXPECT(landing[0] == 0xDB);
    OK(cuMemsetD8Async(memory, 1, 16, first));
    EXPECT(complains_of("which is not allocated"));
    standin_violations_clear();
    EXPECT(cuMemFreeAsync(memory, first) == 1);
    EXPECT(complains_of("double free"));
}

static void a_free_that_is_still_queued_counts_as_freed(void) {
    start();
    standin_mode(STANDIN_MANUAL);
    address memory = take(16, first);
    OK(cuMemFreeAsync(memory, first));
    OK(cuMemsetD8Async(memory, 1, 16, first));
    EXPECT(complains_of("use after free"));
    EXPECT(cuMemFreeAsync(memory, first) == 1);
    EXPECT(complains_of("double free"));
}

static void an_allocation_is_a_write(void) {
    start();
    address memory = take(16, first);
    OK(cuMemsetD8Async(memory, 1, 16, second)); /* second never waited for the allocation */
    EXPECT(complains_of("race on mem#"));
}

static void out_of_bounds_is_reported(void) {
    start();
    address memory = take(16, first);
    OK(cuMemsetD8Async(memory + 8, 1, 9, first));
    EXPECT(complains_of("out of bounds"));
    OK(cuCtxSynchronize());
}

static void memory_runs_out_and_comes_back(void) {
    start();
    standin_set_total_memory(1 << 20);
    address memory, more, plain;
    OK(cuMemAllocFromPoolAsync(&memory, 700 << 10, pool, first));
    EXPECT(cuMemAllocFromPoolAsync(&more, 400 << 10, pool, first) == 2);
    OK(cuMemFreeAsync(memory, first));
    OK(cuMemAllocFromPoolAsync(&more, 900 << 10, pool, first)); /* the queued free's bytes and more */
    OK(cuMemFreeAsync(more, first));
    OK(cuStreamSynchronize(first));
    uint64_t reserved = 0, used = 1;
    OK(cuMemPoolGetAttribute(pool, 5, &reserved));
    OK(cuMemPoolGetAttribute(pool, 7, &used));
    EXPECT(used == 0 && reserved >= 900 << 10);
    EXPECT(cuMemAlloc_v2(&plain, 500 << 10) == 2); /* the pool hoards */
    handle blas;
    standin_fail("cuMemPoolTrimTo", 0, 1);
    EXPECT(cuMemPoolTrimTo(pool, 0) == 1);
    OK(cuMemPoolTrimTo(pool, 0));
    size_t left, total;
    OK(cuMemGetInfo_v2(&left, &total));
    EXPECT(left == total && total == 1 << 20);
    OK(cuMemAlloc_v2(&plain, (1 << 20) - 4096));
    EXPECT(cublasCreate_v2(&blas) == 3);
    OK(cuMemFree_v2(plain));
    expect_clean("running out of memory");
}

static void a_device_address_cannot_be_followed_by_the_host(void) {
    start();
    address memory = take(16, first);
    OK(cuStreamSynchronize(first));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would turn it into an exit */
        _exit(*(volatile char *)(uintptr_t)memory == 0 ? 1 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void pageable_and_freed_host_memory_are_reported(void) {
    start();
    char plain[16] = {0};
    address memory = take(16, first);
    EXPECT(cuMemcpyHtoDAsync_v2(memory, plain, 16, first) == 1);
    EXPECT(complains_of("pageable memory in async copy"));
    standin_violations_clear();
    char *pinned = pin(16);
    OK(cuMemcpyHtoDAsync_v2(memory, pinned, 16, first));
    OK(cuMemFreeHost(pinned));
    EXPECT(complains_of("not seen to be unused"));
    standin_violations_clear();
    OK(cuStreamSynchronize(first));
    EXPECT(complains_of("use after free"));
}

static void a_copy_reads_its_source_when_it_runs(void) {
    start();
    unsigned *staging = pin(8);
    address memory = take(4, first);
    staging[0] = 1;
    OK(cuMemcpyHtoDAsync_v2(memory, staging, 4, first));
    staging[0] = 2; /* too early */
    OK(cuMemcpyDtoHAsync_v2(staging + 1, memory, 4, first));
    OK(cuStreamSynchronize(first));
    EXPECT(staging[1] == 2);
    OK(cuMemFreeHost(staging));
    expect_clean("a copy");
}

struct copy_2d {
    size_t source_x, source_y;
    int source_type;
    const void *source_host;
    address source;
    void *source_array;
    size_t source_pitch, target_x, target_y;
    int target_type;
    void *target_host;
    address target;
    void *target_array;
    size_t target_pitch, width, height;
};

static void a_2d_copy_takes_a_tile(void) {
    start();
    unsigned char *bytes = pin(64), *tile = pin(6);
    for (int i = 0; i < 64; i++) bytes[i] = (unsigned char)i;
    address memory = take(64, first);
    OK(cuMemcpyHtoDAsync_v2(memory, bytes, 64, first));
    struct copy_2d copy = {.source_x = 3,
                           .source_y = 2,
                           .source_type = 2,
                           .source = memory,
                           .source_pitch = 8,
                           .target_type = 1,
                           .target_host = tile,
                           .target_pitch = 2,
                           .width = 2,
                           .height = 3};
    OK(cuMemcpy2DAsync_v2(&copy, first));
    OK(cuStreamSynchronize(first));
    EXPECT(tile[0] == 19 && tile[1] == 20 && tile[2] == 27 && tile[5] == 36);
    copy.width = 9;
    EXPECT(cuMemcpy2DAsync_v2(&copy, first) == 1);
    expect_clean("a tile");
}

/* -- Handles and contexts. -- */

static void bad_handles_and_contexts_are_reported(void) {
    start();
    handle event = event_after(first);
    EXPECT(cuStreamSynchronize(NULL) == 400);
    EXPECT(complains_of("null stream"));
    OK(cuEventDestroy_v2(event));
    EXPECT(cuEventQuery(event) == 400);
    EXPECT(complains_of("use of destroyed event#1"));
    EXPECT(cuStreamQuery((handle)0x1234) == 400);
    EXPECT(complains_of("is no stream handle"));
    standin_violations_clear();
    handle other_context, other_stream;
    OK(cuDevicePrimaryCtxRetain(&other_context, 1));
    OK(cuCtxSetCurrent(other_context));
    EXPECT(cuStreamQuery(first) == 400);
    EXPECT(complains_of("but context#1 is current"));
    OK(cuStreamCreate(&other_stream, 1));
    OK(cuCtxSetCurrent(NULL));
    standin_violations_clear();
    EXPECT(cuStreamQuery(other_stream) == 201);
    EXPECT(complains_of("no context current"));
    OK(cuCtxSetCurrent(context));
    standin_violations_clear();
    handle old = first;
    start();
    EXPECT(cuStreamQuery(old) == 400);
    EXPECT(complains_of("from before the reset"));
}

static void a_reset_by_somebody_else_ends_the_context(void) {
    start();
    OK(cuDevicePrimaryCtxReset_v2(0));
    EXPECT(cuStreamQuery(first) == 709);
    EXPECT(complains_of("a destroyed context current"));
    standin_violations_clear();
    handle again;
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT(again == context);
    EXPECT(cuStreamQuery(first) == 400);
    EXPECT(complains_of("of a destroyed context"));
}

static void peer_memory_needs_access(void) {
    start();
    handle other_context, other_stream;
    OK(cuDevicePrimaryCtxRetain(&other_context, 1));
    OK(cuCtxSetCurrent(other_context));
    OK(cuStreamCreate(&other_stream, 1));
    OK(cuCtxSetCurrent(context));
    address memory = take(16, first);
    OK(cuStreamSynchronize(first));
    OK(cuCtxSetCurrent(other_context));
    OK(cuMemsetD8Async(memory, 1, 16, other_stream));
    EXPECT(complains_of("has no access"));
    standin_violations_clear();
    struct { int type, device, flags; } access = {1, 1, 3};
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemsetD8Async(memory, 1, 16, other_stream));
    OK(cuMemcpyPeerAsync(memory, context, memory, context, 16, other_stream));
    OK(cuStreamSynchronize(other_stream));
    expect_clean("peer access");
}

/* The host reads and writes it where the device does, and has what it frees no more. */
static void managed_memory_is_the_hosts_and_the_devices(void) {
    start();
    struct place host = {2, 0}, device = {1, 0}, none = {1, 99};
    address memory;
    EXPECT(cuMemAllocManaged(&memory, 0, 1) == 1 && cuMemAllocManaged(&memory, 64, 4) == 1);
    OK(cuMemAllocManaged(&memory, 64, 1));
    unsigned char *bytes = (unsigned char *)(uintptr_t)memory;
    bytes[63] = 7;
    OK(cuMemsetD8Async(memory, 1, 63, first));
    OK(cuMemPrefetchAsync_v2(memory, 64, host, 0, first));
    OK(cuStreamSynchronize(first));
    EXPECT(bytes[0] == 1 && bytes[62] == 1 && bytes[63] == 7);
    OK(cuMemAdvise_v2(memory, 64, 1, device));
    EXPECT(cuMemAdvise_v2(memory, 65, 1, device) == 1 && cuMemAdvise_v2(memory, 64, 7, device) == 1);
    EXPECT(cuMemAdvise_v2(memory, 64, 3, none) == 1 && cuMemPrefetchAsync_v2(memory, 65, host, 0, first) == 1);
    EXPECT(cuMemPrefetchAsync_v2(memory, 64, host, 1, first) == 1);
    EXPECT(standin_live("managed") == 1 && standin_live("pinned") == 0);
    address plain = take(16, first);
    EXPECT(cuMemAdvise_v2(plain, 16, 1, device) == 1);
    OK(cuMemFree_v2(memory));
    EXPECT(standin_live("managed") == 0);
    expect_clean("managed memory");
}

/* Growth is seen, and what is used, or does not exist, is not unmapped. */
static void growth_is_seen_and_what_is_used_is_not_unmapped(void) {
    start();
    enum { GRANULE = 64 << 10 };
    struct { int type, handle_types; struct place location; void *security; unsigned char flags[8]; } asked = {1, 0, {1, 0}, NULL, {0}};
    struct { struct place location; int flags; } access = {{1, 0}, 3};
    size_t granule;
    OK(cuMemGetAllocationGranularity(&granule, &asked, 0));
    EXPECT(granule == GRANULE);
    address reserve, handle[2];
    EXPECT(cuMemAddressReserve(&reserve, 1, 0, 0, 0) == 1);
    OK(cuMemAddressReserve(&reserve, 4 * GRANULE, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuMemCreate(&handle[i], GRANULE, &asked, 0));
        OK(cuMemMap(reserve + (address)i * GRANULE, GRANULE, 0, handle[i], 0));
        EXPECT(cuMemMap(reserve + (address)i * GRANULE, GRANULE, 0, handle[i], 0) == 1);
        OK(cuMemRelease(handle[i]));
    }
    EXPECT(cuMemSetAccess(reserve, 3 * GRANULE, &access, 1) == 1);
    OK(cuMemSetAccess(reserve, GRANULE, &access, 1));
    OK(cuMemSetAccess(reserve + GRANULE, GRANULE, &access, 1));
    OK(cuMemsetD8Async(reserve, 1, 2 * GRANULE, first));
    OK(cuStreamSynchronize(first));
    expect_clean("growth");
    OK(cuMemsetD8Async(reserve, 1, GRANULE, first));
    OK(cuMemUnmap(reserve + GRANULE, GRANULE));
    expect_clean("what nothing uses");
    OK(cuMemUnmap(reserve, GRANULE));
    EXPECT(complains_of("work in flight"));
    EXPECT(cuMemUnmap(reserve, GRANULE) == 1);
    EXPECT(complains_of("no mapping"));
    OK(cuStreamSynchronize(first));
    EXPECT(standin_live("physical") == 0 && standin_live("reserves") == 1);
    for (int i = 0; i < 2; i++) {
        OK(cuMemCreate(&handle[i], GRANULE, &asked, 0));
        OK(cuMemMap(reserve + (address)i * GRANULE, GRANULE, 0, handle[i], 0));
        OK(cuMemRelease(handle[i]));
    }
    OK(cuMemSetAccess(reserve, GRANULE, &access, 1));
    OK(cuMemsetD8Async(reserve, 1, 2 * GRANULE, first));
    EXPECT(complains_of("out of bounds")); /* mapped, but not open */
    OK(cuStreamSynchronize(first));
    OK(cuMemUnmap(reserve + GRANULE, GRANULE));
    OK(cuMemUnmap(reserve, GRANULE));
    OK(cuMemAddressFree(reserve, 4 * GRANULE));
    EXPECT(standin_live("reserves") == 0);
}

static void *synchronize_first(void *unused) {
    OK(cuCtxSetCurrent(context));
    cuStreamSynchronize(first);
    return unused;
}

static void destroying_what_another_thread_uses_is_reported(void) {
    start();
    OK(launch(kernel("endless"), first, NULL));
    pthread_t thread;
    pthread_create(&thread, NULL, synchronize_first, NULL);
    while (standin_calls_of("cuStreamSynchronize") == 0 || cuStreamQuery(second) != 0) continue;
    usleep(20000);
    OK(cuStreamDestroy_v2(first));
    EXPECT(complains_of("while another thread is inside"));
    standin_release();
    pthread_join(thread, NULL);
}

/* -- Faults and failures. -- */

static void a_fault_is_sticky_for_the_whole_process(void) {
    start();
    OK(launch(kernel("fault"), first, NULL));
    handle after = event_after(first);
    EXPECT(cuStreamSynchronize(first) == 700);
    EXPECT(cuEventQuery(after) == 700);
    EXPECT(cuEventDestroy_v2(after) == 700);
    handle other;
    EXPECT(cuDevicePrimaryCtxRetain(&other, 1) == 700);
    int sms = 0;
    OK(cuDeviceGetAttribute(&sms, 16, 0));
    EXPECT(sms == 132);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    expect_clean("a fault");
}

static void scripts_make_any_kernel_fault(void) {
    start();
    standin_script("empty", 719);
    OK(launch(kernel("empty"), first, NULL));
    EXPECT(cuStreamSynchronize(first) == 719);
    start();
    standin_fault_after(1, 702);
    OK(launch(kernel("empty"), first, NULL));
    OK(cuStreamSynchronize(first));
    OK(launch(kernel("empty"), first, NULL));
    EXPECT(cuStreamSynchronize(first) == 702);
    EXPECT(standin_executed() == 1);
}

static void calls_fail_when_told_to(void) {
    start();
    handle event;
    standin_fail("cuEventCreate", 1, 2);
    OK(cuEventCreate(&event, 2));
    EXPECT(cuEventCreate(&event, 2) == 2);
    OK(cuEventCreate(&event, 2));
    EXPECT(standin_live("events") == 2 && standin_failed() == 1);
    standin_fail_any(2, 999);
    OK(cuStreamQuery(first));
    OK(cuStreamQuery(first));
    EXPECT(cuStreamQuery(first) == 999);
    OK(cuStreamQuery(first));
    standin_fail("cuStreamDestroy", 0, 4); /* the suffix may be left out */
    standin_fail_any(0, 1);
    standin_clear();
    OK(cuStreamDestroy_v2(first));
    setenv("WINDLASS_STANDIN_FAIL", "cuEventRecord:0:2,cuCtxSynchronize:1:1", 1);
    start();
    EXPECT(cuEventCreate(&event, 2) == 0 && cuEventRecord(event, first) == 2 && cuEventRecord(event, first) == 0);
    EXPECT(cuCtxSynchronize() == 0 && cuCtxSynchronize() == 1);
    unsetenv("WINDLASS_STANDIN_FAIL");
    expect_clean("failures");
}

static void *query_elsewhere(void *unused) {
    int version;
    cuDriverGetVersion(&version);
    cuDriverGetVersion(&version);
    return unused;
}

static void the_log_has_every_call(void) {
    start();
    char log[2000];
    standin_log_enable(1);
    OK(cuMemsetD8Async(take(64, first), 1, 64, first));
    EXPECT(cuStreamQuery(second) == 0);
    size_t length = standin_log_take(NULL, 0);
    EXPECT(standin_log_take(log, sizeof log) == length && length == strlen(log));
    EXPECT(strcmp(log, "cuMemAllocFromPoolAsync mem#1 64 bytes pool#1 stream#1 -> 0\n"
                       "cuMemsetD8Async mem#1 value 1 count 64 stream#1 -> 0\n"
                       "cuStreamQuery stream#2 -> 0\n") == 0);
    EXPECT(standin_log_take(log, sizeof log) == 0);
    EXPECT(standin_calls_of("cuStreamQuery") == 1);
    pthread_t thread;
    uint64_t here = standin_calls_here(), all = standin_calls();
    standin_log_enable(2);
    pthread_create(&thread, NULL, query_elsewhere, NULL);
    pthread_join(thread, NULL);
    OK(cuStreamQuery(second));
    EXPECT(standin_calls_here() == here + 1 && standin_calls() == all + 3);
    EXPECT(standin_log_take(log, sizeof log) > 0 && strcmp(log, "cuStreamQuery stream#2 -> 0\n") == 0);
    EXPECT(standin_live("allocations") == 1 && standin_live("pool_bytes") == 64 && standin_live("streams") == 2);
    EXPECT(standin_live("contexts") == 1 && standin_live("nonsense") == -1);
}

/* -- Progress. -- */

static void eager_and_background_modes_run_by_themselves(void) {
    start();
    standin_mode(STANDIN_EAGER);
    volatile unsigned *flag = pin(4);
    *flag = 0;
    OK(cuStreamWriteValue32_v2(first, (address)(uintptr_t)flag, 5, 0));
    EXPECT(*flag == 5);
    start();
    standin_mode(STANDIN_BACKGROUND);
    flag = pin(4);
    *flag = 0;
    OK(cuStreamWriteValue32_v2(first, (address)(uintptr_t)flag, 6, 0));
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 6) usleep(100);
    OK(cuStreamSynchronize(first));
    expect_clean("other modes");
}

static void elapsed_time_is_of_the_simulated_clock(void) {
    start();
    handle from, to, untimed = event_after(first);
    float milliseconds = -1;
    OK(cuEventCreate(&from, 0));
    OK(cuEventCreate(&to, 0));
    OK(cuEventRecord(from, first));
    OK(launch(kernel("empty"), first, NULL));
    OK(cuEventRecord(to, first));
    EXPECT(cuEventElapsedTime(&milliseconds, from, to) == 600);
    OK(cuEventSynchronize(to));
    OK(cuEventElapsedTime(&milliseconds, from, to));
    EXPECT(fabsf(milliseconds - 0.002f) < 1e-6f);
    EXPECT(cuEventElapsedTime(&milliseconds, untimed, to) == 400);
    expect_clean("time");
}

/* -- Kernels. -- */

static void kernels_compute(void) {
    start();
    float *values = pin(16);
    for (int i = 0; i < 4; i++) values[i] = (float)i;
    address memory = take(16, first), target = take(16, first);
    uint64_t count = 4;
    float a = 2, b = 10;
    OK(cuMemcpyHtoDAsync_v2(memory, values, 16, first));
    void *add[] = {&memory, &count}, *axpb[] = {&memory, &target, &count, &a, &b};
    OK(launch(kernel("add_one_f32"), first, add));
    OK(launch(kernel("axpb_f32"), first, axpb));
    a = 99; /* the parameters were copied */
    OK(cuMemcpyDtoHAsync_v2(values, target, 16, first));
    OK(cuStreamSynchronize(first));
    EXPECT(values[0] == 12 && values[3] == 18);
    int32_t *integers = pin(24);
    for (int i = 0; i < 6; i++) integers[i] = i + 1;
    address matrix = take(24, first);
    uint64_t rows = 2, columns = 2, leading = 3;
    uint32_t factor = (uint32_t)-5;
    void *scale[] = {&matrix, &rows, &columns, &leading, &factor};
    OK(cuMemcpyHtoDAsync_v2(matrix, integers, 24, first));
    OK(launch(kernel("scale_i32"), first, scale));
    OK(cuMemcpyDtoHAsync_v2(integers, matrix, 24, first));
    OK(cuStreamSynchronize(first));
    EXPECT(integers[0] == -5 && integers[1] == -10 && integers[2] == 3 && integers[4] == -25 && integers[5] == 6);
    EXPECT(cuLaunchKernel(kernel("empty"), 1, 1, 1, 1025, 1, 1, 0, first, NULL, NULL) == 1);
    EXPECT(cuLaunchKernel(kernel("empty"), 1, 1, 1, 1, 1, 1, 1 << 20, first, NULL, NULL) == 1);
    expect_clean("kernels");
}

static void parameters_are_known_from_the_text(void) {
    start();
    handle other = kernel("other"), module, function;
    size_t offset, bytes, offsets[] = {0, 8, 16, 32}, sizes[] = {8, 4, 12, 8};
    for (size_t i = 0; i < 4; i++) {
        OK(cuFuncGetParamInfo(other, i, &offset, &bytes));
        EXPECT(offset == offsets[i] && bytes == sizes[i]);
    }
    EXPECT(cuFuncGetParamInfo(other, 4, &offset, &bytes) == 1);
    OK(cuModuleLoadData(&module, ".entry one {}"));
    EXPECT(cuModuleGetFunction(&function, module, "on") == 500);
    OK(cuModuleGetFunction(&function, module, "one"));
    OK(cuModuleUnload(module));
    EXPECT(launch(function, first, NULL) == 400);
    EXPECT(complains_of("destroyed"));
}

/* -- cuBLAS. -- */

enum { F32 = 0, F64 = 1, F16 = 2, I8 = 3, C32 = 4, I32 = 10, BF16 = 14, COMPUTE_F32 = 68, COMPUTE_I32 = 72 };

static handle make_blas(void) {
    handle blas;
    OK(cublasCreate_v2(&blas));
    OK(cublasSetStream_v2(blas, first));
    return blas;
}

static address upload(const void *values, size_t bytes) {
    void *staging = pin(bytes);
    memcpy(staging, values, bytes);
    address memory = take(bytes, first);
    OK(cuMemcpyHtoDAsync_v2(memory, staging, bytes, first));
    return memory;
}

static void download(void *values, address memory, size_t bytes) {
    void *staging = pin(bytes);
    OK(cuMemcpyDtoHAsync_v2(staging, memory, bytes, first));
    OK(cuStreamSynchronize(first));
    memcpy(values, staging, bytes);
}

static void products_are_right(void) {
    start();
    handle blas = make_blas();
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 1, 0, 1, 1}, c[] = {NAN, NAN, NAN, NAN}, alpha = 2, beta = 0;
    address da = upload(a, sizeof a), db = upload(b, sizeof b), dc = upload(c, sizeof c);
    /* A is 2 x 3, B is 3 x 2, both column-major. */
    OK(cublasGemmEx_64(blas, 0, 0, 2, 2, 3, &alpha, da, F32, 2, db, F32, 3, &beta, dc, F32, 2, COMPUTE_F32, -1));
    alpha = 100;
    download(c, dc, sizeof c);
    EXPECT(c[0] == 12 && c[1] == 16 && c[2] == 16 && c[3] == 20);
    /* Transposed: A as 3 x 2 stored gives op(A) = 2 x 3. */
    alpha = 1, beta = 1;
    OK(cublasGemmEx_64(blas, 1, 0, 2, 2, 3, &alpha, da, F32, 3, db, F32, 3, &beta, dc, F32, 2, COMPUTE_F32, -1));
    download(c, dc, sizeof c);
    EXPECT(c[0] == 16 && c[1] == 26 && c[2] == 21 && c[3] == 31);
    EXPECT(cublasGemmEx_64(blas, 0, 0, 2, 2, 3, &alpha, da, F32, 1, db, F32, 3, &beta, dc, F32, 2, COMPUTE_F32, -1) == 7);
    EXPECT(cublasGemmEx_64(blas, 0, 0, 2, 2, 3, &alpha, da, F32, 2, db, F64, 3, &beta, dc, F32, 2, COMPUTE_F32, -1) == 15);
    OK(cublasDestroy_v2(blas));
    expect_clean("products");
}

static void integer_half_and_complex_products_are_right(void) {
    start();
    handle blas = make_blas();
    int8_t a[16] = {0}, b[16] = {0};
    int32_t c[4], one = 1, zero = 0;
    a[0] = -128, a[4] = 127, b[0] = 2, b[1] = 3; /* a row and a column, leading dimension 4 */
    address da = upload(a, 16), db = upload(b, 16), dc = take(16, first);
    OK(cublasGemmEx_64(blas, 0, 0, 1, 1, 2, &one, da, I8, 4, db, I8, 4, &zero, dc, I32, 4, COMPUTE_I32, -1));
    download(c, dc, 4);
    EXPECT(c[0] == -128 * 2 + 127 * 3);
    EXPECT(cublasGemmEx_64(blas, 0, 0, 1, 1, 2, &one, da, I8, 3, db, I8, 4, &zero, dc, I32, 4, COMPUTE_I32, -1) == 15);
    uint16_t half[] = {0x3C01, 0x0001, 0x7BFF, 0xC000}, scale[] = {0x3800};
    float f_one = 1, f_zero = 0, halves[1];
    address dh = upload(half, 8), ds = upload(scale, 2);
    int half_types[] = {F16, F32};
    for (int i = 0; i < 2; i++)
        OK(cublasGemmEx_64(blas, 0, 0, 1, 1, 1, &f_one, dh, F16, 1, ds, F16, 1, &f_zero, dc, half_types[i], 1,
                           COMPUTE_F32, -1));
    download(halves, dc, 4);
    EXPECT(halves[0] == 0.5f * (1 + 1 / 1024.0f));
    OK(cublasScalEx_64(blas, 4, &(float){0.5f}, F32, dh, F16, 1, F32));
    download(half, dh, 8);
    EXPECT(half[0] == 0x3801 && half[1] == 0 && half[2] == 0x77FF && half[3] == 0xBC00);
    uint16_t bfloat[] = {0x3F80, 0x4049};
    address dbf = upload(bfloat, 4);
    OK(cublasScalEx_64(blas, 2, &(float){3.0f}, F32, dbf, BF16, 1, F32));
    download(bfloat, dbf, 4);
    EXPECT(bfloat[0] == 0x4040 && bfloat[1] == 0x4117);
    float z[] = {1, 2, 3, -1}, w[2], c_one[] = {1, 0}, c_zero[] = {0, 0};
    address dz = upload(z, 16);
    /* conj(z0) z0 + conj(z1) z1 */
    OK(cublasGemmEx_64(blas, 2, 0, 1, 1, 2, c_one, dz, C32, 2, dz, C32, 2, c_zero, dc, C32, 1, COMPUTE_F32, -1));
    download(w, dc, 8);
    EXPECT(w[0] == 15 && w[1] == 0);
    OK(cublasDestroy_v2(blas));
    expect_clean("other types");
}

static void vectors_and_both_pointer_modes_are_right(void) {
    start();
    handle blas = make_blas();
    double x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40}, alpha = 2, result = 0;
    address dx = upload(x, 32), dy = upload(y, 32), scalar = upload(&alpha, 8), landing = take(8, first);
    OK(cublasAxpyEx_64(blas, 4, &alpha, F64, dx, F64, 1, dy, F64, -1, F64));
    OK(cublasDotEx_64(blas, 2, dx, F64, 2, dy, F64, 1, &result, F64, F64));
    EXPECT(result == 1 * 18 + 3 * 26);
    OK(cublasSetPointerMode_v2(blas, 1));
    OK(cublasScalEx_64(blas, 4, (void *)(uintptr_t)scalar, F64, dx, F64, 1, F64));
    OK(cublasNrm2Ex_64(blas, 2, dx, F64, 1, (void *)(uintptr_t)landing, F64, F64));
    download(&result, landing, 8);
    EXPECT(fabs(result - sqrt(20)) < 1e-12);
    expect_clean("vectors");
    double plain = 1;
    OK(cublasScalEx_64(blas, 4, &plain, F64, dx, F64, 1, F64)); /* a host scalar in device mode */
    EXPECT(complains_of("which is not allocated"));
    OK(cuStreamSynchronize(first));
    standin_fail("cublasScalEx", 0, 13);
    EXPECT(cublasScalEx_64(blas, 4, &plain, F64, dx, F64, 1, F64) == 13);
}

static void a_workspace_is_forgotten_with_a_new_stream_and_must_not_be_shared(void) {
    start();
    handle one = make_blas(), other = make_blas();
    float alpha = 1;
    address x = take(16, first), y = take(16, first), workspace = take(4096, first);
    handle ready = event_after(first);
    OK(cuStreamWaitEvent(second, ready, 0));
    OK(cublasSetStream_v2(other, second));
    OK(cublasSetWorkspace_v2(one, (void *)(uintptr_t)workspace, 4096));
    OK(cublasSetWorkspace_v2(other, (void *)(uintptr_t)workspace, 4096));
    OK(cublasSetStream_v2(other, second)); /* back to its own */
    OK(cublasScalEx_64(one, 4, &alpha, F32, x, F32, 1, F32));
    OK(cublasScalEx_64(other, 4, &alpha, F32, y, F32, 1, F32));
    expect_clean("own workspaces");
    OK(cublasSetWorkspace_v2(other, (void *)(uintptr_t)workspace, 4096));
    OK(cublasScalEx_64(other, 4, &alpha, F32, y, F32, 1, F32));
    EXPECT(complains_of("race on mem#"));
    OK(cublasSetWorkspace_v2(other, NULL, 0));
    OK(cublasDestroy_v2(one));
    OK(cublasDestroy_v2(other));
    EXPECT(standin_live("blas") == 0);
}

static void a_typed_routine_is_told_with_all_that_it_was_given(void) {
    start();
    handle blas = make_blas();
    char log[2000];
    address a = take(12 * 8, first), x = take(3 * 8, first);
    standin_log_enable(1);
    OK(cublasCtrsv_v2_64(blas, 1, 2, 0, 3, a, 4, x, -1));
    standin_log_take(log, sizeof log);
    EXPECT(strcmp(log, "cublasCtrsv_v2_64 blas#1 host uplo=1 trans=2 diag=0 n=3 a=mem#2 lda=4 x=mem#3 incx=-1 "
                       "-> 0\n") == 0);
    OK(cuStreamSynchronize(first));
    expect_clean("a triangular system");
    EXPECT(cublasCtrsv_v2_64(blas, 1, 2, 0, 3, a, 2, x, 1) == 7);
    OK(cublasCtrsv_v2_64(blas, 1, 2, 0, 3, a, 4, x, 2)); /* x has three elements */
    EXPECT(complains_of("out of bounds"));
}

static void what_typed_routines_read_and_write_is_ordered(void) {
    start();
    handle blas = make_blas();
    _Alignas(16) double scalars[4] = {1, 0, 0, 0};
    address a = take(64, first), b = take(64, first), c = take(64, first);
    OK(cublasZgemm_v2_64(blas, 0, 2, 2, 2, 2, scalars, a, 2, b, 2, scalars + 2, c, 2));
    expect_clean("one stream");
    OK(cuMemsetD8Async(b, 0, 64, second));
    EXPECT(complains_of("race on mem#3"));
    standin_violations_clear();
    OK(cublasZgemm_v2_64(blas, 0, 2, 2, 2, 2, scalars + 1, a, 2, b, 2, scalars + 2, c, 2));
    EXPECT(complains_of("a scalar that is not aligned"));
}

static void a_batch_takes_addresses_of_the_device(void) {
    start();
    handle blas = make_blas();
    float one = 1, zero = 0;
    address matrices[] = {take(4, first), take(4, first)}, wrong[] = {matrices[0], 64};
    address right = upload(matrices, sizeof matrices), other = upload(wrong, sizeof wrong);
    OK(cublasSgemmBatched_64(blas, 0, 0, 1, 1, 1, &one, right, 1, right, 1, &zero, right, 1, 2));
    OK(cuStreamSynchronize(first));
    expect_clean("a batch");
    OK(cublasSgemmBatched_64(blas, 0, 0, 1, 1, 1, &one, right, 1, other, 1, &zero, right, 1, 2));
    OK(cuStreamSynchronize(first));
    EXPECT(complains_of("entry 1 of array 1 of a batch"));
}

static void after_a_fault_cublas_hides_the_code(void) {
    start();
    handle blas = make_blas();
    float alpha = 1;
    address x = take(16, first);
    standin_fault(700);
    EXPECT(cublasScalEx_64(blas, 4, &alpha, F32, x, F32, 1, F32) == 13);
    OK(cublasDestroy_v2(blas));
}

static void a_forked_child_is_refused(void) {
    start();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(cuStreamQuery(first) == 3 && violations() == 1 ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_violation_is_written_to_the_report_at_once(void) {
    start();
    char path[] = "/tmp/standin-report-XXXXXX", line[200] = "";
    int file = mkstemp(path);
    setenv("WINDLASS_STANDIN_REPORT", path, 1);
    cuStreamQuery(NULL);
    unsetenv("WINDLASS_STANDIN_REPORT");
    EXPECT(read(file, line, sizeof line - 1) > 0);
    EXPECT(strcmp(line, "use of the null stream (in cuStreamQuery)\n") == 0);
    close(file);
    unlink(path);
}

/* One thread's share of the crowd below: its own streams, memory handed from one to the other in order. */
static void *work_in_a_crowd(void *unused) {
    handle streams[2], done;
    OK(cuCtxSetCurrent(context));
    unsigned *landing = pin(4);
    for (int i = 0; i < 2; i++) OK(cuStreamCreate(&streams[i], 1));
    OK(cuEventCreate(&done, 2));
    for (unsigned round = 0; round < 200; round++) {
        address memory = take(256, streams[0]);
        OK(cuMemsetD32Async(memory, round, 64, streams[0]));
        OK(cuEventRecord(done, streams[0]));
        OK(cuStreamWaitEvent(streams[1], done, 0));
        OK(cuMemcpyDtoHAsync_v2(landing, memory + 252, 4, streams[1]));
        OK(cuMemFreeAsync(memory, streams[1]));
        OK(cuEventRecord(done, streams[1]));
        if (round % 2) OK(cuEventSynchronize(done));
        else while (cuEventQuery(done) == 600) continue;
        EXPECT(*landing == round);
    }
    for (int i = 0; i < 2; i++) OK(cuStreamDestroy_v2(streams[i]));
    OK(cuEventDestroy_v2(done));
    OK(cuMemFreeHost(landing));
    return unused;
}

static void many_threads_do_not_disturb_each_other(void) {
    for (int mode = STANDIN_AUTO; mode <= STANDIN_SEEDED; mode++) {
        if (mode == STANDIN_MANUAL) continue;
        start();
        standin_mode(mode);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work_in_a_crowd, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        EXPECT(standin_live("allocations") == 0 && standin_live("pinned") == 0 && standin_live("events") == 0);
        expect_clean("a crowd");
    }
}

int main(void) {
    a_missing_wait_reads_wrong_data_under_some_seed();
    a_wait_always_reads_right_data();
    a_seed_gives_the_same_run_again();
    a_wait_takes_the_record_of_its_time();
    what_the_host_saw_complete_needs_no_wait();
    parts_that_do_not_overlap_are_no_race();
    freed_bytes_are_reused_at_once_on_their_stream_and_later_elsewhere();
    a_use_after_free_is_reported();
    a_free_that_is_still_queued_counts_as_freed();
    an_allocation_is_a_write();
    out_of_bounds_is_reported();
    memory_runs_out_and_comes_back();
    managed_memory_is_the_hosts_and_the_devices();
    growth_is_seen_and_what_is_used_is_not_unmapped();
    a_device_address_cannot_be_followed_by_the_host();
    pageable_and_freed_host_memory_are_reported();
    a_copy_reads_its_source_when_it_runs();
    a_2d_copy_takes_a_tile();
    bad_handles_and_contexts_are_reported();
    a_reset_by_somebody_else_ends_the_context();
    peer_memory_needs_access();
    destroying_what_another_thread_uses_is_reported();
    a_fault_is_sticky_for_the_whole_process();
    scripts_make_any_kernel_fault();
    calls_fail_when_told_to();
    the_log_has_every_call();
    eager_and_background_modes_run_by_themselves();
    elapsed_time_is_of_the_simulated_clock();
    kernels_compute();
    parameters_are_known_from_the_text();
    products_are_right();
    integer_half_and_complex_products_are_right();
    vectors_and_both_pointer_modes_are_right();
    a_workspace_is_forgotten_with_a_new_stream_and_must_not_be_shared();
    a_typed_routine_is_told_with_all_that_it_was_given();
    what_typed_routines_read_and_write_is_ordered();
    a_batch_takes_addresses_of_the_device();
    after_a_fault_cublas_hides_the_code();
    a_forked_child_is_refused();
    a_violation_is_written_to_the_report_at_once();
    many_threads_do_not_disturb_each_other();
    printf("%s\n", failures == 0 ? "all claims hold" : "some claims failed");
    return failures != 0;
}
