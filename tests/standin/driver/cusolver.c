/* libcusolver's stand-in: factors, solutions and spectra by the definition, in double precision.
 *
 * It holds what the real one wants and gives no more than it promises: a handle is one thread's at a time and keeps the stream
 * that it was given first; the workspace that is given is as large as was said; workspaces of both kinds are garbage
 * afterwards; spectra wait for the device. What it does not compute it does not support. */
#include "cusolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { GETRF, GETRS, POTRF, POTRS };

static struct solver *all;
static int made;

struct solver *enter_solver(void *raw) {
    struct solver *solver = all;
    while (solver != NULL && (solver != raw || solver->generation != standin_generation())) solver = solver->next;
    if (solver == NULL || solver->destroyed) {
        standin_violation("%p is no handle of cusolver", raw);
        return NULL;
    }
    if (standin_current_device() != solver->device) {
        standin_violation("solver#%d is of context#%d, current is context#%d", solver->number, solver->device,
                          standin_current_device());
        return NULL;
    }
    if (solver->inside > 0) standin_violation("two threads inside calls on solver#%d", solver->number);
    solver->inside++;
    standin_pause();
    solver->inside--;
    return solver->destroyed ? NULL : solver;
}

EXPORT int cusolverDnCreate(void **handle) {
    BLAS_ENTER(cusolverDnCreate);
    int device = standin_current_device();
    if (handle == NULL) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (device < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(NOT_INITIALIZED, "%s", "");
    }
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(NOT_INITIALIZED, "(poisoned)");
    uint64_t memory = standin_allocate(device, OWN_MEMORY);
    if (memory == 0) BLAS_LEAVE(ALLOC_FAILED, "%s", "");
    struct solver *solver = calloc(1, sizeof *solver);
    *solver = (struct solver){.next = all, .number = ++made, .generation = standin_generation(), .device = device,
                              .own_memory = memory};
    all = solver;
    standin_count_blas(1);
    *handle = solver;
    BLAS_LEAVE(0, "solver#%d", solver->number);
}

EXPORT int cusolverDnDestroy(void *handle) {
    BLAS_ENTER(cusolverDnDestroy);
    struct solver *solver = enter_solver(handle);
    if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");
    solver->destroyed = true;
    standin_count_blas(-1);
    if (standin_sticky() == CUDA_SUCCESS && standin_wait_device(solver->device) == CUDA_SUCCESS)
        standin_deallocate(solver->own_memory);
    BLAS_LEAVE(0, "solver#%d", solver->number);
}

EXPORT int cusolverDnSetStream(void *handle, CUstream stream) {
    BLAS_ENTER(cusolverDnSetStream);
    struct solver *solver = enter_solver(handle);
    if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");
    int number = 0;
    if (standin_stream_device(stream, &number) != solver->device) BLAS_LEAVE(INVALID_VALUE, "solver#%d", solver->number);
    if (solver->stream != NULL) standin_violation("solver#%d is given another stream", solver->number);
    solver->stream = stream;
    BLAS_LEAVE(0, "solver#%d stream#%d", solver->number, number);
}

struct task {
    enum kind kind;
    int type, uplo, trans;
    int64_t m, n, others, lda, ldb;
    uint64_t a, b, pivots, info;
    struct workspace work;
    void *host;
};

static void swap(struct number *x, struct number *y) {
    struct number kept = *x;
    *x = *y;
    *y = kept;
}

/* The upper triangle is the adjoint of a lower one. */
static struct number lower(const struct task *task, const void *a, int64_t i, int64_t j) {
    if (task->uplo == 0) return load(a, task->type, i + j * task->lda);
    return conjugate(load(a, task->type, j + i * task->lda));
}

static void set_lower(const struct task *task, void *a, int64_t i, int64_t j, struct number x) {
    if (task->uplo == 0) store(a, task->type, i + j * task->lda, x);
    else store(a, task->type, j + i * task->lda, conjugate(x));
}

static int getrf(const struct task *task, void *a) {
    int info = 0;
    int64_t least = task->m < task->n ? task->m : task->n, *pivots = task->pivots ? standin_backing(task->pivots) : NULL;
#define A(i, j) ((i) + (j) * task->lda)
    for (int64_t k = 0; k < least; k++) {
        int64_t at = k;
        for (int64_t i = k; i < task->m && pivots != NULL; i++)
            if (size(load(a, task->type, A(i, k))) > size(load(a, task->type, A(at, k)))) at = i;
        if (pivots != NULL) pivots[k] = at + 1;
        for (int64_t j = 0; j < task->n && at != k; j++) {
            struct number x = load(a, task->type, A(k, j)), y = load(a, task->type, A(at, j));
            store(a, task->type, A(k, j), y);
            store(a, task->type, A(at, j), x);
        }
        struct number pivot = load(a, task->type, A(k, k));
        if (size(pivot) == 0) {
            if (info == 0) info = (int)k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < task->m; i++) {
            struct number factor = quotient(load(a, task->type, A(i, k)), pivot);
            store(a, task->type, A(i, k), factor);
            for (int64_t j = k + 1; j < task->n; j++) {
                struct number x = load(a, task->type, A(i, j)), y = load(a, task->type, A(k, j));
                store(a, task->type, A(i, j), less(x, multiply(factor, y)));
            }
        }
    }
#undef A
    return info;
}

static void getrs(const struct task *task, const void *a, void *b) {
    int64_t n = task->n;
    const int64_t *pivots = task->pivots ? standin_backing(task->pivots) : NULL;
    struct number *x = calloc((size_t)n + 1, sizeof *x);
    for (int64_t i = 0; i < n && pivots != NULL; i++)
        if (pivots[i] < 1 || pivots[i] > n) {
            standin_violation("pivot %d is no row of a matrix of %d", (int)pivots[i], (int)n);
            pivots = NULL;
        }
    for (int64_t side = 0; side < task->others; side++) {
        for (int64_t i = 0; i < n; i++) x[i] = load(b, task->type, i + side * task->ldb);
        for (int64_t i = 0; i < n && task->trans == 0 && pivots != NULL; i++) swap(&x[i], &x[pivots[i] - 1]);
        for (int step = 0; step < 2; step++) {
            bool down = step == 0, unit = (step == 0) == (task->trans == 0);
            for (int64_t t = 0; t < n; t++) {
                int64_t i = down ? t : n - 1 - t;
                for (int64_t s = 0; s < t; s++) {
                    int64_t j = down ? s : n - 1 - s;
                    struct number y = load(a, task->type, task->trans == 0 ? i + j * task->lda : j + i * task->lda);
                    x[i] = less(x[i], multiply(task->trans == 2 ? conjugate(y) : y, x[j]));
                }
                struct number pivot = load(a, task->type, i + i * task->lda);
                if (!unit) x[i] = quotient(x[i], task->trans == 2 ? conjugate(pivot) : pivot);
            }
        }
        for (int64_t i = n - 1; i >= 0 && task->trans != 0 && pivots != NULL; i--) swap(&x[i], &x[pivots[i] - 1]);
        for (int64_t i = 0; i < n; i++) store(b, task->type, i + side * task->ldb, x[i]);
    }
    free(x);
}

static int potrf(const struct task *task, void *a) {
    for (int64_t j = 0; j < task->n; j++) {
        double pivot = lower(task, a, j, j).re;
        for (int64_t k = 0; k < j; k++) pivot -= pow(size(lower(task, a, j, k)), 2);
        if (!(pivot > 0)) return (int)j + 1;
        set_lower(task, a, j, j, (struct number){sqrt(pivot), 0});
        for (int64_t i = j + 1; i < task->n; i++) {
            struct number x = lower(task, a, i, j);
            for (int64_t k = 0; k < j; k++)
                x = less(x, multiply(lower(task, a, i, k), conjugate(lower(task, a, j, k))));
            set_lower(task, a, i, j, times(x, 1 / sqrt(pivot)));
        }
    }
    return 0;
}

static void potrs(const struct task *task, const void *a, void *b) {
    for (int64_t side = 0; side < task->others; side++)
        for (int step = 0; step < 2; step++)
            for (int64_t t = 0; t < task->n; t++) {
                int64_t i = step == 0 ? t : task->n - 1 - t;
                struct number x = load(b, task->type, i + side * task->ldb);
                for (int64_t s = 0; s < t; s++) {
                    int64_t j = step == 0 ? s : task->n - 1 - s;
                    struct number l = step == 0 ? lower(task, a, i, j) : conjugate(lower(task, a, j, i));
                    x = less(x, multiply(l, load(b, task->type, j + side * task->ldb)));
                }
                store(b, task->type, i + side * task->ldb, times(x, 1 / lower(task, a, i, i).re));
            }
}

static void run_task(void *payload) {
    const struct task *task = payload;
    void *a = standin_backing(task->a);
    int info = 0;
    scribble(task->work);
    if (task->host != NULL) memset(task->host, 0xEE, HOST_BYTES);
    switch (task->kind) {
    case GETRF: info = getrf(task, a); break;
    case GETRS: getrs(task, a, standin_backing(task->b)); break;
    case POTRF: info = potrf(task, a); break;
    case POTRS: potrs(task, a, standin_backing(task->b)); break;
    }
    *(int32_t *)standin_backing(task->info) = info;
}

static struct range matrix(uint64_t address, int64_t ld, int64_t rows, int64_t cols, int type) {
    size_t bytes = type_bytes(type);
    return (struct range){address, (size_t)rows * bytes, (size_t)ld * bytes, (size_t)cols};
}

static int enqueue_task(struct solver *solver, struct task task, size_t device, size_t host) {
    if (task.m < 1 || task.n < 1 || task.lda < task.m || type_bytes(task.type) == 0) return INVALID_VALUE;
    bool sized = task.kind != GETRS && task.kind != POTRS;
    if (sized && (device < DEVICE_BYTES || host < HOST_BYTES || task.work.address == 0 || task.host == NULL)) return INVALID_VALUE;
    if (standin_sticky() != CUDA_SUCCESS) return EXECUTION_FAILED;
    struct operand operands[6];
    int used = 0;
    bool writes = sized;
    size_t least = (size_t)(task.m < task.n ? task.m : task.n);
#define USE(kind_of, ...) operands[used++] = (struct operand){.range = __VA_ARGS__, .kind = kind_of}
    USE(writes ? WRITE : READ, matrix(task.a, task.lda, task.m, task.n, task.type));
    USE(WRITE, {task.info, 4, 0, 1});
    if (!sized) USE(WRITE, matrix(task.b, task.ldb, task.n, task.others, task.type));
    if (task.pivots != 0) USE(task.kind == GETRF ? WRITE : READ, {task.pivots, 8 * least, 0, 1});
    if (sized) USE(WRITE, {task.work.address, task.work.bytes, 0, 1});
#undef USE
    CUresult code = standin_enqueue(solver->stream, operands, used, run_task, &task, sizeof task);
    return code == CUDA_SUCCESS ? 0 : EXECUTION_FAILED;
}

#define ROOM .work = {AT(work), work_bytes}, .host = host

bool is_matrix(struct matrix matrix) {
    return matrix.at != 0 && matrix.rows >= 1 && matrix.cols >= 1 && matrix.ld >= matrix.rows && type_bytes(matrix.type) != 0;
}

void uses(struct job *job, enum access_kind kind, struct matrix of) {
    struct range range = matrix(of.at, of.ld, of.rows, of.cols, of.type);
    /* What is no matrix is refused when it is submitted. */
    if (!is_matrix(of)) range.rows = 0;
    job->operands[job->used++] = (struct operand){.range = range, .kind = kind};
}

static int version(int which) {
    int all[3] = {11, 7, 2};
    const char *text = getenv("WINDLASS_STANDIN_CUSOLVER");
    if (text != NULL) sscanf(text, "%d.%d.%d", &all[0], &all[1], &all[2]);
    return all[which % 3];
}

bool solver_is_old(void) {
    return (version(0) * 100 + version(1)) * 100 + version(2) < 110703;
}

EXPORT int cusolverGetProperty(int which, int *value) {
    BLAS_ENTER(cusolverGetProperty);
    *value = version(which);
    BLAS_LEAVE(0, "%d", which);
}

static void run_job(void *payload) {
    const struct job *job = payload;
    bool garbage = false;
    if (job->reads_work) {
        const unsigned char *work = standin_backing(job->work.address);
        for (size_t i = 0; i < job->work.bytes; i++) garbage |= work[i] != 0;
    }
    scribble(job->work);
    if (job->host != NULL) memset(job->host, 0xEE, HOST_BYTES);
    struct job one = *job;
    for (int64_t i = 0; i < (job->count > 0 ? job->count : 1); i++) {
        ((int32_t *)standin_backing(job->info))[i] = job->run(&one);
        if (garbage) spoil(one.a);
        one.a.at += (uint64_t)(one.a.ld * one.a.cols) * type_bytes(one.a.type);
        one.b.at += (uint64_t)(one.b.ld * one.b.cols) * type_bytes(one.b.type);
    }
}

int submit_job(struct solver *solver, struct job *job) {
    if (solver->stream == NULL) standin_violation("solver#%d has no stream", solver->number);
    size_t infos = job->count > 0 ? (size_t)job->count : 1;
    if (job->info == 0 || job->work.address == 0 || job->work.bytes < DEVICE_BYTES) return INVALID_VALUE;
    for (int i = 0; i < job->used; i++)
        if (job->operands[i].range.rows == 0) return INVALID_VALUE;
    if (standin_sticky() != CUDA_SUCCESS) return EXECUTION_FAILED;
    job->operands[job->used++] = (struct operand){.range = {job->info, 4 * infos, 0, 1}, .kind = WRITE};
    job->operands[job->used++] = (struct operand){.range = {job->work.address, job->work.bytes, 0, 1}, .kind = WRITE};
    CUresult code = standin_enqueue(solver->stream, job->operands, job->used, run_job, job, sizeof *job);
    if (code == CUDA_SUCCESS && job->waits) code = standin_wait_stream(solver->stream);
    return code == CUDA_SUCCESS ? 0 : EXECUTION_FAILED;
}

#define CALL(name, what, device_bytes, host_bytes)                                                                     \
    BLAS_ENTER(name);                                                                                                  \
    struct solver *solver = enter_solver(handle);                                                                      \
    if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");                                                       \
    if (solver->stream == NULL) standin_violation("solver#%d has no stream", solver->number);                          \
    struct task made_of = what;                                                                                        \
    BLAS_LEAVE(enqueue_task(solver, made_of, device_bytes, host_bytes), "solver#%d", solver->number)

SIZES(cusolverDnXgetrf_bufferSize, const void *params, int64_t m, int64_t n, int type, const void *a, int64_t lda, int compute)
SIZES(cusolverDnXpotrf_bufferSize, const void *params, int uplo, int64_t n, int type, const void *a, int64_t lda, int compute)

EXPORT int cusolverDnXgetrf(void *handle, const void *params, int64_t m, int64_t n, int type, void *a, int64_t lda,
                            int64_t *pivots, int compute, void *work, size_t work_bytes, void *host, size_t host_bytes,
                            int *info) {
    CALL(cusolverDnXgetrf, ((struct task){.kind = GETRF, .type = type, .m = m, .n = n, .lda = lda, .a = AT(a),
                                          .pivots = AT(pivots), .info = AT(info), ROOM}), work_bytes, host_bytes);
}

EXPORT int cusolverDnXgetrs(void *handle, const void *params, int trans, int64_t n, int64_t others, int type, const void *a,
                            int64_t lda, const int64_t *pivots, int type_b, void *b, int64_t ldb, int *info) {
    CALL(cusolverDnXgetrs, ((struct task){.kind = GETRS, .type = type, .trans = trans, .m = n, .n = n, .others = others,
                                          .lda = lda, .ldb = ldb, .a = AT(a), .b = AT(b), .pivots = AT(pivots),
                                          .info = AT(info)}), 0, 0);
}

EXPORT int cusolverDnXpotrf(void *handle, const void *params, int uplo, int64_t n, int type, void *a, int64_t lda,
                            int compute, void *work, size_t work_bytes, void *host, size_t host_bytes, int *info) {
    CALL(cusolverDnXpotrf, ((struct task){.kind = POTRF, .type = type, .uplo = uplo, .m = n, .n = n, .lda = lda,
                                          .a = AT(a), .info = AT(info), ROOM}), work_bytes, host_bytes);
}

EXPORT int cusolverDnXpotrs(void *handle, const void *params, int uplo, int64_t n, int64_t others, int type, const void *a,
                            int64_t lda, int type_b, void *b, int64_t ldb, int *info) {
    CALL(cusolverDnXpotrs, ((struct task){.kind = POTRS, .type = type, .uplo = uplo, .m = n, .n = n, .others = others,
                                          .lda = lda, .ldb = ldb, .a = AT(a), .b = AT(b), .info = AT(info)}), 0, 0);
}

/* Options of the methods of rotations, and choices of algorithms: they must be destroyed once. */
static int options;
EXPORT int cusolverDnCreateParams(void **params) {
    BLAS_ENTER(cusolverDnCreateParams);
    *params = calloc(1, 16);
    standin_count_blas(1);
    BLAS_LEAVE(0, "%s", "");
}
EXPORT int cusolverDnDestroyParams(void *params) {
    BLAS_ENTER(cusolverDnDestroyParams);
    free(params);
    standin_count_blas(-1);
    BLAS_LEAVE(0, "%s", "");
}
#define OPTIONS(name, Name)                                                                                            \
    EXPORT int cusolverDnCreate##Name##Info(void **info) {                                                             \
        BLAS_ENTER(cusolverDnCreate##Name##Info);                                                                      \
        *info = calloc(1, 16);                                                                                         \
        options++;                                                                                                     \
        standin_count_blas(1);                                                                                         \
        BLAS_LEAVE(0, "%d", options);                                                                                  \
    }                                                                                                                  \
    EXPORT int cusolverDnDestroy##Name##Info(void *info) {                                                             \
        BLAS_ENTER(cusolverDnDestroy##Name##Info);                                                                     \
        free(info);                                                                                                    \
        standin_count_blas(-1);                                                                                        \
        BLAS_LEAVE(0, "%s", "");                                                                                       \
    }                                                                                                                  \
    EXPORT int cusolverDnX##name##SetTolerance(double *info, double tolerance) {                                       \
        BLAS_ENTER(cusolverDnX##name##SetTolerance);                                                                   \
        info[0] = tolerance;                                                                                           \
        BLAS_LEAVE(0, "%g", tolerance);                                                                                \
    }                                                                                                                  \
    EXPORT int cusolverDnX##name##SetMaxSweeps(double *info, int sweeps) {                                             \
        BLAS_ENTER(cusolverDnX##name##SetMaxSweeps);                                                                   \
        info[1] = sweeps;                                                                                              \
        BLAS_LEAVE(0, "%d", sweeps);                                                                                   \
    }                                                                                                                  \
    EXPORT int cusolverDnX##name##GetResidual(void *handle, const double *info, double *rest) {                        \
        BLAS_ENTER(cusolverDnX##name##GetResidual);                                                                    \
        *rest = 0.25;                                                                                                  \
        BLAS_LEAVE(0, "%s", "");                                                                                       \
    }                                                                                                                  \
    EXPORT int cusolverDnX##name##GetSweeps(void *handle, const double *info, int *sweeps) {                           \
        BLAS_ENTER(cusolverDnX##name##GetSweeps);                                                                      \
        *sweeps = (int)info[1] - 1;                                                                                    \
        BLAS_LEAVE(0, "%s", "");                                                                                       \
    }
OPTIONS(gesvdj, Gesvdj)
OPTIONS(syevj, Syevj)
