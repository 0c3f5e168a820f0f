/* Symmetric matrices that need not be definite, of libcusolver's stand-in: L * D * L^T without a choice of pivots, so each
   row's pivot is the row itself. A is A, b is B; `uplo` as it is given. */
#include "cusolver.h"

#include <stdlib.h>

/* The element of the triangle that counts, of row i and column j <= i of L. */
static int64_t at(const struct job *job, int64_t i, int64_t j) {
    return job->uplo == 0 ? i + j * job->a.ld : j + i * job->a.ld;
}

static int sytrf(const struct job *job) {
    void *a = standin_backing(job->a.at);
    int type = job->a.type, info = 0;
    int32_t *pivots = standin_backing(job->b.at);
    for (int64_t k = 0; k < job->a.rows; k++) {
        pivots[k] = (int32_t)k + 1;
        struct number d = load(a, type, at(job, k, k));
        if (size(d) == 0) {
            if (info == 0) info = (int)k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < job->a.rows; i++) {
            struct number l = quotient(load(a, type, at(job, i, k)), d);
            for (int64_t j = k + 1; j <= i; j++) {
                struct number x = load(a, type, at(job, j, k));
                /* Of the columns before this one the factors are kept. */
                if (j < i) x = multiply(x, d);
                store(a, type, at(job, i, j), less(load(a, type, at(job, i, j)), multiply(l, x)));
            }
            store(a, type, at(job, i, k), l);
        }
    }
    return info;
}

static int sytrs(const struct job *job) {
    const void *a = standin_backing(job->a.at);
    void *b = standin_backing(job->b.at);
    int type = job->a.type;
    int64_t n = job->a.rows;
    struct number *x = calloc((size_t)n + 1, sizeof *x);
    if (job->last == 0) spoil(job->b);
    for (int64_t side = 0; side < job->b.cols && job->last != 0; side++) {
        for (int64_t i = 0; i < n; i++) x[i] = load(b, type, i + side * job->b.ld);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) x[i] = less(x[i], multiply(load(a, type, at(job, i, j)), x[j]));
        for (int64_t i = 0; i < n; i++) x[i] = quotient(x[i], load(a, type, at(job, i, i)));
        for (int64_t i = n - 1; i >= 0; i--)
            for (int64_t j = i + 1; j < n; j++) x[i] = less(x[i], multiply(load(a, type, at(job, j, i)), x[j]));
        for (int64_t i = 0; i < n; i++) store(b, type, i + side * job->b.ld, x[i]);
    }
    free(x);
    return 0;
}

SIZES(cusolverDnXsytrs_bufferSize, int uplo, int64_t n, int64_t others, int type, const void *a, int64_t lda, const int64_t *pivots,
      int type_b, const void *b, int64_t ldb)

/* As the library, this looks at the pivots when it is called, and does not wait for whoever writes them. */
EXPORT int cusolverDnXsytrs(void *handle, int uplo, int64_t n, int64_t others, int type, const void *a, int64_t lda,
                            const int64_t *pivots, int type_b, void *b, int64_t ldb, void *work, size_t work_bytes, void *host,
                            size_t host_bytes, int *info) {
    BEGIN(cusolverDnXsytrs)
    const int64_t *rows = standin_backing(AT(pivots));
    bool good = rows != NULL;
    for (int64_t i = 0; good && i < n; i++) good = rows[i] == i + 1;
    job.run = sytrs;
    job.uplo = uplo;
    job.last = good;
    job.a = (struct matrix){AT(a), lda, n, n, type};
    job.b = (struct matrix){AT(b), ldb, n, others, type};
    BOTH_ROOMS(job, host_bytes);
    uses(&job, READ, job.a);
    uses(&job, WRITE, job.b);
    FINISH;
}

#define BY_LETTER(Name, element)                                                                                       \
    LENGTH(cusolverDn##Name##_bufferSize, len, int n, void *a, int lda, int *len)                                      \
    EXPORT int cusolverDn##Name(void *handle, int uplo, int n, void *a, int lda, int *pivots, void *work, int len,     \
                                int *info) {                                                                           \
        BEGIN(cusolverDn##Name)                                                                                        \
        job.run = sytrf;                                                                                               \
        job.uplo = uplo;                                                                                               \
        job.waits = true;                                                                                              \
        job.a = (struct matrix){AT(a), lda, n, n, element};                                                            \
        /* 32 bits each. */                                                                                            \
        job.b = (struct matrix){AT(pivots), n, n, 1, R_32F};                                                           \
        ONE_ROOM(job, element);                                                                                        \
        uses(&job, WRITE, job.a);                                                                                      \
        uses(&job, WRITE, job.b);                                                                                      \
        FINISH;                                                                                                        \
    }
BY_LETTER(Ssytrf, R_32F)
BY_LETTER(Dsytrf, R_64F)
BY_LETTER(Csytrf, C_32F)
BY_LETTER(Zsytrf, C_64F)
