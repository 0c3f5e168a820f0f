// Entries: to and from dense, parts of a matrix, sums of two, scaling, diagonals, sparse vectors. One thread a row, or an
// entry; a row is walked in storage order, so the answers are those of the CPU, but for fused multiply-adds.
#include "number.cuh"

#define SUM typename Value<V>::Sum

// Zeros to the elements of a dense matrix: `line` of them, `ld` apart.
template <class V> DEVICE void zero_lines(V *dense, u64 line, u64 count, u64 ld) {
    u64 place = thread_index();
    if (place < line * count) dense[place / line * ld + place % line] = V{};
}

// The rows of a matrix to their places: element (i, j) at i * row_step + j * column_step.
template <class V, class I>
DEVICE void to_dense(const I *offsets, const I *indices, const V *values, u64 rows, u64 nnz, V *dense, u64 row_step, u64 column_step) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 end = clamp(offsets[row + 1], nnz);
    for (u64 place = clamp(offsets[row], end); place < end; ++place)
        dense[row * row_step + (u64)indices[place] * column_step] = values[place];
}
template <class V, class I>
DEVICE void coo_to_dense(const I *rows, const I *columns, const V *values, u64 nnz, V *dense, u64 row_step, u64 column_step) {
    u64 place = thread_index();
    if (place < nnz) dense[(u64)rows[place] * row_step + (u64)columns[place] * column_step] = values[place];
}

template <class V> DEVICE bool counts(V element, double threshold) {
    SUM x = Value<V>::widen(element);
    if (threshold == 0) return !(x == zero<SUM>());
    double size = magnitude(x);
    return size > threshold || size != size;
}

// Counts the elements of each row, or stores them.
template <class V, class I>
DEVICE void from_dense(const V *dense, u64 rows, u64 columns, u64 row_step, u64 column_step, double threshold, I *offsets,
                       I *indices, V *values) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 place = indices ? (u64)offsets[row] : 0;
    for (u64 column = 0; column < columns; ++column) {
        V element = dense[row * row_step + column * column_step];
        if (!counts(element, threshold)) continue;
        if (indices) {
            indices[place] = (I)column;
            values[place] = element;
        }
        ++place;
    }
    if (!indices) offsets[row + 1] = (I)place;
}

// Counts the entries of each row of a part, or stores them. 0: above a threshold; 1, 2: on and below, on and above a
// diagonal; 3: rows from the first on; 4: columns from the first on, so many.
template <class V, class I>
DEVICE void select(const I *from, const I *columns, const V *entries, u64 nnz, u64 kind, double threshold, i64 first, u64 many,
                   u64 rows, I *offsets, I *indices, V *values) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 source = kind == 3 ? row + (u64)first : row;
    u64 end = clamp(from[source + 1], nnz), to = indices ? (u64)offsets[row] : 0;
    for (u64 place = clamp(from[source], end); place < end; ++place) {
        i64 column = (i64)columns[place], moved = kind == 4 ? column - first : column;
        // Neither wraps: sizes are below 2^63, and so is what is subtracted.
        i64 diagonal = column - (i64)source;
        bool kept = kind == 0   ? counts(entries[place], threshold)
                    : kind == 1 ? diagonal <= first
                    : kind == 2 ? diagonal >= first
                    : kind == 4 ? moved >= 0 && (u64)moved < many
                                : true;
        if (!kept) continue;
        if (indices) {
            indices[to] = (I)moved;
            values[to] = entries[place];
        }
        ++to;
    }
    if (!indices) offsets[row + 1] = (I)to;
}

// Counts the entries of each row of a sum, or stores them.
template <class V, class I>
DEVICE void add(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets, const I *b_columns,
                const V *b_values, u64 b_nnz, SUM alpha, SUM beta, u64 rows, I *offsets, I *indices, V *values) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 a_end = clamp(a_offsets[row + 1], a_nnz), a = clamp(a_offsets[row], a_end);
    u64 b_end = clamp(b_offsets[row + 1], b_nnz), b = clamp(b_offsets[row], b_end);
    u64 to = indices ? (u64)offsets[row] : 0;
    for (; a < a_end || b < b_end; ++to) {
        bool left = b >= b_end || (a < a_end && a_columns[a] <= b_columns[b]);
        bool right = a >= a_end || (b < b_end && b_columns[b] <= a_columns[a]);
        if (indices) {
            indices[to] = left ? a_columns[a] : b_columns[b];
            SUM x = left ? alpha * Value<V>::widen(a_values[a]) : zero<SUM>();
            SUM y = right ? beta * Value<V>::widen(b_values[b]) : zero<SUM>();
            values[to] = Value<V>::narrow(left && right ? x + y : left ? x : y);
        }
        a += left;
        b += right;
    }
    if (!indices) offsets[row + 1] = (I)to;
}

template <class V, class I>
DEVICE void scale(const I *offsets, const I *indices, const V *from, u64 rows, u64 nnz, const V *by_row, const V *by_column, V *to) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 end = clamp(offsets[row + 1], nnz);
    for (u64 place = clamp(offsets[row], end); place < end; ++place) {
        SUM product = Value<V>::widen(from[place]);
        if (by_row) product = Value<V>::widen(by_row[row]) * product;
        if (by_column) product = product * Value<V>::widen(by_column[indices[place]]);
        to[place] = Value<V>::narrow(product);
    }
}

template <class V, class I> DEVICE void row_sums(const I *offsets, const V *values, u64 rows, u64 nnz, V *sums) {
    u64 row = thread_index();
    if (row >= rows) return;
    SUM sum = zero<SUM>();
    u64 end = clamp(offsets[row + 1], nnz);
    for (u64 place = clamp(offsets[row], end); place < end; ++place) sum = sum + Value<V>::widen(values[place]);
    sums[row] = Value<V>::narrow(sum);
}

template <class V, class I>
DEVICE void diagonal(const I *offsets, const I *indices, const V *values, u64 nnz, u64 row, u64 column, u64 len, V *to) {
    u64 step = thread_index();
    if (step >= len) return;
    u64 end = clamp(offsets[row + step + 1], nnz), low = clamp(offsets[row + step], end), high = end;
    I wanted = (I)(column + step);
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        if (indices[middle] < wanted) low = middle + 1; else high = middle;
    }
    to[step] = low < end && indices[low] == wanted ? values[low] : V{};
}

// y = beta * y, and zeros where beta is 0.
template <class V> DEVICE void scale_dense(V *y, u64 line, u64 count, u64 ld, SUM beta, const SUM *at) {
    u64 place = thread_index();
    if (place >= line * count) return;
    V *element = y + (place / line * ld + place % line);
    *element = updated(*element, zero<SUM>(), scalar(beta, at));
}

template <class V, class I> DEVICE void scatter_add(const I *indices, const V *values, u64 nnz, SUM alpha, const V *old, SUM beta, V *y) {
    u64 place = thread_index();
    if (place < nnz) y[indices[place]] = updated(old[place], alpha * Value<V>::widen(values[place]), beta);
}
template <class V, class I> DEVICE void gather(const I *indices, u64 nnz, const V *y, V *values) {
    u64 place = thread_index();
    if (place < nnz) values[place] = y[indices[place]];
}
template <class V, class I> DEVICE void scatter(const I *indices, const V *values, u64 nnz, V *y) {
    u64 place = thread_index();
    if (place < nnz) y[indices[place]] = values[place];
}
template <class V, class I> DEVICE void rot(const I *indices, u64 nnz, SUM c, SUM s, V *values, V *y) {
    u64 place = thread_index();
    if (place >= nnz) return;
    V *other = y + indices[place];
    SUM a = Value<V>::widen(values[place]), b = Value<V>::widen(*other);
    values[place] = Value<V>::narrow(c * a + s * b);
    *other = Value<V>::narrow(c * b - s * a);
}
// One warp.
template <class V, class I> DEVICE void sparse_dot(const I *indices, const V *values, u64 nnz, u64 conjugate, const V *y, V *to) {
    SUM sum = zero<SUM>();
    for (u64 place = threadIdx.x; place < nnz; place += LANES) {
        SUM x = Value<V>::widen(values[place]);
        sum = sum + (conjugate ? conj(x) : x) * Value<V>::widen(y[indices[place]]);
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *to = Value<V>::narrow(sum);
}

#define EACH_ENTRY(V, S, I, i)                                                                                       \
    KERNEL to_dense_##i(const I *offsets, const I *indices, const V *values, u64 rows, u64 nnz, V *dense,        \
                              u64 row_step, u64 column_step) {                                                         \
        to_dense(offsets, indices, values, rows, nnz, dense, row_step, column_step);                                   \
    }                                                                                                                  \
    KERNEL coo_to_dense_##i(const I *rows, const I *columns, const V *values, u64 nnz, V *dense, u64 row_step,   \
                                  u64 column_step) {                                                                   \
        coo_to_dense(rows, columns, values, nnz, dense, row_step, column_step);                                        \
    }                                                                                                                  \
    KERNEL from_dense_##i(const V *dense, u64 rows, u64 columns, u64 row_step, u64 column_step, double threshold, \
                                I *offsets, I *indices, V *values) {                                                   \
        from_dense(dense, rows, columns, row_step, column_step, threshold, offsets, indices, values);                  \
    }                                                                                                                  \
    KERNEL select_##i(const I *from, const I *columns, const V *entries, u64 nnz, u64 kind, double threshold,    \
                            i64 first, u64 many, u64 rows, I *offsets, I *indices, V *values) {                        \
        select(from, columns, entries, nnz, kind, threshold, first, many, rows, offsets, indices, values);             \
    }                                                                                                                  \
    KERNEL add_##i(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,     \
                         const I *b_columns, const V *b_values, u64 b_nnz, S alpha, S beta, u64 rows, I *offsets,      \
                         I *indices, V *values) {                                                                      \
        add(a_offsets, a_columns, a_values, a_nnz, b_offsets, b_columns, b_values, b_nnz, alpha, beta, rows, offsets,  \
            indices, values);                                                                                          \
    }                                                                                                                  \
    KERNEL scale_##i(const I *offsets, const I *indices, const V *from, u64 rows, u64 nnz, const V *by_row,      \
                           const V *by_column, V *to) {                                                                \
        scale(offsets, indices, from, rows, nnz, by_row, by_column, to);                                               \
    }                                                                                                                  \
    KERNEL row_sums_##i(const I *offsets, const V *values, u64 rows, u64 nnz, V *sums) {                         \
        row_sums(offsets, values, rows, nnz, sums);                                                                    \
    }                                                                                                                  \
    KERNEL diagonal_##i(const I *offsets, const I *indices, const V *values, u64 nnz, u64 row, u64 column,       \
                              u64 len, V *to) {                                                                        \
        diagonal(offsets, indices, values, nnz, row, column, len, to);                                                 \
    }                                                                                                                  \
    KERNEL scatter_add_##i(const I *indices, const V *values, u64 nnz, S alpha, const V *old, S beta, V *y) {    \
        scatter_add(indices, values, nnz, alpha, old, beta, y);                                                        \
    }                                                                                                                  \
    KERNEL gather_##i(const I *indices, u64 nnz, const V *y, V *values) { gather(indices, nnz, y, values); }     \
    KERNEL scatter_##i(const I *indices, const V *values, u64 nnz, V *y) { scatter(indices, values, nnz, y); }   \
    KERNEL rot_##i(const I *indices, u64 nnz, S c, S s, V *values, V *y) { rot(indices, nnz, c, s, values, y); } \
    KERNEL dot_##i(const I *indices, const V *values, u64 nnz, u64 conjugate, const V *y, V *to) {               \
        sparse_dot(indices, values, nnz, conjugate, y, to);                                                            \
    }
template <class V> DEVICE void conjugate(V *values, u64 n) {
    u64 i = thread_index();
    if (i < n) values[i] = Value<V>::narrow(conj(Value<V>::widen(values[i])));
}

// Compiled once for each element type: VALUE, and the type of its sums, FACTOR.
KERNEL zero_lines_all(VALUE *dense, u64 line, u64 count, u64 ld) { zero_lines(dense, line, count, ld); }
KERNEL scale_dense_all(VALUE *y, u64 line, u64 count, u64 ld, FACTOR beta, const FACTOR *at) {
    scale_dense(y, line, count, ld, beta, at);
}
KERNEL conjugate_all(VALUE *values, u64 n) { conjugate(values, n); }
EACH_ENTRY(VALUE, FACTOR, int, 4)
EACH_ENTRY(VALUE, FACTOR, i64, 8)
