/* The kernels of the solver (src/libraries/solver/native/kernels.ptx and src/libraries/solver/kernels) that the stand-in's routines go with. */
#include "simulator.h"

#include <math.h>
#include <string.h>

/* Parameters: info, count, result. The first that is not zero, with its number in the upper half. */
static void first_info_operands(struct command *command, const struct launch *launch) {
    add_operand(command, READ, flat(launch->slots[0], 4 * launch->slots[1]));
    add_operand(command, WRITE, flat(launch->slots[2], 8));
}

static void first_info(void *payload) {
    const struct launch *launch = payload;
    const uint32_t *info = standin_backing(launch->slots[0]);
    uint64_t *result = standin_backing(launch->slots[2]);
    *result = 0;
    for (uint64_t i = launch->slots[1]; i-- > 0;)
        if (info[i] != 0) *result = i << 32 | info[i];
}

/* Parameters: from, to, len, n, signed. */
static void keep_pivots_operands(struct command *command, const struct launch *launch) {
    add_operand(command, READ, flat(launch->slots[0], 8 * launch->slots[2]));
    add_operand(command, WRITE, flat(launch->slots[1], 8 * launch->slots[2]));
}

static void keep_pivots(void *payload) {
    const struct launch *launch = payload;
    const int64_t *from = standin_backing(launch->slots[0]);
    int64_t *to = standin_backing(launch->slots[1]), n = (int64_t)launch->slots[3];
    for (uint64_t i = 0; i < launch->slots[2]; i++) {
        int64_t size = launch->slots[4] != 0 && from[i] < 0 ? -from[i] : from[i];
        to[i] = size >= 1 && size <= n ? from[i] : (int64_t)(i % (uint64_t)n) + 1;
    }
}

static double double_of(uint64_t slot) {
    double value;
    memcpy(&value, &slot, sizeof value);
    return value;
}

/* One element for each thread: too small a grid leaves the rest undone. */
static uint64_t done_of(const struct launch *launch, uint64_t count) {
    return count < launch->threads ? count : launch->threads;
}

static struct range column_major(uint64_t address, uint64_t ld, uint64_t rows, uint64_t cols, size_t bytes) {
    return (struct range){address, rows * bytes, ld * bytes, cols};
}

/* Parameters: a, n, ld, words, wide, info. */
static void first_zero_operands(struct command *command, const struct launch *launch) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, column_major(s[0], s[2] + 1, 1, s[1], 4 * s[3]));
    add_operand(command, WRITE, flat(s[5], 4));
}

static void first_zero(void *payload) {
    const struct launch *launch = payload;
    const uint64_t *s = launch->slots;
    const uint32_t *a = standin_backing(s[0]);
    uint32_t *info = standin_backing(s[5]);
    *info = 0;
    for (uint64_t i = s[1]; i-- > 0;) {
        bool zero = true;
        for (uint64_t k = 0; k < s[3]; k++) {
            uint32_t x = a[i * (s[2] + 1) * s[3] + k];
            zero = zero && (k % 2 >= s[4] ? x << 1 : x) == 0;
        }
        if (zero) *info = (uint32_t)i + 1;
    }
}

/* Parameters: from, to, rows, cols, count, ld_from, ld_to, step_from, step_to, words, how, one0, one1. */
enum { TURN = 1, CONJUGATE = 2, UPPER = 4, IDENTITY = 8, NOT_ABOVE = 16, NOT_BELOW = 32 };

static void copy_matrix_operands(struct command *command, const struct launch *launch) {
    const uint64_t *s = launch->slots;
    uint64_t how = s[10], rows = how & TURN ? s[3] : s[2], cols = how & TURN ? s[2] : s[3];
    /* Matrices without gaps are one; of others the first ones stand for all. */
    bool one = s[7] == s[5] * s[3] && s[8] == s[6] * cols;
    uint64_t told = one ? 1 : s[4] < 7 ? s[4] : 7, run = one ? s[4] : 1;
    for (uint64_t m = 0; m < told; m++) {
        uint64_t from = s[0] + 4 * m * s[7] * s[9], to = s[1] + 4 * m * s[8] * s[9];
        if (!(how & IDENTITY)) add_operand(command, READ, column_major(from, s[5], s[2], s[3] * run, 4 * s[9]));
        add_operand(command, WRITE, column_major(to, s[6], rows, cols * run, 4 * s[9]));
    }
}

static void copy_matrix(void *payload) {
    const struct launch *launch = payload;
    const uint64_t *s = launch->slots, how = s[10], words = s[9];
    const uint32_t *from = how & IDENTITY ? NULL : standin_backing(s[0]);
    uint32_t *to = standin_backing(s[1]);
    for (uint64_t e = 0; e < done_of(launch, s[2] * s[3] * s[4]); e++) {
        uint64_t m = e / (s[2] * s[3]), j = e % (s[2] * s[3]) / s[2], i = e % s[2];
        if ((how & NOT_ABOVE && i < j) || (how & NOT_BELOW && i > j)) continue;
        uint64_t at = (how & TURN ? j + i * s[6] : i + j * s[6]) + m * s[8];
        for (uint64_t k = 0; k < words; k++) {
            uint32_t x = 0;
            if (how & IDENTITY) x = i != j || k > 1 ? 0 : (uint32_t)s[11 + k];
            else if (!(how & UPPER && i > j)) {
                x = from[(i + j * s[5] + m * s[7]) * words + k];
                if (how & CONJUGATE && k == words - 1) x ^= 0x80000000;
            }
            to[at * words + k] = x;
        }
    }
}

/* Parameters: from, to, len. */
static void widen_operands(struct command *command, const struct launch *launch) {
    add_operand(command, READ, flat(launch->slots[0], 4 * launch->slots[2]));
    add_operand(command, WRITE, flat(launch->slots[1], 8 * launch->slots[2]));
}

static void widen(void *payload) {
    const struct launch *launch = payload;
    const int32_t *from = standin_backing(launch->slots[0]);
    int64_t *to = standin_backing(launch->slots[1]);
    for (uint64_t i = 0; i < done_of(launch, launch->slots[2]); i++) to[i] = from[i];
}

/* Parameters: x, rows, cols, ld, found. */
static void find_broken_operands(struct command *command, const struct launch *launch) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, column_major(s[0], s[3], s[1], s[2], 8));
    add_operand(command, WRITE, flat(s[4], 4));
}

static void find_broken(void *payload) {
    const struct launch *launch = payload;
    const uint64_t *s = launch->slots;
    const double *x = standin_backing(s[0]);
    for (uint64_t e = 0; e < done_of(launch, s[1] * s[2]); e++)
        if (!isfinite(x[e % s[1] + e / s[1] * s[3]])) *(uint32_t *)standin_backing(s[4]) = 1;
}

/* Parameters: x, rows, cols, ld, parts, by, tolerance. */
static void divide_operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    add_operand(command, WRITE, column_major(s[0], s[3], s[1], s[2], bytes));
    add_operand(command, READ, flat(s[5], s[1] / s[4] * bytes));
}

static void divide_4_operands(struct command *command, const struct launch *launch) { divide_operands(command, launch, 4); }
static void divide_8_operands(struct command *command, const struct launch *launch) { divide_operands(command, launch, 8); }

#define DIVIDE(name, real)                                                                                             \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots;                                                                             \
        const real *by = standin_backing(s[5]);                                                                        \
        for (uint64_t e = 0; e < done_of(launch, s[1] * s[2]); e++) {                                                  \
            real *x = (real *)standin_backing(s[0]) + e % s[1] + e / s[1] * s[3], divisor = by[e % s[1] / s[4]];       \
            *x = (double)divisor > (double)by[0] * double_of(s[6]) ? *x / divisor : 0;                                 \
        }                                                                                                              \
    }
DIVIDE(divide_rows_4, float)
DIVIDE(divide_rows_8, double)

/* Parameters: from, to, rows, cols, ld_from, ld_to. */
static void convert_operands(struct command *command, const struct launch *launch, size_t from, size_t to) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, column_major(s[0], s[4], s[2], s[3], from));
    add_operand(command, WRITE, column_major(s[1], s[5], s[2], s[3], to));
}

static void widen_numbers_operands(struct command *command, const struct launch *launch) { convert_operands(command, launch, 4, 8); }
static void narrow_numbers_operands(struct command *command, const struct launch *launch) { convert_operands(command, launch, 8, 4); }

#define CONVERT(name, from_real, to_real)                                                                              \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots;                                                                             \
        const from_real *from = standin_backing(s[0]);                                                                 \
        to_real *to = standin_backing(s[1]);                                                                           \
        for (uint64_t e = 0; e < done_of(launch, s[2] * s[3]); e++)                                                    \
            to[e % s[2] + e / s[2] * s[5]] = (to_real)from[e % s[2] + e / s[2] * s[4]];                                \
    }
CONVERT(widen_numbers, float, double)
CONVERT(narrow_numbers, double, float)

/* Parameters: r, n, ld, parts, limit, info. */
static void first_dependent_operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, column_major(s[0], s[2], s[1], s[1], bytes * s[3]));
    add_operand(command, WRITE, flat(s[5], 4));
}

static void first_dependent_4_operands(struct command *command, const struct launch *launch) { first_dependent_operands(command, launch, 4); }
static void first_dependent_8_operands(struct command *command, const struct launch *launch) { first_dependent_operands(command, launch, 8); }

#define DEPENDENT(name, real)                                                                                          \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots;                                                                             \
        uint32_t *info = standin_backing(s[5]);                                                                        \
        *info = 0;                                                                                                     \
        for (uint64_t j = s[1]; j-- > 0;) {                                                                            \
            const real *column = (const real *)standin_backing(s[0]) + j * s[2] * s[3];                                \
            double all = 0, own = 0;                                                                                   \
            for (uint64_t i = 0; i < (j + 1) * s[3]; i++) all = hypot(all, column[i]);                                 \
            for (uint64_t i = j * s[3]; i < (j + 1) * s[3]; i++) own = hypot(own, column[i]);                          \
            if (own <= double_of(s[4]) * all) *info = (uint32_t)j + 1;                                                 \
        }                                                                                                              \
    }
DEPENDENT(first_dependent_4, float)
DEPENDENT(first_dependent_8, double)

/* Parameters: values, n, tolerance, count. */
static void count_above_operands(struct command *command, const struct launch *launch, size_t bytes) {
    add_operand(command, READ, flat(launch->slots[0], launch->slots[1] * bytes));
    add_operand(command, WRITE, flat(launch->slots[3], 4));
}

static void count_above_4_operands(struct command *command, const struct launch *launch) { count_above_operands(command, launch, 4); }
static void count_above_8_operands(struct command *command, const struct launch *launch) { count_above_operands(command, launch, 8); }

#define COUNT(name, real)                                                                                              \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const real *values = standin_backing(launch->slots[0]);                                                        \
        int32_t *count = standin_backing(launch->slots[3]);                                                            \
        *count = 0;                                                                                                    \
        for (uint64_t i = 0; i < launch->slots[1]; i++)                                                                \
            *count += (double)values[i] > double_of(launch->slots[2]) * (double)values[0];                             \
    }
COUNT(count_above_4, float)
COUNT(count_above_8, double)

/* Parameters: x, rows, ld, sums; a block for each column. */
static void sum_squares_operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, column_major(s[0], s[2], s[1], launch->grid[0], bytes));
    add_operand(command, WRITE, flat(s[3], launch->grid[0] * bytes));
}

static void sum_squares_4_operands(struct command *command, const struct launch *launch) { sum_squares_operands(command, launch, 4); }
static void sum_squares_8_operands(struct command *command, const struct launch *launch) { sum_squares_operands(command, launch, 8); }

#define SQUARES(name, real)                                                                                            \
    static void name(void *payload) {                                                                                  \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots;                                                                             \
        for (uint64_t j = 0; j < launch->grid[0]; j++) {                                                               \
            const real *column = (const real *)standin_backing(s[0]) + j * s[2];                                       \
            double sum = 0;                                                                                            \
            for (uint64_t i = 0; i < s[1]; i++) sum += (double)column[i] * (double)column[i];                          \
            ((real *)standin_backing(s[3]))[j] = (real)sum;                                                            \
        }                                                                                                              \
    }
SQUARES(sum_squares_4, float)
SQUARES(sum_squares_8, double)

/* Parameters: x, rows, cols, ld, step, count, part, parts, most; and of `scale` reach and back. Of many matrices the first ones
 * stand for all. */
static void range_operands(struct command *command, const struct launch *launch, size_t bytes, bool scales) {
    const uint64_t *s = launch->slots;
    for (uint64_t m = 0; m < s[5] && m < 7; m++) {
        struct range matrix = column_major(s[0] + bytes * m * s[4], s[3], s[1], s[2], bytes);
        add_operand(command, scales ? WRITE : READ, matrix);
    }
    add_operand(command, scales ? READ : WRITE, flat(s[8], bytes * s[5]));
}

static void largest_4_operands(struct command *command, const struct launch *launch) { range_operands(command, launch, 4, false); }
static void largest_8_operands(struct command *command, const struct launch *launch) { range_operands(command, launch, 8, false); }
static void scale_4_operands(struct command *command, const struct launch *launch) { range_operands(command, launch, 4, true); }
static void scale_8_operands(struct command *command, const struct launch *launch) { range_operands(command, launch, 8, true); }

#define RANGE(largest, scale, real)                                                                                    \
    static bool counts_##scale(const uint64_t *s, uint64_t row, uint64_t col) {                                        \
        return s[6] == 0 || (s[6] == 1 ? row >= col : row <= col);                                                     \
    }                                                                                                                  \
    static void largest(void *payload) {                                                                               \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots;                                                                             \
        real *most = standin_backing(s[8]);                                                                            \
        for (uint64_t m = 0; m < s[5]; m++)                                                                            \
            for (uint64_t e = 0; e < s[1] * s[2]; e++) {                                                               \
                const real *x = (const real *)standin_backing(s[0]) + m * s[4] + e / s[1] * s[3] + e % s[1];           \
                if (!counts_##scale(s, e % s[1] / s[7], e / s[1])) continue;                                           \
                if (isnan(*x) || fabs(*x) > most[m]) most[m] = (real)fabs(*x);                                         \
            }                                                                                                          \
    }                                                                                                                  \
    static void scale(void *payload) {                                                                                 \
        const struct launch *launch = payload;                                                                         \
        const uint64_t *s = launch->slots;                                                                             \
        const real *most = standin_backing(s[8]);                                                                      \
        for (uint64_t m = 0; m < s[5]; m++) {                                                                          \
            if (!(most[m] > 0) || isinf(most[m])) continue;                                                            \
            int e = ilogb(most[m]), reach = (int)s[9];                                                                 \
            if (e >= -reach && e <= reach) continue;                                                                   \
            for (uint64_t k = 0; k < s[1] * s[2]; k++) {                                                               \
                real *x = (real *)standin_backing(s[0]) + m * s[4] + k / s[1] * s[3] + k % s[1];                       \
                if (counts_##scale(s, k % s[1] / s[7], k / s[1])) *x = (real)ldexp(*x, s[10] ? e : -e);                \
            }                                                                                                          \
        }                                                                                                              \
    }
RANGE(range_largest_4, range_scale_4, float)
RANGE(range_largest_8, range_scale_8, double)

static const struct kernel kernels[] = {
    {"range_largest_4", 9, {8, 8, 8, 8, 8, 8, 8, 8, 8}, largest_4_operands, range_largest_4, 0},
    {"range_largest_8", 9, {8, 8, 8, 8, 8, 8, 8, 8, 8}, largest_8_operands, range_largest_8, 0},
    {"range_scale_4", 11, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, scale_4_operands, range_scale_4, 0},
    {"range_scale_8", 11, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, scale_8_operands, range_scale_8, 0},
    {"first_dependent_4", 6, {8, 8, 8, 8, 8, 8}, first_dependent_4_operands, first_dependent_4, 0},
    {"first_dependent_8", 6, {8, 8, 8, 8, 8, 8}, first_dependent_8_operands, first_dependent_8, 0},
    {"count_above_4", 4, {8, 8, 8, 8}, count_above_4_operands, count_above_4, 0},
    {"count_above_8", 4, {8, 8, 8, 8}, count_above_8_operands, count_above_8, 0},
    {"sum_squares_4", 4, {8, 8, 8, 8}, sum_squares_4_operands, sum_squares_4, 0},
    {"sum_squares_8", 4, {8, 8, 8, 8}, sum_squares_8_operands, sum_squares_8, 0},
    {"first_zero", 6, {8, 8, 8, 8, 8, 8}, first_zero_operands, first_zero, 0},
    {"copy_matrix", 13, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, copy_matrix_operands, copy_matrix, 0},
    {"widen", 3, {8, 8, 8}, widen_operands, widen, 0},
    {"find_broken", 5, {8, 8, 8, 8, 8}, find_broken_operands, find_broken, 0},
    {"divide_rows_4", 7, {8, 8, 8, 8, 8, 8, 8}, divide_4_operands, divide_rows_4, 0},
    {"divide_rows_8", 7, {8, 8, 8, 8, 8, 8, 8}, divide_8_operands, divide_rows_8, 0},
    {"widen_numbers", 6, {8, 8, 8, 8, 8, 8}, widen_numbers_operands, widen_numbers, 0},
    {"narrow_numbers", 6, {8, 8, 8, 8, 8, 8}, narrow_numbers_operands, narrow_numbers, 0},
    {"first_info", 3, {8, 8, 8}, first_info_operands, first_info, 0},
    {"keep_long_pivots", 5, {8, 8, 8, 8, 8}, keep_pivots_operands, keep_pivots, 0},
};

const struct kernel *known_solver_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
