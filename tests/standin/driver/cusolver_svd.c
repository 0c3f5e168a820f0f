/* Singular values of libcusolver's stand-in: four routines, one computation. They differ in what they give and spoil.
 * Letters: a is A, b the values, u is U, v is V or its adjoint. A is spoiled by all of them. */
#include "cusolver.h"

#include <stdlib.h>

enum { ADJOINT = 1, BEYOND_RANK = 2 };

/* `trans` says how V lies; `k`, where it is not 0, how many values there are, what is beyond being spoiled. */
static int values_and_vectors(const struct job *job) {
    int64_t m = job->a.rows, n = job->a.cols, least = m < n ? m : n, of_v = job->v.at != 0 ? job->v.cols : n;
    int64_t of_u = job->u.at != 0 ? job->u.cols : least, kept = job->k != 0 ? job->k : least;
    struct number *a = take(job->a), *u = calloc((size_t)(m * m) + 1, sizeof *u), *v = calloc((size_t)(n * n) + 1, sizeof *v);
    struct number *values = calloc((size_t)least + 1, sizeof *values);
    double *s = calloc((size_t)least + 1, sizeof *s);
    bool sound = decompose(a, m, n, s, u, of_u, v, of_v);
    spoil(job->a);
    spoil(job->b);
    if (job->u.at != 0) spoil(job->u);
    if (job->v.at != 0) spoil(job->v);
    for (int64_t i = 0; i < least; i++) values[i].re = s[i] * (1 + job->moved);
    struct matrix to_s = job->b, to_u = job->u, to_v = job->v;
    if (job->k != 0) to_s.rows = to_u.cols = to_v.cols = kept;
    for (int64_t i = 0; i < n && job->trans == ADJOINT; i++)
        for (int64_t j = 0; j <= i; j++) {
            struct number x = v[i + j * n], y = v[j + i * n];
            v[i + j * n] = conjugate(y);
            v[j + i * n] = conjugate(x);
        }
    if (sound) give(to_s, values, least);
    if (sound && job->vectors) give(to_u, u, m);
    if (sound && job->vectors) give(to_v, v, n);
    if (job->told != NULL) *(double *)job->told = job->moved;
    free(a);
    free(u);
    free(v);
    free(values);
    free(s);
    return sound ? 0 : 1;
}

static void use_all(struct job *job) {
    job->run = values_and_vectors;
    uses(job, WRITE, job->a);
    uses(job, WRITE, job->b);
    if (job->u.at != 0) uses(job, WRITE, job->u);
    if (job->v.at != 0) uses(job, WRITE, job->v);
}

static int real_of(int type) { return type == C_32F ? R_32F : type == C_64F ? R_64F : type; }

SIZES(cusolverDnXgesvd_bufferSize, const void *params, signed char job_u, signed char job_vh, int64_t m, int64_t n,
      int type, const void *a, int64_t lda, int type_s, const void *s, int type_u, const void *u, int64_t ldu, int type_vh,
      const void *vh, int64_t ldvh, int compute)
SIZES(cusolverDnXgesvdp_bufferSize, const void *params, int vectors, int thin, int64_t m, int64_t n, int type,
      const void *a, int64_t lda, int type_s, const void *s, int type_u, const void *u, int64_t ldu, int type_v,
      const void *v, int64_t ldv, int compute)
SIZES(cusolverDnXgesvdr_bufferSize, const void *params, signed char job_u, signed char job_v, int64_t m, int64_t n,
      int64_t k, int64_t p, int64_t rounds, int type, const void *a, int64_t lda, int type_s, const void *s, int type_u,
      const void *u, int64_t ldu, int type_v, const void *v, int64_t ldv, int compute)

/* V^H is square whatever the job. */
EXPORT int cusolverDnXgesvd(void *handle, const void *params, signed char job_u, signed char job_vh, int64_t m, int64_t n,
                            int type, void *a, int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu,
                            int type_vh, void *vh, int64_t ldvh, int compute, void *work, size_t work_bytes, void *host,
                            size_t host_bytes, int *info) {
    BEGIN(cusolverDnXgesvd)
    if (m < n || job_u != job_vh || type_s != real_of(type)) REFUSE(INVALID_VALUE);
    job.vectors = job_u != 'N';
    job.waits = true;
    job.trans = ADJOINT;
    job.a = (struct matrix){AT(a), lda, m, n, type};
    job.b = (struct matrix){AT(s), n, n, 1, type_s};
    if (job.vectors) {
        job.u = (struct matrix){AT(u), ldu, m, job_u == 'A' ? m : n, type_u};
        job.v = (struct matrix){AT(vh), ldvh, n, n, type_vh};
        if (job.u.at == 0 || job.v.at == 0) REFUSE(INVALID_VALUE);
    }
    BOTH_ROOMS(job, host_bytes);
    use_all(&job);
    FINISH;
}

/* A script of the name says that it moved the values by that many eighths of theirs. */
EXPORT int cusolverDnXgesvdp(void *handle, const void *params, int vectors, int thin, int64_t m, int64_t n, int type,
                             void *a, int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu, int type_v,
                             void *v, int64_t ldv, int compute, void *work, size_t work_bytes, void *host,
                             size_t host_bytes, int *info, double *moved) {
    BEGIN(cusolverDnXgesvdp)
    int64_t least = m < n ? m : n;
    int eighths = 0;
    if (type_s != real_of(type)) REFUSE(INVALID_VALUE);
    if (!is_double(type)) standin_violation("gesvdp in single precision loses half of the digits");
    if (standin_scripted("cusolverDnXgesvdp", &eighths)) job.moved = eighths / 8.0;
    job.vectors = vectors != 0;
    job.waits = true;
    job.told = moved;
    job.a = (struct matrix){AT(a), lda, m, n, type};
    job.b = (struct matrix){AT(s), least, least, 1, type_s};
    job.u = (struct matrix){AT(u), ldu, m, thin ? least : m, type_u};
    job.v = (struct matrix){AT(v), ldv, n, thin ? least : n, type_v};
    BOTH_ROOMS(job, host_bytes);
    use_all(&job);
    FINISH;
}

/* All of the values, and as many columns, may be written to. */
EXPORT int cusolverDnXgesvdr(void *handle, const void *params, signed char job_u, signed char job_v, int64_t m, int64_t n,
                             int64_t k, int64_t p, int64_t rounds, int type, void *a, int64_t lda, int type_s, void *s,
                             int type_u, void *u, int64_t ldu, int type_v, void *v, int64_t ldv, int compute, void *work,
                             size_t work_bytes, void *host, size_t host_bytes, int *info) {
    BEGIN(cusolverDnXgesvdr)
    if (params == NULL || m < n || k < 1 || p < 0 || k + p > n || job_u != job_v || type_s != real_of(type))
        REFUSE(INVALID_VALUE);
    job.vectors = job_u == 'S';
    job.k = k;
    job.a = (struct matrix){AT(a), lda, m, n, type};
    job.b = (struct matrix){AT(s), n, n, 1, type_s};
    job.u = (struct matrix){AT(u), ldu, m, n, type_u};
    job.v = (struct matrix){AT(v), ldv, n, n, type_v};
    BOTH_ROOMS(job, host_bytes);
    use_all(&job);
    FINISH;
}

#define GESVDJ(letter, element)                                                                                        \
    LENGTH(cusolverDn##letter##gesvdj_bufferSize, len, int vectors, int thin, int m, int n, const void *a, int lda,    \
           const void *s, const void *u, int ldu, const void *v, int ldv, int *len, void *options)                     \
    EXPORT int cusolverDn##letter##gesvdj(void *handle, int vectors, int thin, int m, int n, void *a, int lda, void *s, \
                                          void *u, int ldu, void *v, int ldv, void *work, int len, int *info,          \
                                          void *options) {                                                             \
        BEGIN(cusolverDn##letter##gesvdj)                                                                              \
        int least = m < n ? m : n;                                                                                     \
        if (options == NULL) REFUSE(INVALID_VALUE);                                                                    \
        job.vectors = vectors != 0;                                                                                    \
        job.waits = true;                                                                                              \
        job.a = (struct matrix){AT(a), lda, m, n, element};                                                            \
        job.b = (struct matrix){AT(s), least, least, 1, real_of(element)};                                             \
        job.u = (struct matrix){AT(u), ldu, m, thin ? least : m, element};                                             \
        job.v = (struct matrix){AT(v), ldv, n, thin ? least : n, element};                                             \
        ONE_ROOM(job, element);                                                                                        \
        use_all(&job);                                                                                                 \
        FINISH;                                                                                                        \
    }
GESVDJ(S, R_32F)
GESVDJ(D, R_64F)
GESVDJ(C, C_32F)
GESVDJ(Z, C_64F)
