// Products of two sparse matrices, complete or only at given positions: a warp computes a row of the product, or a
// thread a short one. Products with a row-major dense matrix.
#include "number.cuh"

#define SUM typename Value<V>::Sum

// Warps in a block; rows of B that a lane holds at the same time; columns that are summed at the same time if there are
// more rows.
#define WARPS 4
#define HELD 2
#define WINDOW 256
// Rows are merged if at most one in this number of columns has a product.
#define SPARSE 8
#define NO_COLUMN (~0ull)
// Limits of a short row: the number of rows of B, which one thread merges, and the number of their products.
#define FEW 8
#define SHORT 256

// The rest of a row of B that contributes to a row of the product.
template <class I> struct Rest { u64 at, end, column; };
template <class I> DEVICE Rest<I> rest(const I *offsets, const I *columns, u64 nnz, I row) {
    u64 end = clamp(offsets[row + 1], nnz), at = clamp(offsets[row], end);
    return {at, end, at < end ? (u64)columns[at] : NO_COLUMN};
}

// Entries of one row of the product: counted, or stored from `to` on. For few rows of B: merges them, with the next
// column of each in a register. Returns the end.
template <class V, class I>
DEVICE u64 merge(const I *a_columns, const V *a_values, u64 start, u64 end, const I *b_offsets, const I *b_columns,
                 const V *b_values, u64 b_nnz, SUM alpha, u64 to, I *indices, V *values) {
    unsigned lane = threadIdx.x % LANES;
    Rest<I> rests[HELD];
    for (int i = 0; i < HELD; ++i) {
        u64 place = start + lane + i * LANES;
        rests[i] = place < end ? rest(b_offsets, b_columns, b_nnz, a_columns[place]) : Rest<I>{0, 0, NO_COLUMN};
    }
    for (;; ++to) {
        u64 least = NO_COLUMN;
        for (int i = 0; i < HELD; ++i) least = rests[i].column < least ? rests[i].column : least;
        least = warp_min(least);
        if (least == NO_COLUMN) return to;
        SUM sum = zero<SUM>();
        for (int i = 0; i < HELD; ++i) {
            Rest<I> &rest = rests[i];
            if (rest.column != least) continue;
            if (indices)
                sum = sum + Value<V>::widen(a_values[start + lane + i * LANES]) * Value<V>::widen(b_values[rest.at]);
            rest.at += 1;
            rest.column = rest.at < rest.end ? (u64)b_columns[rest.at] : NO_COLUMN;
        }
        if (!indices) continue;
        sum = warp_sum(sum);
        if (lane == 0) {
            indices[to] = (I)least;
            values[to] = Value<V>::narrow(alpha * sum);
        }
    }
}

// The same for many rows of B: a window of columns at a time, summed in the order in which A stores its entries. `next`
// has one element for each entry of A: the position in its row of B where the window begins.
template <class V, class I>
DEVICE u64 sweep(const I *a_columns, const V *a_values, u64 start, u64 end, const I *b_offsets, const I *b_columns,
                 const V *b_values, u64 b_nnz, SUM alpha, u64 to, I *indices, V *values, I *next, SUM *sums,
                 unsigned char *seen) {
    unsigned lane = threadIdx.x % LANES;
    for (u64 place = start + lane; place < end; place += LANES)
        next[place] = (I)rest(b_offsets, b_columns, b_nnz, a_columns[place]).at;
    for (;;) {
        u64 least = NO_COLUMN;
        for (u64 place = start + lane; place < end; place += LANES) {
            u64 at = (u64)next[place], stop = clamp(b_offsets[a_columns[place] + 1], b_nnz);
            u64 column = at < stop ? (u64)b_columns[at] : NO_COLUMN;
            least = column < least ? column : least;
        }
        least = warp_min(least);
        if (least == NO_COLUMN) return to;
        for (unsigned slot = lane; slot < WINDOW; slot += LANES) {
            sums[slot] = zero<SUM>();
            seen[slot] = 0;
        }
        sync_warp();
        for (u64 first = start; first < end; first += LANES) {
            u64 own = first + lane, at = 0, stop = 0;
            bool inside = false;
            if (own < end) {
                at = (u64)next[own], stop = clamp(b_offsets[a_columns[own] + 1], b_nnz);
                inside = at < stop && (u64)b_columns[at] - least < WINDOW;
            }
            // The entries of A whose rows of B have entries in the window, one after the other: all lanes process a row
            // together.
            unsigned these = ballot(inside);
            for (u64 place = first; these; ++place, these >>= 1) {
                if (!(these & 1)) continue;
                u64 from = (u64)next[place], until = clamp(b_offsets[a_columns[place] + 1], b_nnz);
                SUM factor = indices ? Value<V>::widen(a_values[place]) : zero<SUM>();
                for (bool more = true; more; ) {
                    u64 here = from + lane;
                    u64 slot = here < until ? (u64)b_columns[here] - least : WINDOW;
                    bool mine = slot < WINDOW;
                    if (mine) {
                        // The columns of a row differ, so no two lanes have the same.
                        if (indices) sums[slot] = sums[slot] + factor * Value<V>::widen(b_values[here]);
                        seen[slot] = 1;
                    }
                    unsigned taken = ones(ballot(mine));
                    from += taken;
                    more = taken == LANES;
                }
                sync_warp();
                if (lane == 0) next[place] = (I)from;
                sync_warp();
            }
        }
        for (unsigned first = 0; first < WINDOW; first += LANES) {
            unsigned slot = first + lane;
            bool has = seen[slot];
            unsigned mask = ballot(has);
            if (has && indices) {
                indices[to + lower(mask)] = (I)(least + slot);
                values[to + lower(mask)] = Value<V>::narrow(alpha * sums[slot]);
            }
            to += ones(mask);
        }
        sync_warp();
    }
}

// The same for one row of B.
template <class V, class I>
DEVICE u64 copy(V factor, Rest<I> rest, const I *b_columns, const V *b_values, SUM alpha, u64 to, I *indices, V *values) {
    u64 len = rest.end - rest.at;
    for (u64 i = threadIdx.x % LANES; indices && i < len; i += LANES) {
        indices[to + i] = b_columns[rest.at + i];
        values[to + i] = Value<V>::narrow(alpha * (Value<V>::widen(factor) * Value<V>::widen(b_values[rest.at + i])));
    }
    return to + len;
}

template <class I>
DEVICE bool is_short(const I *a_columns, u64 start, u64 end, const I *b_offsets, u64 b_nnz) {
    if (end - start > FEW) return false;
    u64 products = 0;
    for (u64 place = start; place < end; ++place) {
        u64 stop = clamp(b_offsets[a_columns[place] + 1], b_nnz);
        products += stop - clamp(b_offsets[a_columns[place]], stop);
    }
    return products <= SHORT;
}

// Short rows of the product, one thread for each: merges the rows of B, all of them in registers. Sums in the order in
// which A stores its entries.
template <class V, class I>
DEVICE void multiply_short(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,
                           const I *b_columns, const V *b_values, u64 b_nnz, SUM alpha, u64 rows, I none, I *offsets, I *indices,
                           V *values) {
    u64 row = thread_index();
    if (row >= rows) return;
    u64 end = clamp(a_offsets[row + 1], a_nnz), start = clamp(a_offsets[row], end);
    if (!is_short(a_columns, start, end, b_offsets, b_nnz)) return;
    I at[FEW], stop[FEW], column[FEW];
    SUM factor[FEW];
#pragma unroll
    for (int i = 0; i < FEW; ++i) {
        at[i] = stop[i] = 0, column[i] = none, factor[i] = zero<SUM>();
        if (start + i >= end) continue;
        I from = a_columns[start + i];
        stop[i] = (I)clamp(b_offsets[from + 1], b_nnz), at[i] = (I)clamp(b_offsets[from], (u64)stop[i]);
        if (at[i] < stop[i]) column[i] = b_columns[at[i]];
        if (indices) factor[i] = Value<V>::widen(a_values[start + i]);
    }
    u64 first = indices ? (u64)offsets[row] : 0, to = first;
    for (;; ++to) {
        I least = none;
#pragma unroll
        for (int i = 0; i < FEW; ++i) least = column[i] < least ? column[i] : least;
        if (least == none) break;
        SUM sum = zero<SUM>();
#pragma unroll
        for (int i = 0; i < FEW; ++i) {
            if (column[i] != least) continue;
            if (indices) sum = sum + factor[i] * Value<V>::widen(b_values[at[i]]);
            at[i] += 1;
            column[i] = at[i] < stop[i] ? b_columns[at[i]] : none;
        }
        if (!indices) continue;
        indices[to] = least;
        values[to] = Value<V>::narrow(alpha * sum);
    }
    if (!indices) offsets[row + 1] = (I)to;
}

// The other rows, one warp for each. A warp takes `each` rows at a time; the same number of lanes checks which of them
// are left.
template <class V, class I>
DEVICE void multiply(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,
                     const I *b_columns, const V *b_values, u64 b_nnz, SUM alpha, u64 rows, u64 each, I *next, I *offsets,
                     I *indices, V *values, SUM *sums, unsigned char *seen) {
    unsigned lane = threadIdx.x % LANES;
    each = each < LANES ? each : LANES;
    u64 step = (u64)gridDim.x * (blockDim.x / LANES) * each;
    for (u64 first_row = thread_index() / LANES * each; first_row < rows; first_row += step) {
      u64 candidate = first_row + lane;
      bool wanted = lane < each && candidate < rows;
      if (wanted) {
          u64 end = clamp(a_offsets[candidate + 1], a_nnz), start = clamp(a_offsets[candidate], end);
          wanted = !is_short(a_columns, start, end, b_offsets, b_nnz);
      }
      for (unsigned left = ballot(wanted); left; left &= left - 1) {
        u64 row = first_row + lowest(left);
        u64 end = clamp(a_offsets[row + 1], a_nnz), start = clamp(a_offsets[row], end);
        u64 to = indices ? (u64)offsets[row] : 0;
        // The number of products, and of the columns over which they spread.
        u64 products = 0, first = NO_COLUMN, before_last = NO_COLUMN;
        for (u64 place = start + threadIdx.x % LANES; place < end; place += LANES) {
            Rest<I> r = rest(b_offsets, b_columns, b_nnz, a_columns[place]);
            if (r.at == r.end) continue;
            u64 last = ~(u64)b_columns[r.end - 1];
            products += r.end - r.at;
            first = r.column < first ? r.column : first;
            before_last = last < before_last ? last : before_last;
        }
        products = warp_sum(products), first = warp_min(first), before_last = warp_min(before_last);
        if (products == 0)
            ;
        else if (end - start == 1)
            to = copy(a_values[start], rest(b_offsets, b_columns, b_nnz, a_columns[start]), b_columns, b_values, alpha, to,
                      indices, values);
        else if (end - start <= HELD * LANES && products <= (~before_last - first) / SPARSE)
            to = merge(a_columns, a_values, start, end, b_offsets, b_columns, b_values, b_nnz, alpha, to, indices, values);
        else
            to = sweep(a_columns, a_values, start, end, b_offsets, b_columns, b_values, b_nnz, alpha, to, indices, values,
                       next, sums, seen);
        if (!indices && lane == 0) offsets[row + 1] = (I)to;
      }
    }
}

// At the entries of a mask: each entry searches for its column in the rows of B, in the order in which A stores its
// entries.
template <class V, class I>
DEVICE void masked(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,
                   const I *b_columns, const V *b_values, u64 b_nnz, SUM alpha, u64 rows, const I *m_offsets,
                   const I *m_columns, u64 m_nnz, V *values) {
    u64 step = (u64)gridDim.x * (blockDim.x / LANES);
    for (u64 row = thread_index() / LANES; row < rows; row += step) {
        u64 a_end = clamp(a_offsets[row + 1], a_nnz), a_start = clamp(a_offsets[row], a_end);
        u64 end = clamp(m_offsets[row + 1], m_nnz), start = clamp(m_offsets[row], end);
        for (u64 place = start + threadIdx.x % LANES; place < end; place += LANES) {
            I wanted = m_columns[place];
            SUM sum = zero<SUM>();
            for (u64 a = a_start; a < a_end; ++a) {
                u64 stop = clamp(b_offsets[a_columns[a] + 1], b_nnz), low = clamp(b_offsets[a_columns[a]], stop);
                u64 high = stop;
                while (low < high) {
                    u64 middle = low + (high - low) / 2;
                    if (b_columns[middle] < wanted) low = middle + 1; else high = middle;
                }
                if (low < stop && b_columns[low] == wanted)
                    sum = sum + Value<V>::widen(a_values[a]) * Value<V>::widen(b_values[low]);
            }
            values[place] = Value<V>::narrow(alpha * sum);
        }
    }
}

// C = alpha * A * B + beta * C with row-major B and C, whose rows are `b_step` and `c_step` elements apart. A warp
// computes a row of C, or as many columns of it as a tile has. It processes the entries of A in storage order. A block
// computes its long rows together: each warp a share, whose sums are added in order.
#define TILE_COLUMNS 64
#define DENSE_WARPS 8
#ifdef ON_CPU
#define LONG (~0ull)
#define SYNC_BLOCK()
#else
#define LONG 512ull
#define SYNC_BLOCK() __syncthreads()
#endif
#define HERE ((TILE_COLUMNS + LANES - 1) / LANES)

// y = product + beta * y. If y is not read, the store bypasses the caches, which the rows of B need.
template <class V> DEVICE void put(V *y, SUM product, SUM beta) {
    if (beta == zero<SUM>()) store_last(y, Value<V>::narrow(product));
    else *y = updated(*y, product, beta);
}

template <class V, class I>
DEVICE void sum_of_rows(const I *a_columns, const V *a_values, u64 start, u64 end, const V *b, u64 b_step, u64 first, u64 n,
                        SUM *sums) {
    // Rows of B that are read at the same time, as many as registers allow.
    const unsigned AT_ONCE = sizeof(SUM) < 8 ? 8 : 4;
    unsigned lane = threadIdx.x % LANES;
    for (u64 from = start; from < end; from += LANES) {
        u64 own = from + lane;
        u64 row = own < end ? (u64)a_columns[own] * b_step : 0;
        SUM factor = own < end ? Value<V>::widen(a_values[own]) : zero<SUM>();
        unsigned count = end - from < LANES ? (unsigned)(end - from) : LANES;
        for (unsigned entry = 0; entry < count; entry += AT_ONCE) {
            V x[AT_ONCE][HERE];
            SUM factors[AT_ONCE];
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; ++i) {
                u64 at = from_lane(row, (entry + i) % LANES);
                factors[i] = from_lane(factor, (entry + i) % LANES);
#pragma unroll
                for (unsigned j = 0; j < HERE; ++j) {
                    u64 column = first + lane + j * LANES;
                    x[i][j] = entry + i < count && column < n ? b[at + column] : V{};
                }
            }
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; ++i)
#pragma unroll
                for (unsigned j = 0; j < HERE; ++j)
                    if (entry + i < count) sums[j] = sums[j] + factors[i] * Value<V>::widen(x[i][j]);
        }
    }
}

template <class V, class I>
DEVICE void times_rows(const I *a_offsets, const I *a_columns, const V *a_values, u64 rows, u64 a_nnz, SUM alpha, const V *b,
                       u64 b_step, SUM beta, V *c, u64 c_step, u64 n, SUM (*shares)[TILE_COLUMNS], u64 *lengths) {
    unsigned lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, warps = blockDim.x / LANES;
    u64 tiles = (n + TILE_COLUMNS - 1) / TILE_COLUMNS, first = blockIdx.x % tiles * TILE_COLUMNS;
    u64 first_row = blockIdx.x / tiles * warps, row = first_row + warp;
    u64 end = row < rows ? clamp(a_offsets[row + 1], a_nnz) : 0, start = row < rows ? clamp(a_offsets[row], end) : 0;
    if (lane == 0) lengths[warp] = end - start;
    SYNC_BLOCK();
    if (row < rows && end - start <= LONG) {
        SUM sums[HERE];
        for (unsigned j = 0; j < HERE; ++j) sums[j] = zero<SUM>();
        sum_of_rows(a_columns, a_values, start, end, b, b_step, first, n, sums);
#pragma unroll
        for (unsigned j = 0; j < HERE; ++j) {
            u64 column = first + lane + j * LANES;
            if (column < n) put(c + row * c_step + column, alpha * sums[j], beta);
        }
    }
#ifndef ON_CPU
    for (unsigned other = 0; other < warps; ++other) {
        if (lengths[other] <= LONG) continue; // so for all warps of the block
        u64 begin = clamp(a_offsets[first_row + other], a_nnz), share = (lengths[other] + warps - 1) / warps;
        u64 from = begin + warp * share, until = from + share;
        if (until > begin + lengths[other]) until = begin + lengths[other];
        SUM sums[HERE];
        for (unsigned j = 0; j < HERE; ++j) sums[j] = zero<SUM>();
        if (from < until) sum_of_rows(a_columns, a_values, from, until, b, b_step, first, n, sums);
        for (unsigned j = 0; j < HERE; ++j) shares[warp][lane + j * LANES] = sums[j];
        SYNC_BLOCK();
        for (u64 slot = threadIdx.x; slot < TILE_COLUMNS && first + slot < n; slot += blockDim.x) {
            SUM sum = shares[0][slot];
            for (unsigned i = 1; i < warps; ++i) sum = sum + shares[i][slot];
            put(c + (first_row + other) * c_step + first + slot, alpha * sum, beta);
        }
        SYNC_BLOCK();
    }
#endif
}

// y = alpha * A * x + beta * y for short rows. A block computes as many rows as it has threads. All threads together
// multiply a part of the entries, in consecutive order; then each thread sums its row, in storage order.
#define ROWS_OF_BLOCK 128
#define ENTRIES_OF_THREAD 8
template <class V, class I>
DEVICE void times_vector(const I *offsets, const I *columns, const V *values, u64 rows, u64 nnz, SUM alpha, const V *x, SUM beta,
                         V *y, SUM *products) {
    const u64 PART_OF_ROWS = ROWS_OF_BLOCK * ENTRIES_OF_THREAD;
    u64 first = (u64)blockIdx.x * blockDim.x, row = first + threadIdx.x, behind = first + blockDim.x < rows ? first + blockDim.x : rows;
    u64 start = clamp(offsets[first], nnz), stop = clamp(offsets[behind], nnz);
    u64 end = row < rows ? clamp(offsets[row + 1], nnz) : 0, own = row < rows ? clamp(offsets[row], end) : 0;
    SUM sum = zero<SUM>();
#ifdef ON_CPU
    for (; own < end; ++own) sum = sum + Value<V>::widen(values[own]) * Value<V>::widen(x[columns[own]]);
    (void)start, (void)stop, (void)products, (void)PART_OF_ROWS;
#else
    for (u64 from = start; from < stop; from += PART_OF_ROWS) {
        V value[ENTRIES_OF_THREAD];
        I column[ENTRIES_OF_THREAD];
#pragma unroll
        for (int i = 0; i < ENTRIES_OF_THREAD; ++i) {
            // Past the last entry a valid entry is read, and its product is not used: so all reads are in flight at the
            // same time.
            u64 place = from + i * ROWS_OF_BLOCK + threadIdx.x, at = place < stop ? place : start;
            value[i] = values[at];
            column[i] = columns[at];
        }
#pragma unroll
        for (int i = 0; i < ENTRIES_OF_THREAD; ++i)
            products[i * ROWS_OF_BLOCK + threadIdx.x] = Value<V>::widen(value[i]) * Value<V>::widen(x[column[i]]);
        __syncthreads();
        for (; own < end && own < from + PART_OF_ROWS; ++own) sum = sum + products[own - from];
        __syncthreads();
    }
#endif
    if (row < rows) y[row] = beta == zero<SUM>() ? Value<V>::narrow(alpha * sum) : updated(y[row], alpha * sum, beta);
}

#define EACH_PRODUCT(V, S, I, i)                                                                                         \
    KERNEL multiply_##i(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,        \
                        const I *b_columns, const V *b_values, u64 b_nnz, S alpha, u64 rows, u64 each, I *next,          \
                        I *offsets, I *indices, V *values) {                                                             \
        SHARED S sums[WARPS][WINDOW];                                                                                    \
        SHARED unsigned char seen[WARPS][WINDOW];                                                                        \
        multiply(a_offsets, a_columns, a_values, a_nnz, b_offsets, b_columns, b_values, b_nnz, alpha, rows, each, next,    \
                 offsets, indices, values, sums[threadIdx.x / LANES], seen[threadIdx.x / LANES]);                        \
    }                                                                                                                    \
    KERNEL multiply_short_##i(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,  \
                              const I *b_columns, const V *b_values, u64 b_nnz, S alpha, u64 rows, I none, I *offsets,   \
                              I *indices, V *values) {                                                                   \
        multiply_short(a_offsets, a_columns, a_values, a_nnz, b_offsets, b_columns, b_values, b_nnz, alpha, rows, none,  \
                       offsets, indices, values);                                                                        \
    }                                                                                                                    \
    KERNEL times_vector_##i(const I *offsets, const I *columns, const V *values, u64 rows, u64 nnz, S alpha,             \
                            const S *alpha_at, const V *x, S beta, const S *beta_at, V *y) {                             \
        SHARED S products[ROWS_OF_BLOCK * ENTRIES_OF_THREAD];                                                            \
        times_vector(offsets, columns, values, rows, nnz, scalar(alpha, alpha_at), x, scalar(beta, beta_at), y, products); \
    }                                                                                                                    \
    KERNEL times_rows_##i(const I *a_offsets, const I *a_columns, const V *a_values, u64 rows, u64 a_nnz, S alpha,       \
                          const V *b, u64 b_step, S beta, V *c, u64 c_step, u64 n) {                                     \
        SHARED S shares[DENSE_WARPS][TILE_COLUMNS];                                                                      \
        SHARED u64 lengths[DENSE_WARPS];                                                                                 \
        times_rows(a_offsets, a_columns, a_values, rows, a_nnz, alpha, b, b_step, beta, c, c_step, n, shares, lengths);  \
    }                                                                                                                    \
    KERNEL masked_##i(const I *a_offsets, const I *a_columns, const V *a_values, u64 a_nnz, const I *b_offsets,          \
                      const I *b_columns, const V *b_values, u64 b_nnz, S alpha, u64 rows, const I *m_offsets,           \
                      const I *m_columns, u64 m_nnz, V *values) {                                                        \
        masked(a_offsets, a_columns, a_values, a_nnz, b_offsets, b_columns, b_values, b_nnz, alpha, rows, m_offsets,     \
               m_columns, m_nnz, values);                                                                                \
    }
// Compiled once for each element type: VALUE, and the type of its sums, FACTOR.
EACH_PRODUCT(VALUE, FACTOR, int, 4)
EACH_PRODUCT(VALUE, FACTOR, i64, 8)
