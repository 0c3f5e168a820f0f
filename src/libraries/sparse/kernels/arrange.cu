// Kernels that only rearrange entries: stacks, blocks, sorted entries. One thread for each row, or for each entry.
#include "number.cuh"

#define SUM typename Value<V>::Sum

// Appends the rows of one of several matrices that stand side by side: `next` is the next free position of each row of
// the result.
template <class V, class I>
DEVICE void beside(const I *offsets, const I *columns, const V *values, u64 rows, u64 nnz, u64 shift, I *next, I *to_columns,
                   V *to_values) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 end = clamp(offsets[row + 1], nnz), to = (u64)next[row];
    for (u64 place = clamp(offsets[row], end); place < end; ++place, ++to) {
        to_columns[to] = (I)((u64)columns[place] + shift);
        to_values[to] = values[place];
    }
    next[row] = (I)to;
}

// The position of element (i, j) of a block.
DEVICE u64 inside(u64 i, u64 j, u64 size, u64 by_columns) { return by_columns ? i + j * size : i * size + j; }

// Rows of blocks as compressed rows, offsets included. One thread for each offset (rows + 1).
template <class V, class I>
DEVICE void unblock(const I *from, const I *block_columns, const V *blocks, u64 block_rows, u64 stored, u64 size, u64 by_columns,
                    I *offsets, I *columns, V *values) {
    u64 row = thread_index();
    if (row > block_rows * size) return;
    if (row == block_rows * size) {
        offsets[row] = (I)(stored * size * size);
        return;
    }
    u64 i = row % size, end = clamp(from[row / size + 1], stored), start = clamp(from[row / size], end);
    u64 to = start * size * size + i * (end - start) * size;
    offsets[row] = (I)to;
    for (u64 block = start; block < end; ++block)
        for (u64 j = 0; j < size; ++j, ++to) {
            columns[to] = (I)((u64)block_columns[block] * size + j);
            values[to] = blocks[block * size * size + inside(i, j, size, by_columns)];
        }
}

// The same, written to a dense matrix.
template <class V, class I>
DEVICE void blocks_to_dense(const I *from, const I *block_columns, const V *blocks, u64 block_rows, u64 stored, u64 size,
                            u64 by_columns, V *dense, u64 row_step, u64 column_step) {
    u64 row = thread_index();
    if (row >= block_rows * size) return;
    u64 end = clamp(from[row / size + 1], stored);
    for (u64 block = clamp(from[row / size], end); block < end; ++block)
        for (u64 j = 0; j < size; ++j)
            dense[row * row_step + ((u64)block_columns[block] * size + j) * column_step] =
                blocks[block * size * size + inside(row % size, j, size, by_columns)];
}

// Counts the blocks in which a row of blocks has entries, or stores them. `next` has one element for each row of the
// matrix.
template <class V, class I>
DEVICE void block(const I *from, const I *columns, const V *entries, u64 nnz, u64 block_rows, u64 size, u64 by_columns, I *next,
                  I *offsets, I *block_columns, V *blocks) {
    u64 block_row = thread_index();
    if (block_row >= block_rows) return;
    u64 first = block_row * size, to = block_columns ? (u64)offsets[block_row] : 0;
    for (u64 row = first; row < first + size; ++row) next[row] = (I)clamp(from[row], nnz);
    for (;; ++to) {
        u64 least = ~0ull;
        for (u64 row = first; row < first + size; ++row) {
            u64 at = (u64)next[row];
            u64 column = at < clamp(from[row + 1], nnz) ? (u64)columns[at] / size : ~0ull;
            least = column < least ? column : least;
        }
        if (least == ~0ull) break;
        if (block_columns) {
            block_columns[to] = (I)least;
            for (u64 place = 0; place < size * size; ++place) blocks[to * size * size + place] = V{};
        }
        for (u64 row = first; row < first + size; ++row) {
            u64 at = (u64)next[row], end = clamp(from[row + 1], nnz);
            for (; at < end && (u64)columns[at] / size == least; ++at)
                if (blocks) blocks[to * size * size + inside(row - first, (u64)columns[at] % size, size, by_columns)] = entries[at];
            next[row] = (I)at;
        }
    }
    if (!block_columns) offsets[block_row + 1] = (I)to;
}

// to[i] = from[order[i]].
template <class V> DEVICE void permute(const u64 *order, const V *from, u64 n, V *to) {
    u64 i = thread_index();
    if (i < n) to[i] = from[order[i]];
}

// Sums the sorted entries of each position, in their order: `places[i]` is the number of distinct positions before
// entry i.
template <class V, class I>
DEVICE void sum_places(const I *rows, const I *columns, const V *values, u64 n, const I *places, u64 most, I *to_rows,
                       I *to_columns, V *to_values) {
    u64 i = thread_index();
    if (i >= n || places[i + 1] == places[i] || (u64)places[i] >= most) return;
    SUM sum = Value<V>::widen(values[i]);
    for (u64 j = i + 1; j < n && places[j + 1] == places[j]; ++j) sum = sum + Value<V>::widen(values[j]);
    u64 to = (u64)places[i];
    to_rows[to] = rows[i];
    to_columns[to] = columns[i];
    to_values[to] = Value<V>::narrow(sum);
}

#define EACH_PLACE(V, S, I, i)                                                                                           \
    KERNEL beside_##i(const I *offsets, const I *columns, const V *values, u64 rows, u64 nnz, u64 shift, I *next,        \
                      I *to_columns, V *to_values) {                                                                     \
        beside(offsets, columns, values, rows, nnz, shift, next, to_columns, to_values);                                 \
    }                                                                                                                    \
    KERNEL unblock_##i(const I *from, const I *block_columns, const V *blocks, u64 block_rows, u64 stored, u64 size,     \
                       u64 by_columns, I *offsets, I *columns, V *values) {                                              \
        unblock(from, block_columns, blocks, block_rows, stored, size, by_columns, offsets, columns, values);            \
    }                                                                                                                    \
    KERNEL blocks_to_dense_##i(const I *from, const I *block_columns, const V *blocks, u64 block_rows, u64 stored,       \
                               u64 size, u64 by_columns, V *dense, u64 row_step, u64 column_step) {                      \
        blocks_to_dense(from, block_columns, blocks, block_rows, stored, size, by_columns, dense, row_step, column_step); \
    }                                                                                                                    \
    KERNEL block_##i(const I *from, const I *columns, const V *entries, u64 nnz, u64 block_rows, u64 size,               \
                     u64 by_columns, I *next, I *offsets, I *block_columns, V *blocks) {                                 \
        block(from, columns, entries, nnz, block_rows, size, by_columns, next, offsets, block_columns, blocks);          \
    }                                                                                                                    \
    KERNEL sum_places_##i(const I *rows, const I *columns, const V *values, u64 n, const I *places, u64 most,            \
                          I *to_rows, I *to_columns, V *to_values) {                                                     \
        sum_places(rows, columns, values, n, places, most, to_rows, to_columns, to_values);                              \
    }
// Compiled once for each element type: VALUE, and the type of its sums, FACTOR.
KERNEL permute_all(const u64 *order, const VALUE *from, u64 n, VALUE *to) { permute(order, from, n, to); }
EACH_PLACE(VALUE, FACTOR, int, 4)
EACH_PLACE(VALUE, FACTOR, i64, 8)
