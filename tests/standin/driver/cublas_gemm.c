/* Matrix products: C = alpha op(A) op(B) + beta C, column-major. */
#include "cublas.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OP_N, OP_T, OP_C };

struct matrix {
    uint64_t address;
    int64_t rows, columns, leading; /* as stored */
    int type, operation;
};

struct gemm {
    int64_t m, n, k;
    struct matrix a, b, c;
    struct scalar alpha, beta;
    struct workspace workspace;
    bool tf32;
};

/* Which types go together: compute 16F, 32F and its fast forms, 64F, 32I; the scale type decides the scalars. */
struct combination {
    int compute, scale, ab, c;
};

enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };

static const struct combination combinations[] = {
    {COMPUTE_16F, R_16F, R_16F, R_16F},   {COMPUTE_32F, R_32F, R_32F, R_32F}, {COMPUTE_32F, R_32F, R_16F, R_16F},
    {COMPUTE_32F, R_32F, R_16F, R_32F},   {COMPUTE_32F, R_32F, R_16BF, R_16BF},
    {COMPUTE_32F, R_32F, R_16BF, R_32F},  {COMPUTE_32F, R_32F, R_8I, R_32F},  {COMPUTE_32F, C_32F, C_32F, C_32F},
    {COMPUTE_64F, R_64F, R_64F, R_64F},   {COMPUTE_64F, C_64F, C_64F, C_64F}, {COMPUTE_32I, R_32I, R_8I, R_32I},
};

/* The fast forms take f32 only; -1 is what is no compute type of ours. */
static int base_compute(int compute, int type) {
    switch (compute) {
    case 64: case 65: return COMPUTE_16F;
    case 68: case 69: return COMPUTE_32F;
    case 74: case 75: case 77: return type == R_32F || type == C_32F ? COMPUTE_32F : -1;
    case 70: case 71: return COMPUTE_64F;
    case 72: case 73: return COMPUTE_32I;
    default: return -1;
    }
}

static const struct combination *combine(int compute, int a, int b, int c) {
    int base = base_compute(compute, a);
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        const struct combination *each = &combinations[i];
        if (each->compute == base && each->ab == a && a == b && each->c == c) return each;
    }
    return NULL;
}

static struct range footprint(const struct matrix *matrix) {
    size_t bytes = type_bytes(matrix->type);
    return (struct range){matrix->address, (size_t)matrix->rows * bytes, (size_t)matrix->leading * bytes,
                          (size_t)matrix->columns};
}

static struct number element(const struct matrix *matrix, const void *bytes, int64_t row, int64_t column) {
    int64_t index = matrix->operation == OP_N ? row + column * matrix->leading : column + row * matrix->leading;
    struct number value = load(bytes, matrix->type, index);
    if (matrix->operation == OP_C) value.im = -value.im;
    return value;
}

/* op(matrix), rows x columns, the inner dimension running fastest. */
static struct number *unpack(const struct matrix *matrix, int64_t outer, int64_t inner, bool rows_are_outer) {
    const void *bytes = standin_backing(matrix->address);
    struct number *unpacked = malloc((size_t)(outer * inner + 1) * sizeof *unpacked);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t p = 0; p < inner; p++)
            unpacked[i * inner + p] = rows_are_outer ? element(matrix, bytes, i, p) : element(matrix, bytes, p, i);
    return unpacked;
}

static struct number dot(const struct number *a, const struct number *b, int64_t count, bool single) {
    struct number sum = {0, 0};
    for (int64_t i = 0; i < count; i++) {
        struct number product = multiply(a[i], b[i]);
        sum.re += product.re;
        sum.im += product.im;
        if (single) {
            sum.re = (float)sum.re;
            sum.im = (float)sum.im;
        }
    }
    return sum;
}

/* Integers wrap, as they do on the device. */
static void store_integer(const struct gemm *gemm, int64_t index, struct number sum) {
    int32_t *target = (int32_t *)standin_backing(gemm->c.address) + index;
    uint32_t alpha = (uint32_t)(int64_t)load_scalar(&gemm->alpha).re;
    uint32_t beta = (uint32_t)(int64_t)load_scalar(&gemm->beta).re;
    uint32_t value = alpha * (uint32_t)(int64_t)sum.re;
    if (beta != 0) value += beta * (uint32_t)*target;
    *target = (int32_t)value;
}

static void store_float(const struct gemm *gemm, int64_t index, struct number sum) {
    void *target = standin_backing(gemm->c.address);
    struct number beta = load_scalar(&gemm->beta), value = multiply(load_scalar(&gemm->alpha), sum);
    /* With beta 0 the old C is not read: it may be anything, also not a number. */
    if (beta.re != 0 || beta.im != 0) {
        struct number old = multiply(beta, load(target, gemm->c.type, index));
        value.re += old.re;
        value.im += old.im;
    }
    store(target, gemm->c.type, index, value);
}

static void run_gemm(void *payload) {
    const struct gemm *gemm = payload;
    scribble(gemm->workspace);
    struct number *a = unpack(&gemm->a, gemm->m, gemm->k, true);
    struct number *b = unpack(&gemm->b, gemm->n, gemm->k, false);
    for (int64_t i = 0; gemm->tf32 && i < gemm->m * gemm->k; i++) a[i] = round_to_tf32(a[i]);
    for (int64_t i = 0; gemm->tf32 && i < gemm->n * gemm->k; i++) b[i] = round_to_tf32(b[i]);
    bool integers = gemm->c.type == R_32I, single = !integers && !is_double(gemm->c.type);
    for (int64_t column = 0; column < gemm->n; column++) {
        for (int64_t row = 0; row < gemm->m; row++) {
            struct number sum = dot(a + row * gemm->k, b + column * gemm->k, gemm->k, single);
            int64_t index = row + column * gemm->c.leading;
            if (integers) store_integer(gemm, index, sum);
            else store_float(gemm, index, sum);
        }
    }
    free(a);
    free(b);
}

static bool bad_leading(const struct matrix *matrix) {
    return matrix->leading < (matrix->rows > 1 ? matrix->rows : 1);
}

static bool bad_operation(int operation) { return operation < OP_N || operation > OP_C; }

static cublasStatus_t check(const struct gemm *gemm) {
    if (gemm->m < 0 || gemm->n < 0 || gemm->k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (bad_operation(gemm->a.operation) || bad_operation(gemm->b.operation)) return CUBLAS_STATUS_INVALID_VALUE;
    if (bad_leading(&gemm->a) || bad_leading(&gemm->b) || bad_leading(&gemm->c)) return CUBLAS_STATUS_INVALID_VALUE;
    bool empty = gemm->m == 0 || gemm->n == 0;
    if (!empty && (gemm->c.address == 0 || (gemm->k > 0 && (gemm->a.address == 0 || gemm->b.address == 0))))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (gemm->a.type == R_8I && (gemm->a.leading % 4 != 0 || gemm->b.leading % 4 != 0 || gemm->a.address % 4 != 0 ||
                                 gemm->b.address % 4 != 0))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t enqueue_gemm(struct blas *blas, struct gemm *gemm) {
    if (gemm->m == 0 || gemm->n == 0) return CUBLAS_STATUS_SUCCESS;
    gemm->workspace = (struct workspace){blas->workspace, blas->workspace_bytes};
    struct operand operands[MAXIMUM_OPERANDS] = {
        {.range = footprint(&gemm->c), .kind = WRITE},
        {.range = footprint(&gemm->a), .kind = READ},
        {.range = footprint(&gemm->b), .kind = READ},
    };
    int count = gemm->k > 0 ? 3 : 1;
    count = add_scalar(operands, count, &gemm->alpha);
    count = add_scalar(operands, count, &gemm->beta);
    count = add_workspace(operands, count, blas);
    return status_of(standin_enqueue(blas->stream, operands, count, run_gemm, gemm, sizeof *gemm));
}

EXPORT cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                                      const void *alpha, const void *a, int a_type, int64_t lda, const void *b,
                                      int b_type, int64_t ldb, const void *beta, void *c, int c_type, int64_t ldc,
                                      int compute, int algorithm) {
    BLAS_ENTER(cublasGemmEx_64);
    (void)algorithm;
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    struct gemm gemm = {
        .m = m,
        .n = n,
        .k = k,
        .a = {(uint64_t)(uintptr_t)a, trans_a == OP_N ? m : k, trans_a == OP_N ? k : m, lda, a_type, trans_a},
        .b = {(uint64_t)(uintptr_t)b, trans_b == OP_N ? k : n, trans_b == OP_N ? n : k, ldb, b_type, trans_b},
        .c = {(uint64_t)(uintptr_t)c, m, n, ldc, c_type, OP_N},
        .tf32 = compute == COMPUTE_FAST_TF32,
    };
    const struct combination *combination = combine(compute, a_type, b_type, c_type);
    cublasStatus_t status = combination == NULL ? CUBLAS_STATUS_NOT_SUPPORTED : check(&gemm);
    if (status == CUBLAS_STATUS_SUCCESS && (!take_scalar(blas, &gemm.alpha, alpha, combination->scale) ||
                                            !take_scalar(blas, &gemm.beta, beta, combination->scale)))
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS && standin_sticky() != CUDA_SUCCESS) status = CUBLAS_STATUS_EXECUTION_FAILED;
    if (status == CUBLAS_STATUS_SUCCESS) status = enqueue_gemm(blas, &gemm);
    BLAS_LEAVE(status, "blas#%d %c%c %" PRId64 "x%" PRId64 "x%" PRId64 " types %d %d %d compute %d %s = %s * %s",
               blas->number, "NTC?"[trans_a & 3], "NTC?"[trans_b & 3], m, n, k, a_type, b_type, c_type, compute,
               standin_address_text(c), standin_address_text(a), standin_address_text(b));
}

EXPORT cublasStatus_t cublasGemmEx(cublasHandle_t handle, int trans_a, int trans_b, int m, int n, int k,
                                   const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type,
                                   int ldb, const void *beta, void *c, int c_type, int ldc, int compute,
                                   int algorithm) {
    return cublasGemmEx_64(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type,
                           ldc, compute, algorithm);
}
