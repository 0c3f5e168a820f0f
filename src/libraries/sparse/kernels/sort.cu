// Stable radix sort with digits of eight bits; conversion of indices to another width. Numbers of entries have 64 bits.
#include "number.cuh"

#define DIGITS 256
// The number of entries that one warp counts and moves.
#define TILE 4096

KERNEL sort_begin(u64 *order, u64 n) {
    u64 i = thread_index();
    if (i < n) order[i] = i;
}

// The number of occurrences of each digit of the keys in each tile, behind the first element of `counts`: all tiles of
// a digit, then the next digit. One warp and one tile for each block.
template <class I> DEVICE void sort_count(const I *keys, const u64 *order, u64 n, u64 shift, u64 tiles, i64 *counts, unsigned *seen) {
    u64 tile = blockIdx.x, end = (tile + 1) * TILE < n ? (tile + 1) * TILE : n;
    for (unsigned digit = threadIdx.x; digit < DIGITS; digit += LANES) seen[digit] = 0;
    sync_warp();
    for (u64 i = tile * TILE + threadIdx.x; i < end; i += LANES) atomicAdd(&seen[(u64)keys[order[i]] >> shift & 255], 1u);
    sync_warp();
    for (unsigned digit = threadIdx.x; digit < DIGITS; digit += LANES) counts[1 + digit * tiles + tile] = seen[digit];
}

// Moves the entries of a tile to the positions of their digits.
template <class I>
DEVICE void sort_move(const I *keys, const u64 *order, u64 n, u64 shift, u64 tiles, const i64 *counts, u64 *to, u64 *next) {
    u64 tile = blockIdx.x, end = (tile + 1) * TILE < n ? (tile + 1) * TILE : n;
    for (unsigned digit = threadIdx.x; digit < DIGITS; digit += LANES) next[digit] = (u64)counts[digit * tiles + tile];
    sync_warp();
    for (u64 first = tile * TILE; first < end; first += LANES) {
        u64 i = first + threadIdx.x;
        u64 entry = i < end ? order[i] : 0;
        unsigned digit = i < end ? (unsigned)((u64)keys[entry] >> shift & 255) : DIGITS;
        unsigned mask = same(digit);
        u64 place = i < end ? next[digit] + lower(mask) : n;
        if (place < n) to[place] = entry;
        sync_warp();
        if (i < end && lower(mask) == 0) next[digit] += ones(mask);
        sync_warp();
    }
}

// Finds the first entry that does not lie inside the matrix.
template <class I> DEVICE void check_places(const I *rows, const I *columns, u64 height, u64 width, u64 n, u64 *first) {
    u64 i = thread_index();
    if (i >= n) return;
    if (rows[i] < 0 || (u64)rows[i] >= height || columns[i] < 0 || (u64)columns[i] >= width) atomicMin(first, i);
}

// For sorted entries: 1 behind each entry that is the first of its position, else 0.
template <class I> DEVICE void first_of_place(const I *rows, const I *columns, u64 n, I *places) {
    u64 i = thread_index();
    if (i < n) places[i + 1] = i == 0 || rows[i] != rows[i - 1] || columns[i] != columns[i - 1];
}

// The number of distinct positions; or the entry that lies outside, with the highest bit set.
KERNEL settle_places(const u64 *first, const u64 *count, u64 *result) {
    if (thread_index() == 0) *result = *first != ~0ull ? *first | 1ull << 63 : *count;
}

KERNEL widen_indices(const int *from, u64 n, i64 *to) {
    u64 i = thread_index();
    if (i < n) to[i] = from[i];
}
KERNEL narrow_indices(const i64 *from, u64 n, int *to) {
    u64 i = thread_index();
    if (i < n) to[i] = (int)from[i];
}

// Writes offsets of rows increased by `shift`.
template <class I> DEVICE void shift_offsets(const I *from, u64 count, u64 shift, I *to) {
    u64 i = thread_index();
    if (i < count) to[i] = (I)((u64)from[i] + shift);
}
// Adds the length of each row, behind the first element of `to`.
template <class I> DEVICE void add_lengths(const I *offsets, u64 rows, I *to) {
    u64 row = thread_index();
    if (row < rows) to[row + 1] += offsets[row + 1] - offsets[row];
}

#define EACH_INDEX(I, i)                                                                                                 \
    KERNEL sort_count_##i(const I *keys, const u64 *order, u64 n, u64 shift, u64 tiles, i64 *counts) {                   \
        SHARED unsigned seen[DIGITS];                                                                                    \
        sort_count(keys, order, n, shift, tiles, counts, seen);                                                          \
    }                                                                                                                    \
    KERNEL sort_move_##i(const I *keys, const u64 *order, u64 n, u64 shift, u64 tiles, const i64 *counts, u64 *to) {     \
        SHARED u64 next[DIGITS];                                                                                         \
        sort_move(keys, order, n, shift, tiles, counts, to, next);                                                       \
    }                                                                                                                    \
    KERNEL check_places_##i(const I *rows, const I *columns, u64 height, u64 width, u64 n, u64 *first) {                 \
        check_places(rows, columns, height, width, n, first);                                                            \
    }                                                                                                                    \
    KERNEL first_of_place_##i(const I *rows, const I *columns, u64 n, I *places) { first_of_place(rows, columns, n, places); } \
    KERNEL permute_indices_##i(const u64 *order, const I *from, u64 n, I *to) {                                          \
        u64 place = thread_index();                                                                                      \
        if (place < n) to[place] = from[order[place]];                                                                   \
    }                                                                                                                    \
    KERNEL order_##i(const u64 *order, u64 n, I *to) {                                                                   \
        u64 place = thread_index();                                                                                      \
        if (place < n) to[place] = (I)order[place];                                                                      \
    }                                                                                                                    \
    KERNEL shift_offsets_##i(const I *from, u64 count, u64 shift, I *to) { shift_offsets(from, count, shift, to); }      \
    KERNEL add_lengths_##i(const I *offsets, u64 rows, I *to) { add_lengths(offsets, rows, to); }
EACH_INDEX(int, 4)
EACH_INDEX(i64, 8)
