/* libcudnn's stand-in, for the cost of a call: each graph has one engine, and its plan does nothing.
 *
 * It computes nothing. What is checked is that only finalized descriptors of the right kind are executed. If a test wants to see what
 * a plan is given, the plan copies one operand to another (`standin_cudnn_echo`). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { PLAN = 5, PACK = 16 };
enum { ENGINES = 300, CONFIGURATIONS = 202, PLAN_TEXT = 405, DESCRIPTOR = 15, INT64 = 3 };

enum { PACK_NUMBERS = 1000, PACK_POINTERS = 1001, OPERANDS = 32 };

struct descriptor {
    int kind, finalized;
    int64_t count, numbers[OPERANDS];
    uint64_t pointers[OPERANDS];
};

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);

static const char text[] = "a plan";
static void *current;
static int64_t echo_from, echo_to;
static size_t echo_bytes;
static uint32_t number;
/* Whether plans have texts, and whether a text is taken. */
static int texts, takes_texts;

/* From now on plans have texts, which are taken or refused. */
EXPORT void standin_cudnn_texts(int have, int take) { texts = have, takes_texts = take; }

/* From now on each plan copies so many bytes of an operand to another, or keeps a number of 4 bytes in host memory (`to` is 0); 0 bytes:
 * none. */
EXPORT void standin_cudnn_echo(int64_t from, int64_t to, size_t bytes) { echo_from = from, echo_to = to, echo_bytes = bytes; }

/* The bits of the number that was kept last. */
EXPORT uint32_t standin_cudnn_number(void) { return number; }

EXPORT size_t cudnnGetVersion(void) { return 91900; }

EXPORT int cudnnCreate(void **handle) { return (*handle = malloc(1)) == NULL ? BAD_PARAM : SUCCESS; }

EXPORT int cudnnDestroy(void *handle) {
    free(handle);
    return SUCCESS;
}

EXPORT int cudnnSetStream(void *handle, void *stream) {
    current = stream;
    return handle == NULL || stream == NULL ? BAD_PARAM : SUCCESS;
}

EXPORT int cudnnBackendCreateDescriptor(int kind, struct descriptor **made) {
    *made = calloc(1, sizeof **made);
    if (*made == NULL) return BAD_PARAM;
    (*made)->kind = kind;
    return SUCCESS;
}

EXPORT int cudnnBackendDestroyDescriptor(struct descriptor *descriptor) {
    free(descriptor);
    return SUCCESS;
}

EXPORT int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count, const void *values) {
    (void)type;
    if (descriptor->kind == PACK && values != NULL && count <= OPERANDS) {
        if (name == PACK_NUMBERS) memcpy(descriptor->numbers, values, (size_t)count * 8);
        if (name == PACK_POINTERS) memcpy(descriptor->pointers, values, (size_t)count * 8), descriptor->count = count;
    }
    if (name == PLAN_TEXT && !takes_texts) return NOT_SUPPORTED;
    return descriptor->finalized || values == NULL ? BAD_PARAM : SUCCESS;
}

EXPORT int cudnnBackendGetAttribute(struct descriptor *descriptor, int name, int type, int64_t room, int64_t *count, void *values) {
    (void)descriptor;
    *count = 0;
    if (name == PLAN_TEXT) {
        if (!texts) return NOT_SUPPORTED; /* nothing is kept on disk */
        *count = (int64_t)sizeof text;
        if (values != NULL && room >= *count) memcpy(values, text, sizeof text);
        return SUCCESS;
    }
    if (type == DESCRIPTOR && (name == ENGINES || name == CONFIGURATIONS)) *count = room < 1 ? room : 1;
    if (type == INT64 && room > 0) {
        *(int64_t *)values = 0;
        *count = 1;
    }
    return SUCCESS;
}

EXPORT int cudnnBackendFinalize(struct descriptor *descriptor) {
    descriptor->finalized = 1;
    return SUCCESS;
}

EXPORT int cudnnBackendExecute(void *handle, const struct descriptor *plan, const struct descriptor *pack) {
    int fit = plan->kind == PLAN && pack->kind == PACK && plan->finalized && pack->finalized;
    if (handle == NULL || !fit) return BAD_PARAM;
    if (echo_bytes == 0) return SUCCESS;
    uint64_t from = 0, to = 0;
    for (int64_t n = 0; n < pack->count; n++) {
        if (pack->numbers[n] == echo_from) from = pack->pointers[n];
        if (pack->numbers[n] == echo_to) to = pack->pointers[n];
    }
    if (from && echo_to == 0 && echo_bytes == sizeof number) {
        memcpy(&number, (const void *)(uintptr_t)from, sizeof number);
        return SUCCESS;
    }
    return from && to && cuMemcpyDtoDAsync_v2(to, from, echo_bytes, current) == 0 ? SUCCESS : BAD_PARAM;
}
