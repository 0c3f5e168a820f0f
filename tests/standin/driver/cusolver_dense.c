/* What the routines of libcusolver's stand-in share: whole matrices of doubles, by the definition. */
#include "cusolver.h"

#include <stdlib.h>
#include <string.h>

struct number *take(struct matrix matrix) {
    struct number *all = calloc((size_t)(matrix.rows * matrix.cols) + 1, sizeof *all);
    const void *from = standin_backing(matrix.at);
    for (int64_t j = 0; j < matrix.cols; j++)
        for (int64_t i = 0; i < matrix.rows; i++) all[i + j * matrix.rows] = load(from, matrix.type, i + j * matrix.ld);
    return all;
}

void give(struct matrix matrix, const struct number *from, int64_t ld) {
    void *to = standin_backing(matrix.at);
    for (int64_t j = 0; j < matrix.cols; j++)
        for (int64_t i = 0; i < matrix.rows; i++) store(to, matrix.type, i + j * matrix.ld, from[i + j * ld]);
}

void spoil(struct matrix matrix) {
    void *to = standin_backing(matrix.at);
    for (int64_t j = 0; j < matrix.cols; j++)
        for (int64_t i = 0; i < matrix.rows; i++) store(to, matrix.type, i + j * matrix.ld, (struct number){NAN, NAN});
}

void reflect(struct number tau, const struct number *v, struct number *c, int64_t rows, int64_t cols, int64_t ld) {
    for (int64_t j = 0; j < cols; j++) {
        struct number *x = c + j * ld, sum = x[0];
        for (int64_t i = 1; i < rows; i++) sum = plus(sum, multiply(conjugate(v[i]), x[i]));
        sum = multiply(tau, sum);
        x[0] = less(x[0], sum);
        for (int64_t i = 1; i < rows; i++) x[i] = less(x[i], multiply(sum, v[i]));
    }
}

void factor_qr(struct number *a, int64_t rows, int64_t cols, struct number *tau) {
    for (int64_t k = 0; k < rows && k < cols; k++) {
        struct number *v = a + k + k * rows, alpha = v[0];
        double rest = 0;
        for (int64_t i = 1; i < rows - k; i++) rest = hypot(rest, size(v[i]));
        tau[k] = (struct number){0, 0};
        if (rest == 0 && alpha.im == 0) continue;
        double beta = copysign(hypot(size(alpha), rest), -alpha.re);
        tau[k] = (struct number){(beta - alpha.re) / beta, -alpha.im / beta};
        for (int64_t i = 1; i < rows - k; i++) v[i] = quotient(v[i], less(alpha, (struct number){beta, 0}));
        v[0] = (struct number){beta, 0};
        if (k + 1 < cols) reflect(conjugate(tau[k]), v, v + rows, rows - k, cols - k - 1, rows);
    }
}

static struct number product(const struct number *x, const struct number *y, int64_t len) {
    struct number sum = {0, 0};
    for (int64_t i = 0; i < len; i++) sum = plus(sum, multiply(conjugate(x[i]), y[i]));
    return sum;
}

/* Two columns change places with what makes them orthogonal. */
static void rotate(struct number *p, struct number *q, int64_t len, struct number turn, double c, double s) {
    for (int64_t i = 0; i < len; i++) {
        struct number one = p[i], two = multiply(turn, q[i]);
        p[i] = less(times(one, c), times(two, s));
        q[i] = plus(times(one, s), times(two, c));
    }
}

/* Column `at` becomes a unit vector that is orthogonal to all before it. */
static void complete(struct number *u, int64_t m, int64_t at) {
    for (int64_t axis = 0; axis < m; axis++) {
        struct number *x = u + at * m;
        memset(x, 0, (size_t)m * sizeof *x);
        x[axis].re = 1;
        for (int twice = 0; twice < 2; twice++)
            for (int64_t j = 0; j < at; j++) {
                struct number along = product(u + j * m, x, m);
                for (int64_t i = 0; i < m; i++) x[i] = less(x[i], multiply(along, u[i + j * m]));
            }
        double length = sqrt(product(x, x, m).re);
        for (int64_t i = 0; i < m; i++) x[i] = times(x[i], 1 / length);
        /* Of m axes one is that far from any space of fewer dimensions. */
        if (length > 0.5 / sqrt((double)m)) return;
    }
}

/* By rotations of pairs of columns; at least as many rows as columns. */
static void tall(struct number *x, int64_t m, int64_t n, double *s, struct number *u, int64_t of_u, struct number *v) {
    struct number *right = calloc((size_t)(n * n) + 1, sizeof *right);
    for (int64_t j = 0; j < n; j++) right[j + j * n].re = 1;
    bool turned = true;
    for (int sweep = 0; sweep < 60 && turned; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                struct number *one = x + p * m, *two = x + q * m, g = product(one, two, m);
                double alpha = product(one, one, m).re, beta = product(two, two, m).re, modulus = size(g);
                if (!(modulus > 1e-15 * sqrt(alpha * beta)) || modulus < 1e-290) continue;
                double zeta = (beta - alpha) / (2 * modulus);
                double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + hypot(zeta, 1)), c = 1 / hypot(t, 1);
                struct number turn = times(conjugate(g), 1 / modulus);
                rotate(one, two, m, turn, c, c * t);
                rotate(right + p * n, right + q * n, n, turn, c, c * t);
                turned = true;
            }
    }
    double *lengths = calloc((size_t)n + 1, sizeof *lengths);
    for (int64_t j = 0; j < n; j++) lengths[j] = sqrt(product(x + j * m, x + j * m, m).re);
    for (int64_t k = 0; k < n; k++) {
        int64_t most = 0;
        for (int64_t j = 1; j < n; j++)
            if (lengths[j] > lengths[most]) most = j;
        s[k] = lengths[most];
        lengths[most] = -1; /* taken */
        memcpy(v + k * n, right + most * n, (size_t)n * sizeof *v);
        if (s[k] <= 1e-14 * s[0] || s[k] == 0) complete(u, m, k);
        else
            for (int64_t i = 0; i < m; i++) u[i + k * m] = times(x[i + most * m], 1 / s[k]);
    }
    for (int64_t k = n; k < of_u; k++) complete(u, m, k);
    free(lengths);
    free(right);
}

bool decompose(const struct number *a, int64_t m, int64_t n, double *s, struct number *u, int64_t of_u, struct number *v,
               int64_t of_v) {
    struct number *x = calloc((size_t)(m * n) + 1, sizeof *x);
    bool sound = true;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            struct number y = a[i + j * m];
            sound = sound && isfinite(y.re) && isfinite(y.im);
            x[m >= n ? i + j * m : j + i * n] = m >= n ? y : conjugate(y);
        }
    if (sound && m >= n) tall(x, m, n, s, u, of_u, v);
    if (sound && m < n) tall(x, n, m, s, v, of_v, u);
    free(x);
    return sound;
}
