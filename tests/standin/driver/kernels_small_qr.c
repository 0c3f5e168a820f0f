/* QR of small matrices (src/libraries/solver/kernels/small_qr.cu), one matrix after the other: every sum has the terms of the kernel in
 * its order, so the bits are the same. */
#include "simulator.h"

#include <math.h>
#include <string.h>

enum { FACTOR = 1, IDENTITY = 2, FORWARD = 4, BACKWARD = 8, UPPER = 16, LOWER = 32 };
enum { MOST = 32, MATRICES = 3 };

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

/* Parameters: a, lda, step_a, b, ldb, step_b, n, right, count, info, width. */
static void lu_operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    for (uint64_t i = 0; i < s[8] && i < MATRICES; i++) {
        uint64_t k = i + 1 == MATRICES ? s[8] - 1 : i;
        add_operand(command, WRITE, (struct range){s[0] + bytes * k * s[2], s[6] * bytes, s[1] * bytes, s[6]});
        if (s[7] > 0) add_operand(command, WRITE, (struct range){s[3] + bytes * k * s[5], s[6] * bytes, s[4] * bytes, s[7]});
    }
    add_operand(command, WRITE, flat(s[9], 4 * s[8]));
}

static void lu_operands_4(struct command *command, const struct launch *launch) { lu_operands(command, launch, 4); }
static void lu_operands_8(struct command *command, const struct launch *launch) { lu_operands(command, launch, 8); }

#define SYSTEMS(R, name)                                                                                               \
    static int solved_##R(R *a, uint64_t lda, R *b, uint64_t ldb, uint64_t n, uint64_t right) {                        \
        int found = 0;                                                                                                 \
        for (uint64_t k = 0; k < n; k++) {                                                                             \
            uint64_t at = k;                                                                                           \
            R most = -1;                                                                                               \
            for (uint64_t i = k; i < n; i++)                                                                           \
                if ((R)fabs(a[i + k * lda]) > most) {                                                                  \
                    most = (R)fabs(a[i + k * lda]);                                                                    \
                    at = i;                                                                                            \
                }                                                                                                      \
            if (found == 0 && most == 0) found = (int)k + 1;                                                           \
            for (uint64_t j = 0; j < n + right; j++) {                                                                 \
                R *y = j < n ? a + j * lda : b + (j - n) * ldb, up = y[at];                                            \
                y[at] = y[k];                                                                                          \
                y[k] = up;                                                                                             \
            }                                                                                                          \
            R divisor = most == 0 ? 1 : a[k + k * lda];                                                                \
            for (uint64_t i = k + 1; i < n; i++) a[i + k * lda] /= divisor;                                            \
            for (uint64_t j = k + 1; j < n + right; j++) {                                                             \
                R *y = j < n ? a + j * lda : b + (j - n) * ldb;                                                        \
                for (uint64_t i = k + 1; i < n; i++) y[i] = fma_##R(-a[i + k * lda], y[k], y[i]);                      \
            }                                                                                                          \
        }                                                                                                              \
        for (uint64_t c = 0; c < right; c++)                                                                           \
            for (uint64_t j = n; j-- > 0;) {                                                                           \
                R *y = b + c * ldb;                                                                                    \
                y[j] /= a[j + j * lda];                                                                                \
                for (uint64_t i = 0; i < j; i++) y[i] = fma_##R(-a[i + j * lda], y[j], y[i]);                          \
            }                                                                                                          \
        return found;                                                                                                  \
    }                                                                                                                  \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots, n = s[6], own = launch->block[0] / s[10] * launch->grid[0];                 \
        for (uint64_t k = 0; k < s[8] && k < own; k++) {                                                               \
            R *a = (R *)standin_backing(s[0]) + k * s[2], x[MOST * MOST];                                              \
            R *b = s[7] == 0 ? NULL : (R *)standin_backing(s[3]) + k * s[5];                                           \
            bool broken = false;                                                                                       \
            for (uint64_t e = 0; e < n * n; e++) broken = broken || !isfinite(a[e % n + e / n * s[1]]);                \
            for (uint64_t e = 0; e < n * s[7]; e++) x[e] = b[e % n + e / n * s[4]];                                    \
            int found = broken ? 1 : solved_##R(a, s[1], x, n, n, s[7]);                                               \
            for (uint64_t e = 0; e < n * n; e++)                                                                       \
                if (broken || isnan(a[e % n + e / n * s[1]])) a[e % n + e / n * s[1]] = (R)NAN;                        \
            for (uint64_t e = 0; found == 0 && e < n * s[7]; e++)                                                      \
                b[e % n + e / n * s[4]] = isnan(x[e]) ? (R)NAN : x[e];                                                 \
            ((int32_t *)standin_backing(s[9]))[k] = found;                                                             \
        }                                                                                                              \
    }
SYSTEMS(float, small_lu_4)
SYSTEMS(double, small_lu_8)

static const struct kernel kernels[] = {
    {"small_lu_4", 11, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_4, small_lu_4, 0, false},
    {"small_lu_8", 11, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, lu_operands_8, small_lu_8, 0, false},
    {"small_qr_4", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, operands_4, small_qr_4, 0, false},
    {"small_qr_8", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, operands_8, small_qr_8, 0, false},
};

const struct kernel *known_small_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
