// What direct solvers need beside cuDSS: values that are not finite, other structures, and residuals and norms of op(A), of which only
// one triangle may be stored.
#include "number.cuh"

// The entries of A that are read: all (0), on and below the diagonal (1), on and above it (2).
#define PART 3u
// op(A) is A transposed. Stored values are conjugated first. The other triangle is the conjugate of the stored one.
#define TURNED 4u
#define CONJUGATED 8u
#define HERMITIAN 16u

DEVICE bool is_read(unsigned how, u64 row, u64 column) {
    unsigned part = how & PART;
    return part == 0 || (part == 1 ? column <= row : column >= row);
}

DEVICE bool is_finite(float x) { return x - x == 0; }
DEVICE bool is_finite(double x) { return x - x == 0; }
template <class R> DEVICE bool is_finite(Complex<R> x) { return is_finite(x.re) && is_finite(x.im); }

DEVICE float real_part(float x) { return x; }
DEVICE double real_part(double x) { return x; }
template <class R> DEVICE Complex<R> real_part(Complex<R> x) { return {x.re, 0}; }

DEVICE void less(float *at, float x) { atomicAdd(at, -x); }
DEVICE void less(double *at, double x) { atomicAdd(at, -x); }
template <class R> DEVICE void less(Complex<R> *at, Complex<R> x) {
    atomicAdd(&at->re, -x.re);
    atomicAdd(&at->im, -x.im);
}

// Sizes as numbers in the same order; NaN is the largest.
DEVICE u64 ordered(double size) { return (u64)__double_as_longlong(size) & ~(1ull << 63); }
DEVICE void raise(u64 *at, double size) {
    u64 bits = ordered(size);
    if (bits > peek(at)) atomicMax(at, bits);
}

// The first row, from 1, with a value that is read and not finite. One thread for each entry.
template <class I>
DEVICE void not_finite(const I *offsets, const I *indices, const VALUE *values, u64 n, u64 nnz, unsigned how, u64 *found) {
    u64 place = thread_index();
    if (place >= nnz || is_finite(values[place])) return;
    // The last row that begins at the place or before.
    u64 low = 0, high = n;
    while (high - low > 1) {
        u64 middle = low + (high - low) / 2;
        if ((u64)offsets[middle] <= place) low = middle; else high = middle;
    }
    if (is_read(how, low, (u64)indices[place])) atomicMin(found, low + 1);
}

// The same of a vector.
KERNEL first_odd(const VALUE *values, u64 n, u64 *found) {
    u64 i = thread_index();
    if (i < n && !is_finite(values[i])) atomicMin(found, i + 1);
}

KERNEL first_difference(const unsigned *one, const unsigned *other, u64 words, u64 *found) {
    u64 i = thread_index();
    if (i < words && one[i] != other[i]) atomicMin(found, i);
}

// R -= op(A) X. One thread for each row of A and column of X.
template <class I>
DEVICE void residual(const I *offsets, const I *indices, const VALUE *values, u64 n, u64 nnz, unsigned how, const VALUE *x,
                     u64 x_ld, VALUE *r, u64 r_ld, u64 columns) {
    u64 thread = thread_index();
    if (thread >= n * columns) return;
    u64 row = thread % n;
    x += thread / n * x_ld;
    r += thread / n * r_ld;
    VALUE sum = zero<VALUE>();
    u64 end = clamp(offsets[row + 1], nnz);
    for (u64 place = clamp(offsets[row], end); place < end; ++place) {
        u64 column = (u64)indices[place];
        if (!is_read(how, row, column)) continue;
        VALUE value = how & CONJUGATED ? conj(values[place]) : values[place];
        if (how & TURNED) {
            less(r + column, value * x[row]);
            continue;
        }
        if (row == column && how & HERMITIAN) value = real_part(value);
        sum = sum + value * x[column];
        if ((how & PART) && row != column) less(r + column, (how & HERMITIAN ? conj(value) : value) * x[row]);
    }
    if (how & TURNED) return;
    if (how & PART) less(r + row, sum);
    else r[row] = r[row] - sum;
}

// The sums of sizes in the rows of op(A), which are zeros before.
template <class I>
DEVICE void sums(const I *offsets, const I *indices, const VALUE *values, u64 n, u64 nnz, unsigned how, double *all) {
    u64 row = thread_index();
    if (row >= n) return;
    u64 end = clamp(offsets[row + 1], nnz);
    double sum = 0;
    for (u64 place = clamp(offsets[row], end); place < end; ++place) {
        u64 column = (u64)indices[place];
        if (!is_read(how, row, column)) continue;
        double size = magnitude(values[place]);
        if (how & TURNED) {
            atomicAdd(all + column, size);
            continue;
        }
        sum += size;
        if ((how & PART) && row != column) atomicAdd(all + column, size);
    }
    if (!(how & TURNED)) atomicAdd(all + row, sum);
}

// The largest of numbers that are not negative.
KERNEL largest_sum(const double *all, u64 n, u64 *largest) {
    u64 i = thread_index();
    if (i < n) raise(largest, all[i]);
}

// The largest size in each column.
KERNEL largest(const VALUE *x, u64 ld, u64 n, u64 columns, u64 *sizes) {
    u64 thread = thread_index();
    if (thread < n * columns) raise(sizes + thread / n, magnitude(x[thread / n * ld + thread % n]));
}

KERNEL copy_columns(const VALUE *from, u64 from_ld, VALUE *to, u64 to_ld, u64 n, u64 columns) {
    u64 thread = thread_index();
    if (thread < n * columns) to[thread / n * to_ld + thread % n] = from[thread / n * from_ld + thread % n];
}

KERNEL conjugate(VALUE *x, u64 ld, u64 n, u64 columns) {
    u64 thread = thread_index();
    if (thread >= n * columns) return;
    VALUE *at = x + thread / n * ld + thread % n;
    *at = conj(*at);
}

// What is known of the columns of X, each an array of one number for each column: the largest sizes of the residual, of X, of the
// last correction and of B; the backward error; and whether the last correction was small, whether the column is not done, and
// whether it goes back to what it was.
struct State {
    u64 *rest, *x, *correction, *b;
    double *best;
    u64 *known, *going, *back;
};
DEVICE State state_of(u64 *state, u64 columns) {
    return {state, state + columns, state + 2 * columns, state + 3 * columns, (double *)(state + 4 * columns),
            state + 5 * columns, state + 6 * columns, state + 7 * columns};
}
DEVICE double number(u64 bits) { return __longlong_as_double((i64)bits); }

// After the residual of a step: whether the column is better than before, and whether it can become better. `going` counts
// those that can.
KERNEL judge(u64 *all, u64 columns, const u64 *norm, u64 step, u64 is_last, double epsilon, u64 *going) {
    u64 column = thread_index();
    if (column >= columns) return;
    State state = state_of(all, columns);
    state.back[column] = 0;
    if (!state.going[column]) return;
    double rest = number(state.rest[column]), best = state.best[column];
    double scale = number(*norm) * number(state.x[column]) + number(state.b[column]);
    double error = rest == 0 ? 0 : rest / scale;
    bool better = error < best, slow = error > best / 2;
    if (better) state.best[column] = error;
    else state.back[column] = 1;
    if (!better || is_last || (step > 0 && (slow || error <= epsilon / 2))) state.going[column] = 0;
    else atomicAdd((unsigned *)going, 1u);
}

// Columns go back, or are kept as they are before the next correction.
KERNEL keep(u64 *all, VALUE *x, u64 ld, VALUE *before, u64 n, u64 columns) {
    u64 thread = thread_index();
    if (thread >= n * columns) return;
    u64 column = thread / n;
    State state = state_of(all, columns);
    VALUE *at = x + column * ld + thread % n;
    if (state.back[column]) *at = before[thread];
    else if (state.going[column]) before[thread] = *at;
}

// Adds the corrections of columns that are not done.
KERNEL correct(u64 *all, VALUE *x, u64 ld, const VALUE *by, u64 n, u64 columns) {
    u64 thread = thread_index();
    if (thread >= n * columns) return;
    u64 column = thread / n;
    State state = state_of(all, columns);
    if (!state.going[column]) return;
    VALUE *at = x + column * ld + thread % n;
    *at = *at + by[thread];
    if (thread % n == 0) state.known[column] = number(state.correction[column]) <= number(state.x[column]) / 4;
}

// How many columns are not right, where the sizes are those of the last X.
KERNEL count_wrong(u64 *all, u64 columns, double limit, u64 *wrong) {
    u64 column = thread_index();
    if (column >= columns) return;
    State state = state_of(all, columns);
    bool right = state.known[column] && state.best[column] <= limit && is_finite(number(state.x[column]));
    if (!right) atomicAdd((unsigned *)wrong, 1u);
}

#define EACH_INDEX(I, i)                                                                                                \
    KERNEL first_not_finite_##i(const I *offsets, const I *indices, const VALUE *values, u64 n, u64 nnz, u64 how,      \
                                u64 *found) {                                                                          \
        not_finite(offsets, indices, values, n, nnz, (unsigned)how, found);                                            \
    }                                                                                                                  \
    KERNEL residual_##i(const I *offsets, const I *indices, const VALUE *values, u64 n, u64 nnz, u64 how,              \
                        const VALUE *x, u64 x_ld, VALUE *r, u64 r_ld, u64 columns) {                                   \
        residual(offsets, indices, values, n, nnz, (unsigned)how, x, x_ld, r, r_ld, columns);                          \
    }                                                                                                                  \
    KERNEL sums_##i(const I *offsets, const I *indices, const VALUE *values, u64 n, u64 nnz, u64 how, double *all) {   \
        sums(offsets, indices, values, n, nnz, (unsigned)how, all);                                                    \
    }
EACH_INDEX(int, 4)
EACH_INDEX(i64, 8)
