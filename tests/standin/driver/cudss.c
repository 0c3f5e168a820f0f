/* libcudss's stand-in: dense elimination on the CPU, in double precision.
 *
 * It holds what the real one wants: one thread in a handle, one value type on it, objects that are alive, phases in order, arrays of
 * the device that live until the work is done, modes of transposition for matrices of no symmetry alone. It gives no more than the real one
 * promises: a singular matrix is no error, but a pivot that is replaced and counted; NaN is none either; only the triangle of
 * the view is read. The order is the reverse one, so that a position in it is no row. */
#include "cublas.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_INITIALIZED = 1, ALLOC_FAILED, INVALID_VALUE, NOT_SUPPORTED, EXECUTION_FAILED };
enum { ANALYSIS = 3, FACTORIZATION = 4, REFACTORIZATION = 8, SOLVE = 1008 };
enum { GENERAL, SYMMETRIC, HERMITIAN, SPD, HPD };
enum { INDEX_32 = 10, INDEX_64 = 24 };

/* Everything that the library makes begins so, and is never freed, so that a use afterwards is seen. */
enum what { HANDLE = 0x7201, CONFIG, DATA, MATRIX };
struct made {
    enum what what;
    int number, generation, device;
    bool destroyed;
};

struct handle {
    struct made made;
    CUstream stream;
    uint64_t own_memory;
    int inside, type;
};

struct config {
    struct made made;
    int matching, mode;
    double epsilon;
};

struct matrix {
    struct made made;
    bool dense;
    int64_t rows, cols, nnz, ld;
    uint64_t starts, columns, values;
    int index_type, type, kind, view;
};

/* A system: its factor is of the matrix in the reverse order, rows and columns. */
struct data {
    struct made made;
    bool analysed, enqueued;
    int64_t n;
    int type, index_type, kind;
    uint64_t memory;
    size_t bytes;
    struct number *lu, *pivots;
    double *scales; /* of rows, then of columns: only powers of two */
    int64_t *rows;
    int32_t info;
    int64_t perturbed, inertia[2];
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
        standin_violation("%p is no %s of cudss", pointer, name);
    else if (made->destroyed) standin_violation("use of the destroyed %s %d", name, made->number);
    else return true;
    return false;
}

/* A handle, with its context current and no other thread in it. */
static bool use_handle(struct handle *handle) {
    if (!is_alive(handle, HANDLE, "handle")) return false;
    if (handle->made.device != standin_current_device())
        standin_violation("handle %d is of context#%d, current is context#%d", handle->made.number, handle->made.device,
                          standin_current_device());
    if (handle->inside > 0) standin_violation("two threads inside calls on handle %d", handle->made.number);
    handle->inside++;
    standin_pause();
    handle->inside--;
    return !handle->made.destroyed;
}

static void destroy(void *pointer) {
    ((struct made *)pointer)->destroyed = true;
    standin_count_blas(-1);
}

EXPORT int cudssGetProperty(int which, int *value) {
    const int version[3] = {1, 0, 0};
    if (which < 0 || which > 2) return INVALID_VALUE;
    *value = version[which];
    return 0;
}

EXPORT int cudssCreate(struct handle **handle) {
    BLAS_ENTER(cudssCreate);
    int device = standin_current_device();
    if (device < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    }
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXECUTION_FAILED, "(poisoned)");
    uint64_t memory = standin_allocate(device, 4096);
    if (memory == 0) BLAS_LEAVE(ALLOC_FAILED, "%s", "");
    *handle = make(HANDLE, sizeof **handle);
    (*handle)->own_memory = memory;
    (*handle)->type = -1;
    BLAS_LEAVE(0, "handle#%d", (*handle)->made.number);
}

EXPORT int cudssDestroy(struct handle *handle) {
    BLAS_ENTER(cudssDestroy);
    if (!use_handle(handle)) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (standin_sticky() == CUDA_SUCCESS && standin_wait_device(handle->made.device) == CUDA_SUCCESS)
        standin_deallocate(handle->own_memory);
    destroy(handle);
    BLAS_LEAVE(0, "%s", "");
}

EXPORT int cudssSetStream(struct handle *handle, CUstream stream) {
    BLAS_ENTER(cudssSetStream);
    if (!use_handle(handle)) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (standin_stream_device(stream, NULL) != handle->made.device) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    handle->stream = stream;
    BLAS_LEAVE(0, "%s", "");
}

EXPORT int cudssConfigCreate(struct config **config) {
    BLAS_ENTER(cudssConfigCreate);
    *config = make(CONFIG, sizeof **config);
    (*config)->matching = 6;
    (*config)->epsilon = -1;
    BLAS_LEAVE(0, "config#%d", (*config)->made.number);
}

EXPORT int cudssConfigDestroy(struct config *config) {
    BLAS_ENTER(cudssConfigDestroy);
    if (!is_alive(config, CONFIG, "config")) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    destroy(config);
    BLAS_LEAVE(0, "%s", "");
}

EXPORT int cudssConfigSet(struct config *config, int what, const void *value, size_t bytes) {
    BLAS_ENTER(cudssConfigSet);
    if (!is_alive(config, CONFIG, "config")) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (bytes != (what == 9 ? 8 : 4)) BLAS_LEAVE(INVALID_VALUE, "parameter %d of %zu bytes", what, bytes);
    if (what == 3) memcpy(&config->matching, value, bytes);
    else if (what == 4) memcpy(&config->mode, value, bytes);
    else if (what == 9) memcpy(&config->epsilon, value, bytes);
    else BLAS_LEAVE(NOT_SUPPORTED, "parameter %d", what);
    BLAS_LEAVE(0, "parameter %d", what);
}

EXPORT int cudssDataCreate(struct handle *handle, struct data **data) {
    BLAS_ENTER(cudssDataCreate);
    if (!use_handle(handle)) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    *data = make(DATA, sizeof **data);
    BLAS_LEAVE(0, "data#%d", (*data)->made.number);
}

EXPORT int cudssDataDestroy(struct handle *handle, struct data *data) {
    BLAS_ENTER(cudssDataDestroy);
    if (!use_handle(handle)) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (!is_alive(data, DATA, "data")) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (standin_sticky() == CUDA_SUCCESS && standin_wait_device(handle->made.device) == CUDA_SUCCESS) {
        if (data->memory != 0) standin_deallocate(data->memory);
        free(data->lu);
        free(data->rows);
        free(data->pivots);
        free(data->scales);
    }
    destroy(data);
    BLAS_LEAVE(0, "%s", "");
}

EXPORT int cudssMatrixCreateDn(struct matrix **made, int64_t rows, int64_t cols, int64_t ld, const void *values, int type,
                               int layout) {
    BLAS_ENTER(cudssMatrixCreateDn);
    if (layout != 0) BLAS_LEAVE(NOT_SUPPORTED, "%s", "row-major");
    if (rows < 0 || cols < 0 || type_bytes(type) == 0) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (ld < rows) standin_violation("columns of %" PRId64 " rows are %" PRId64 " apart", rows, ld);
    struct matrix *matrix = make(MATRIX, sizeof *matrix);
    matrix->dense = true;
    matrix->rows = rows, matrix->cols = cols, matrix->ld = ld, matrix->type = type;
    matrix->values = (uint64_t)(uintptr_t)values;
    *made = matrix;
    BLAS_LEAVE(0, "matrix#%d %" PRId64 " x %" PRId64, matrix->made.number, rows, cols);
}

EXPORT int cudssMatrixCreateCsr(struct matrix **made, int64_t rows, int64_t cols, int64_t nnz, const void *starts,
                                const void *ends, const void *columns, const void *values, int offset_type, int index_type,
                                int type, int kind, int view, int base) {
    BLAS_ENTER(cudssMatrixCreateCsr);
    if (ends != NULL) BLAS_LEAVE(NOT_SUPPORTED, "%s", "ends of rows");
    if (offset_type != index_type || (index_type != INDEX_32 && index_type != INDEX_64)) BLAS_LEAVE(INVALID_VALUE, "%s", "indices");
    if (type != R_32F && type != R_64F && type != C_32F && type != C_64F) BLAS_LEAVE(INVALID_VALUE, "type %d", type);
    if (rows != cols || rows == 0 || nnz == 0) standin_violation("an empty matrix, or one that is not square");
    if (kind < GENERAL || kind > HPD || view < 0 || view > 2 || base != 0) standin_violation("kind %d view %d base %d", kind, view, base);
    if ((kind == GENERAL) != (view == 0)) standin_violation("kind %d is viewed as %d", kind, view);
    if ((kind == HERMITIAN || kind == HPD) && !is_complex(type)) standin_violation("a real matrix of kind %d", kind);
    struct matrix *matrix = make(MATRIX, sizeof *matrix);
    matrix->rows = rows, matrix->cols = cols, matrix->nnz = nnz, matrix->type = type, matrix->index_type = index_type;
    matrix->kind = kind, matrix->view = view;
    matrix->starts = (uint64_t)(uintptr_t)starts;
    matrix->columns = (uint64_t)(uintptr_t)columns;
    matrix->values = (uint64_t)(uintptr_t)values;
    *made = matrix;
    BLAS_LEAVE(0, "matrix#%d of %" PRId64 " kind %d view %d", matrix->made.number, rows, kind, view);
}

EXPORT int cudssMatrixSetCsrPointers(struct matrix *matrix, const void *starts, const void *ends, const void *columns,
                                     const void *values) {
    BLAS_ENTER(cudssMatrixSetCsrPointers);
    if (!is_alive(matrix, MATRIX, "matrix") || matrix->dense || ends != NULL) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    matrix->starts = (uint64_t)(uintptr_t)starts;
    matrix->columns = (uint64_t)(uintptr_t)columns;
    matrix->values = (uint64_t)(uintptr_t)values;
    BLAS_LEAVE(0, "matrix#%d", matrix->made.number);
}

EXPORT int cudssMatrixDestroy(struct matrix *matrix) {
    BLAS_ENTER(cudssMatrixDestroy);
    if (!is_alive(matrix, MATRIX, "matrix")) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    destroy(matrix);
    BLAS_LEAVE(0, "%s", "");
}

static struct number less(struct number x, struct number y) { return (struct number){x.re - y.re, x.im - y.im}; }
static struct number conjugate(struct number x) { return (struct number){x.re, -x.im}; }
static double size(struct number x) { return hypot(x.re, x.im); }
static struct number quotient(struct number x, struct number y) {
    struct number product = multiply(x, conjugate(y));
    double length = y.re * y.re + y.im * y.im;
    return (struct number){product.re / length, product.im / length};
}

static int64_t index_at(const struct matrix *a, uint64_t address, int64_t i) {
    const void *all = standin_backing(address);
    return a->index_type == INDEX_64 ? ((const int64_t *)all)[i] : ((const int32_t *)all)[i];
}

/* The whole matrix in the reverse order, columns one after the other. */
static struct number *whole(const struct matrix *a) {
    int64_t n = a->rows;
    struct number *all = calloc((size_t)(n * n), sizeof *all);
    const void *values = standin_backing(a->values);
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = index_at(a, a->starts, i); at < index_at(a, a->starts, i + 1); at++) {
            int64_t j = index_at(a, a->columns, at), p = n - 1 - i, q = n - 1 - j;
            if (a->view == 1 ? j > i : a->view == 2 ? j < i : false) continue;
            struct number x = load(values, a->type, at);
            bool hermitian = a->kind == HERMITIAN || a->kind == HPD;
            if (i == j && hermitian) x.im = 0;
            all[p + q * n] = x;
            if (a->view != 0) all[q + p * n] = hermitian ? conjugate(x) : x;
        }
    return all;
}

/* The signs of the eigenvalues, by pivots of one or two rows (Bunch and Parlett). Spoils the matrix. */
static void signs(struct number *a, int64_t n, int64_t *inertia) {
    bool *gone = calloc((size_t)n, sizeof *gone);
    for (int64_t left = n; left > 0;) {
        int64_t d = -1, p = -1, q = -1;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) {
                if (gone[i] || gone[j]) continue;
                if (i == j && (d < 0 || size(a[i + i * n]) > size(a[d + d * n]))) d = i;
                if (i != j && (p < 0 || size(a[i + j * n]) > size(a[p + q * n]))) p = i, q = j;
            }
        double on = size(a[d + d * n]), off = p < 0 ? 0 : size(a[p + q * n]);
        if (!(on > 0) && !(off > 0)) break;
        int64_t rows[2] = {d, d};
        struct number inverse[2][2] = {{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}};
        int size_of_pivot = on >= 0.64 * off ? 1 : 2;
        if (size_of_pivot == 1) {
            inertia[a[d + d * n].re > 0 ? 0 : 1]++;
            inverse[0][0] = quotient((struct number){1, 0}, a[d + d * n]);
        } else {
            rows[0] = p, rows[1] = q;
            inertia[0]++, inertia[1]++;
            struct number x = a[p + p * n], y = a[p + q * n], z = a[q + p * n], w = a[q + q * n];
            struct number determinant = less(multiply(x, w), multiply(y, z));
            inverse[0][0] = quotient(w, determinant), inverse[1][1] = quotient(x, determinant);
            inverse[0][1] = quotient((struct number){-y.re, -y.im}, determinant);
            inverse[1][0] = quotient((struct number){-z.re, -z.im}, determinant);
        }
        for (int s = 0; s < size_of_pivot; s++) gone[rows[s]] = true;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                if (gone[i] || gone[j]) continue;
                for (int s = 0; s < size_of_pivot; s++)
                    for (int t = 0; t < size_of_pivot; t++)
                        a[i + j * n] = less(a[i + j * n], multiply(multiply(a[i + rows[s] * n], inverse[s][t]), a[rows[t] + j * n]));
            }
        left -= size_of_pivot;
    }
    free(gone);
}

struct task {
    struct data *data;
    struct matrix a, x;
    int mode, matching;
    double epsilon;
};

/* As a matching does: no entry is above 1, and each row and column has one that is not far below. */
static void balance(struct number *a, int64_t n, double *scales) {
    for (int64_t i = 0; i < 2 * n; i++) scales[i] = 1;
    for (int sweep = 0; sweep < 40; sweep++) {
        int64_t side = sweep % 2;
        for (int64_t i = 0; i < n; i++) {
            double most = 0;
            for (int64_t j = 0; j < n; j++) most = fmax(most, size(side == 0 ? a[i + j * n] : a[j + i * n]));
            if (!(most > 0) || isinf(most)) continue;
            double by = exp2(-ceil(log2(most)));
            scales[i + side * n] *= by;
            for (int64_t j = 0; j < n; j++) {
                struct number *x = side == 0 ? &a[i + j * n] : &a[j + i * n];
                x->re *= by, x->im *= by;
            }
        }
    }
}

/* The position, from 1, of the first pivot of a Cholesky factor that is not positive. */
static int32_t definite(struct number *a, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        double pivot = a[k + k * n].re;
        if (pivot <= 0) return (int32_t)k + 1;
        for (int64_t j = k + 1; j < n; j++)
            for (int64_t i = k + 1; i < n; i++)
                a[i + j * n] = less(a[i + j * n], quotient(multiply(a[i + k * n], a[k + j * n]), a[k + k * n]));
    }
    return 0;
}

static void run_factor(void *payload) {
    struct task *task = payload;
    struct data *data = task->data;
    int64_t n = data->n;
    bool positive = data->kind == SPD || data->kind == HPD, real = data->kind == HERMITIAN || (data->kind == SYMMETRIC && !is_complex(data->type));
    data->perturbed = data->inertia[0] = data->inertia[1] = 0;
    if (positive || real) {
        struct number *copy = whole(&task->a);
        if (positive) data->info = definite(copy, n);
        else signs(copy, n, data->inertia);
        free(copy);
    }
    free(data->lu);
    struct number *a = data->lu = whole(&task->a);
    for (int64_t i = 0; i < 2 * n; i++) data->scales[i] = 1;
    if (task->matching == 6) balance(a, n, data->scales);
    double most = 0;
    for (int64_t i = 0; i < n * n; i++) most = fmax(most, size(a[i]));
    double least = task->epsilon < 0 ? (is_double(data->type) ? 1e-13 : 1e-5) * most : task->epsilon;
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            if (size(a[i + k * n]) > size(a[p + k * n])) p = i;
        data->rows[k] = p;
        for (int64_t j = 0; j < n && p != k; j++) {
            struct number kept = a[k + j * n];
            a[k + j * n] = a[p + j * n];
            a[p + j * n] = kept;
        }
        if (size(a[k + k * n]) < least || (size(a[k + k * n]) == 0 && least == 0)) {
            a[k + k * n] = (struct number){least > 0 ? least : 1, 0};
            data->perturbed++;
        }
        data->pivots[n - 1 - k] = a[k + k * n];
        for (int64_t i = k + 1; i < n; i++) a[i + k * n] = quotient(a[i + k * n], a[k + k * n]);
        for (int64_t j = k + 1; j < n; j++)
            for (int64_t i = k + 1; i < n; i++) a[i + j * n] = less(a[i + j * n], multiply(a[i + k * n], a[k + j * n]));
    }
}

static void exchange(struct number *x, int64_t i, int64_t j) {
    struct number kept = x[i];
    x[i] = x[j];
    x[j] = kept;
}

static void run_solve(void *payload) {
    struct task *task = payload;
    const struct data *data = task->data;
    const struct number *a = data->lu;
    int64_t n = data->n;
    bool turned = task->mode != 0;
    struct number *x = calloc((size_t)n, sizeof *x);
    void *memory = standin_backing(task->x.values);
    for (int64_t column = 0; column < task->x.cols; column++) {
        for (int64_t i = 0; i < n; i++) {
            double by = data->scales[n - 1 - i + (turned ? n : 0)];
            struct number b = load(memory, data->type, i + column * task->x.ld);
            x[n - 1 - i] = (struct number){b.re * by, b.im * by};
        }
        for (int64_t k = 0; k < n && !turned; k++) exchange(x, k, data->rows[k]);
        for (int step = 0; step < 2; step++) {
            bool down = step == 0, unit = down != turned;
            for (int64_t t = 0; t < n; t++) {
                int64_t i = down ? t : n - 1 - t;
                for (int64_t s = 0; s < t; s++) {
                    int64_t j = down ? s : n - 1 - s;
                    struct number factor = turned ? a[j + i * n] : a[i + j * n];
                    x[i] = less(x[i], multiply(task->mode == 2 ? conjugate(factor) : factor, x[j]));
                }
                struct number diagonal = a[i + i * n];
                if (!unit) x[i] = quotient(x[i], task->mode == 2 ? conjugate(diagonal) : diagonal);
            }
        }
        for (int64_t k = n - 1; k >= 0 && turned; k--) exchange(x, k, data->rows[k]);
        for (int64_t i = 0; i < n; i++) {
            double by = data->scales[n - 1 - i + (turned ? 0 : n)];
            struct number y = {x[n - 1 - i].re * by, x[n - 1 - i].im * by};
            store(memory, data->type, i + column * task->x.ld, y);
        }
    }
    free(x);
}

static int add_matrix(struct operand *operands, const struct matrix *a) {
    size_t index = a->index_type == INDEX_64 ? 8 : 4, nnz = (size_t)a->nnz;
    operands[0] = (struct operand){.range = {a->starts, index * (size_t)(a->rows + 1), 0, 1}, .kind = READ};
    operands[1] = (struct operand){.range = {a->columns, index * nnz, 0, 1}, .kind = READ};
    operands[2] = (struct operand){.range = {a->values, type_bytes(a->type) * nnz, 0, 1}, .kind = READ};
    return 3;
}

EXPORT int cudssExecute(struct handle *handle, int phases, struct config *config, struct data *data, struct matrix *a,
                        struct matrix *x, struct matrix *b) {
    BLAS_ENTER(cudssExecute);
    if (!use_handle(handle)) BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    if (!is_alive(config, CONFIG, "config") || !is_alive(data, DATA, "data") || !is_alive(a, MATRIX, "matrix") || a->dense)
        BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (handle->type >= 0 && handle->type != a->type) standin_violation("handle %d has two value types", handle->made.number);
    handle->type = a->type;
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXECUTION_FAILED, "(poisoned)");
    struct operand operands[MAXIMUM_OPERANDS];
    int used = add_matrix(operands, a);
    struct task task = {.data = data, .a = *a, .mode = config->mode, .matching = config->matching, .epsilon = config->epsilon};
    CUresult code = CUDA_SUCCESS;
    if (phases == ANALYSIS) {
        int64_t n = a->rows;
        data->n = n, data->type = a->type, data->index_type = a->index_type, data->kind = a->kind, data->analysed = true;
        data->rows = calloc((size_t)n, sizeof *data->rows);
        data->pivots = calloc((size_t)n, sizeof *data->pivots);
        data->scales = calloc(2 * (size_t)n, sizeof *data->scales);
        /* It holds the caller until the arrays of A are there. */
        code = standin_wait_stream(handle->stream);
        for (int i = 0; i < used; i++)
            if (!standin_is_device_address((const void *)(uintptr_t)operands[i].range.address))
                standin_violation("the analysis reads memory that is none");
        BLAS_LEAVE(code == CUDA_SUCCESS ? 0 : EXECUTION_FAILED, "analysis data#%d", data->made.number);
    }
    if (!data->analysed || data->type != a->type || data->n != a->rows) BLAS_LEAVE(INVALID_VALUE, "phase %d without analysis", phases);
    if (phases == FACTORIZATION || phases == REFACTORIZATION) {
        if (phases == REFACTORIZATION && data->memory == 0) BLAS_LEAVE(INVALID_VALUE, "%s", "no factorization before");
        if (data->memory == 0) {
            data->bytes = type_bytes(data->type) * (size_t)(data->n * data->n);
            data->memory = standin_allocate(handle->made.device, data->bytes);
            if (data->memory == 0) BLAS_LEAVE(ALLOC_FAILED, "%s", "");
        }
        operands[used++] = (struct operand){.range = {data->memory, data->bytes, 0, 1}, .kind = WRITE};
        code = standin_enqueue(handle->stream, operands, used, run_factor, &task, sizeof task);
        data->enqueued = code == CUDA_SUCCESS;
        BLAS_LEAVE(code == CUDA_SUCCESS ? 0 : EXECUTION_FAILED, "factor data#%d", data->made.number);
    }
    if (phases != SOLVE) BLAS_LEAVE(NOT_SUPPORTED, "phase %d", phases);
    if (!data->enqueued) BLAS_LEAVE(INVALID_VALUE, "%s", "no factor");
    if (!is_alive(x, MATRIX, "matrix") || !x->dense || x != b || x->rows != data->n || x->type != data->type)
        BLAS_LEAVE(INVALID_VALUE, "%s", "x");
    if (config->mode != 0 && data->kind != GENERAL) BLAS_LEAVE(NOT_SUPPORTED, "mode %d of kind %d", config->mode, data->kind);
    if (config->mode == 2 && !is_complex(data->type)) BLAS_LEAVE(NOT_SUPPORTED, "%s", "the adjoint of a real matrix");
    task.x = *x;
    size_t element = type_bytes(data->type);
    operands[used++] = (struct operand){.range = {data->memory, data->bytes, 0, 1}, .kind = WRITE};
    operands[used++] = (struct operand){
        .range = {x->values, element * (size_t)x->rows, element * (size_t)x->ld, (size_t)x->cols}, .kind = WRITE};
    code = standin_enqueue(handle->stream, operands, used, run_solve, &task, sizeof task);
    BLAS_LEAVE(code == CUDA_SUCCESS ? 0 : EXECUTION_FAILED, "solve data#%d %" PRId64 " columns mode %d", data->made.number, x->cols,
               config->mode);
}

EXPORT int cudssDataSet(struct handle *handle, struct data *data, int what, const void *value, size_t bytes) {
    BLAS_ENTER(cudssDataSet);
    if (!use_handle(handle) || !is_alive(data, DATA, "data")) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (what != 0 || bytes != 4) BLAS_LEAVE(INVALID_VALUE, "datum %d of %zu bytes", what, bytes);
    memcpy(&data->info, value, bytes);
    BLAS_LEAVE(0, "%s", "");
}

EXPORT int cudssDataGet(struct handle *handle, struct data *data, int what, void *value, size_t bytes, size_t *written) {
    BLAS_ENTER(cudssDataGet);
    if (!use_handle(handle) || !is_alive(data, DATA, "data") || !data->analysed) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (standin_wait_stream(handle->stream) != CUDA_SUCCESS) BLAS_LEAVE(EXECUTION_FAILED, "%s", "");
    size_t index = data->index_type == INDEX_64 ? 8 : 4, n = (size_t)data->n, element = type_bytes(data->type);
    size_t wanted = what == 0 ? 4 : what == 1 ? 8 : what == 2 ? index : what == 3 ? 2 * index : what == 4 ? n * index : what == 8 ? n * element : 0;
    if (wanted == 0) BLAS_LEAVE(NOT_SUPPORTED, "datum %d", what);
    if (bytes != wanted) BLAS_LEAVE(INVALID_VALUE, "datum %d of %zu bytes", what, bytes);
    if (what != 0 && what != 1 && what != 4 && !data->enqueued) BLAS_LEAVE(INVALID_VALUE, "datum %d without a factor", what);
    *written = bytes;
    void *to = standin_is_device_address(value) ? standin_backing((uint64_t)(uintptr_t)value) : value;
    for (size_t i = 0; i < (what == 4 ? n : 2); i++) {
        int64_t wide = what == 1 ? data->n * data->n : what == 2 ? data->perturbed : what == 3 ? data->inertia[i % 2] : (int64_t)(n - 1 - i);
        if (what == 0 || what == 8 || ((what == 1 || what == 2) && i > 0)) break;
        if (what == 1 || index == 8) ((int64_t *)to)[i] = wide;
        else ((int32_t *)to)[i] = (int32_t)wide;
    }
    if (what == 0) memcpy(to, &data->info, 4);
    for (size_t i = 0; i < n && what == 8; i++) store(to, data->type, (int64_t)i, data->pivots[i]);
    BLAS_LEAVE(0, "datum %d", what);
}
