/* LU factors of batches of matrices, solutions and inverses from them, as plainly as can be. The arrays of addresses are
 * read when the work runs, so the matrices that they name are no operands of it. */
#include "cublas.h"

#include <stdlib.h>

enum kind { FACTOR, SOLVE, INVERT, INVERT_WHOLE };

struct lu {
    enum kind kind;
    int type, trans, n, others, lda, ldb, count;
    uint64_t a, pivots, b, info; /* arrays of addresses: a, b */
    struct workspace workspace;
};

static struct number less(struct number one, struct number other) {
    return (struct number){one.re - other.re, one.im - other.im};
}

static double size(struct number x) { return (x.re < 0 ? -x.re : x.re) + (x.im < 0 ? -x.im : x.im); }

static struct number quotient(struct number one, struct number other) {
    double length = other.re * other.re + other.im * other.im;
    struct number product = multiply(one, (struct number){other.re, -other.im});
    return (struct number){product.re / length, product.im / length};
}

static void swap(struct number *one, struct number *other) {
    struct number kept = *one;
    *one = *other;
    *other = kept;
}

/* In place, columns one after the other; the info. */
static int factor(struct number *a, int n, int32_t *pivots) {
    int info = 0;
    for (int j = 0; j < n; j++) {
        int largest = j;
        for (int i = j + 1; i < n; i++)
            if (size(a[i + j * n]) > size(a[largest + j * n])) largest = i;
        pivots[j] = largest + 1;
        for (int k = 0; k < n && largest != j; k++) swap(&a[j + k * n], &a[largest + k * n]);
        if (size(a[j + j * n]) == 0) {
            if (info == 0) info = j + 1;
            continue;
        }
        for (int i = j + 1; i < n; i++) a[i + j * n] = quotient(a[i + j * n], a[j + j * n]);
        for (int k = j + 1; k < n; k++)
            for (int i = j + 1; i < n; i++)
                a[i + k * n] = less(a[i + k * n], multiply(a[i + j * n], a[j + k * n]));
    }
    return info;
}

/* What the library would read past the matrix for. */
static bool is_row(int32_t pivot, int n) {
    if (pivot >= 1 && pivot <= n) return true;
    standin_violation("pivot %d is no row of a matrix of %d", pivot, n);
    return false;
}

/* One right side, in place, of A or of its transpose. */
static void solve(const struct number *a, const int32_t *pivots, int n, int trans, struct number *x) {
    for (int i = 0; i < n && trans == 0; i++)
        if (is_row(pivots[i], n)) swap(&x[i], &x[pivots[i] - 1]);
    for (int step = 0; step < 2; step++) {
        /* Down with L, then up with U; of a transpose down with that of U, then up with that of L. L's diagonal is 1. */
        bool down = step == 0, unit = (step == 0) == (trans == 0);
        for (int t = 0; t < n; t++) {
            int i = down ? t : n - 1 - t;
            for (int s = 0; s < t; s++) {
                int j = down ? s : n - 1 - s;
                struct number factor_ij = trans == 0 ? a[i + j * n] : a[j + i * n];
                if (trans == 2) factor_ij.im = -factor_ij.im;
                x[i] = less(x[i], multiply(factor_ij, x[j]));
            }
            struct number diagonal = a[i + i * n];
            if (trans == 2) diagonal.im = -diagonal.im;
            if (!unit) x[i] = quotient(x[i], diagonal);
        }
    }
    for (int i = n - 1; i >= 0 && trans != 0; i--)
        if (is_row(pivots[i], n)) swap(&x[i], &x[pivots[i] - 1]);
}

static void unpack(const struct lu *lu, const void *from, struct number *a) {
    for (int64_t j = 0; j < lu->n; j++)
        for (int64_t i = 0; i < lu->n; i++) a[i + j * lu->n] = load(from, lu->type, i + j * lu->lda);
}

static void pack(const struct lu *lu, const struct number *a, void *to) {
    for (int64_t j = 0; j < lu->n; j++)
        for (int64_t i = 0; i < lu->n; i++) store(to, lu->type, i + j * lu->lda, a[i + j * lu->n]);
}

static void one(const struct lu *lu, int index) {
    const uint64_t *all_a = standin_backing(lu->a), *all_b = lu->b != 0 ? standin_backing(lu->b) : NULL;
    int n = lu->n;
    for (int other = 0; other < index && lu->kind == FACTOR; other++)
        if (all_a[other] == all_a[index]) standin_violation("matrices %d and %d are one and are written", other, index);
    void *stored = standin_backing(all_a[index]), *result = all_b != NULL ? standin_backing(all_b[index]) : NULL;
    int32_t *pivots = lu->pivots != 0 ? (int32_t *)standin_backing(lu->pivots) + (int64_t)index * n : NULL;
    int32_t *own = calloc((size_t)n + 1, sizeof *own), info = 0;
    struct number *a = calloc((size_t)n * (size_t)n + 1, sizeof *a), *x = calloc((size_t)n + 1, sizeof *x);
    unpack(lu, stored, a);
    if (lu->kind == FACTOR) {
        info = factor(a, n, pivots);
        pack(lu, a, stored);
    } else if (lu->kind == INVERT_WHOLE) {
        info = factor(a, n, own);
        pivots = own;
    } else {
        for (int i = 0; i < n && info == 0; i++)
            if (size(a[i + i * n]) == 0) info = i + 1;
    }
    for (int64_t j = 0; j < lu->others; j++) {
        bool identity = lu->kind != SOLVE;
        for (int64_t i = 0; i < n; i++)
            x[i] = identity ? (struct number){i == j, 0} : load(result, lu->type, i + j * lu->ldb);
        solve(a, pivots, n, lu->trans, x);
        for (int64_t i = 0; i < n; i++) store(result, lu->type, i + j * lu->ldb, x[i]);
    }
    if (lu->info != 0) ((int32_t *)standin_backing(lu->info))[index] = info;
    free(own);
    free(a);
    free(x);
}

static void run_lu(void *payload) {
    const struct lu *lu = payload;
    scribble(lu->workspace);
    for (int i = 0; i < lu->count; i++) one(lu, i);
}

static int add(struct operand *operands, int count, uint64_t address, size_t bytes, enum access_kind kind) {
    if (address == 0 || bytes == 0) return count;
    operands[count] = (struct operand){.range = {address, bytes, 0, 1}, .kind = kind};
    return count + 1;
}

static cublasStatus_t enqueue_lu(struct blas *blas, struct lu *lu) {
    if (lu->n < 0 || lu->count < 0 || lu->lda < (lu->n > 1 ? lu->n : 1)) return CUBLAS_STATUS_INVALID_VALUE;
    if (standin_sticky() != CUDA_SUCCESS) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (lu->n == 0 || lu->count == 0) return CUBLAS_STATUS_SUCCESS;
    lu->workspace = (struct workspace){blas->workspace, blas->workspace_bytes};
    struct operand operands[MAXIMUM_OPERANDS];
    size_t count = (size_t)lu->count;
    int used = add(operands, 0, lu->a, 8 * count, READ);
    used = add(operands, used, lu->b, 8 * count, READ);
    used = add(operands, used, lu->pivots, 4 * count * (size_t)lu->n, lu->kind == FACTOR ? WRITE : READ);
    used = add(operands, used, lu->info, 4 * count, WRITE);
    used = add_workspace(operands, used, blas);
    return status_of(standin_enqueue(blas->stream, operands, used, run_lu, lu, sizeof *lu));
}

#define AT(pointer) (uint64_t)(uintptr_t)(pointer)

/* The four of a letter. */
#define LU(letter, element)                                                                                            \
    EXPORT cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, void *a, int lda, int *pivots,    \
                                                       int *info, int count) {                                         \
        BLAS_ENTER(cublas##letter##getrfBatched);                                                                      \
        struct blas *blas = enter_blas(handle);                                                                        \
        if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");                                         \
        struct lu lu = {.kind = FACTOR, .type = element, .n = n, .lda = lda, .count = count, .a = AT(a),               \
                        .pivots = AT(pivots), .info = AT(info)};                                                       \
        BLAS_LEAVE(enqueue_lu(blas, &lu), "blas#%d %d of %d", blas->number, count, n);                                 \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##getriBatched(cublasHandle_t handle, int n, void *a, int lda,                 \
                                                       const int *pivots, void *c, int ldc, int *info, int count) {    \
        BLAS_ENTER(cublas##letter##getriBatched);                                                                      \
        struct blas *blas = enter_blas(handle);                                                                        \
        if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");                                         \
        struct lu lu = {.kind = INVERT, .type = element, .n = n, .others = n, .lda = lda, .ldb = ldc, .count = count,  \
                        .a = AT(a), .pivots = AT(pivots), .b = AT(c), .info = AT(info)};                               \
        BLAS_LEAVE(enqueue_lu(blas, &lu), "blas#%d %d of %d", blas->number, count, n);                                 \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##matinvBatched(cublasHandle_t handle, int n, void *a, int lda, void *c,       \
                                                        int ldc, int *info, int count) {                               \
        BLAS_ENTER(cublas##letter##matinvBatched);                                                                     \
        struct blas *blas = enter_blas(handle);                                                                        \
        if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");                                         \
        if (n > 32) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "blas#%d of %d", blas->number, n);                         \
        struct lu lu = {.kind = INVERT_WHOLE, .type = element, .n = n, .others = n, .lda = lda, .ldb = ldc,            \
                        .count = count, .a = AT(a), .b = AT(c), .info = AT(info)};                                     \
        BLAS_LEAVE(enqueue_lu(blas, &lu), "blas#%d %d of %d", blas->number, count, n);                                 \
    }                                                                                                                  \
    EXPORT cublasStatus_t cublas##letter##getrsBatched(cublasHandle_t handle, int trans, int n, int nrhs, void *a,     \
                                                       int lda, const int *pivots, void *b, int ldb, int *info,        \
                                                       int count) {                                                    \
        BLAS_ENTER(cublas##letter##getrsBatched);                                                                      \
        struct blas *blas = enter_blas(handle);                                                                        \
        if (blas == NULL) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");                                         \
        struct lu lu = {.kind = SOLVE, .type = element, .trans = trans, .n = n, .others = nrhs, .lda = lda,            \
                        .ldb = ldb, .count = count, .a = AT(a), .pivots = AT(pivots), .b = AT(b)};                     \
        *info = 0;                                                                                                     \
        BLAS_LEAVE(enqueue_lu(blas, &lu), "blas#%d %d of %d", blas->number, count, n);                                 \
    }
LU(S, R_32F)
LU(D, R_64F)
LU(C, C_32F)
LU(Z, C_64F)
