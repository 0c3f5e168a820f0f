// Structures: their validation, offsets and coordinates, counts into offsets. One thread a row or an entry.
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

// Where the offsets are right: the smallest fault of the indices, 1 for one outside, 2 for one out of order.
template <class I>
DEVICE void check_indices(const I *offsets, const I *indices, u64 rows, u64 width, u64 nnz, const u64 *first, u64 *verdict) {
    u64 row = thread_index();
    if (row >= rows || *first != ~0ull) return;
    u64 end = clamp(offsets[row + 1], nnz), start = clamp(offsets[row], end);
    for (u64 place = start; place < end; ++place) {
        I index = indices[place];
        bool outside = index < 0 || (u64)index >= width;
        if (outside || (place > start && indices[place - 1] >= index)) {
            atomicMin(verdict, fault(place, outside ? 1 : 2));
            return;
        }
    }
}

// Of both checks, that of the offsets first.
KERNEL settle_verdict(const u64 *first, u64 *verdict) {
    if (thread_index() == 0 && *first != ~0ull) *verdict = *first;
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

// One list of places.
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

// offsets[row] is the number of entries in rows before it: found by halving.
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

// Counts in offsets[1..] into offsets; the sum into total. One block; its threads take turns of as many rows each.
#ifdef ON_CPU
template <class I> DEVICE void accumulate(I *offsets, u64 count, u64 *total, I largest) {
    u64 sum = 0;
    offsets[0] = 0;
    for (u64 row = 1; row <= count; ++row) {
        sum += (u64)offsets[row];
        offsets[row] = sum > (u64)largest ? largest : (I)sum;
    }
    *total = sum;
}
#else
template <class I> DEVICE void accumulate(I *offsets, u64 count, u64 *total, I largest) {
    __shared__ u64 parts[1024];
    u64 each = (count + blockDim.x - 1) / blockDim.x, thread = threadIdx.x;
    u64 first = 1 + thread * each, last = first + each;
    if (last > count + 1) last = count + 1;
    u64 sum = 0;
    for (u64 row = first; row < last; ++row) sum += (u64)offsets[row];
    parts[thread] = sum;
    __syncthreads();
    for (u64 step = 1; step < blockDim.x; step *= 2) {
        u64 more = thread >= step ? parts[thread - step] : 0;
        __syncthreads();
        parts[thread] += more;
        __syncthreads();
    }
    u64 running = parts[thread] - sum;
    for (u64 row = first; row < last; ++row) {
        running += (u64)offsets[row];
        offsets[row] = running > (u64)largest ? largest : (I)running;
    }
    if (thread == 0) offsets[0] = 0;
    if (thread == blockDim.x - 1) *total = parts[thread];
}
#endif

#define EACH_INDEX(I, i, largest)                                                                                       \
    KERNEL check_offsets_##i(const I *offsets, u64 rows, u64 nnz, u64 *verdict) {                                      \
        check_offsets(offsets, rows, nnz, verdict);                                                                    \
    }                                                                                                                  \
    KERNEL check_indices_##i(const I *offsets, const I *indices, u64 rows, u64 width, u64 nnz, const u64 *first,       \
                             u64 *verdict) {                                                                           \
        check_indices(offsets, indices, rows, width, nnz, first, verdict);                                             \
    }                                                                                                                  \
    KERNEL check_coordinates_##i(const I *rows, const I *columns, u64 height, u64 width, u64 nnz, u64 *verdict) {      \
        check_coordinates(rows, columns, height, width, nnz, verdict);                                                 \
    }                                                                                                                  \
    KERNEL check_list_##i(const I *indices, u64 nnz, u64 width, u64 *verdict) {                                        \
        check_list(indices, nnz, width, verdict);                                                                      \
    }                                                                                                                  \
    KERNEL expand_##i(const I *offsets, u64 count, I *rows, u64 nnz) { expand(offsets, count, rows, nnz); }            \
    KERNEL compress_##i(const I *rows, u64 nnz, u64 count, I *offsets) { compress(rows, nnz, count, offsets); }        \
    KERNEL accumulate_##i(I *offsets, u64 count, u64 *total) { accumulate(offsets, count, total, (I)largest); }
EACH_INDEX(int, 4, 0x7fffffff)
EACH_INDEX(i64, 8, 0x7fffffffffffffffll)
