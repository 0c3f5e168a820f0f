/* libcufft's stand-in: plans of any layout, and their execution by the definition, in double precision.
 *
 * It holds what the real one wants and gives no more than it promises: a plan is made once and has no work area of its
 * own; one thread at a time is inside a plan; sides begin where a complex number may; what is transformed to real numbers
 * out of place is garbage afterwards; and so is the work area. Of a half spectrum over several axes that no real array has
 * it makes something of its own. */
#include "cublas.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_VALUE = 4, EXEC_FAILED = 6, INVALID_SIZE = 8, NOT_SUPPORTED = 16 };
enum { C_16F = 6, C_16BF = 15 };

struct side {
    int64_t embed[3], stride, dist;
    int type;
};

struct plan {
    struct plan *next;
    int handle, generation, device, inside, rank;
    bool made, destroyed, manual;
    int64_t n[3], batch;
    struct side from, to;
    size_t work;
    CUstream stream;
    uint64_t area, own_memory;
};

static struct plan *all;
static int count;

static struct plan *find_plan(int handle) {
    struct plan *plan = all;
    while (plan != NULL && (plan->handle != handle || plan->generation != standin_generation())) plan = plan->next;
    if (plan == NULL) standin_violation("%d is no plan of cufft", handle);
    else if (plan->destroyed) standin_violation("use of the destroyed plan %d", handle);
    return plan == NULL || plan->destroyed ? NULL : plan;
}

static bool is_first(int device) {
    for (struct plan *plan = all; plan != NULL; plan = plan->next)
        if (plan->made && !plan->destroyed && plan->device == device && plan->generation == standin_generation()) return false;
    return true;
}

static struct plan *enter_plan(int handle) {
    struct plan *plan = find_plan(handle);
    if (plan == NULL) return NULL;
    if (standin_current_device() != plan->device) {
        standin_violation("plan %d is of context#%d, current is context#%d", handle, plan->device,
                          standin_current_device());
        return NULL;
    }
    if (plan->inside > 0) standin_violation("two threads inside calls on plan %d", handle);
    plan->inside++;
    standin_pause();
    plan->inside--;
    return plan->destroyed ? NULL : plan;
}

static bool complex_type(int type) { return type == C_32F || type == C_64F || type == C_16F || type == C_16BF; }
static bool half_type(int type) { return type == R_16F || type == R_16BF || type == C_16F || type == C_16BF; }
static int part(int type) { return type == C_16F ? R_16F : type == C_16BF ? R_16BF : type; }
static size_t bytes_of(int type) { return type_bytes(part(type)) * (type == C_16F || type == C_16BF ? 2 : 1); }

static struct number get(const void *from, int type, int64_t at) {
    if (type != C_16F && type != C_16BF) return load(from, type, at);
    return (struct number){load(from, part(type), 2 * at).re, load(from, part(type), 2 * at + 1).re};
}

static void put(void *to, int type, int64_t at, struct number value) {
    if (type != C_16F && type != C_16BF) return store(to, type, at, value);
    store(to, part(type), 2 * at, (struct number){value.re, 0});
    store(to, part(type), 2 * at + 1, (struct number){value.im, 0});
}

EXPORT int cufftCreate(int *handle) {
    BLAS_ENTER(cufftCreate);
    int device = standin_current_device();
    if (handle == NULL) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (device < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(EXEC_FAILED, "%s", "");
    }
    struct plan *plan = calloc(1, sizeof *plan);
    plan->next = all;
    all = plan;
    plan->handle = ++count;
    plan->generation = standin_generation();
    plan->device = device;
    *handle = plan->handle;
    standin_count_blas(1);
    BLAS_LEAVE(0, "plan#%d", plan->handle);
}

/* Waits for the device, as the real one does. */
EXPORT int cufftDestroy(int handle) {
    BLAS_ENTER(cufftDestroy);
    struct plan *plan = find_plan(handle);
    if (plan == NULL) BLAS_LEAVE(INVALID_PLAN, "%d", handle);
    if (standin_current_device() != plan->device) standin_violation("destroys plan %d in another context", handle);
    plan->destroyed = true;
    standin_count_blas(-1);
    if (standin_sticky() == CUDA_SUCCESS && standin_wait_device(plan->device) == CUDA_SUCCESS && plan->own_memory != 0)
        standin_deallocate(plan->own_memory);
    BLAS_LEAVE(0, "plan#%d", handle);
}

EXPORT int cufftSetAutoAllocation(int handle, int automatic) {
    BLAS_ENTER(cufftSetAutoAllocation);
    struct plan *plan = enter_plan(handle);
    if (plan == NULL || plan->made) BLAS_LEAVE(INVALID_PLAN, "%d", handle);
    plan->manual = automatic == 0;
    BLAS_LEAVE(0, "plan#%d %d", handle, automatic);
}

EXPORT int cufftSetStream(int handle, CUstream stream) {
    BLAS_ENTER(cufftSetStream);
    struct plan *plan = enter_plan(handle);
    if (plan == NULL) BLAS_LEAVE(INVALID_PLAN, "%d", handle);
    int number = 0;
    if (standin_stream_device(stream, &number) != plan->device) BLAS_LEAVE(INVALID_VALUE, "plan#%d", handle);
    plan->stream = stream;
    BLAS_LEAVE(0, "plan#%d stream#%d", handle, number);
}

EXPORT int cufftSetWorkArea(int handle, void *area) {
    BLAS_ENTER(cufftSetWorkArea);
    struct plan *plan = enter_plan(handle);
    if (plan == NULL) BLAS_LEAVE(INVALID_PLAN, "%d", handle);
    if ((uintptr_t)area % 256 != 0) standin_violation("a work area that is not aligned");
    plan->area = (uint64_t)(uintptr_t)area;
    BLAS_LEAVE(0, "plan#%d %s", handle, standin_address_text(area));
}

/* Makes the plan; waits for the device. */
EXPORT int cufftXtMakePlanMany(int handle, int rank, int64_t *n, int64_t *in_embed, int64_t in_stride, int64_t in_dist,
                               int in_type, int64_t *out_embed, int64_t out_stride, int64_t out_dist, int out_type,
                               int64_t batch, size_t *work, int exec_type) {
    BLAS_ENTER(cufftXtMakePlanMany);
    struct plan *plan = enter_plan(handle);
    if (plan == NULL || plan->made) BLAS_LEAVE(INVALID_PLAN, "%d", handle);
    if (rank < 1 || rank > 3 || n == NULL || in_embed == NULL || out_embed == NULL || work == NULL || batch < 1)
        BLAS_LEAVE(INVALID_VALUE, "plan#%d", handle);
    if (!plan->manual) standin_violation("plan %d is to have a work area of its own", handle);
    if (!complex_type(exec_type) || (!complex_type(in_type) && !complex_type(out_type)))
        BLAS_LEAVE(NOT_SUPPORTED, "plan#%d types %d %d", handle, in_type, out_type);
    plan->from = (struct side){.stride = in_stride, .dist = in_dist, .type = in_type};
    plan->to = (struct side){.stride = out_stride, .dist = out_dist, .type = out_type};
    plan->rank = rank;
    plan->batch = batch;
    size_t points = (size_t)batch;
    for (int i = 0; i < rank; i++) {
        plan->n[i] = n[i];
        plan->from.embed[i] = in_embed[i];
        plan->to.embed[i] = out_embed[i];
        points *= (size_t)n[i];
        int64_t half = n[i] / 2 + 1;
        bool last = i + 1 == rank;
        int64_t in = last && !complex_type(out_type) ? half : n[i], out = last && !complex_type(in_type) ? half : n[i];
        if (n[i] < 1 || in_embed[i] < in || out_embed[i] < out) BLAS_LEAVE(INVALID_SIZE, "plan#%d", handle);
        if (half_type(in_type) && (n[i] & (n[i] - 1)) != 0) BLAS_LEAVE(NOT_SUPPORTED, "plan#%d halves", handle);
    }
    if (in_stride < 1 || out_stride < 1 || (batch > 1 && (in_dist < 1 || out_dist < 1)))
        BLAS_LEAVE(INVALID_VALUE, "plan#%d", handle);
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXEC_FAILED, "(poisoned)");
    if (standin_wait_device(plan->device) != CUDA_SUCCESS) BLAS_LEAVE(EXEC_FAILED, "plan#%d", handle);
    plan->own_memory = standin_allocate(plan->device, 4096);
    if (plan->own_memory == 0) BLAS_LEAVE(ALLOC_FAILED, "plan#%d", handle);
    /* The tables that the plans of a context share come with its first plan, by a copy that nothing waits for. */
    if (is_first(plan->device)) standin_enqueue_default(plan->device);
    plan->made = true;
    *work = plan->work = points > 4 ? points * bytes_of(exec_type) : 0;
    BLAS_LEAVE(0, "plan#%d rank %d %" PRId64 " x %" PRId64 " types %d %d", handle, rank, n[0], batch, in_type, out_type);
}

static struct number root(int64_t k, int64_t n, int sign) {
    double angle = 2 * 3.14159265358979323846 * (double)(k % n) / (double)n;
    return (struct number){cos(angle), sign * sin(angle)};
}

/* `n` numbers, `step` apart, to `n` neighbours; by the smallest factor. */
static void transform(const struct number *from, int64_t step, struct number *to, int64_t n, int sign) {
    if (n == 1) {
        to[0] = from[0];
        return;
    }
    int64_t p = 2;
    while (p * p <= n && n % p != 0) p++;
    if (n % p != 0) p = n;
    int64_t m = n / p;
    for (int64_t r = 0; r < p; r++) transform(from + r * step, step * p, to + r * m, m, sign);
    struct number *column = malloc((size_t)p * sizeof *column);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t r = 0; r < p; r++) column[r] = to[r * m + k];
        for (int64_t q = 0; q < p; q++) {
            struct number sum = {0, 0};
            for (int64_t r = 0; r < p; r++) {
                struct number x = multiply(column[r], root(r * (k + q * m), n, sign));
                sum = (struct number){sum.re + x.re, sum.im + x.im};
            }
            to[q * m + k] = sum;
        }
    }
    free(column);
}

struct execution {
    struct plan plan;
    uint64_t from, to;
    int sign;
};

static int64_t place(const struct plan *plan, const struct side *side, int64_t batch, const int64_t *index) {
    int64_t at = index[0];
    for (int i = 1; i < plan->rank; i++) at = at * side->embed[i] + index[i];
    return batch * side->dist + at * side->stride;
}

static bool next(const struct plan *plan, const int64_t *sizes, int64_t *index) {
    for (int i = plan->rank - 1; i >= 0; i--) {
        if (++index[i] < sizes[i]) return true;
        index[i] = 0;
    }
    return false;
}

static int64_t flat_index(const struct plan *plan, const int64_t *index) {
    int64_t at = 0;
    for (int i = 0; i < plan->rank; i++) at = at * plan->n[i] + index[i];
    return at;
}

static void execute_plan(void *payload) {
    const struct execution *execution = payload;
    const struct plan *plan = &execution->plan;
    void *from = standin_backing(execution->from), *to = standin_backing(execution->to);
    bool to_real = !complex_type(plan->to.type), from_real = !complex_type(plan->from.type);
    int last = plan->rank - 1, sign = to_real ? 1 : from_real ? -1 : execution->sign;
    int64_t total = 1, sizes_in[3], sizes_out[3];
    for (int i = 0; i < plan->rank; i++) total *= sizes_in[i] = sizes_out[i] = plan->n[i];
    if (to_real) sizes_in[last] = plan->n[last] / 2 + 1;
    if (from_real) sizes_out[last] = plan->n[last] / 2 + 1;
    struct number *arrays = calloc((size_t)(total * plan->batch), sizeof *arrays), *line = calloc((size_t)total, sizeof *line);
    for (int64_t batch = 0; batch < plan->batch; batch++) {
        struct number *array = arrays + batch * total;
        int64_t index[3] = {0};
        do {
            struct number x = get(from, plan->from.type, place(plan, &plan->from, batch, index));
            array[flat_index(plan, index)] = x;
            int64_t mirror[3];
            for (int i = 0; i < plan->rank; i++) mirror[i] = (plan->n[i] - index[i]) % plan->n[i];
            if (to_real && mirror[last] >= sizes_in[last]) array[flat_index(plan, mirror)] = (struct number){x.re, -x.im};
        } while (next(plan, sizes_in, index));
        int64_t step = 1;
        for (int i = last; i >= 0; step *= plan->n[i], i--)
            for (int64_t at = 0; at < total; at++) {
                if (at / step % plan->n[i] != 0) continue;
                transform(array + at, step, line, plan->n[i], sign);
                for (int64_t k = 0; k < plan->n[i]; k++) array[at + k * step] = line[k];
            }
    }
    if (plan->area != 0 && plan->work > 0) memset(standin_backing(plan->area), 0xA5, plan->work);
    if (to_real && from != to)
        for (int64_t batch = 0; batch < plan->batch; batch++) {
            int64_t index[3] = {0};
            do put(from, plan->from.type, place(plan, &plan->from, batch, index), (struct number){NAN, NAN});
            while (next(plan, sizes_in, index));
        }
    for (int64_t batch = 0; batch < plan->batch; batch++) {
        int64_t index[3] = {0};
        do put(to, plan->to.type, place(plan, &plan->to, batch, index), arrays[batch * total + flat_index(plan, index)]);
        while (next(plan, sizes_out, index));
    }
    free(arrays);
    free(line);
}

/* From the first element to the last. */
static struct range reach(const struct plan *plan, const struct side *side, uint64_t address, bool halved) {
    int64_t index[3] = {0};
    for (int i = 0; i < plan->rank; i++) index[i] = plan->n[i] - 1;
    if (halved) index[plan->rank - 1] = plan->n[plan->rank - 1] / 2;
    size_t bytes = (size_t)(place(plan, side, plan->batch - 1, index) + 1) * bytes_of(side->type);
    return (struct range){.address = address, .width = bytes, .pitch = 0, .rows = 1};
}

EXPORT int cufftXtExec(int handle, void *from, void *to, int direction) {
    BLAS_ENTER(cufftXtExec);
    struct plan *plan = enter_plan(handle);
    if (plan == NULL || !plan->made) BLAS_LEAVE(INVALID_PLAN, "%d", handle);
    if (standin_default_pending(plan->device))
        standin_violation("plan %d is executed before the tables of its context have arrived", handle);
    if (plan->stream == NULL) standin_violation("plan %d is executed without a stream", handle);
    if (plan->work > 0 && plan->area == 0) standin_violation("plan %d is executed without a work area", handle);
    size_t pair = bytes_of(complex_type(plan->from.type) ? plan->from.type : plan->to.type);
    if ((uintptr_t)from % pair != 0 || (uintptr_t)to % pair != 0) standin_violation("a side of plan %d is misaligned", handle);
    bool to_real = !complex_type(plan->to.type), from_real = !complex_type(plan->from.type);
    struct execution execution = {*plan, (uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, direction};
    struct operand operands[3] = {
        {.range = reach(plan, &plan->to, execution.to, from_real), .kind = WRITE},
        {.range = reach(plan, &plan->from, execution.from, to_real), .kind = to_real ? WRITE : READ},
        {.range = {plan->area, plan->work, 0, 1}, .kind = WRITE},
    };
    int operand_count = plan->work > 0 ? 3 : 2;
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXEC_FAILED, "(poisoned)");
    CUresult code = standin_enqueue(plan->stream, operands, operand_count, execute_plan, &execution, sizeof execution);
    /* Whoever forgets to set them again is found out. */
    plan->stream = NULL;
    plan->area = 0;
    BLAS_LEAVE(code == CUDA_SUCCESS ? 0 : EXEC_FAILED, "plan#%d %s = %s", handle, standin_address_text(to),
               standin_address_text(from));
}

EXPORT int cufftGetVersion(int *version) {
    BLAS_ENTER(cufftGetVersion);
    *version = 12000;
    BLAS_LEAVE(0, "%s", "");
}
