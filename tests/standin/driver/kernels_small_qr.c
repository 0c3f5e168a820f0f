/* QR of small matrices (src/libraries/solver/kernels/small_qr.cu), one matrix after the other: every sum has the terms of the kernel in
 * its order, so the bits are the same. */
#include "simulator.h"

#include <math.h>
#include <string.h>

enum { FACTOR = 1, IDENTITY = 2, FORWARD = 4, BACKWARD = 8, UPPER = 16, LOWER = 32 };
enum { MOST = 64, MATRICES = 3 };

/* Parameters: a, lda, step_a, tau, step_tau, b, ldb, step_b, rows, cols, right, size, count, info, what, width. Of many matrices the
 * first ones and the last one stand for all. */
static void operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    uint64_t count = s[12], what = s[14], rows = s[9] > s[8] && what & LOWER ? s[9] : s[8];
    bool writes = what & FACTOR && !(what & LOWER);
    for (uint64_t i = 0; i < count && i < MATRICES; i++) {
        uint64_t k = i + 1 == MATRICES ? count - 1 : i;
        struct range a = {s[0] + bytes * k * s[2], s[8] * bytes, s[1] * bytes, s[9]};
        add_operand(command, writes ? WRITE : READ, a);
        struct range b = {s[5] + bytes * k * s[7], rows * bytes, s[6] * bytes, s[10]};
        if (s[10] > 0) add_operand(command, WRITE, b);
    }
    uint64_t factors = ((count - 1) * s[4] + s[11]) * bytes;
    if (s[3] != 0 && count > 0) add_operand(command, what & FACTOR ? WRITE : READ, flat(s[3], factors));
    if (what & (UPPER | LOWER)) add_operand(command, WRITE, flat(s[13], 4 * count));
}

static void operands_4(struct command *command, const struct launch *launch) { operands(command, launch, 4); }
static void operands_8(struct command *command, const struct launch *launch) { operands(command, launch, 8); }

#define SMALL(R, bits, shift, mask, bias, reach, name)                                                                 \
    static R most_##R(R a, R x) { return (R)fabs(x) > a ? (R)fabs(x) : a; }                                            \
    static void powers_##R(R x, R *power, R *inverse) {                                                                \
        bits word;                                                                                                     \
        memcpy(&word, &x, sizeof x);                                                                                   \
        bits e = word >> shift & mask;                                                                                 \
        e = e < bias - reach ? bias - reach : e > bias + reach ? bias + reach : e;                                     \
        bits up = e << shift, down = (2 * bias - e) << shift;                                                          \
        memcpy(power, &up, sizeof up);                                                                                 \
        memcpy(inverse, &down, sizeof down);                                                                           \
    }                                                                                                                  \
    static void reflect_##R(R *y, const R *x, R by, R tau, uint64_t k, uint64_t m) {                                   \
        R sum = 0;                                                                                                     \
        for (uint64_t i = k + 1; i < m; i++) sum = fma_##R(x[i], y[i], sum);                                           \
        R w = tau * fma_##R(sum, by, y[k]);                                                                            \
        y[k] -= w;                                                                                                     \
        for (uint64_t i = k + 1; i < m; i++) y[i] = fma_##R(-(x[i] * by), w, y[i]);                                    \
    }                                                                                                                  \
    static void factor_##R(R a[MOST][MOST], R *tau, uint64_t m, uint64_t n, uint64_t size) {                           \
        R scale[MOST], x[MOST];                                                                                        \
        for (uint64_t j = 0; j < n; j++) {                                                                             \
            R largest = 0, inverse;                                                                                    \
            for (uint64_t i = 0; i < m; i++) largest = most_##R(largest, a[j][i]);                                     \
            powers_##R(largest, &scale[j], &inverse);                                                                  \
            for (uint64_t i = 0; i < m; i++) a[j][i] *= inverse;                                                       \
        }                                                                                                              \
        for (uint64_t k = 0; k < size; k++) {                                                                          \
            R below = 0, power, inverse, squares = 0;                                                                  \
            for (uint64_t i = k + 1; i < m; i++) below = most_##R(below, a[k][i]);                                     \
            powers_##R(most_##R(below, a[k][k]), &power, &inverse);                                                    \
            R alpha = a[k][k] * inverse;                                                                               \
            for (uint64_t i = k + 1; i < m; i++) {                                                                     \
                x[i] = a[k][i] * inverse;                                                                              \
                squares = fma_##R(x[i], x[i], squares);                                                                \
            }                                                                                                          \
            R beta = -(R)copysign(root_##R(fma_##R(alpha, alpha, squares)), alpha);                                    \
            R by = below > 0 ? 1 / (alpha - beta) : 0;                                                                 \
            tau[k] = below > 0 ? (beta - alpha) / beta : 0;                                                            \
            for (uint64_t j = k + 1; j < n; j++) reflect_##R(a[j], x, by, tau[k], k, m);                               \
            for (uint64_t i = k + 1; i < m; i++) a[k][i] = x[i] * by;                                                  \
            if (below > 0) a[k][k] = beta * power;                                                                     \
        }                                                                                                              \
        for (uint64_t j = 0; j < n; j++)                                                                               \
            for (uint64_t i = 0; i < size && i <= j; i++) a[j][i] *= scale[j];                                         \
    }                                                                                                                  \
    static int dependent_##R(R a[MOST][MOST], uint64_t m, uint64_t size) {                                             \
        for (uint64_t j = 0; j < size; j++) {                                                                          \
            R largest = 0, power, inverse, squares = 0;                                                                \
            for (uint64_t i = 0; i <= j; i++) largest = most_##R(largest, a[j][i]);                                    \
            powers_##R(largest, &power, &inverse);                                                                     \
            for (uint64_t i = 0; i <= j; i++) squares = fma_##R(a[j][i] * inverse, a[j][i] * inverse, squares);        \
            R limit = (R)m * (sizeof(R) == 4 ? (R)1.1920928955078125e-7 : (R)2.220446049250313e-16);                   \
            if (!((R)fabs(a[j][j] * inverse) > limit * root_##R(squares))) return (int)j + 1;                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static void solve_##R(R a[MOST][MOST], const R *tau, R *y, uint64_t m, uint64_t size, uint64_t what) {             \
        for (uint64_t j = 0; what & LOWER && j < size; j++) {                                                          \
            y[j] /= a[j][j];                                                                                           \
            for (uint64_t i = j + 1; i < size; i++) y[i] = fma_##R(-a[i][j], y[j], y[i]);                              \
        }                                                                                                              \
        for (uint64_t i = size; what & LOWER && i < m; i++) y[i] = 0;                                                  \
        for (uint64_t k = 0; what & FORWARD && k < size; k++) reflect_##R(y, a[k], 1, tau[k], k, m);                   \
        for (uint64_t k = size; what & BACKWARD && k-- > 0;) reflect_##R(y, a[k], 1, tau[k], k, m);                    \
        for (uint64_t j = size; what & UPPER && j-- > 0;) {                                                            \
            y[j] /= a[j][j];                                                                                           \
            for (uint64_t i = 0; i < j; i++) y[i] = fma_##R(-a[j][i], y[j], y[i]);                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots, rows = s[8], cols = s[9], right = s[10], size = s[11], what = s[14];        \
        bool wide = what & LOWER;                                                                                      \
        uint64_t m = wide ? cols : rows, n = wide ? rows : cols, own = launch->block[0] / s[15] * launch->grid[0];     \
        for (uint64_t k = 0; k < s[12] && k < own; k++) {                                                              \
            R a[MOST][MOST] = {0}, tau[MOST] = {0}, *from = (R *)standin_backing(s[0]) + k * s[2];                     \
            R *factors = s[3] == 0 ? NULL : (R *)standin_backing(s[3]) + k * s[4];                                     \
            bool broken = false;                                                                                       \
            for (uint64_t j = 0; j < cols; j++)                                                                        \
                for (uint64_t i = 0; i < rows; i++) {                                                                  \
                    R x = from[i + j * s[1]];                                                                          \
                    broken = broken || !isfinite(x);                                                                   \
                    a[wide ? i : j][wide ? j : i] = x;                                                                 \
                }                                                                                                      \
            if (what & FACTOR) {                                                                                       \
                if (!broken) factor_##R(a, tau, m, n, size);                                                           \
                for (uint64_t i = 0; broken && i < MOST; i++) {                                                        \
                    tau[i] = (R)NAN;                                                                                   \
                    for (uint64_t j = 0; j < MOST; j++) a[j][i] = (R)NAN;                                              \
                }                                                                                                      \
                for (uint64_t j = 0; !wide && j < n; j++)                                                              \
                    for (uint64_t i = 0; i < m; i++) from[i + j * s[1]] = a[j][i];                                     \
                if (what == FACTOR) memcpy(factors, tau, size * sizeof(R));                                            \
            } else {                                                                                                   \
                memcpy(tau, factors, size * sizeof(R));                                                                \
            }                                                                                                          \
            int found = what & (UPPER | LOWER) ? dependent_##R(a, m, size) : 0;                                        \
            if (what & (UPPER | LOWER)) ((int32_t *)standin_backing(s[13]))[k] = found;                                \
            for (uint64_t j = 0; found == 0 && j < right; j++) {                                                       \
                R *b = (R *)standin_backing(s[5]) + k * s[7] + j * s[6], y[MOST];                                      \
                for (uint64_t i = 0; i < m; i++) y[i] = what & IDENTITY ? i == j : b[i];                               \
                solve_##R(a, tau, y, m, size, what);                                                                   \
                for (uint64_t i = 0; i < m; i++) b[i] = isnan(y[i]) ? (R)NAN : y[i];                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

static float fma_float(float x, float y, float z) { return fmaf(x, y, z); }
static double fma_double(double x, double y, double z) { return fma(x, y, z); }
static float root_float(float x) { return sqrtf(x); }
static double root_double(double x) { return sqrt(x); }

SMALL(float, uint32_t, 23, 0xff, 127u, 100u, small_qr_4)
SMALL(double, uint64_t, 52, 0x7ff, (uint64_t)1023, (uint64_t)1000, small_qr_8)

/* Systems (src/libraries/solver/kernels/small_lu.cu). Parameters: a, lda, step_a, pivots, b, ldb, step_b, rows, cols, right, count, info,
 * what, width. */
enum {
    LU = 1, CHOLESKY = 2, PIVOTS = 4, KEEP = 8, EYE = 16, IN_PLACE = 32, CHECK = 64, CLEAR = 128, BELOW = 256, ABOVE = 512, STRICT = 1024,
    BACK = 2048
};
enum { STAGE = 1, IS_UPPER = 2, TRANSPOSED = 4, UNIT = 8 };

static void lu_operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    uint64_t what = s[12], size = s[7] < s[8] ? s[7] : s[8];
    for (uint64_t i = 0; i < s[10] && i < MATRICES; i++) {
        uint64_t k = i + 1 == MATRICES ? s[10] - 1 : i;
        struct range a = {s[0] + bytes * k * s[2], s[7] * bytes, s[1] * bytes, s[8]};
        add_operand(command, what & (KEEP | IN_PLACE) ? WRITE : READ, a);
        struct range b = {s[4] + bytes * k * s[6], s[7] * bytes, s[5] * bytes, s[9]};
        if (s[9] > 0 && !(what & IN_PLACE)) add_operand(command, WRITE, b);
    }
    if (what & PIVOTS && s[10] > 0) add_operand(command, what & LU ? WRITE : READ, flat(s[3], 8 * s[10] * size));
    if (s[11] != 0) add_operand(command, WRITE, flat(s[11], 4 * s[10]));
}

static void lu_operands_4(struct command *command, const struct launch *launch) { lu_operands(command, launch, 4); }
static void lu_operands_8(struct command *command, const struct launch *launch) { lu_operands(command, launch, 8); }

static bool inside(uint64_t what, uint64_t i, uint64_t j) {
    return i == j ? !(what & STRICT) : i > j ? !(what & ABOVE) : !(what & BELOW);
}

#define SYSTEMS(R, name)                                                                                               \
    static void swap_##R(R *y, uint64_t one, uint64_t other) {                                                         \
        R up = y[other];                                                                                               \
        y[other] = y[one];                                                                                             \
        y[one] = up;                                                                                                   \
    }                                                                                                                  \
    static int lu_##R(R *a, uint64_t m, uint64_t n, uint64_t *pivots) {                                                \
        int found = 0;                                                                                                 \
        for (uint64_t k = 0; k < m && k < n; k++) {                                                                    \
            R most = -1;                                                                                               \
            pivots[k] = k;                                                                                             \
            for (uint64_t i = k; i < m; i++)                                                                           \
                if ((R)fabs(a[i + k * m]) > most) {                                                                    \
                    most = (R)fabs(a[i + k * m]);                                                                      \
                    pivots[k] = i;                                                                                     \
                }                                                                                                      \
            if (found == 0 && most == 0) found = (int)k + 1;                                                           \
            for (uint64_t j = 0; j < n; j++) swap_##R(a + j * m, k, pivots[k]);                                        \
            R divisor = most == 0 ? 1 : a[k + k * m];                                                                  \
            for (uint64_t i = k + 1; i < m; i++) a[i + k * m] /= divisor;                                              \
            for (uint64_t j = k + 1; j < n; j++)                                                                       \
                for (uint64_t i = k + 1; i < m; i++) a[i + j * m] = fma_##R(-a[i + k * m], a[k + j * m], a[i + j * m]); \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
    static int cholesky_##R(R *a, uint64_t n, uint64_t down, uint64_t across) {                                        \
        int found = 0;                                                                                                 \
        for (uint64_t k = 0; k < n; k++) {                                                                             \
            if (found == 0 && !(a[k + k * n] > 0)) found = (int)k + 1;                                                 \
            R root = a[k + k * n] = root_##R(a[k + k * n]);                                                            \
            for (uint64_t i = k + 1; i < n; i++) a[i * down + k * across] /= root;                                     \
            for (uint64_t j = k + 1; j < n; j++)                                                                       \
                for (uint64_t i = j; i < n; i++) {                                                                     \
                    R *x = a + i * down + j * across;                                                                  \
                    *x = fma_##R(-a[i * down + k * across], a[j * down + k * across], *x);                             \
                }                                                                                                      \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
    static void stage_##R(uint64_t stage, const R *a, R *y, uint64_t n) {                                              \
        bool forward = !(stage & IS_UPPER) != !!(stage & TRANSPOSED);                                                  \
        uint64_t down = stage & TRANSPOSED ? n : 1, across = stage & TRANSPOSED ? 1 : n;                               \
        for (uint64_t step = 0; step < n; step++) {                                                                    \
            uint64_t k = forward ? step : n - 1 - step;                                                                \
            if (!(stage & UNIT)) y[k] /= a[k + k * n];                                                                 \
            for (uint64_t i = forward ? k + 1 : 0; i < (forward ? n : k); i++)                                         \
                y[i] = fma_##R(-a[i * down + k * across], y[k], y[i]);                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots, m = s[7], n = s[8], right = s[9], what = s[12], size = m < n ? m : n;       \
        uint64_t own = launch->block[0] / s[13] * launch->grid[0];                                                     \
        for (uint64_t k = 0; k < s[10] && k < own; k++) {                                                              \
            R *a = (R *)standin_backing(s[0]) + k * s[2], x[MOST * MOST] = {0}, y[MOST];                               \
            R *b = right == 0 ? NULL : (R *)standin_backing(s[4]) + k * s[6];                                          \
            int64_t *given = what & PIVOTS ? (int64_t *)standin_backing(s[3]) + k * size : NULL;                       \
            uint64_t pivots[MOST] = {0};                                                                               \
            bool broken = false;                                                                                       \
            for (uint64_t e = 0; e < m * n; e++)                                                                       \
                if (inside(what, e % m, e / m)) {                                                                      \
                    x[e] = a[e % m + e / m * s[1]];                                                                    \
                    broken = broken || (what & (LU | CHOLESKY) && !isfinite(x[e]));                                    \
                }                                                                                                      \
            int found = 0;                                                                                             \
            if (broken) memset(x, 0, sizeof x);                                                                        \
            if (what & LU) found = lu_##R(x, m, n, pivots);                                                            \
            if (what & CHOLESKY) found = cholesky_##R(x, n, what & ABOVE ? n : 1, what & ABOVE ? 1 : n);               \
            for (uint64_t i = 0; what & PIVOTS && i < size; i++) {                                                     \
                if (what & LU) given[i] = (int64_t)pivots[i] + 1;                                                      \
                if (!(what & LU)) pivots[i] = given[i] >= 1 && given[i] <= (int64_t)m ? (uint64_t)given[i] - 1 : i;    \
            }                                                                                                          \
            for (uint64_t i = size; what & CHECK && i-- > 0;)                                                          \
                if (x[i + i * m] == 0) found = (int)i + 1;                                                             \
            if (broken) found = 1;                                                                                     \
            for (uint64_t e = 0; what & KEEP && (what & LU || broken || found == 0) && e < m * n; e++)                 \
                if (inside(what, e % m, e / m))                                                                        \
                    a[e % m + e / m * s[1]] = broken || isnan(x[e]) ? (R)NAN : x[e];                                   \
            if (s[11] != 0) ((int32_t *)standin_backing(s[11]))[k] = found;                                            \
            for (uint64_t j = 0; (found == 0 || what & CLEAR) && j < right; j++) {                                     \
                R *to = b + j * s[5];                                                                                  \
                for (uint64_t i = 0; i < m; i++) y[i] = what & EYE ? i == j : to[i];                                   \
                for (uint64_t i = 0; what & (LU | PIVOTS) && !(what & BACK) && i < size; i++) swap_##R(y, i, pivots[i]); \
                for (uint64_t stages = what >> 16; stages & STAGE; stages >>= 4) stage_##R(stages, x, y, n);           \
                for (uint64_t i = size; what & BACK && i-- > 0;) swap_##R(y, i, pivots[i]);                            \
                for (uint64_t i = 0; i < m; i++)                                                                       \
                    if (!(what & IN_PLACE) || inside(what, i, j)) to[i] = found || isnan(y[i]) ? (R)NAN : y[i];        \
            }                                                                                                          \
        }                                                                                                              \
    }
SYSTEMS(float, small_lu_4)
SYSTEMS(double, small_lu_8)

static const struct kernel kernels[] = {
    {"small_lu_4", 14, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_4, small_lu_4, 0, false},
    {"small_lu_rows_32_4", 14, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_4, small_lu_4, 0, false},
    {"small_lu_rows_16_4", 14, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_4, small_lu_4, 0, false},
    {"small_lu_8", 14, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_8, small_lu_8, 0, false},
    {"small_lu_rows_32_8", 14, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_8, small_lu_8, 0, false},
    {"small_lu_rows_16_8", 14, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_8, small_lu_8, 0, false},
    {"small_qr_4", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, operands_4, small_qr_4, 0, false},
    {"small_qr_8", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, operands_8, small_qr_8, 0, false},
};

const struct kernel *known_small_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
