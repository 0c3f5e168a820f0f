// Kernels for structures: validation, offsets and coordinates, counts to offsets. One thread for each row or entry.
#include "number.cuh"

DEVICE u64 fault(u64 place, u64 kind) { return place << 2 | kind; }

// The smallest fault of the offsets; its kind is 0.
template <class I> DEVICE void check_offsets(const I *offsets, u64 rows, u64 nnz, u64 *verdict) {
    u64 row = thread_index();
    if (row > rows) return;
    I here = offsets[row];
    bool wrong = row == 0 ? here != 0 : here < offsets[row - 1];
    if (row == rows) wrong = wrong || (u64)here != nnz;
    if (wrong) atomicMin(verdict, fault(row, 0));
}

// If the offsets are valid: the smallest fault of the indices (1: outside, 2: out of order), and the number of entries
// of the longest row.
template <class I>
DEVICE void check_indices(const I *offsets, const I *indices, u64 rows, u64 width, u64 nnz, const u64 *first, u64 *verdict,
                          u64 *longest) {
    u64 row = thread_index();
    if (row >= rows || *first != ~0ull) return;
    u64 end = clamp(offsets[row + 1], nnz), start = clamp(offsets[row], end);
    if (end - start > peek(longest)) atomicMax(longest, end - start);
    for (u64 place = start; place < end; ++place) {
        I index = indices[place];
        bool outside = index < 0 || (u64)index >= width;
        if (outside || (place > start && indices[place - 1] >= index)) {
            atomicMin(verdict, fault(place, outside ? 1 : 2));
            return;
        }
    }
}

// Combines both checks, that of the offsets first. Without a fault: the number of entries of the longest row, with the
// highest bit set.
KERNEL settle_verdict(const u64 *first, const u64 *longest, u64 *verdict) {
    if (thread_index() != 0) return;
    if (*first != ~0ull) *verdict = *first;
    else if (*verdict == ~0ull) *verdict = 1ull << 63 | *longest;
}

template <class I>
DEVICE void check_coordinates(const I *rows, const I *columns, u64 height, u64 width, u64 nnz, u64 *verdict) {
    u64 place = thread_index();
    if (place >= nnz) return;
    I row = rows[place], column = columns[place];
    if (row < 0 || (u64)row >= height || column < 0 || (u64)column >= width) {
        atomicMin(verdict, fault(place, 1));
    } else if (place > 0) {
        I before = rows[place - 1];
        if (before > row || (before == row && columns[place - 1] >= column)) atomicMin(verdict, fault(place, 2));
    }
}

// Checks one sorted list of indices.
template <class I> DEVICE void check_list(const I *indices, u64 nnz, u64 width, u64 *verdict) {
    u64 place = thread_index();
    if (place >= nnz) return;
    I index = indices[place];
    if (index < 0 || (u64)index >= width) atomicMin(verdict, fault(place, 1));
    else if (place > 0 && indices[place - 1] >= index) atomicMin(verdict, fault(place, 2));
}

template <class I> DEVICE void expand(const I *offsets, u64 count, I *rows, u64 nnz) {
    u64 row = thread_index();
    if (row >= count) return;
    u64 end = clamp(offsets[row + 1], nnz);
    for (u64 place = clamp(offsets[row], end); place < end; ++place) rows[place] = (I)row;
}

// offsets[row] is the number of entries in the rows before it, found by binary search.
template <class I> DEVICE void compress(const I *rows, u64 nnz, u64 count, I *offsets) {
    u64 row = thread_index();
    if (row > count) return;
    u64 low = 0, high = nnz;
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        if (rows[middle] < (I)row) low = middle + 1; else high = middle;
    }
    offsets[row] = (I)low;
}

// Turns counts in offsets[1..] into offsets, and writes their sum to total. One block, whose threads process ranges of
// equal size. Many rows take three steps: the sums of tiles, the offsets of these sums, and the offsets in each tile.
#define RUN 4096
template <class I> DEVICE I as_offset(u64 sum, I largest) { return sum > (u64)largest ? largest : (I)sum; }
DEVICE u64 tile_end(u64 count) {
    u64 end = 1 + ((u64)blockIdx.x + 1) * RUN;
    return end > count + 1 ? count + 1 : end;
}
#ifdef ON_CPU
template <class I> DEVICE void accumulate(I *offsets, u64 count, u64 *total, I largest) {
    u64 sum = 0;
    offsets[0] = 0;
    for (u64 row = 1; row <= count; ++row) {
        sum += (u64)offsets[row];
        offsets[row] = as_offset(sum, largest);
    }
    *total = sum;
}
template <class I> DEVICE void sum_tiles(const I *offsets, u64 count, i64 *parts) {
    if (threadIdx.x != 0) return;
    u64 sum = 0;
    for (u64 row = 1 + (u64)blockIdx.x * RUN; row < tile_end(count); ++row) sum += (u64)offsets[row];
    parts[1 + blockIdx.x] = (i64)sum;
}
template <class I> DEVICE void accumulate_tiles(I *offsets, u64 count, const i64 *parts, I largest) {
    if (threadIdx.x != 0) return;
    u64 running = (u64)parts[blockIdx.x];
    if (blockIdx.x == 0) offsets[0] = 0;
    for (u64 row = 1 + (u64)blockIdx.x * RUN; row < tile_end(count); ++row) {
        running += (u64)offsets[row];
        offsets[row] = as_offset(running, largest);
    }
}
#else
// The sum of the threads before this one, and the sum of all threads.
DEVICE u64 block_scan(u64 *parts, u64 own, u64 &all) {
    u64 thread = threadIdx.x;
    parts[thread] = own;
    __syncthreads();
    for (u64 step = 1; step < blockDim.x; step *= 2) {
        u64 more = thread >= step ? parts[thread - step] : 0;
        __syncthreads();
        parts[thread] += more;
        __syncthreads();
    }
    all = parts[blockDim.x - 1];
    return parts[thread] - own;
}
// The rows from `first` to `last`, the same number for each thread.
template <class I> DEVICE u64 accumulate_rows(I *offsets, u64 first, u64 last, u64 before, I largest, u64 *parts) {
    u64 each = (last - first + blockDim.x - 1) / blockDim.x, from = first + threadIdx.x * each, until = from + each, sum = 0, all;
    if (until > last) until = last;
    for (u64 row = from; row < until; ++row) sum += (u64)offsets[row];
    u64 running = before + block_scan(parts, sum, all);
    for (u64 row = from; row < until; ++row) {
        running += (u64)offsets[row];
        offsets[row] = as_offset(running, largest);
    }
    return before + all;
}
template <class I> DEVICE void accumulate(I *offsets, u64 count, u64 *total, I largest) {
    __shared__ u64 parts[1024];
    u64 sum = accumulate_rows(offsets, 1, count + 1, 0, largest, parts);
    if (threadIdx.x == 0) offsets[0] = 0, *total = sum;
}
template <class I> DEVICE void sum_tiles(const I *offsets, u64 count, i64 *parts) {
    __shared__ u64 sums[256];
    u64 sum = 0, all, end = tile_end(count);
    for (u64 row = 1 + (u64)blockIdx.x * RUN + threadIdx.x; row < end; row += blockDim.x) sum += (u64)offsets[row];
    block_scan(sums, sum, all);
    if (threadIdx.x == 0) parts[1 + blockIdx.x] = (i64)all;
}
template <class I> DEVICE void accumulate_tiles(I *offsets, u64 count, const i64 *parts, I largest) {
    __shared__ u64 sums[256];
    accumulate_rows(offsets, 1 + (u64)blockIdx.x * RUN, tile_end(count), (u64)parts[blockIdx.x], largest, sums);
    if (blockIdx.x == 0 && threadIdx.x == 0) offsets[0] = 0;
}
#endif

// Reads a word of an index for which another thread may wait.
DEVICE u64 peek_index(const int *at) { return peek((const unsigned *)at); }
DEVICE u64 peek_index(const i64 *at) { return peek((const u64 *)at); }
DEVICE void poke_index(int *at, u64 value) { poke((unsigned *)at, (unsigned)value); }
DEVICE void poke_index(i64 *at, u64 value) { poke((u64 *)at, value); }

// The level of each row of a triangle: the largest level of the rows that it depends on, plus 1. Levels begin with 1; 0
// means not computed yet, so dependent rows wait for a value other than 0. One thread for each row; warps take rows in
// the order of the recurrence. No lane delays another: each continues as far as it can in every turn, so rows of one
// warp may depend on each other.
template <class I>
DEVICE void levels(const I *offsets, const I *indices, u64 count, u64 nnz, u64 upper, I *level, unsigned *counter) {
    u64 step = next_part(counter) * LANES + threadIdx.x % LANES, row = upper ? count - 1 - step : step;
    bool told = step >= count;
    u64 end = told ? 0 : clamp(offsets[row + 1], nnz), place = told ? 0 : clamp(offsets[row], end), most = 0;
    for (unsigned turn = 0; ballot(!told); ++turn) {
        bool moved = false;
        for (; place < end; ++place) {
            u64 column = (u64)indices[place];
            if (column == row || (column > row) != (upper != 0)) continue;
            u64 other = peek_index(level + column);
            if (other == 0) break;
            most = other > most ? other : most;
            moved = true;
        }
        if (!told && place >= end) {
            poke_index(level + row, most + 1);
            told = moved = true;
        }
        if (ballot(moved)) turn = 0;
        else if (turn > 8) rest_a_little();
    }
}

#define EACH_INDEX(I, i, largest)                                                                                       \
    KERNEL check_offsets_##i(const I *offsets, u64 rows, u64 nnz, u64 *verdict) {                                      \
        check_offsets(offsets, rows, nnz, verdict);                                                                    \
    }                                                                                                                  \
    KERNEL check_indices_##i(const I *offsets, const I *indices, u64 rows, u64 width, u64 nnz, const u64 *first,       \
                             u64 *verdict, u64 *longest) {                                                             \
        check_indices(offsets, indices, rows, width, nnz, first, verdict, longest);                                    \
    }                                                                                                                  \
    KERNEL check_coordinates_##i(const I *rows, const I *columns, u64 height, u64 width, u64 nnz, u64 *verdict) {      \
        check_coordinates(rows, columns, height, width, nnz, verdict);                                                 \
    }                                                                                                                  \
    KERNEL check_list_##i(const I *indices, u64 nnz, u64 width, u64 *verdict) {                                        \
        check_list(indices, nnz, width, verdict);                                                                      \
    }                                                                                                                  \
    KERNEL expand_##i(const I *offsets, u64 count, I *rows, u64 nnz) { expand(offsets, count, rows, nnz); }            \
    KERNEL compress_##i(const I *rows, u64 nnz, u64 count, I *offsets) { compress(rows, nnz, count, offsets); }        \
    KERNEL accumulate_##i(I *offsets, u64 count, u64 *total) { accumulate(offsets, count, total, (I)largest); }        \
    KERNEL sum_tiles_##i(const I *offsets, u64 count, i64 *parts) { sum_tiles(offsets, count, parts); }                \
    KERNEL accumulate_tiles_##i(I *offsets, u64 count, const i64 *parts) {                                             \
        accumulate_tiles(offsets, count, parts, (I)largest);                                                           \
    }                                                                                                                  \
    KERNEL levels_##i(const I *offsets, const I *indices, u64 count, u64 nnz, u64 upper, I *level, unsigned *counter) { \
        levels(offsets, indices, count, nnz, upper, level, counter);                                                   \
    }
EACH_INDEX(int, 4, 0x7fffffff)
EACH_INDEX(i64, 8, 0x7fffffffffffffffll)
