/* QR of libcusolver's stand-in, and inverses of triangles. Letters: a is A, b is tau, u is C. */
#include "cusolver.h"

#include <stdlib.h>

static int geqrf(const struct job *job) {
    struct number *a = take(job->a), *tau = calloc((size_t)job->b.rows + 1, sizeof *tau);
    factor_qr(a, job->a.rows, job->a.cols, tau);
    give(job->a, a, job->a.rows);
    give(job->b, tau, job->b.rows);
    free(a);
    free(tau);
    return 0;
}

/* C of `rows x cols` becomes op(Q) * C. */
static void apply(const struct job *job, bool adjoint, struct number *c, int64_t rows, int64_t cols) {
    struct number *v = take(job->a), *tau = take(job->b);
    for (int64_t t = 0; t < job->k; t++) {
        int64_t k = adjoint ? t : job->k - 1 - t;
        reflect(adjoint ? conjugate(tau[k]) : tau[k], v + k + k * job->a.rows, c + k, rows - k, cols, rows);
    }
    free(v);
    free(tau);
}

/* C * op(Q) is the adjoint of op(Q)^H * C^H. */
static int ormqr(const struct job *job) {
    int64_t m = job->u.rows, n = job->u.cols;
    bool right = job->side == 1;
    struct number *c = take(job->u), *h = calloc((size_t)(m * n) + 1, sizeof *h);
    for (int64_t i = 0; i < m * n && !right; i++) h[i] = c[i];
    for (int64_t i = 0; i < m * n && right; i++) h[i / m + i % m * n] = conjugate(c[i]);
    if (right) apply(job, job->trans == 0, h, n, m);
    else apply(job, job->trans != 0, h, m, n);
    for (int64_t i = 0; i < m * n; i++) c[i] = right ? conjugate(h[i / m + i % m * n]) : h[i];
    give(job->u, c, m);
    free(c);
    free(h);
    return 0;
}

static int orgqr(const struct job *job) {
    int64_t m = job->u.rows, n = job->u.cols;
    struct number *q = calloc((size_t)(m * n) + 1, sizeof *q);
    for (int64_t j = 0; j < n; j++) q[j + j * m].re = 1;
    apply(job, false, q, m, n);
    give(job->u, q, m);
    free(q);
    return 0;
}

/* More than the triangle is written, as the real one does. */
static int trtri(const struct job *job) {
    int64_t n = job->a.rows;
    struct number *a = take(job->a), *x = calloc((size_t)(n * n) + 1, sizeof *x);
    int info = 0;
    for (int64_t i = n - 1; i >= 0 && job->diag == 0; i--)
        if (size(a[i + i * n]) == 0) info = (int)i + 1;
    for (int64_t j = 0; j < n && info == 0; j++)
        for (int64_t t = 0; t < n; t++) {
            int64_t i = job->uplo == 0 ? t : n - 1 - t;
            struct number sum = {i == j, 0};
            for (int64_t k = job->uplo == 0 ? 0 : i + 1; k < (job->uplo == 0 ? i : n); k++)
                sum = less(sum, multiply(a[i + k * n], x[k + j * n]));
            x[i + j * n] = job->diag == 0 ? quotient(sum, a[i + i * n]) : sum;
        }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (job->uplo == 0 ? i < j : i > j) x[i + j * n] = (struct number){NAN, NAN};
    if (info == 0) give(job->a, x, n);
    free(a);
    free(x);
    return info;
}

SIZES(cusolverDnXgeqrf_bufferSize, const void *params, int64_t m, int64_t n, int type, const void *a, int64_t lda,
      int type_tau, const void *tau, int compute)
SIZES(cusolverDnXtrtri_bufferSize, int uplo, int diag, int64_t n, int type, void *a, int64_t lda)

EXPORT int cusolverDnXgeqrf(void *handle, const void *params, int64_t m, int64_t n, int type, void *a, int64_t lda,
                            int type_tau, void *tau, int compute, void *work, size_t work_bytes, void *host,
                            size_t host_bytes, int *info) {
    BEGIN(cusolverDnXgeqrf)
    int64_t least = m < n ? m : n;
    job.run = geqrf;
    job.a = (struct matrix){AT(a), lda, m, n, type};
    job.b = (struct matrix){AT(tau), least, least, 1, type_tau};
    BOTH_ROOMS(job, host_bytes);
    uses(&job, WRITE, job.a);
    uses(&job, WRITE, job.b);
    FINISH;
}

EXPORT int cusolverDnXtrtri(void *handle, int uplo, int diag, int64_t n, int type, void *a, int64_t lda, void *work,
                            size_t work_bytes, void *host, size_t host_bytes, int *info) {
    BEGIN(cusolverDnXtrtri)
    job.run = trtri;
    job.uplo = uplo;
    job.diag = diag;
    job.a = (struct matrix){AT(a), lda, n, n, type};
    BOTH_ROOMS(job, host_bytes);
    uses(&job, WRITE, job.a);
    FINISH;
}

/* Reals are transposed, complex numbers are not: of them there is the adjoint. */
#define BY_LETTER(apply_name, generate_name, element)                                                                  \
    LENGTH(cusolverDn##apply_name##_bufferSize, len, int side, int trans, int m, int n, int k, const void *a, int lda, \
           const void *tau, const void *c, int ldc, int *len)                                                          \
    EXPORT int cusolverDn##apply_name(void *handle, int side, int trans, int m, int n, int k, const void *a, int lda,  \
                                      const void *tau, void *c, int ldc, void *work, int len, int *info) {             \
        BEGIN(cusolverDn##apply_name)                                                                                  \
        int rows = side == 0 ? m : n;                                                                                  \
        if (k > rows || (trans != 0 && trans != (is_complex(element) ? 2 : 1))) REFUSE(INVALID_VALUE);                 \
        job.run = ormqr;                                                                                               \
        job.side = side;                                                                                               \
        job.trans = trans;                                                                                             \
        job.k = k;                                                                                                     \
        job.a = (struct matrix){AT(a), lda, rows, k, element};                                                         \
        job.b = (struct matrix){AT(tau), k, k, 1, element};                                                            \
        job.u = (struct matrix){AT(c), ldc, m, n, element};                                                            \
        ONE_ROOM(job, element);                                                                                        \
        uses(&job, READ, job.a);                                                                                       \
        uses(&job, READ, job.b);                                                                                       \
        uses(&job, WRITE, job.u);                                                                                      \
        FINISH;                                                                                                        \
    }                                                                                                                  \
    LENGTH(cusolverDn##generate_name##_bufferSize, len, int m, int n, int k, const void *a, int lda, const void *tau,  \
           int *len)                                                                                                   \
    EXPORT int cusolverDn##generate_name(void *handle, int m, int n, int k, void *a, int lda, const void *tau,         \
                                         void *work, int len, int *info) {                                             \
        BEGIN(cusolverDn##generate_name)                                                                               \
        if (n > m || k > n) REFUSE(INVALID_VALUE);                                                                     \
        job.run = orgqr;                                                                                               \
        job.k = k;                                                                                                     \
        job.a = (struct matrix){AT(a), lda, m, k, element};                                                            \
        job.b = (struct matrix){AT(tau), k, k, 1, element};                                                            \
        job.u = (struct matrix){AT(a), lda, m, n, element};                                                            \
        ONE_ROOM(job, element);                                                                                        \
        uses(&job, READ, job.b);                                                                                       \
        uses(&job, WRITE, job.u);                                                                                      \
        FINISH;                                                                                                        \
    }
BY_LETTER(Sormqr, Sorgqr, R_32F)
BY_LETTER(Dormqr, Dorgqr, R_64F)
BY_LETTER(Cunmqr, Cungqr, C_32F)
BY_LETTER(Zunmqr, Zungqr, C_64F)
