/* Spectra of symmetric and Hermitian matrices of libcusolver's stand-in. Letters: a is A, which the vectors replace, b the
 * values. */
#include "cusolver.h"

#include <stdlib.h>
#include <string.h>

/* By rotations: ascending values of a whole Hermitian X, which is spoiled, and the vectors in V. */
static void eigen(struct number *x, int64_t n, double *w, struct number *sorted) {
    struct number *v = calloc((size_t)(n * n) + 1, sizeof *v);
    for (int64_t j = 0; j < n; j++) v[j + j * n].re = 1;
    for (int sweep = 0; sweep < 40; sweep++)
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                struct number g = x[p + q * n];
                double alpha = x[p + p * n].re, beta = x[q + q * n].re, modulus = size(g);
                if (modulus < 1e-300) continue;
                double zeta = (beta - alpha) / (2 * modulus);
                double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + hypot(zeta, 1)), c = 1 / hypot(t, 1), s = c * t;
                struct number turn = times(conjugate(g), 1 / modulus);
                for (int both = 0; both < 2; both++)
                    for (int64_t i = 0; i < n; i++) {
                        struct number *of = both == 0 ? x : v, *xp = &of[i + p * n], *xq = &of[i + q * n];
                        struct number one = *xp, two = multiply(turn, *xq);
                        *xp = less(times(one, c), times(two, s));
                        *xq = plus(times(one, s), times(two, c));
                    }
                for (int64_t i = 0; i < n; i++) {
                    if (i == p || i == q) continue;
                    x[p + i * n] = conjugate(x[i + p * n]);
                    x[q + i * n] = conjugate(x[i + q * n]);
                }
                x[p + p * n] = (struct number){alpha - t * modulus, 0};
                x[q + q * n] = (struct number){beta + t * modulus, 0};
                x[p + q * n] = x[q + p * n] = (struct number){0, 0};
            }
    for (int64_t k = 0; k < n; k++) {
        int64_t least = -1;
        for (int64_t j = 0; j < n; j++)
            if (!isinf(x[j + j * n].im) && (least < 0 || x[j + j * n].re < x[least + least * n].re)) least = j;
        w[k] = x[least + least * n].re;
        x[least + least * n].im = INFINITY; /* taken */
        memcpy(sorted + k * n, v + least * n, (size_t)n * sizeof *v);
    }
    free(v);
}

/* Values and vectors from number `k` to before `last`, or those above `from` and not above `to`, come first; what is behind
 * them is spoiled. The upper triangle is the adjoint of a lower one. */
static int syev(const struct job *job) {
    int64_t n = job->a.rows, first = job->k, last = job->last;
    struct number *x = take(job->a), *v = calloc((size_t)(n * n) + 1, sizeof *v);
    struct number *values = calloc((size_t)n + 1, sizeof *values);
    double *w = calloc((size_t)n + 1, sizeof *w);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) {
            struct number given = job->uplo == 0 ? x[j + i * n] : x[i + j * n];
            x[i + j * n] = job->uplo == 0 ? conjugate(given) : given;
            x[j + i * n] = job->uplo == 0 ? given : conjugate(given);
        }
    eigen(x, n, w, v);
    for (int64_t i = 0; i < n; i++) values[i].re = w[i];
    while (first < last && w[first] <= job->from) first++;
    while (last > first && w[last - 1] > job->to) last--;
    struct matrix to_w = job->b, to_v = job->a;
    to_w.rows = to_v.cols = last - first;
    spoil(job->a);
    spoil(job->b);
    give(to_w, values + first, n);
    if (job->vectors) give(to_v, v + first * n, n);
    if (job->told != NULL) *(int64_t *)job->told = last - first;
    free(x);
    free(v);
    free(values);
    free(w);
    return 0;
}

/* `count` matrices without gaps between them. */
static void all_of(struct job *job, int vectors, int uplo, int64_t n, struct matrix a, struct matrix w, int64_t count) {
    job->run = syev;
    job->vectors = vectors != 0;
    job->uplo = uplo;
    job->last = n;
    job->from = -INFINITY;
    job->to = INFINITY;
    job->count = count;
    job->a = a;
    job->b = w;
    a.cols *= count;
    w.ld = w.rows = n * count;
    uses(job, WRITE, a);
    uses(job, WRITE, w);
}

SIZES(cusolverDnXsyevd_bufferSize, const void *params, int job, int uplo, int64_t n, int type, const void *a, int64_t lda,
      int type_w, const void *w, int compute)
SIZES(cusolverDnXsyevdx_bufferSize, const void *params, int job, int range, int uplo, int64_t n, int type, const void *a,
      int64_t lda, void *from, void *to, int64_t first, int64_t last, int64_t *found, int type_w, const void *w, int compute)

EXPORT int cusolverDnXsyevd(void *handle, const void *params, int vectors, int uplo, int64_t n, int type, void *a,
                            int64_t lda, int type_w, void *w, int compute, void *work, size_t work_bytes, void *host,
                            size_t host_bytes, int *info) {
    BEGIN(cusolverDnXsyevd)
    job.waits = true;
    BOTH_ROOMS(job, host_bytes);
    all_of(&job, vectors, uplo, n, (struct matrix){AT(a), lda, n, n, type}, (struct matrix){AT(w), n, n, 1, type_w}, 1);
    FINISH;
}

EXPORT int cusolverDnXsyevdx(void *handle, const void *params, int vectors, int range, int uplo, int64_t n, int type,
                             void *a, int64_t lda, void *from, void *to, int64_t first, int64_t last, int64_t *found,
                             int type_w, void *w, int compute, void *work, size_t work_bytes, void *host,
                             size_t host_bytes, int *info) {
    enum { BY_NUMBER = 1002, BY_VALUE = 1003 };
    BEGIN(cusolverDnXsyevdx)
    if (found == NULL || (range == BY_NUMBER && (first < 1 || last < first || last > n))) REFUSE(INVALID_VALUE);
    job.waits = true;
    BOTH_ROOMS(job, host_bytes);
    all_of(&job, vectors, uplo, n, (struct matrix){AT(a), lda, n, n, type}, (struct matrix){AT(w), n, n, 1, type_w}, 1);
    job.told = found;
    if (range == BY_NUMBER) {
        job.k = first - 1;
        job.last = last;
    } else if (range == BY_VALUE) {
        job.from = load(from, type_w, 0).re;
        job.to = load(to, type_w, 0).re;
    }
    FINISH;
}

EXPORT int cusolverDnXsyevBatched_bufferSize(void *handle, const void *params, int vectors, int uplo, int64_t n, int type,
                                             const void *a, int64_t lda, int type_w, const void *w, int compute,
                                             size_t *device, size_t *host, int64_t count) {
    BLAS_ENTER(cusolverDnXsyevBatched_bufferSize);
    struct solver *solver = enter_solver(handle);
    if (solver == NULL) BLAS_LEAVE(NOT_INITIALIZED, "solver#?");
    *device = DEVICE_BYTES;
    *host = HOST_BYTES;
    BLAS_LEAVE(0, "solver#%d", solver->number);
}

EXPORT int cusolverDnXsyevBatched(void *handle, const void *params, int vectors, int uplo, int64_t n, int type, void *a,
                                  int64_t lda, int type_w, void *w, int compute, void *work, size_t work_bytes,
                                  void *host, size_t host_bytes, int *info, int64_t count) {
    BEGIN(cusolverDnXsyevBatched)
    BOTH_ROOMS(job, host_bytes);
    job.reads_work = solver_is_old();
    all_of(&job, vectors, uplo, n, (struct matrix){AT(a), lda, n, n, type}, (struct matrix){AT(w), n, n, 1, type_w}, count);
    FINISH;
}

#define SYEVJ(letter, element, real)                                                                                   \
    LENGTH(cusolverDn##letter##j_bufferSize, len, int vectors, int uplo, int n, const void *a, int lda, const void *w, \
           int *len, void *options)                                                                                    \
    LENGTH(cusolverDn##letter##jBatched_bufferSize, len, int vectors, int uplo, int n, const void *a, int lda,         \
           const void *w, int *len, void *options, int count)                                                          \
    EXPORT int cusolverDn##letter##j(void *handle, int vectors, int uplo, int n, void *a, int lda, void *w, void *work, \
                                     int len, int *info, void *options) {                                              \
        BEGIN(cusolverDn##letter##j)                                                                                   \
        if (options == NULL) REFUSE(INVALID_VALUE);                                                                    \
        job.waits = true;                                                                                              \
        ONE_ROOM(job, element);                                                                                        \
        all_of(&job, vectors, uplo, n, (struct matrix){AT(a), lda, n, n, element},                                     \
               (struct matrix){AT(w), n, n, 1, real}, 1);                                                              \
        FINISH;                                                                                                        \
    }                                                                                                                  \
    EXPORT int cusolverDn##letter##jBatched(void *handle, int vectors, int uplo, int n, void *a, int lda, void *w,     \
                                            void *work, int len, int *info, void *options, int count) {                \
        BEGIN(cusolverDn##letter##jBatched)                                                                            \
        if (options == NULL) REFUSE(INVALID_VALUE);                                                                    \
        ONE_ROOM(job, element);                                                                                        \
        all_of(&job, vectors, uplo, n, (struct matrix){AT(a), lda, n, n, element},                                     \
               (struct matrix){AT(w), n, n, 1, real}, count);                                                          \
        FINISH;                                                                                                        \
    }
SYEVJ(Ssyev, R_32F, R_32F)
SYEVJ(Dsyev, R_64F, R_64F)
SYEVJ(Cheev, C_32F, R_32F)
SYEVJ(Zheev, C_64F, R_64F)
