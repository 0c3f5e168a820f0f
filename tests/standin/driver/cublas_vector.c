/* axpy, scal, dot and nrm2. */
#include "cublas.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct vector {
    uint64_t address;
    int64_t step;
    int type;
};

struct level_one {
    int64_t count;
    struct vector x, y;
    struct scalar alpha;
    struct workspace workspace;
    bool conjugate;
    int result_type;
    uint64_t result;
};

/* A negative step runs through the vector backwards, from its far end. */
static int64_t index_of(const struct vector *vector, int64_t count, int64_t i) {
    return vector->step >= 0 ? i * vector->step : (i - count + 1) * vector->step;
}

static struct range footprint(const struct vector *vector, int64_t count) {
    size_t bytes = type_bytes(vector->type), step = (size_t)(vector->step < 0 ? -vector->step : vector->step);
    if (step == 1) return (struct range){vector->address, (size_t)count * bytes, 0, 1};
    return (struct range){vector->address, bytes, step * bytes, step == 0 ? 1 : (size_t)count};
}

static struct number rounded(struct number value, int type) {
    return is_double(type) ? value : (struct number){(float)value.re, (float)value.im};
}

static void run_axpy(void *payload) {
    const struct level_one *call = payload;
    scribble(call->workspace);
    struct number alpha = load_scalar(&call->alpha);
    if (alpha.re == 0 && alpha.im == 0) return; /* x is not read then, whatever it holds */
    const void *x = standin_backing(call->x.address);
    void *y = standin_backing(call->y.address);
    for (int64_t i = 0; i < call->count; i++) {
        int64_t at = index_of(&call->y, call->count, i);
        struct number product = multiply(alpha, load(x, call->x.type, index_of(&call->x, call->count, i)));
        struct number old = load(y, call->y.type, at);
        store(y, call->y.type, at, (struct number){old.re + product.re, old.im + product.im});
    }
}

static void run_scal(void *payload) {
    const struct level_one *call = payload;
    scribble(call->workspace);
    struct number alpha = load_scalar(&call->alpha);
    void *x = standin_backing(call->x.address);
    for (int64_t i = 0; i < call->count; i++) {
        int64_t at = index_of(&call->x, call->count, i);
        store(x, call->x.type, at, multiply(alpha, load(x, call->x.type, at)));
    }
}

static void run_dot(void *payload) {
    const struct level_one *call = payload;
    scribble(call->workspace);
    const void *x = standin_backing(call->x.address), *y = standin_backing(call->y.address);
    struct number sum = {0, 0};
    for (int64_t i = 0; i < call->count; i++) {
        struct number one = load(x, call->x.type, index_of(&call->x, call->count, i));
        if (call->conjugate) one.im = -one.im;
        struct number product = multiply(one, load(y, call->y.type, index_of(&call->y, call->count, i)));
        sum = rounded((struct number){sum.re + product.re, sum.im + product.im}, call->x.type);
    }
    store(standin_backing(call->result), call->result_type, 0, sum);
}

static void run_nrm2(void *payload) {
    const struct level_one *call = payload;
    scribble(call->workspace);
    const void *x = standin_backing(call->x.address);
    /* Scaled as the real one is: neither huge nor tiny elements overflow or vanish. */
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < call->count; i++) {
        struct number value = load(x, call->x.type, i * call->x.step);
        /* Not fmax alone, which leaves out what is no number. */
        double size = isnan(value.re) || isnan(value.im) ? NAN : fmax(fabs(value.re), fabs(value.im));
        if (size > largest || isnan(size)) largest = size;
    }
    for (int64_t i = 0; i < call->count && largest > 0 && isfinite(largest); i++) {
        struct number value = load(x, call->x.type, i * call->x.step);
        double re = value.re / largest, im = value.im / largest;
        sum += re * re + im * im;
    }
    double norm = isfinite(largest) ? largest * sqrt(sum) : largest;
    store(standin_backing(call->result), call->result_type, 0, (struct number){norm, 0});
}

/* x, y (or the result's type) and the type it is computed in: half types compute in f32, the others in themselves. */
static bool computes_in(int type, int execution) {
    return execution == (type == R_16F || type == R_16BF ? R_32F : type);
}

static bool floating(int type) { return type_bytes(type) != 0 && type != R_8I && type != R_32I; }

static bool scales(int alpha, int type) {
    return alpha == type || ((type == R_16F || type == R_16BF) && alpha == R_32F);
}

static cublasStatus_t begin(const struct blas *blas) {
    if (blas == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
    return standin_sticky() == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static struct vector vector_at(const void *address, int type, int64_t step) {
    return (struct vector){(uint64_t)(uintptr_t)address, step, type};
}

static cublasStatus_t enqueue_scaled(struct blas *blas, struct level_one *call, work run) {
    if (call->count <= 0) return CUBLAS_STATUS_SUCCESS;
    bool has_y = run == run_axpy;
    if (call->x.address == 0 || (has_y && call->y.address == 0)) return CUBLAS_STATUS_INVALID_VALUE;
    call->workspace = (struct workspace){blas->workspace, blas->workspace_bytes};
    struct operand operands[MAXIMUM_OPERANDS] = {
        {.range = footprint(&call->x, call->count), .kind = has_y ? READ : WRITE},
        {.range = footprint(&call->y, has_y ? call->count : 0), .kind = WRITE},
    };
    int count = add_workspace(operands, add_scalar(operands, has_y ? 2 : 1, &call->alpha), blas);
    return status_of(standin_enqueue(blas->stream, operands, count, run, call, sizeof *call));
}

EXPORT cublasStatus_t cublasAxpyEx_64(cublasHandle_t handle, int64_t n, const void *alpha, int alpha_type,
                                      const void *x, int x_type, int64_t step_x, void *y, int y_type, int64_t step_y,
                                      int execution) {
    BLAS_ENTER(cublasAxpyEx_64);
    struct blas *blas = enter_blas(handle);
    struct level_one call = {
        .count = n, .x = vector_at(x, x_type, step_x), .y = vector_at(y, y_type, step_y)};
    cublasStatus_t status = begin(blas);
    bool known = floating(x_type) && x_type == y_type && computes_in(x_type, execution) && scales(alpha_type, x_type);
    if (status == CUBLAS_STATUS_SUCCESS && !known) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS && !take_scalar(blas, &call.alpha, alpha, alpha_type))
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS) status = enqueue_scaled(blas, &call, run_axpy);
    BLAS_LEAVE(status, "blas#%d %" PRId64 " type %d %s += %s", blas != NULL ? blas->number : 0, n, x_type,
               standin_address_text(y), standin_address_text(x));
}

EXPORT cublasStatus_t cublasScalEx_64(cublasHandle_t handle, int64_t n, const void *alpha, int alpha_type, void *x,
                                      int x_type, int64_t step_x, int execution) {
    BLAS_ENTER(cublasScalEx_64);
    struct blas *blas = enter_blas(handle);
    struct level_one call = {.count = step_x > 0 ? n : 0, .x = vector_at(x, x_type, step_x)};
    cublasStatus_t status = begin(blas);
    bool known = floating(x_type) && computes_in(x_type, execution) && scales(alpha_type, x_type);
    if (status == CUBLAS_STATUS_SUCCESS && !known) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS && !take_scalar(blas, &call.alpha, alpha, alpha_type))
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS) status = enqueue_scaled(blas, &call, run_scal);
    BLAS_LEAVE(status, "blas#%d %" PRId64 " type %d %s", blas != NULL ? blas->number : 0, n, x_type,
               standin_address_text(x));
}

/* In host pointer mode the caller waits for the number, which first lands in memory of ours: the wait may fail. */
static cublasStatus_t reduce(struct blas *blas, struct level_one *call, work run, void *result) {
    if (result == NULL) return CUBLAS_STATUS_INVALID_VALUE;
    if (call->count < 0) call->count = 0;
    bool has_y = run == run_dot;
    if (call->count > 0 && (call->x.address == 0 || (has_y && call->y.address == 0))) return CUBLAS_STATUS_INVALID_VALUE;
    call->workspace = (struct workspace){blas->workspace, blas->workspace_bytes};
    struct operand operands[MAXIMUM_OPERANDS];
    int count = 0;
    if (call->count > 0) {
        operands[count++] = (struct operand){.range = footprint(&call->x, call->count), .kind = READ};
        if (has_y) operands[count++] = (struct operand){.range = footprint(&call->y, call->count), .kind = READ};
    }
    count = add_workspace(operands, count, blas);
    size_t bytes = type_bytes(call->result_type);
    if (blas->device_pointers) {
        call->result = (uint64_t)(uintptr_t)result;
        operands[count++] = (struct operand){.range = {call->result, bytes, 0, 1}, .kind = WRITE};
        return status_of(standin_enqueue(blas->stream, operands, count, run, call, sizeof *call));
    }
    if (standin_is_device_address(result)) {
        standin_violation("a device address for a result in host pointer mode");
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    void *landing = malloc(16);
    call->result = (uint64_t)(uintptr_t)landing;
    CUresult code = standin_enqueue(blas->stream, operands, count, run, call, sizeof *call);
    if (code == CUDA_SUCCESS) code = standin_wait_stream(blas->stream);
    if (code == CUDA_SUCCESS) memcpy(result, landing, bytes);
    free(landing);
    return status_of(code);
}

static cublasStatus_t dot(struct blas *blas, struct level_one *call, void *result, int execution) {
    cublasStatus_t status = begin(blas);
    int type = call->x.type;
    bool known = floating(type) && call->y.type == type && call->result_type == type && computes_in(type, execution);
    if (status == CUBLAS_STATUS_SUCCESS && !known) status = CUBLAS_STATUS_NOT_SUPPORTED;
    return status == CUBLAS_STATUS_SUCCESS ? reduce(blas, call, run_dot, result) : status;
}

EXPORT cublasStatus_t cublasDotEx_64(cublasHandle_t handle, int64_t n, const void *x, int x_type, int64_t step_x,
                                     const void *y, int y_type, int64_t step_y, void *result, int result_type,
                                     int execution) {
    BLAS_ENTER(cublasDotEx_64);
    struct blas *blas = enter_blas(handle);
    struct level_one call = {.count = n,
                             .x = vector_at(x, x_type, step_x),
                             .y = vector_at(y, y_type, step_y),
                             .result_type = result_type};
    cublasStatus_t status = dot(blas, &call, result, execution);
    BLAS_LEAVE(status, "blas#%d %" PRId64 " type %d %s = %s . %s", blas != NULL ? blas->number : 0, n, x_type,
               standin_address_text(result), standin_address_text(x), standin_address_text(y));
}

EXPORT cublasStatus_t cublasDotcEx_64(cublasHandle_t handle, int64_t n, const void *x, int x_type, int64_t step_x,
                                      const void *y, int y_type, int64_t step_y, void *result, int result_type,
                                      int execution) {
    BLAS_ENTER(cublasDotcEx_64);
    struct blas *blas = enter_blas(handle);
    struct level_one call = {.count = n,
                             .x = vector_at(x, x_type, step_x),
                             .y = vector_at(y, y_type, step_y),
                             .conjugate = true,
                             .result_type = result_type};
    cublasStatus_t status = dot(blas, &call, result, execution);
    BLAS_LEAVE(status, "blas#%d %" PRId64 " type %d %s = %s . %s", blas != NULL ? blas->number : 0, n, x_type,
               standin_address_text(result), standin_address_text(x), standin_address_text(y));
}

EXPORT cublasStatus_t cublasNrm2Ex_64(cublasHandle_t handle, int64_t n, const void *x, int x_type, int64_t step_x,
                                      void *result, int result_type, int execution) {
    BLAS_ENTER(cublasNrm2Ex_64);
    struct blas *blas = enter_blas(handle);
    struct level_one call = {
        .count = step_x > 0 ? n : 0, .x = vector_at(x, x_type, step_x), .result_type = result_type};
    int real = x_type == C_32F ? R_32F : x_type == C_64F ? R_64F : x_type;
    cublasStatus_t status = begin(blas);
    bool known = floating(x_type) && result_type == real && computes_in(real, execution);
    if (status == CUBLAS_STATUS_SUCCESS && !known) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS) status = reduce(blas, &call, run_nrm2, result);
    BLAS_LEAVE(status, "blas#%d %" PRId64 " type %d %s = |%s|", blas != NULL ? blas->number : 0, n, x_type,
               standin_address_text(result), standin_address_text(x));
}

/* The 32-bit forms differ only in the width of the numbers. */
EXPORT cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void *alpha, int alpha_type, const void *x,
                                   int x_type, int step_x, void *y, int y_type, int step_y, int execution) {
    return cublasAxpyEx_64(handle, n, alpha, alpha_type, x, x_type, step_x, y, y_type, step_y, execution);
}

EXPORT cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void *alpha, int alpha_type, void *x, int x_type,
                                   int step_x, int execution) {
    return cublasScalEx_64(handle, n, alpha, alpha_type, x, x_type, step_x, execution);
}

EXPORT cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void *x, int x_type, int step_x, const void *y,
                                  int y_type, int step_y, void *result, int result_type, int execution) {
    return cublasDotEx_64(handle, n, x, x_type, step_x, y, y_type, step_y, result, result_type, execution);
}

EXPORT cublasStatus_t cublasDotcEx(cublasHandle_t handle, int n, const void *x, int x_type, int step_x, const void *y,
                                   int y_type, int step_y, void *result, int result_type, int execution) {
    return cublasDotcEx_64(handle, n, x, x_type, step_x, y, y_type, step_y, result, result_type, execution);
}

EXPORT cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void *x, int x_type, int step_x, void *result,
                                   int result_type, int execution) {
    return cublasNrm2Ex_64(handle, n, x, x_type, step_x, result, result_type, execution);
}
