/* libcudnn's stand-in, for the cost of a call: each graph has one engine, and its plan does nothing.
 *
 * It is no part of the simulator, and computes nothing. What is checked is that only finalized descriptors of the right kind are
 * executed. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { PLAN = 5, PACK = 16 };
enum { ENGINES = 300, CONFIGURATIONS = 202, PLAN_TEXT = 405, DESCRIPTOR = 15, INT64 = 3 };

struct descriptor { int kind, finalized; };

EXPORT size_t cudnnGetVersion(void) { return 91900; }

EXPORT int cudnnCreate(void **handle) { return (*handle = malloc(1)) == NULL ? BAD_PARAM : SUCCESS; }

EXPORT int cudnnDestroy(void *handle) {
    free(handle);
    return SUCCESS;
}

EXPORT int cudnnSetStream(void *handle, void *stream) { return handle == NULL || stream == NULL ? BAD_PARAM : SUCCESS; }

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
    (void)name, (void)type, (void)count;
    return descriptor->finalized || values == NULL ? BAD_PARAM : SUCCESS;
}

EXPORT int cudnnBackendGetAttribute(struct descriptor *descriptor, int name, int type, int64_t room, int64_t *count, void *values) {
    (void)descriptor;
    if (name == PLAN_TEXT) return NOT_SUPPORTED; /* nothing is kept on disk */
    *count = 0;
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
    return handle != NULL && fit ? SUCCESS : BAD_PARAM;
}
