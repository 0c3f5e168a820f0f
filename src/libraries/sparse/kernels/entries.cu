// Kernels for entries: to and from dense, parts of a matrix, sums of two matrices, scaling, diagonals, sparse vectors.
// One thread for each row, or for each entry. A row is processed in storage order, so the results are those of the CPU,
// except for fused multiply-adds.
#include "number.cuh"

#define SUM typename Value<V>::Sum

// Sets the elements of a dense matrix to zero: lines of `line` elements, `ld` apart.
template <class V> DEVICE void zero_lines(V *dense, u64 line, u64 count, u64 ld) {
    u64 place = thread_index();
    if (place < line * count) dense[place / line * ld + place % line] = V{};
}

// Writes the rows of a matrix to a dense one: element (i, j) at i * row_step + j * column_step.
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

// Counts the entries of each row of a part, or stores them. Kinds: 0: above a threshold; 1: on and below a diagonal; 2:
// on and above a diagonal; 3: rows, beginning with the first; 4: a number of columns, beginning with the first.
template <class V, class I>
DEVICE void select(const I *from, const I *columns, const V *entries, u64 nnz, u64 kind, double threshold, i64 first, u64 many,
                   u64 rows, I *offsets, I *indices, V *values) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 source = kind == 3 ? row + (u64)first : row;
    u64 end = clamp(from[source + 1], nnz), to = indices ? (u64)offsets[row] : 0;
    for (u64 place = clamp(from[source], end); place < end; ++place) {
        i64 column = (i64)columns[place], moved = kind == 4 ? column - first : column;
        // Neither overflows: sizes are below 2^63, and so is the number that is subtracted.
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

// The first position from `low` on whose column is not smaller than this one.
template <class I> DEVICE u64 not_below(const I *columns, u64 low, u64 high, I column) {
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        if (columns[middle] < column) low = middle + 1; else high = middle;
    }
    return low;
}

// Counts the entries of each row of a sum, or stores them. A group of `lanes` lanes processes a row. Each lane searches
// for its entries in the row of the other matrix; the number of earlier entries that both matrices have gives the
// position of an entry.
template <class V, class I>
DEVICE void add(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets, const I *b_columns,
                const V *b_values, u64 b_nnz, SUM alpha, SUM beta, u64 rows, u64 lanes, I *offsets, I *indices, V *values) {
    unsigned width = lanes < LANES ? (unsigned)lanes : LANES, slot = threadIdx.x % LANES % width, mine = group_mask(width);
    u64 row = thread_index() / width;
    bool has = row < rows;
    u64 a_end = has ? clamp(a_offsets[row + 1], a_nnz) : 0, a = has ? clamp(a_offsets[row], a_end) : 0, a_len = a_end - a;
    u64 b_end = has ? clamp(b_offsets[row + 1], b_nnz) : 0, b = has ? clamp(b_offsets[row], b_end) : 0, b_len = b_end - b;
    u64 to = has && indices ? (u64)offsets[row] : 0;
    // Both rows have the same columns: true for most sums.
    bool same = a_len == b_len;
    if (indices) same = same && has && (u64)offsets[row + 1] - to == a_len;
    for (u64 first = 0; !indices && ballot(same && first < a_len); first += width) {
        u64 i = first + slot;
        if (ballot(same && i < a_len && a_columns[a + i] != b_columns[b + i]) & mine) same = false;
    }
    for (u64 i = slot; indices && same && i < a_len; i += width) {
        indices[to + i] = a_columns[a + i];
        values[to + i] = Value<V>::narrow(alpha * Value<V>::widen(a_values[a + i]) + beta * Value<V>::widen(b_values[b + i]));
    }
    u64 both = 0;
    for (u64 first = 0; ballot(!same && first < a_len); first += width) {
        u64 i = first + slot;
        bool inside = !same && i < a_len, matches = false;
        I column = inside ? a_columns[a + i] : 0;
        u64 other = inside ? not_below(b_columns, b, b_end, column) : b_end;
        matches = other < b_end && b_columns[other] == column;
        unsigned hits = ballot(matches) & mine;
        if (inside && indices) {
            u64 place = to + i + (other - b) - (both + lower(hits));
            SUM x = alpha * Value<V>::widen(a_values[a + i]);
            indices[place] = column;
            values[place] = Value<V>::narrow(matches ? x + beta * Value<V>::widen(b_values[other]) : x);
        }
        both += ones(hits);
    }
    if (!indices) {
        if (has && slot == 0) offsets[row + 1] = (I)(same ? a_len : a_len + b_len - both);
        return;
    }
    both = 0;
    for (u64 first = 0; ballot(!same && first < b_len); first += width) {
        u64 i = first + slot;
        bool inside = !same && i < b_len, matches = false;
        I column = inside ? b_columns[b + i] : 0;
        u64 other = inside ? not_below(a_columns, a, a_end, column) : a_end;
        matches = other < a_end && a_columns[other] == column;
        unsigned hits = ballot(matches) & mine;
        if (inside && !matches) {
            u64 place = to + i + (other - a) - (both + lower(hits));
            indices[place] = column;
            values[place] = Value<V>::narrow(beta * Value<V>::widen(b_values[i + b]));
        }
        both += ones(hits);
    }
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
    KERNEL add_##i(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,           \
                   const I *b_columns, const V *b_values, u64 b_nnz, S alpha, S beta, u64 rows, u64 lanes, I *offsets, \
                   I *indices, V *values) {                                                                            \
        add(a_offsets, a_columns, a_values, a_nnz, b_offsets, b_columns, b_values, b_nnz, alpha, beta, rows, lanes,    \
            offsets, indices, values);                                                                                 \
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
