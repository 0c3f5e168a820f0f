/* The inside of libcusolver's stand-in: handles, and calls that are enqueued with what they read and write. */
#ifndef CUSOLVER_H
#define CUSOLVER_H

#include "cublas.h"

/* The signatures are the library's. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include <math.h>

enum { NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3, EXECUTION_FAILED = 6, NOT_SUPPORTED = 9 };
enum { OWN_MEMORY = 64 << 10, DEVICE_BYTES = 512, HOST_BYTES = 48 };

struct solver {
    struct solver *next;
    int number, generation, device, inside;
    bool destroyed;
    CUstream stream;
    uint64_t own_memory;
};

/* A matrix on the device, column by column. */
struct matrix {
    uint64_t at;
    int64_t ld, rows, cols;
    int type;
};

/* One call, as it runs. What each letter means is the routine's; without an address there is none. */
struct job {
    int (*run)(const struct job *job); /* its answer is the info */
    bool waits;
    int uplo, diag, trans, side;
    bool vectors;
    int64_t k, last;
    double moved, from, to;
    int64_t count; /* of such matrices, one behind the other; 0 is 1 */
    struct matrix a, b, u, v;
    uint64_t info;
    struct workspace work;
    void *host; /* workspace; HOST_BYTES of it, or NULL */
    void *told; /* what the host is told */
    bool reads_work; /* what it computes is wrong unless the workspace is all zeros */
    struct operand operands[8];
    int used;
};

/* cusolver.c: NULL, and a violation, for a bad handle, a second thread in it, or a wrong context. */
struct solver *enter_solver(void *handle);
/* Of CUDA 12.6, unless WINDLASS_STANDIN_CUSOLVER tells a later version. */
bool solver_is_old(void);
bool is_matrix(struct matrix matrix);
/* Adds a matrix to what the call reads or writes; what is none is refused when it is submitted. */
void uses(struct job *job, enum access_kind kind, struct matrix matrix);
/* The library's status. The workspace is garbage afterwards, and too small a one is refused. */
int submit_job(struct solver *solver, struct job *job);

/* cusolver_dense.c: whole matrices in double precision, without gaps. */
struct number *take(struct matrix matrix);
void give(struct matrix matrix, const struct number *from, int64_t ld);
void spoil(struct matrix matrix);
/* C becomes H * C, of H = I - tau * v * v^H; v is `rows` long with a one at first that is not looked at. */
void reflect(struct number tau, const struct number *v, struct number *c, int64_t rows, int64_t cols, int64_t ld);
/* QR factors of LAPACK's form in place. */
void factor_qr(struct number *a, int64_t rows, int64_t cols, struct number *tau);
/* A = U * diag(s) * V^H, s descending, of as many columns of U and V; false where A holds no numbers. */
bool decompose(const struct number *a, int64_t m, int64_t n, double *s, struct number *u, int64_t of_u, struct number *v,
               int64_t of_v);

#define AT(pointer) (uint64_t)(uintptr_t)(pointer)

static inline double size(struct number x) { return hypot(x.re, x.im); }
static inline struct number conjugate(struct number x) { return (struct number){x.re, -x.im}; }
static inline struct number less(struct number x, struct number y) { return (struct number){x.re - y.re, x.im - y.im}; }
static inline struct number plus(struct number x, struct number y) { return (struct number){x.re + y.re, x.im + y.im}; }
static inline struct number times(struct number x, double y) { return (struct number){x.re * y, x.im * y}; }
static inline struct number quotient(struct number x, struct number y) {
    double length = y.re * y.re + y.im * y.im;
    return times(multiply(x, conjugate(y)), 1 / length);
}

/* The question for the workspaces of a routine of the 64-bit form. */
#define SIZES(name, ...)                                                                                               \
    EXPORT int name(void *handle, __VA_ARGS__, size_t *device, size_t *host) {                                         \
        BLAS_ENTER(name);                                                                                              \
        struct solver *solver = enter_solver(handle);                                                                  \
        if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");                                                   \
        *device = DEVICE_BYTES;                                                                                        \
        *host = HOST_BYTES;                                                                                            \
        BLAS_LEAVE(0, "solver#%d", solver->number);                                                                    \
    }

/* The same of a routine by letter, in elements, or in bytes (`count` is a size_t). */
#define LENGTH(name, count, ...)                                                                                       \
    EXPORT int name(void *handle, __VA_ARGS__) {                                                                       \
        BLAS_ENTER(name);                                                                                              \
        struct solver *solver = enter_solver(handle);                                                                  \
        if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");                                                   \
        *count = DEVICE_BYTES;                                                                                         \
        BLAS_LEAVE(0, "solver#%d", solver->number);                                                                    \
    }

/* Between these two stands what fills in `job`. A routine by letter has no host workspace. */
#define BEGIN(name)                                                                                                    \
    BLAS_ENTER(name);                                                                                                  \
    struct solver *solver = enter_solver(handle);                                                                      \
    if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");                                                       \
    struct job job = {.info = AT(info)};
#define FINISH BLAS_LEAVE(submit_job(solver, &job), "solver#%d", solver->number)
#define REFUSE(code) BLAS_LEAVE(code, "solver#%d", solver->number)
#define BOTH_ROOMS(job, host_bytes)                                                                                    \
    job.work = (struct workspace){AT(work), work_bytes};                                                               \
    job.host = host;                                                                                                   \
    if (host == NULL || host_bytes < HOST_BYTES) REFUSE(INVALID_VALUE)
#define ONE_ROOM(job, element) job.work = (struct workspace){AT(work), (size_t)len * type_bytes(element)}

#endif
