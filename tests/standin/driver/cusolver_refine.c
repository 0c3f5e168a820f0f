/* Refined solutions of libcusolver's stand-in: of whole precision at once, whatever factors are named. Letters: a is A, b is B,
 * u is X. */
#include "cusolver.h"

#include <stdlib.h>

/* What the host is told where there was no need for more; where the right side is no product of A; where A is singular. */
enum { ROUNDS = 2, OUT_OF_RANGE = -50, SINGULAR = -3 };

/* R is that of QR factors. */
static bool is_singular(const struct number *r, int64_t m, int64_t n) {
    double most = 0, least = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, size(r[i + i * m]));
        least = fmin(least, size(r[i + i * m]));
    }
    return !(least > 1e-13 * most);
}

/* Of a singular matrix there is no solution, and an info of zero all the same, as the real one has it. Where it gives up, and
 * for least squares, it writes to A and B. */
static int refine(const struct job *job) {
    int64_t m = job->a.rows, n = job->a.cols, others = job->b.cols;
    struct number *a = take(job->a), *b = take(job->b), *tau = calloc((size_t)n + 1, sizeof *tau);
    factor_qr(a, m, n, tau);
    int rounds = is_singular(a, m, n) ? SINGULAR : ROUNDS;
    for (int64_t k = 0; k < n; k++) reflect(conjugate(tau[k]), a + k + k * m, b + k, m - k, others, m);
    for (int64_t j = 0; j < others; j++) {
        double inside = 0, outside = 0;
        for (int64_t i = 0; i < m; i++) *(i < n ? &inside : &outside) += pow(size(b[i + j * m]), 2);
        if (rounds == ROUNDS && outside > 1e-20 * (inside + outside)) rounds = OUT_OF_RANGE;
        for (int64_t i = n - 1; i >= 0; i--) {
            struct number x = b[i + j * m];
            for (int64_t k = i + 1; k < n; k++) x = less(x, multiply(a[i + k * m], b[k + j * m]));
            b[i + j * m] = quotient(x, a[i + i * m]);
        }
    }
    if (rounds < 0) spoil(job->a);
    if (m != n) spoil(job->b);
    if (rounds == SINGULAR) spoil(job->u);
    else give(job->u, b, m);
    *(int *)job->told = rounds;
    free(a);
    free(b);
    free(tau);
    return 0;
}

/* The work is in bytes here. */
#define REFINED(letters, element)                                                                                      \
    LENGTH(cusolverDn##letters##gesv_bufferSize, bytes, int n, int others, void *a, int lda, int *pivots, void *b,     \
           int ldb, void *x, int ldx, void *work, size_t *bytes)                                                       \
    EXPORT int cusolverDn##letters##gesv(void *handle, int n, int others, void *a, int lda, int *pivots, void *b,      \
                                         int ldb, void *x, int ldx, void *work, size_t bytes, int *rounds, int *info) { \
        BEGIN(cusolverDn##letters##gesv)                                                                               \
        job.a = (struct matrix){AT(a), lda, n, n, element};                                                            \
        job.b = (struct matrix){AT(b), ldb, n, others, element};                                                       \
        job.u = (struct matrix){AT(x), ldx, n, others, element};                                                       \
        REFINE(READ)                                                                                                   \
    }                                                                                                                  \
    LENGTH(cusolverDn##letters##gels_bufferSize, bytes, int m, int n, int others, void *a, int lda, void *b, int ldb,  \
           void *x, int ldx, void *work, size_t *bytes)                                                                \
    EXPORT int cusolverDn##letters##gels(void *handle, int m, int n, int others, void *a, int lda, void *b, int ldb,   \
                                         void *x, int ldx, void *work, size_t bytes, int *rounds, int *info) {         \
        BEGIN(cusolverDn##letters##gels)                                                                               \
        job.a = (struct matrix){AT(a), lda, m, n, element};                                                            \
        job.b = (struct matrix){AT(b), ldb, m, others, element};                                                       \
        job.u = (struct matrix){AT(x), ldx, n, others, element};                                                       \
        if (m < n) REFUSE(INVALID_VALUE);                                                                              \
        REFINE(WRITE)                                                                                                  \
    }
#define REFINE(of_b)                                                                                                   \
    if (rounds == NULL) REFUSE(INVALID_VALUE);                                                                         \
    job.run = refine;                                                                                                  \
    job.waits = true;                                                                                                  \
    job.told = rounds;                                                                                                 \
    job.work = (struct workspace){AT(work), bytes};                                                                    \
    uses(&job, WRITE, job.a);                                                                                          \
    uses(&job, of_b, job.b);                                                                                           \
    uses(&job, WRITE, job.u);                                                                                          \
    FINISH;
REFINED(DS, R_64F)
REFINED(DH, R_64F)
REFINED(DB, R_64F)
REFINED(DX, R_64F)
REFINED(ZC, C_64F)
REFINED(ZK, C_64F)
REFINED(ZE, C_64F)
REFINED(ZY, C_64F)
