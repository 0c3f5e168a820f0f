/* What every call passes through on its way in and out: counts, failures, the log, violations. */
#include "simulator.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIOLATIONS_KEPT 1000

struct text {
    char *bytes;
    size_t length, room;
};

static struct call *calls;
static struct text call_log, violation_text;
static int logging, log_turn;
static int violation_count;
static bool strict;

void standin_strict(int on) { LOCKED(strict = on != 0); }

static _Thread_local const char *call_name = "no call";
static _Thread_local int my_log_turn;
static _Thread_local uint64_t my_calls;

const char *current_call(void) { return call_name; }

static void append(struct text *text, const char *line) {
    size_t length = strlen(line);
    if (text->length + length + 2 > text->room) {
        text->room = 2 * (text->length + length + 2);
        text->bytes = realloc(text->bytes, text->room);
    }
    memcpy(text->bytes + text->length, line, length);
    text->length += length;
    text->bytes[text->length++] = '\n';
    text->bytes[text->length] = 0;
}

static void copy_out(const struct text *text, char *buffer, size_t size) {
    if (buffer == NULL || size == 0) return;
    size_t length = text->length < size ? text->length : size - 1;
    if (length > 0) memcpy(buffer, text->bytes, length);
    buffer[length] = 0;
}

/* -- Violations. -- */

static void record_violation(const char *format, va_list arguments) {
    char what[512], line[640];
    vsnprintf(what, sizeof what, format, arguments);
    snprintf(line, sizeof line, "%s (in %s)", what, call_name);
    if (violation_count++ < VIOLATIONS_KEPT) append(&violation_text, line);
    if (strict) {
        fprintf(stderr, "stand-in: %s\n", line);
        abort();
    }
    const char *report = getenv("WINDLASS_STANDIN_REPORT");
    FILE *file = report != NULL ? fopen(report, "a") : NULL;
    if (file == NULL) return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

void violation(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_violation(format, arguments);
    va_end(arguments);
}

void standin_violation(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_violation(format, arguments);
    va_end(arguments);
}

/* -- In and out. -- */

/* `cuStreamDestroy` names `cuStreamDestroy_v2` too, and `cublasGemmEx` names `cublasGemmEx_64`. */
bool same_call(const char *asked, const char *name) {
    size_t length = strlen(asked);
    if (strncmp(asked, name, length) != 0) return false;
    const char *rest = name + length;
    return *rest == 0 || strcmp(rest, "_v2") == 0 || strcmp(rest, "_64") == 0;
}

static void begin(struct call *call) {
    call_name = call->name;
    if (!call->linked) {
        call->linked = true;
        call->next = calls;
        calls = call;
    }
    call->count++;
    /* A range for a profiler is no work of the driver's. */
    if (strncmp(call->name, "nvtx", 4) == 0) return;
    my_calls++;
    state.calls++;
}

/*
 * What nobody may call while a stream of the context is captured, in whatever mode: it waits for the context, or may. Real
 * drivers answer 900 and end the capture, and real libraries do not all live through that answer.
 */
static bool disturbs_captures(const char *name) {
    static const char *const names[] = {
        "cuCtxSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister_v2",
        "cuMemHostUnregister", "cuMemPoolDestroy", "cuMemPoolTrimTo", "cuModuleLoadData", "cuModuleLoadDataEx",
        "cuModuleUnload", "cuStreamDestroy_v2", "cuGraphDestroy", "cuGraphExecDestroy", "cublasCreate_v2",
        "cublasDestroy_v2", "cublasLtCreate", "cublasLtDestroy", "cufftCreate", "cufftDestroy", "cusolverDnCreate",
        "cusolverDnDestroy", "cusparseCreate", "cusparseDestroy",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return strncmp(name, "cufftMakePlan", strlen("cufftMakePlan")) == 0;
}

/* A library that calls one of its functions for the first time loads kernels, and synchronises. */
static bool disturbs(const struct call *call, bool library) {
    int device = current_device();
    if (device < 0 || !(disturbs_captures(call->name) || (library && call->count == 1))) return false;
    if (strncmp(call->name, "nvtx", 4) == 0 || !break_captures(device, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)) return false;
    violation("called while a stream of context#%d is captured", device);
    return true;
}

CUresult enter(struct call *call, enum needs needs) {
    /* The parent may have held the mutex when it forked, so a child does not even lock. */
    if (state.forked && needs != NOTHING) {
        violation("driver call %s in a forked child", call->name);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (turns_pass != NULL) turns_pass(call->name);
    pthread_mutex_lock(&state.mutex);
    begin(call);
    while (is_held(call->name)) wait_for_change();
    CUresult code;
    if (must_fail(call->name, true, &code)) return leave(call, code, "(made to fail)");
    if (needs >= INITIALISED && !state.initialised) {
        violation("called before cuInit");
        return leave(call, CUDA_ERROR_NOT_INITIALIZED, "(no cuInit)");
    }
    if (needs >= UNPOISONED && state.sticky != CUDA_SUCCESS) return leave(call, state.sticky, "(poisoned)");
    if (needs >= A_CONTEXT && current_device() < 0) {
        bool destroyed = current_is_destroyed();
        violation("called with %s", destroyed ? "a destroyed context current" : "no context current");
        return leave(call, destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT, "(no context)");
    }
    if (needs >= UNPOISONED && disturbs(call, false))
        return leave(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "(beside a capture)");
    return CUDA_SUCCESS;
}

/* The status is libcublas's own; what it needs it checks itself. */
CUresult standin_enter(struct call *call) {
    CUresult code;
    if (turns_pass != NULL) turns_pass(call->name);
    pthread_mutex_lock(&state.mutex);
    begin(call);
    while (is_held(call->name)) wait_for_change();
    if (must_fail(call->name, false, &code)) return leave(call, code, "(made to fail)");
    const int INTERNAL_ERROR = 14; /* libcublas's */
    return disturbs(call, true) ? leave(call, INTERNAL_ERROR, "(beside a capture)") : CUDA_SUCCESS;
}

static void finish(struct call *call, int code, const char *format, va_list arguments) {
    if (logging == 1 || (logging == 2 && my_log_turn == log_turn) || (logging == 3 && takes_part_here())) {
        char what[512], line[640];
        vsnprintf(what, sizeof what, format, arguments);
        snprintf(line, sizeof line, "%s%s%s -> %d", call->name, *what ? " " : "", what, code);
        append(&call_log, line);
    }
    pthread_mutex_unlock(&state.mutex);
}

CUresult leave(struct call *call, CUresult code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    finish(call, code, format, arguments);
    va_end(arguments);
    return code;
}

int standin_leave(struct call *call, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    finish(call, code, format, arguments);
    va_end(arguments);
    return code;
}

const char *address_text(uint64_t address) {
    static _Thread_local char texts[8][40];
    static _Thread_local int turn;
    char *text = texts[turn++ % 8];
    bool on_device = is_device_address(address);
    const struct allocation *allocation = on_device ? allocation_at(address) : pinned_at(address);
    const char *kind = on_device ? "mem" : allocation != NULL && allocation->managed ? "managed" : "pinned";
    if (allocation == NULL) snprintf(text, sizeof texts[0], address == 0 ? "null" : on_device ? "mem#?" : "host");
    else if (address == allocation->start)
        snprintf(text, sizeof texts[0], "%s#%d", kind, allocation->number);
    else
        snprintf(text, sizeof texts[0], "%s#%d+%" PRIu64, kind, allocation->number,
                 address - allocation->start);
    return text;
}

/* -- Reading it. -- */

void forget_calls(void) {
    violation_count = 0;
    call_log.length = violation_text.length = 0;
    logging = 0;
    state.calls = 0;
    for (struct call *call = calls; call != NULL; call = call->next) call->count = 0;
}

void name_call(const char *name) { call_name = name; }

void standin_log_enable(int on) { LOCKED(logging = on; log_turn++; if (on == 2) my_log_turn = log_turn); }

void standin_log_clear(void) { LOCKED(call_log.length = 0); }

size_t standin_log_take(char *buffer, size_t size) {
    pthread_mutex_lock(&state.mutex);
    size_t length = call_log.length;
    copy_out(&call_log, buffer, size);
    if (buffer != NULL && length < size) call_log.length = 0;
    pthread_mutex_unlock(&state.mutex);
    return length;
}

uint64_t standin_calls(void) {
    uint64_t count;
    LOCKED(count = state.calls);
    return count;
}

uint64_t standin_calls_here(void) { return my_calls; }

uint64_t standin_calls_of(const char *name) {
    uint64_t count = 0;
    pthread_mutex_lock(&state.mutex);
    for (const struct call *call = calls; call != NULL; call = call->next)
        if (same_call(name, call->name)) count += call->count;
    pthread_mutex_unlock(&state.mutex);
    return count;
}

int standin_violations(char *buffer, size_t size) {
    pthread_mutex_lock(&state.mutex);
    int count = violation_count;
    copy_out(&violation_text, buffer, size);
    pthread_mutex_unlock(&state.mutex);
    return count;
}

void standin_violations_clear(void) { LOCKED(violation_count = 0; violation_text.length = 0); }
