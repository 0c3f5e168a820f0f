/* libcutensor's stand-in: contractions by loops over all indices, in double precision.
 *
 * It holds what the real one wants: extents and strides above 0, modes once in a tensor and never in one alone, C and D of one
 * descriptor, operands as aligned as their descriptors promise, a workspace of the plan's bytes; and nothing is used after it was
 * destroyed. The workspace is garbage afterwards. */
#include "cublas.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15, SMALL_WORKSPACE = 19 };
enum { MODES = 64, CONJ = 9, WORKSPACE = 4096 };

struct compute {
    const char *name;
};
static struct compute single = {"32F"}, fast = {"TF32"}, wide = {"64F"};
EXPORT const struct compute *CUTENSOR_COMPUTE_DESC_32F = &single, *CUTENSOR_COMPUTE_DESC_TF32 = &fast,
                            *CUTENSOR_COMPUTE_DESC_64F = &wide;

/* Everything that the library makes begins so, and is never freed, so that a use afterwards is seen. */
enum what { HANDLE = 0x7101, TENSOR, OPERATION, PREFERENCE, PLAN };
struct made {
    enum what what;
    int number, generation, device;
    bool destroyed;
};

struct tensor {
    struct made made;
    int modes, type;
    int64_t extents[MODES], strides[MODES];
    uint32_t alignment;
};

struct side {
    struct tensor tensor;
    int32_t modes[MODES];
    bool conjugate;
};

struct operation {
    struct made made;
    struct side sides[3];
    const struct compute *compute;
};

struct plan {
    struct made made;
    struct operation operation;
};

static int count;

static void *make(enum what what, size_t bytes) {
    struct made *made = calloc(1, bytes);
    *made = (struct made){what, ++count, standin_generation(), standin_current_device(), false};
    standin_count_blas(1);
    return made;
}

static bool is_alive(const void *pointer, enum what what, const char *name) {
    const struct made *made = pointer;
    if (made == NULL || made->what != what || made->generation != standin_generation())
        standin_violation("%p is no %s of cutensor", pointer, name);
    else if (made->destroyed) standin_violation("use of the destroyed %s %d", name, made->number);
    else if (made->device != standin_current_device())
        standin_violation("%s %d is of context#%d, current is context#%d", name, made->number, made->device,
                          standin_current_device());
    else return true;
    return false;
}

static int destroy(void *pointer, enum what what, const char *name) {
    if (!is_alive(pointer, what, name)) return INVALID_VALUE;
    ((struct made *)pointer)->destroyed = true;
    standin_count_blas(-1);
    return 0;
}

EXPORT size_t cutensorGetVersion(void) { return 20801; }

EXPORT int cutensorCreate(struct made **handle) {
    BLAS_ENTER(cutensorCreate);
    if (standin_current_device() < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    }
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXECUTION_FAILED, "(poisoned)");
    *handle = make(HANDLE, sizeof **handle);
    BLAS_LEAVE(0, "handle#%d", (*handle)->number);
}

EXPORT int cutensorDestroy(struct made *handle) {
    BLAS_ENTER(cutensorDestroy);
    int code = destroy(handle, HANDLE, "handle");
    if (code == 0 && standin_sticky() == CUDA_SUCCESS) standin_wait_device(handle->device);
    BLAS_LEAVE(code, "%s", "");
}

EXPORT int cutensorCreateTensorDescriptor(struct made *handle, struct tensor **made, uint32_t modes, const int64_t *extents,
                                          const int64_t *strides, int type, uint32_t alignment) {
    BLAS_ENTER(cutensorCreateTensorDescriptor);
    if (!is_alive(handle, HANDLE, "handle")) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (modes > MODES || type_bytes(type) == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        BLAS_LEAVE(INVALID_VALUE, "%u modes, type %d, alignment %u", modes, type, alignment);
    for (uint32_t i = 0; i < modes; i++)
        if (extents[i] < 1 || strides == NULL || strides[i] < 1) BLAS_LEAVE(INVALID_VALUE, "mode %u", i);
    struct tensor *tensor = make(TENSOR, sizeof *tensor);
    tensor->modes = (int)modes;
    tensor->type = type;
    tensor->alignment = alignment;
    if (modes > 0) {
        memcpy(tensor->extents, extents, modes * sizeof *extents);
        memcpy(tensor->strides, strides, modes * sizeof *strides);
    }
    *made = tensor;
    BLAS_LEAVE(0, "tensor#%d %u modes type %d", tensor->made.number, modes, type);
}

EXPORT int cutensorDestroyTensorDescriptor(struct tensor *tensor) {
    BLAS_ENTER(cutensorDestroyTensorDescriptor);
    int code = destroy(tensor, TENSOR, "tensor");
    BLAS_LEAVE(code, "%s", "");
}

static int find(const struct side *side, int32_t mode) {
    for (int i = 0; i < side->tensor.modes; i++)
        if (side->modes[i] == mode) return i;
    return -1;
}

/* Each mode once in a tensor, in another one too, and of one extent. */
static bool is_contraction(const struct side *sides) {
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < sides[k].tensor.modes; i++) {
            bool shared = false;
            for (int other = 0; other < 3; other++) {
                int at = find(&sides[other], sides[k].modes[i]);
                if (other == k ? at != i : at >= 0 && sides[other].tensor.extents[at] != sides[k].tensor.extents[i])
                    return false;
                shared |= other != k && at >= 0;
            }
            if (!shared) return false;
        }
    return true;
}

EXPORT int cutensorCreateContraction(struct made *handle, struct operation **made, const struct tensor *a,
                                     const int32_t *modes_a, int op_a, const struct tensor *b, const int32_t *modes_b,
                                     int op_b, const struct tensor *c, const int32_t *modes_c, int op_c,
                                     const struct tensor *d, const int32_t *modes_d, const struct compute *compute) {
    BLAS_ENTER(cutensorCreateContraction);
    const struct tensor *tensors[3] = {a, b, c};
    const int32_t *modes[3] = {modes_a, modes_b, modes_c};
    if (!is_alive(handle, HANDLE, "handle")) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    for (int k = 0; k < 3; k++)
        if (!is_alive(tensors[k], TENSOR, "tensor")) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (d != c || op_c != 1 || memcmp(modes_c, modes_d, (size_t)c->modes * sizeof *modes_c) != 0)
        BLAS_LEAVE(NOT_SUPPORTED, "%s", "D is not as C");
    bool doubles = is_double(c->type);
    if (a->type != c->type || b->type != c->type || compute != (doubles ? &wide : compute == &fast ? &fast : &single))
        BLAS_LEAVE(NOT_SUPPORTED, "types %d %d %d", a->type, b->type, c->type);
    struct operation *operation = make(OPERATION, sizeof *operation);
    operation->compute = compute;
    for (int k = 0; k < 3; k++) {
        struct side *side = &operation->sides[k];
        side->tensor = *tensors[k];
        side->conjugate = (k == 0 ? op_a : k == 1 ? op_b : op_c) == CONJ;
        if (side->tensor.modes > 0) memcpy(side->modes, modes[k], (size_t)side->tensor.modes * sizeof *side->modes);
    }
    *made = operation;
    if (!is_contraction(operation->sides)) BLAS_LEAVE(INVALID_VALUE, "%s", "modes");
    BLAS_LEAVE(0, "operation#%d in %s", operation->made.number, compute->name);
}

EXPORT int cutensorDestroyOperationDescriptor(struct operation *operation) {
    BLAS_ENTER(cutensorDestroyOperationDescriptor);
    int code = destroy(operation, OPERATION, "operation");
    BLAS_LEAVE(code, "%s", "");
}

EXPORT int cutensorOperationDescriptorGetAttribute(struct made *handle, const struct operation *operation, int attribute,
                                                   void *value, size_t bytes) {
    BLAS_ENTER(cutensorOperationDescriptorGetAttribute);
    if (!is_alive(handle, HANDLE, "handle") || !is_alive(operation, OPERATION, "operation"))
        BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (attribute != 1 || bytes != sizeof(int)) BLAS_LEAVE(INVALID_VALUE, "attribute %d", attribute);
    int type = operation->sides[2].tensor.type;
    *(int *)value = type == R_16F || type == R_16BF ? R_32F : type;
    BLAS_LEAVE(0, "%s", "");
}

EXPORT int cutensorCreatePlanPreference(struct made *handle, struct made **preference, int algorithm, int jit) {
    BLAS_ENTER(cutensorCreatePlanPreference);
    if (!is_alive(handle, HANDLE, "handle")) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    *preference = make(PREFERENCE, sizeof **preference);
    BLAS_LEAVE(0, "algorithm %d jit %d", algorithm, jit);
}

EXPORT int cutensorDestroyPlanPreference(struct made *preference) {
    BLAS_ENTER(cutensorDestroyPlanPreference);
    int code = destroy(preference, PREFERENCE, "preference");
    BLAS_LEAVE(code, "%s", "");
}

EXPORT int cutensorEstimateWorkspaceSize(struct made *handle, const struct operation *operation, const struct made *preference,
                                         int how, uint64_t *bytes) {
    BLAS_ENTER(cutensorEstimateWorkspaceSize);
    if (!is_alive(handle, HANDLE, "handle") || !is_alive(operation, OPERATION, "operation") ||
        !is_alive(preference, PREFERENCE, "preference"))
        BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    *bytes = how == 1 ? WORKSPACE : 2 * WORKSPACE;
    BLAS_LEAVE(0, "%d", how);
}

EXPORT int cutensorCreatePlan(struct made *handle, struct plan **made, const struct operation *operation,
                              const struct made *preference, uint64_t limit) {
    BLAS_ENTER(cutensorCreatePlan);
    if (!is_alive(handle, HANDLE, "handle") || !is_alive(operation, OPERATION, "operation") ||
        !is_alive(preference, PREFERENCE, "preference"))
        BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (limit < WORKSPACE) BLAS_LEAVE(SMALL_WORKSPACE, "%" PRIu64, limit);
    struct plan *plan = make(PLAN, sizeof *plan);
    plan->operation = *operation;
    *made = plan;
    BLAS_LEAVE(0, "plan#%d", plan->made.number);
}

EXPORT int cutensorDestroyPlan(struct plan *plan) {
    BLAS_ENTER(cutensorDestroyPlan);
    int code = destroy(plan, PLAN, "plan");
    BLAS_LEAVE(code, "%s", "");
}

EXPORT int cutensorPlanGetAttribute(struct made *handle, const struct plan *plan, int attribute, void *value, size_t bytes) {
    BLAS_ENTER(cutensorPlanGetAttribute);
    if (!is_alive(handle, HANDLE, "handle") || !is_alive(plan, PLAN, "plan")) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (attribute != 0 || bytes != sizeof(uint64_t)) BLAS_LEAVE(INVALID_VALUE, "attribute %d", attribute);
    *(uint64_t *)value = WORKSPACE;
    BLAS_LEAVE(0, "%s", "");
}

struct execution {
    struct operation operation;
    uint64_t addresses[3];
    struct scalar alpha, beta;
    struct workspace workspace;
};

/* The modes of C, then those that are summed: extents, and the strides of A, B and C. */
struct loops {
    int count, outer;
    int64_t extents[2 * MODES], strides[2 * MODES][3], index[2 * MODES];
};

static void add_loop(struct loops *loops, const struct side *sides, int32_t mode, int64_t extent) {
    loops->extents[loops->count] = extent;
    for (int k = 0; k < 3; k++) {
        int at = find(&sides[k], mode);
        loops->strides[loops->count][k] = at < 0 ? 0 : sides[k].tensor.strides[at];
    }
    loops->count++;
}

static bool advance(struct loops *loops, int from, int to) {
    for (int i = to - 1; i >= from; i--) {
        if (++loops->index[i] < loops->extents[i]) return true;
        loops->index[i] = 0;
    }
    return false;
}

static int64_t offset(const struct loops *loops, int k) {
    int64_t at = 0;
    for (int i = 0; i < loops->count; i++) at += loops->index[i] * loops->strides[i][k];
    return at;
}

static void run_contraction(void *payload) {
    const struct execution *execution = payload;
    const struct side *sides = execution->operation.sides;
    void *memory[3];
    for (int k = 0; k < 3; k++) memory[k] = standin_backing(execution->addresses[k]);
    struct loops loops = {0};
    for (int i = 0; i < sides[2].tensor.modes; i++) add_loop(&loops, sides, sides[2].modes[i], sides[2].tensor.extents[i]);
    loops.outer = loops.count;
    for (int i = 0; i < sides[0].tensor.modes; i++)
        if (find(&sides[2], sides[0].modes[i]) < 0) add_loop(&loops, sides, sides[0].modes[i], sides[0].tensor.extents[i]);
    struct number alpha = load_scalar(&execution->alpha), beta = load_scalar(&execution->beta);
    int type = sides[2].tensor.type;
    bool rounds = execution->operation.compute == &fast;
    do {
        struct number sum = {0, 0};
        do {
            struct number x = load(memory[0], type, offset(&loops, 0)), y = load(memory[1], type, offset(&loops, 1));
            if (sides[0].conjugate) x.im = -x.im;
            if (sides[1].conjugate) y.im = -y.im;
            if (rounds) x = round_to_tf32(x), y = round_to_tf32(y);
            struct number product = multiply(x, y);
            sum = (struct number){sum.re + product.re, sum.im + product.im};
        } while (advance(&loops, loops.outer, loops.count));
        int64_t at = offset(&loops, 2);
        struct number value = multiply(alpha, sum);
        if (beta.re != 0 || beta.im != 0) {
            struct number kept = multiply(beta, load(memory[2], type, at));
            value = (struct number){value.re + kept.re, value.im + kept.im};
        }
        store(memory[2], type, at, value);
    } while (advance(&loops, 0, loops.outer));
    scribble(execution->workspace);
}

static struct range reach(const struct tensor *tensor, uint64_t address) {
    int64_t last = 0;
    for (int i = 0; i < tensor->modes; i++) last += (tensor->extents[i] - 1) * tensor->strides[i];
    return (struct range){address, (size_t)(last + 1) * type_bytes(tensor->type), 0, 1};
}

static void take(struct scalar *scalar, const void *pointer, int type) {
    scalar->type = type;
    memcpy(scalar->bytes, pointer, type_bytes(type));
}

EXPORT int cutensorContract(struct made *handle, const struct plan *plan, const void *alpha, const void *a, const void *b,
                            const void *beta, const void *c, void *d, void *workspace, uint64_t bytes, CUstream stream) {
    BLAS_ENTER(cutensorContract);
    if (!is_alive(handle, HANDLE, "handle") || !is_alive(plan, PLAN, "plan")) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (bytes < WORKSPACE) BLAS_LEAVE(SMALL_WORKSPACE, "%" PRIu64, bytes);
    if ((uintptr_t)workspace % 256 != 0 || workspace == NULL) standin_violation("a workspace that is not aligned");
    if (c != d) standin_violation("C and D lie at different places");
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXECUTION_FAILED, "(poisoned)");
    struct execution execution = {.operation = plan->operation, .workspace = {(uint64_t)(uintptr_t)workspace, bytes}};
    const void *places[3] = {a, b, d};
    struct operand operands[4];
    for (int k = 0; k < 3; k++) {
        const struct tensor *tensor = &plan->operation.sides[k].tensor;
        execution.addresses[k] = (uint64_t)(uintptr_t)places[k];
        if (execution.addresses[k] % tensor->alignment != 0)
            standin_violation("operand %d is not aligned to %u bytes", k, tensor->alignment);
        operands[k] = (struct operand){.range = reach(tensor, execution.addresses[k]), .kind = k == 2 ? WRITE : READ};
    }
    operands[3] = (struct operand){.range = {execution.workspace.address, WORKSPACE, 0, 1}, .kind = WRITE};
    int type = plan->operation.sides[2].tensor.type, of_scalar = type == R_16F || type == R_16BF ? R_32F : type;
    take(&execution.alpha, alpha, of_scalar);
    take(&execution.beta, beta, of_scalar);
    CUresult code = standin_enqueue(stream, operands, 4, run_contraction, &execution, sizeof execution);
    BLAS_LEAVE(code == CUDA_SUCCESS ? 0 : EXECUTION_FAILED, "plan#%d %s", plan->made.number, standin_address_text(d));
}
