// Triangular systems and incomplete factorizations, in which a warp takes a row and waits for the rows that it depends
// on; and the small steps of iterations.
//
// One counter hands out the rows in the order of the recurrence. So the row for which a warp waits was taken by a warp
// that is running, and no warp waits forever. In factorizations, the data that a warp has written is visible to every
// warp that sees its flag (release, acquire). An unknown of a triangular system is one word (or two), which is its own
// flag.
#include "number.cuh"

// The next row in order, for all lanes of a warp.
DEVICE unsigned next_row(unsigned *counter) {
    unsigned row = 0;
    if (threadIdx.x % LANES == 0) row = atomicAdd(counter, 1u);
    return broadcast(row);
}
DEVICE void wait_for(const unsigned *ready, u64 row) {
    while (acquire(ready + row) == 0u) {}
}
DEVICE void finish(unsigned *ready, u64 row) {
    sync_warp();
    if (threadIdx.x % LANES == 0) release(ready + row, 1u);
}

// The value of an unknown that is not computed yet: a NaN that no arithmetic produces, in each of its parts. So a
// thread that waits for an unknown polls the unknown itself, and needs no flag.
#define UNKNOWN 0xffffa5a5u
DEVICE bool known(const float *at, float &x) {
    union { unsigned bits; float value; } u;
    u.bits = peek((const unsigned *)at);
    x = u.value;
    return u.bits != UNKNOWN;
}
DEVICE bool known(const double *at, double &x) {
    union { u64 bits; double value; } u;
    u.bits = peek((const u64 *)at);
    x = u.value;
    return u.bits != ((u64)UNKNOWN << 32 | UNKNOWN);
}
template <class R> DEVICE bool known(const Complex<R> *at, Complex<R> &x) {
    bool re = known(&at->re, x.re), im = known(&at->im, x.im);
    return re && im;
}
// Replaces a result that is this NaN by another NaN.
DEVICE void tell(float *at, float x) {
    union { float value; unsigned bits; } u;
    u.value = x;
    poke((unsigned *)at, u.bits == UNKNOWN ? UNKNOWN - 1 : u.bits);
}
DEVICE void tell(double *at, double x) {
    union { double value; u64 bits; } u;
    u.value = x;
    u64 unknown = (u64)UNKNOWN << 32 | UNKNOWN;
    poke((u64 *)at, u.bits == unknown ? unknown - 1 : u.bits);
}
template <class R> DEVICE void tell(Complex<R> *at, Complex<R> x) {
    tell(&at->re, x.re);
    tell(&at->im, x.im);
}
DEVICE void forget(float *at) { *(unsigned *)at = UNKNOWN; }
DEVICE void forget(double *at) { *(u64 *)at = (u64)UNKNOWN << 32 | UNKNOWN; }
template <class R> DEVICE void forget(Complex<R> *at) {
    forget(&at->re);
    forget(&at->im);
}
// Marks all elements of a dense matrix as not computed: lines of `line` elements, `ld` apart.
template <class T> DEVICE void forget_lines(T *x, u64 line, u64 count, u64 ld) {
    u64 place = thread_index();
    if (place < line * count) forget(x + place / line * ld + place % line);
}

// X = alpha * T^-1 * B, where X is marked as not computed. Element (i, j) of B is at i * b_row + j * b_column; X
// likewise.
//
// `order` has the rows sorted by level, so that rows taken at the same time seldom wait for each other. A group of
// `width` lanes processes a row. Each lane sums every `width`th entry until it reaches an unknown that is not computed.
// In every turn of the warp each lane continues as far as it can, so no group delays another, and rows of one warp may
// depend on each other. `parts` warps take the rows, for each of `teams` teams, which divide the right-hand sides.
template <class T, class I>
DEVICE void triangle(const I *order, const I *offsets, const I *indices, const T *values, u64 count, u64 nnz, u64 upper, u64 unit,
                     u64 conjugate, T alpha, u64 n, const T *b, u64 b_row, u64 b_column, T *x, u64 x_row, u64 x_column,
                     u64 lanes, u64 teams, unsigned *counter) {
    // The number of turns after which only the lane that is likely to get its unknown first continues to poll, and the
    // others do nothing. So warps that wait long leave the processor to other warps.
    const unsigned PATIENCE = 16;
    unsigned width = lanes < LANES ? (unsigned)lanes : LANES, lane = threadIdx.x % LANES, slot = lane % width;
    unsigned mine = group_mask(width);
    u64 part = next_part(counter), team = part % teams, step = part / teams * (LANES / width) + lane / width;
    bool has = step < count;
    u64 row = has ? (u64)order[step] : 0;
    u64 end = has ? clamp(offsets[row + 1], nnz) : 0, start = has ? clamp(offsets[row], end) : 0;
    for (u64 side = team; side < n; side += teams) {
        T right = has ? alpha * b[row * b_row + side * b_column] : zero<T>(), sum = zero<T>(), diagonal = zero<T>();
        u64 place = start + slot;
        u64 column = place < end ? (u64)indices[place] : 0;
        T value = place < end ? values[place] : zero<T>();
        bool told = !has;
        for (unsigned turn = 0;; ++turn) {
            bool moved = false;
            while (place < end) {
                T factor = conjugate ? conj(value) : value;
                if (column == row) {
                    diagonal = factor;
                } else if ((column > row) == (upper != 0)) {
                    T other;
                    if (!known(x + column * x_row + side * x_column, other)) break;
                    sum = sum + factor * other;
                }
                moved = true;
                place += width;
                if (place < end) column = (u64)indices[place], value = values[place];
            }
            unsigned waiting = ballot(place < end) & mine;
            bool ends = !told && waiting == 0;
            if (ballot(ends)) {
                T whole = group_sum(sum, width), below = group_sum(diagonal, width); // one lane has the diagonal, the others zero
                if (ends && slot == 0) {
                    T rest = right - whole;
                    tell(x + row * x_row + side * x_column, unit ? rest : over(rest, below));
                }
                told = told || ends;
            }
            if (!ballot(!told)) break;
            if (ballot(moved)) turn = 0;
            if (turn < PATIENCE) continue;
            // No row of this warp can be completed before one of these is computed.
            bool leads = waiting != 0 && lane == (upper ? highest(waiting) : lowest(waiting)), here = false;
            do {
                T other;
                if (leads) here = known(x + column * x_row + side * x_column, other);
            } while (!ballot(here));
            turn = 0;
        }
    }
}

template <class I> DEVICE u64 find(const I *indices, u64 start, u64 end, u64 column) {
    u64 low = start, high = end;
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        if ((u64)indices[middle] < column) low = middle + 1; else high = middle;
    }
    return low < end && (u64)indices[low] == column ? low : ~0ull;
}

// Incomplete LU factorization in place. `verdict` is the smallest row without a pivot, counted from 1; all bits set if
// there is none.
template <class T, class I>
DEVICE void ilu0(const I *offsets, const I *indices, T *values, u64 count, u64 nnz, unsigned *ready, unsigned *counter, u64 *verdict) {
    unsigned lane = threadIdx.x % LANES;
    for (u64 row = next_row(counter); row < count; row = next_row(counter)) {
        u64 end = clamp(offsets[row + 1], nnz), start = clamp(offsets[row], end);
        for (u64 place = start; place < end; ++place) {
            u64 before = (u64)indices[place];
            if (before >= row) break;
            wait_for(ready, before);
            u64 other_end = clamp(offsets[before + 1], nnz), other_start = clamp(offsets[before], other_end);
            u64 diagonal = find(indices, other_start, other_end, before);
            if (diagonal == ~0ull) break; // its own row says so
            T factor = over(values[place], values[diagonal]);
            sync_warp();
            if (lane == 0) values[place] = factor;
            for (u64 other = diagonal + 1 + lane; other < other_end; other += LANES) {
                u64 target = find(indices, place + 1, end, (u64)indices[other]);
                if (target != ~0ull) values[target] = values[target] - factor * values[other];
            }
            sync_warp();
        }
        u64 diagonal = find(indices, start, end, row);
        if (lane == 0) {
            double size = diagonal == ~0ull ? 0 : magnitude(values[diagonal]);
            if (!(size > 0)) atomicMin(verdict, row + 1);
        }
        finish(ready, row);
    }
}

// Incomplete Cholesky factorization of a lower triangle, in place; `verdict` as above.
template <class T, class I>
DEVICE void ic0(const I *offsets, const I *indices, T *values, u64 count, u64 nnz, unsigned *ready, unsigned *counter, u64 *verdict) {
    unsigned lane = threadIdx.x % LANES;
    for (u64 row = next_row(counter); row < count; row = next_row(counter)) {
        u64 end = clamp(offsets[row + 1], nnz), start = clamp(offsets[row], end);
        bool pivot = false;
        for (u64 place = start; place < end; ++place) {
            u64 column = (u64)indices[place];
            if (column > row) break;
            if (column < row) wait_for(ready, column);
            u64 other_end = column < row ? clamp(offsets[column + 1], nnz) : place;
            u64 other_start = column < row ? clamp(offsets[column], other_end) : start;
            // The entries of this row to the left of the column, with those of row `column`.
            T sum = zero<T>();
            for (u64 own = start + lane; own < place; own += LANES) {
                u64 other = column < row ? find(indices, other_start, other_end, (u64)indices[own]) : own;
                if (other != ~0ull) sum = sum + values[own] * conj(values[other]);
            }
            T rest = values[place] - warp_sum(sum);
            sync_warp();
            if (column < row) {
                u64 diagonal = find(indices, other_start, other_end, column);
                if (lane == 0 && diagonal != ~0ull) values[place] = over(rest, conj(values[diagonal]));
            } else {
                pivot = real(rest) > 0;
                if (lane == 0 && pivot) values[place] = real_root(rest);
            }
            sync_warp();
        }
        if (lane == 0 && !pivot) atomicMin(verdict, row + 1);
        finish(ready, row);
    }
}

// All bits set means no row.
KERNEL settle_pivot(u64 *verdict) {
    if (thread_index() == 0 && *verdict == ~0ull) *verdict = 0;
}

template <class T> DEVICE void quotients(const T *a, const T *b, const T *c, const T *d, T *to) {
    if (thread_index() != 0) return;
    T q = quotient(*a, *b);
    if (c && d) q = q * quotient(*c, *d);
    to[0] = q;
    to[1] = -q;
}

// The scalars of MINRES: stage 0 begins, 1 takes an alpha, 2 a beta. The state is that of `scalars.rs`.
template <class T> DEVICE void lanczos(u64 stage, const T *product, T *state) {
    if (thread_index() != 0) return;
    T p = *product, one = One<T>::value(), none = zero<T>();
    T &inverse = state[0], &back = state[1], &alpha = state[2], &epsilon = state[3], &delta = state[4], &gamma = state[5];
    T &phi = state[6], &residual = state[7], &beta = state[8], &dbar = state[9], &eps = state[10], &cs = state[11];
    T &sn = state[12], &alfa = state[13];
    if (stage == 0) {
        for (int i = 0; i < 14; ++i) state[i] = none;
        beta = real_root(p);
        inverse = quotient(one, beta);
        residual = beta;
        cs = -one;
    } else if (stage == 1) {
        alfa = p;
        alpha = -quotient(alfa, beta);
    } else {
        T before = beta;
        beta = real_root(p);
        // What a column has left of itself after rounding is zero: the Krylov space is invariant.
        double noise = 8 * Epsilon<T>::value() * (magnitude(before) + magnitude(alfa) + magnitude(beta));
        if (magnitude(beta) <= noise) beta = none;
        inverse = quotient(one, beta);
        back = -quotient(beta, before);
        epsilon = -eps;
        delta = -(cs * dbar + sn * alfa);
        T gbar = sn * dbar - cs * alfa;
        eps = sn * beta;
        dbar = -(cs * beta);
        T length = real_root(gbar * gbar + beta * beta);
        if (beta == none && magnitude(length) <= 2 * noise) {
            // The column depends on the others: the matrix is singular, and this direction changes no residual.
            gamma = none;
            cs = none;
            sn = one;
        } else {
            gamma = quotient(one, length);
            cs = gbar * gamma;
            sn = beta * gamma;
        }
        phi = cs * residual;
        residual = sn * residual;
    }
}

template <class T> DEVICE void xpby(const T *x, const T *s, T *y, u64 n) {
    u64 i = thread_index();
    if (i < n) y[i] = x[i] + *s * y[i];
}
template <class T> DEVICE void times(const T *d, const T *x, T *z, u64 n) {
    u64 i = thread_index();
    if (i < n) z[i] = d[i] * x[i];
}
template <class T> DEVICE void reciprocal(T *d, u64 n) {
    u64 i = thread_index();
    // A zero is replaced by one: the preconditioner must not make a row zero.
    if (i < n) d[i] = d[i] == zero<T>() ? One<T>::value() : over(One<T>::value(), d[i]);
}

// One warp for each part of 16384 elements of each vector; `gather_dots` adds the parts in order.
#define PART 16384ull
template <class T> DEVICE void dots(const T *const *v, u64 count, const T *w, u64 n, T *parts) {
    u64 warp = thread_index() / LANES, each = (n + PART - 1) / PART;
    if (warp >= count * each) return;
    const T *vector = v[warp / each];
    u64 first = warp % each * PART, end = first + PART < n ? first + PART : n;
    T sum = zero<T>();
    for (u64 i = first + threadIdx.x % LANES; i < end; i += LANES) sum = sum + conj(vector[i]) * w[i];
    sum = warp_sum(sum);
    if (threadIdx.x % LANES == 0) parts[warp] = sum;
}
template <class T> DEVICE void gather_dots(const T *parts, u64 count, u64 each, T *h) {
    u64 vector = thread_index();
    if (vector >= count) return;
    T sum = zero<T>();
    for (u64 part = 0; part < each; ++part) sum = sum + parts[vector * each + part];
    h[vector] = sum;
}
template <class T> DEVICE void combine(const T *const *v, u64 count, const T *h, T sign, T *w, u64 n) {
    u64 i = thread_index();
    if (i >= n) return;
    T sum = w[i];
    for (u64 vector = 0; vector < count; ++vector) sum = sum + sign * h[vector] * v[vector][i];
    w[i] = sum;
}

// Appends a column to R by rotations; the state is that of `basis.rs`. With all bits of `column` set it initialises the
// state.
template <class T> DEVICE void rotate(u64 m, u64 column, const T *h, const T *again, const T *square, T *state) {
    if (thread_index() != 0) return;
    u64 cosines = m * (m + 1), sines = cosines + m, g = sines + m, residual = g + m + 1, j = column;
    T norm = real_root(*square);
    if (column == ~0ull) {
        T inverse = quotient(One<T>::value(), norm);
        for (u64 i = 0; i < residual; ++i) state[i] = zero<T>();
        state[g] = norm;
        state[residual] = norm;
        state[residual + 1] = inverse;
        return;
    }
    // What a column has left of itself after rounding is zero: the Krylov space is invariant.
    T all = *square;
    for (u64 i = 0; i <= j; ++i) {
        T part = h[i] + again[i];
        all = all + part * conj(part);
    }
    double noise = 8 * Epsilon<T>::value() * magnitude(real_root(all));
    if (magnitude(norm) <= noise) norm = zero<T>();
    state[residual + 1] = quotient(One<T>::value(), norm);
    T *own = state + j * (m + 1);
    T above = h[0] + again[0];
    for (u64 i = 0; i < j; ++i) {
        T below = h[i + 1] + again[i + 1], c = state[cosines + i], s = state[sines + i];
        own[i] = c * above + s * below;
        above = c * below - conj(s) * above;
    }
    T modulus = real_root(above * conj(above)), length = real_root(above * conj(above) + norm * norm);
    T c = zero<T>(), s = One<T>::value();
    if (norm == zero<T>() && magnitude(above) <= noise * (double)(j + 1)) {
        // The column depends on the others: the matrix is singular, and the new vector reduces no residual.
        above = zero<T>();
    } else {
        bool none = magnitude(above) == 0;
        c = none ? zero<T>() : over(modulus, length);
        s = none ? One<T>::value() : over(above, modulus) * over(norm, length);
    }
    own[j] = c * above + s * norm;
    state[cosines + j] = c;
    state[sines + j] = s;
    T right = state[g + j];
    state[g + j] = c * right;
    state[g + j + 1] = -(conj(s) * right);
    state[residual] = state[g + j + 1];
}
template <class T> DEVICE void back_solve(u64 m, u64 columns, const T *state, T *y) {
    if (thread_index() != 0) return;
    u64 g = m * (m + 1) + 2 * m;
    for (u64 i = columns; i-- > 0;) {
        T sum = state[g + i];
        for (u64 j = i + 1; j < columns; ++j) sum = sum - state[j * (m + 1) + i] * y[j];
        y[i] = quotient(sum, state[i * (m + 1) + i]);
    }
}

// Tridiagonal systems of one or two rows, one thread for each right-hand side; rows are exchanged if the lower one is
// larger. If `step` is 0, all have the same matrix.
template <class T>
DEVICE void tiny_tridiagonal(const T *lower, const T *d, const T *upper, T *b, u64 n, u64 systems, u64 step, u64 b_step) {
    u64 system = thread_index();
    if (system >= systems) return;
    lower += system * step, d += system * step, upper += system * step, b += system * b_step;
    if (n == 1) {
        b[0] = over(b[0], d[0]);
        return;
    }
    T p = d[0], q = upper[0], x = b[0], r = lower[1], s = d[1], y = b[1];
    if (magnitude(p) < magnitude(r)) {
        T other = p;
        p = r, r = other, other = q;
        q = s, s = other, other = x;
        x = y, y = other;
    }
    T factor = over(r, p);
    y = over(y - factor * x, s - factor * q);
    b[1] = y;
    b[0] = over(x - q * y, p);
}

#define EACH_SYSTEM(T, I, i)                                                                                         \
    KERNEL triangle_##i(const I *order, const I *offsets, const I *indices, const T *values, u64 count, u64 nnz,       \
                        u64 upper, u64 unit, u64 conjugate, T alpha, u64 n, const T *b, u64 b_row, u64 b_column, T *x, \
                        u64 x_row, u64 x_column, u64 lanes, u64 teams, unsigned *counter) {                            \
        triangle(order, offsets, indices, values, count, nnz, upper, unit, conjugate, alpha, n, b, b_row, b_column, x, \
                 x_row, x_column, lanes, teams, counter);                                                              \
    }                                                                                                                  \
    KERNEL ilu0_##i(const I *offsets, const I *indices, T *values, u64 count, u64 nnz, unsigned *ready,          \
                          unsigned *counter, u64 *verdict) {                                                           \
        ilu0(offsets, indices, values, count, nnz, ready, counter, verdict);                                           \
    }                                                                                                                  \
    KERNEL ic0_##i(const I *offsets, const I *indices, T *values, u64 count, u64 nnz, unsigned *ready,           \
                         unsigned *counter, u64 *verdict) {                                                            \
        ic0(offsets, indices, values, count, nnz, ready, counter, verdict);                                            \
    }
// Compiled once for each element type.
EACH_SYSTEM(VALUE, int, 4)
EACH_SYSTEM(VALUE, i64, 8)
KERNEL tiny_tridiagonal_all(const VALUE *lower, const VALUE *d, const VALUE *upper, VALUE *b, u64 n, u64 systems, u64 step,
                            u64 b_step) {
    tiny_tridiagonal(lower, d, upper, b, n, systems, step, b_step);
}
KERNEL forget_lines_all(VALUE *x, u64 line, u64 count, u64 ld) { forget_lines(x, line, count, ld); }
KERNEL quotients_all(const VALUE *a, const VALUE *b, const VALUE *c, const VALUE *d, VALUE *to) { quotients(a, b, c, d, to); }
KERNEL lanczos_all(u64 stage, const VALUE *product, VALUE *state) { lanczos(stage, product, state); }
KERNEL xpby_all(const VALUE *x, const VALUE *s, VALUE *y, u64 n) { xpby(x, s, y, n); }
KERNEL times_all(const VALUE *d, const VALUE *x, VALUE *z, u64 n) { times(d, x, z, n); }
KERNEL reciprocal_all(VALUE *d, u64 n) { reciprocal(d, n); }
KERNEL dots_all(const VALUE *const *v, u64 count, const VALUE *w, u64 n, VALUE *parts) { dots(v, count, w, n, parts); }
KERNEL gather_dots_all(const VALUE *parts, u64 count, u64 each, VALUE *h) { gather_dots(parts, count, each, h); }
KERNEL combine_all(const VALUE *const *v, u64 count, const VALUE *h, VALUE sign, VALUE *w, u64 n) {
    combine(v, count, h, sign, w, n);
}
KERNEL rotate_all(u64 m, u64 column, const VALUE *h, const VALUE *again, const VALUE *square, VALUE *state) {
    rotate(m, column, h, again, square, state);
}
KERNEL back_solve_all(u64 m, u64 columns, const VALUE *state, VALUE *y) { back_solve(m, columns, state, y); }
