/* Streams and events. */
#include "simulator.h"

#include <string.h>

enum { EVENT_DISABLE_TIMING = 2 };

static CUresult create_stream(CUstream *made, unsigned flags) {
    if (made == NULL || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    struct stream *stream = new_object(STREAM, sizeof *stream, current_device());
    *made = handle_of(&stream->object);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *made, unsigned flags) {
    ENTER(cuStreamCreate, A_CONTEXT);
    CUresult code = create_stream(made, flags);
    LEAVE(code, "stream#%d flags %u", state.tables[STREAM].count, flags);
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *made, unsigned flags, int priority) {
    ENTER(cuStreamCreateWithPriority, A_CONTEXT);
    CUresult code = create_stream(made, flags);
    LEAVE(code, "stream#%d flags %u priority %d", state.tables[STREAM].count, flags, priority);
}

/* What is queued still runs, as on the real device. */
EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
    ENTER(cuStreamDestroy_v2, A_CONTEXT);
    struct stream *stream = destroy_object(handle, STREAM);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    if (stream->object.device != current_device())
        violation("destroys stream#%d of context#%d while context#%d is current", stream->object.number,
                  stream->object.device, current_device());
    LEAVE(CUDA_SUCCESS, "stream#%d", stream->object.number);
}

EXPORT CUresult cuStreamDestroy(CUstream handle) __attribute__((alias("cuStreamDestroy_v2")));

EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
    ENTER(cuStreamGetCtx, UNPOISONED);
    struct stream *stream = enter_object(handle, STREAM);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    *context = context_handle(stream->object.device);
    LEAVE(CUDA_SUCCESS, "stream#%d", stream->object.number);
}

EXPORT CUresult cuStreamQuery(CUstream handle) {
    ENTER(cuStreamQuery, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    if (breaks_capture(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED))
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "stream#%d (captured)", stream->object.number);
    uint64_t last = stream->enqueued;
    progress();
    CUresult code = state.sticky != CUDA_SUCCESS ? state.sticky
                    : is_done(stream, last)      ? CUDA_SUCCESS
                                                 : CUDA_ERROR_NOT_READY;
    if (code == CUDA_SUCCESS) host_saw(&stream->clock, stream->object.number, last);
    LEAVE(code, "stream#%d", stream->object.number);
}

#define LEGACY ((CUstream)1)
#define PER_THREAD ((CUstream)2)

void standin_enqueue_default(int device) { state.devices[device].default_pending = true; }
bool standin_default_pending(int device) { return state.devices[device].default_pending; }

EXPORT CUresult cuStreamSynchronize(CUstream handle) {
    ENTER(cuStreamSynchronize, A_CONTEXT);
    if (handle == LEGACY || handle == PER_THREAD) {
        state.devices[current_device()].default_pending = false;
        LEAVE(state.sticky, "default stream");
    }
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    if (breaks_capture(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED))
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "stream#%d (captured)", stream->object.number);
    stream->object.inside++;
    CUresult code = wait_for(stream, stream->enqueued, &stream->clock);
    stream->object.inside--;
    LEAVE(code, "stream#%d", stream->object.number);
}

/* The event's most recent record now is what is waited for, whatever becomes of the event later. */
EXPORT CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned flags) {
    ENTER(cuStreamWaitEvent, A_CONTEXT);
    struct stream *stream = enter_stream(stream_handle);
    struct event *event = enter_object(event_handle, EVENT);
    if (stream == NULL || event == NULL || stream->object.destroyed)
        LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#? event#?");
    if (breaks_capture(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION))
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "stream#%d (captured)", stream->object.number);
    if (event->stream != NULL) {
        struct command *command = enqueue(stream, WAIT);
        command->awaited = event->stream;
        command->awaited_sequence = event->sequence;
        join_clock(&stream->clock, &event->clock);
        submit(stream, command, false);
    }
    LEAVE(CUDA_SUCCESS, "stream#%d event#%d flags %u", stream->object.number, event->object.number, flags);
}

struct value_write {
    uint64_t address;
    uint32_t value;
};

static void write_value(void *payload) {
    const struct value_write *write = payload;
    __atomic_store_n((uint32_t *)standin_backing(write->address), write->value, __ATOMIC_RELEASE);
}

EXPORT CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr address, uint32_t value, unsigned flags) {
    ENTER(cuStreamWriteValue32_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    if (address % sizeof value != 0) LEAVE(CUDA_ERROR_INVALID_VALUE, "stream#%d", stream->object.number);
    struct value_write write = {address, value};
    submit_work(stream, &(struct operand){.range = flat(address, sizeof value), .kind = WRITE}, 1, write_value, &write,
                sizeof write, true);
    LEAVE(CUDA_SUCCESS, "stream#%d %s value %u flags %u", stream->object.number, address_text(address), value, flags);
}

EXPORT CUresult cuStreamWriteValue32(CUstream handle, CUdeviceptr address, uint32_t value, unsigned flags)
    __attribute__((alias("cuStreamWriteValue32_v2")));

EXPORT CUresult cuEventCreate(CUevent *made, unsigned flags) {
    ENTER(cuEventCreate, A_CONTEXT);
    if (made == NULL || flags > 7) LEAVE(CUDA_ERROR_INVALID_VALUE, "flags %u", flags);
    struct event *event = new_object(EVENT, sizeof *event, current_device());
    event->flags = flags;
    *made = handle_of(&event->object);
    LEAVE(CUDA_SUCCESS, "event#%d flags %u", event->object.number, flags);
}

EXPORT CUresult cuEventDestroy_v2(CUevent handle) {
    ENTER(cuEventDestroy_v2, A_CONTEXT);
    struct event *event = destroy_object(handle, EVENT);
    if (event == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "event#?");
    forget_clock(&event->clock);
    LEAVE(CUDA_SUCCESS, "event#%d", event->object.number);
}

EXPORT CUresult cuEventDestroy(CUevent handle) __attribute__((alias("cuEventDestroy_v2")));

EXPORT CUresult cuEventRecord(CUevent event_handle, CUstream stream_handle) {
    ENTER(cuEventRecord, A_CONTEXT);
    struct stream *stream = enter_stream(stream_handle);
    struct event *event = enter_object(event_handle, EVENT);
    if (stream == NULL || event == NULL || stream->object.destroyed)
        LEAVE(CUDA_ERROR_INVALID_HANDLE, "event#? stream#?");
    if (event->object.device != stream->object.device) {
        violation("event#%d is of context#%d, stream#%d of context#%d", event->object.number, event->object.device,
                  stream->object.number, stream->object.device);
        LEAVE(CUDA_ERROR_INVALID_HANDLE, "event#%d stream#%d", event->object.number, stream->object.number);
    }
    if (breaks_capture(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED))
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "stream#%d (captured)", stream->object.number);
    struct command *command = enqueue(stream, RECORD);
    command->event = event;
    event->stream = stream;
    event->sequence = command->sequence;
    forget_clock(&event->clock);
    join_clock(&event->clock, &stream->clock);
    raise_clock(&event->clock, stream->object.number, command->sequence);
    submit(stream, command, false);
    LEAVE(CUDA_SUCCESS, "event#%d stream#%d", event->object.number, stream->object.number);
}

EXPORT CUresult cuEventQuery(CUevent handle) {
    ENTER(cuEventQuery, UNPOISONED); /* an event is of its own context, whatever is current */
    struct event *event = enter_object(handle, EVENT);
    if (event == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "event#?");
    progress();
    CUresult code = state.sticky != CUDA_SUCCESS               ? state.sticky
                    : is_done(event->stream, event->sequence) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_NOT_READY;
    if (code == CUDA_SUCCESS) join_clock(&state.host, &event->clock);
    LEAVE(code, "event#%d", event->object.number);
}

EXPORT CUresult cuEventSynchronize(CUevent handle) {
    ENTER(cuEventSynchronize, A_CONTEXT);
    struct event *event = enter_object(handle, EVENT);
    if (event == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "event#?");
    event->object.inside++;
    CUresult code = wait_for(event->stream, event->sequence, &event->clock);
    event->object.inside--;
    LEAVE(code, "event#%d", event->object.number);
}

EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start_handle, CUevent end_handle) {
    ENTER(cuEventElapsedTime_v2, A_CONTEXT);
    struct event *start = enter_object(start_handle, EVENT);
    struct event *end = enter_object(end_handle, EVENT);
    if (start == NULL || end == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "event#? event#?");
    CUresult code = CUDA_SUCCESS;
    if (((start->flags | end->flags) & EVENT_DISABLE_TIMING) || start->stream == NULL || end->stream == NULL)
        code = CUDA_ERROR_INVALID_HANDLE;
    else if (!is_done(start->stream, start->sequence) || !is_done(end->stream, end->sequence))
        code = CUDA_ERROR_NOT_READY;
    else
        *milliseconds = (float)(((double)end->nanoseconds - (double)start->nanoseconds) * 1e-6);
    LEAVE(code, "event#%d event#%d", start->object.number, end->object.number);
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
    __attribute__((alias("cuEventElapsedTime_v2")));
