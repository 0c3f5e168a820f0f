/* What libcublas's stand-in uses of the simulator. All of it runs between standin_enter and standin_leave. */
#include "simulator.h"

void standin_pause(void) { pause_call(); }

const char *standin_address_text(const void *address) { return address_text((uint64_t)(uintptr_t)address); }

int standin_current_device(void) { return current_device(); }

CUresult standin_sticky(void) { return state.sticky; }

int standin_generation(void) { return state.generation; }

int standin_stream_device(CUstream handle, int *number) {
    const struct stream *stream = find_object(handle, STREAM);
    if (stream == NULL) return -1;
    if (number != NULL) *number = stream->object.number;
    return stream->object.device;
}

CUresult standin_enqueue(CUstream handle, const struct operand *operands, int count, work run, const void *payload,
                         size_t payload_bytes) {
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (state.sticky != CUDA_SUCCESS) return state.sticky;
    submit_work(stream, operands, count, run, payload, payload_bytes, true);
    return CUDA_SUCCESS;
}

CUresult standin_enqueue_when(CUstream handle, const struct operand *operands, int count, bool (*ready)(void *payload),
                              work run, const void *payload, size_t payload_bytes) {
    /* NCCL makes the context of each of its streams current by itself. */
    struct stream *stream = enter_object(handle, STREAM);
    if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (state.sticky != CUDA_SUCCESS) return state.sticky;
    submit_work_when(stream, operands, count, ready, run, payload, payload_bytes, true);
    return CUDA_SUCCESS;
}

void standin_nudge(void) { pthread_cond_broadcast(&state.changed); }

CUresult standin_wait_stream(CUstream handle) {
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
    stream->object.inside++;
    CUresult code = wait_for(stream, stream->enqueued, &stream->clock);
    stream->object.inside--;
    return code;
}

CUresult standin_wait_device(int device) { return wait_for_device(device); }

void standin_count_blas(int difference) { state.blas_live += difference; }

bool standin_scripted(const char *call, int *code) { return scripted(call, code); }
