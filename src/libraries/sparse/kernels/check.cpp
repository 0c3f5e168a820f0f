// Runs the kernels of sorting, products, stacks and blocks on the CPU, and compares them with the plainest way there is: one
// thread after the other, a warp of one lane; with LOCKSTEP in warps of 32 lanes, each with a stack of its own, that go on until
// they have to meet. Says what differs, and ends with 1.
//
//     g++ -std=c++17 -O1 -DON_CPU -DLOCKSTEP -DVALUE=double -DFACTOR=double -o check src/libraries/sparse/kernels/check.cpp
#include "number.cuh"
#include "structure.cu"
#undef EACH_INDEX
#include "sort.cu"
#undef SUM
#include "products.cu"
#undef SUM
#include "arrange.cu"
#undef SUM
#include "entries.cu"
#undef SUM
#include "solve.cu"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <vector>

thread_local Dim blockIdx, threadIdx, blockDim, gridDim;

#ifdef LOCKSTEP
#include <cstring>
#include <functional>
#include <ucontext.h>

static ucontext_t outside, lanes[32];
static bool ended[32];
static std::vector<char> stacks_of_lanes(32 * 65536);
static std::function<void()> body;
// A lane is at most one meeting ahead of another, so two of them are kept.
static unsigned char brought[2][32 * 16];
static unsigned meetings[32];

const unsigned char *meet(const void *mine, unsigned bytes) {
    unsigned lane = threadIdx.x;
    unsigned char *all = brought[meetings[lane]++ & 1];
    if (bytes) memcpy(all + 16 * lane, mine, bytes);
    swapcontext(&lanes[lane], &outside);
    return all;
}

static void lane_begins() {
    body();
    ended[threadIdx.x] = true;
}

// A block is a warp; all its lanes meet equally often.
template <class F> static void grid(unsigned blocks, unsigned threads, F kernel) {
    gridDim.x = blocks;
    blockDim.x = 32;
    if (threads > 4) {
        blockDim.x = threads;
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) kernel();
        return;
    }
    body = kernel;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        for (unsigned i = 0; i < 32; i++) {
            getcontext(&lanes[i]);
            lanes[i].uc_stack = {&stacks_of_lanes[i * 65536], 0, 65536};
            lanes[i].uc_link = &outside;
            makecontext(&lanes[i], lane_begins, 0);
            ended[i] = false;
            meetings[i] = 0;
        }
        for (unsigned left = 32; left;)
            for (unsigned i = left = 0; i < 32; i++) {
                threadIdx.x = i;
                if (!ended[i]) swapcontext(&outside, &lanes[i]);
                left += !ended[i];
                if (meetings[i] != meetings[0]) printf("lanes 0 and %u do not meet\n", i), exit(1);
            }
    }
}
#else
template <class F> static void grid(unsigned blocks, unsigned threads, F kernel) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) kernel();
}
#endif
// So many threads in whole warps that look at each other.
template <class F> static void warps(u64 n, F kernel) { grid((unsigned)((n + LANES - 1) / LANES), 1, kernel); }
template <class F> static void each(u64 n, F kernel) { grid((unsigned)((n + 63) / 64), 64, kernel); }

static int failures = 0;
static void claim(bool right, const char *what, int seed) {
    if (right) return;
    printf("%s, seed %d: not what it should be\n", what, seed);
    failures++;
}

template <class I> struct Csr {
    u64 rows, cols;
    std::vector<I> offsets, columns;
    std::vector<VALUE> values;
    std::map<std::pair<u64, u64>, VALUE> map() const {
        std::map<std::pair<u64, u64>, VALUE> m;
        for (u64 i = 0; i < rows; i++)
            for (I p = offsets[i]; p < offsets[i + 1]; p++) m[{i, (u64)columns[p]}] = values[p];
        return m;
    }
    u64 nnz() const { return columns.size(); }
};

static std::mt19937 rng;
static u64 below(u64 n) { return rng() % n; }

// Whole numbers, whose sums and products are exact. One row in eight is full.
template <class I> static Csr<I> made(u64 rows, u64 cols, u64 percent) {
    Csr<I> a{rows, cols, {0}, {}, {}};
    for (u64 i = 0; i < rows; i++) {
        u64 chance = below(8) == 0 ? 100 : below(5) == 0 ? 0 : percent;
        for (u64 j = 0; j < cols; j++)
            if (below(100) < chance) {
                a.columns.push_back((I)j);
                a.values.push_back((VALUE)((int)below(19) - 9));
            }
        a.offsets.push_back((I)a.columns.size());
    }
    return a;
}


template <class I> struct Kernels;
#define KERNELS(I, i)                                                                                                    \
    template <> struct Kernels<I> {                                                                                      \
        static constexpr auto multiply = multiply_##i;                                                                   \
        static constexpr auto multiply_short = multiply_short_##i;                                                       \
        static constexpr auto times_rows = times_rows_##i;                                                               \
        static constexpr auto add = add_##i;                                                                             \
        static constexpr auto levels = levels_##i;                                                                       \
        static constexpr auto order = order_##i;                                                                         \
        static constexpr auto triangle = triangle_##i;                                                                   \
        static constexpr auto sum_tiles = sum_tiles_##i;                                                                 \
        static constexpr auto accumulate_tiles = accumulate_tiles_##i;                                                   \
        static constexpr auto masked = masked_##i;                                                                       \
        static constexpr auto beside = beside_##i;                                                                       \
        static constexpr auto unblock = unblock_##i;                                                                     \
        static constexpr auto blocks_to_dense = blocks_to_dense_##i;                                                     \
        static constexpr auto block = block_##i;                                                                         \
        static constexpr auto sum_places = sum_places_##i;                                                               \
        static constexpr auto sort_count = sort_count_##i;                                                               \
        static constexpr auto sort_move = sort_move_##i;                                                                 \
        static constexpr auto check_places = check_places_##i;                                                           \
        static constexpr auto first_of_place = first_of_place_##i;                                                       \
        static constexpr auto permute_indices = permute_indices_##i;                                                     \
        static constexpr auto shift_offsets = shift_offsets_##i;                                                         \
        static constexpr auto add_lengths = add_lengths_##i;                                                             \
        static constexpr auto accumulate = accumulate_##i;                                                               \
    };
KERNELS(int, 4)
KERNELS(i64, 8)

template <class I> static void products(int seed) {
    using K = Kernels<I>;
    u64 inner = below(60), cols = 1 + below(900);
    Csr<I> a = made<I>(below(40), inner, 10), b = made<I>(inner, cols, below(3) * 10 + 1);
    std::map<std::pair<u64, u64>, VALUE> want, left = a.map(), right = b.map();
    for (auto &[at, x] : left)
        for (auto it = right.lower_bound({at.second, 0}); it != right.end() && it->first.first == at.second; ++it) {
            auto place = std::make_pair(at.first, it->first.second);
            VALUE product = 2 * x * it->second;
            if (want.count(place)) want[place] = want[place] + product;
            else want[place] = product;
        }
    Csr<I> c{a.rows, cols, std::vector<I>(a.rows + 1), {}, {}};
    std::vector<I> next(a.nnz() + 1);
    u64 per_warp = 1 + below(32);
    auto multiply = [&](I *indices, VALUE *values) {
        each(a.rows, [&] {
            K::multiply_short(a.offsets.data(), a.columns.data(), a.values.data(), a.nnz(), b.offsets.data(), b.columns.data(),
                              b.values.data(), b.nnz(), 2, a.rows, std::numeric_limits<I>::max(), c.offsets.data(), indices,
                              values);
        });
        grid(2, WARPS, [&] {
            K::multiply(a.offsets.data(), a.columns.data(), a.values.data(), a.nnz(), b.offsets.data(), b.columns.data(),
                        b.values.data(), b.nnz(), 2, a.rows, per_warp, next.data(), c.offsets.data(), indices, values);
        });
    };
    multiply(nullptr, nullptr);
    u64 total = 0;
    K::accumulate(c.offsets.data(), a.rows, &total);
    claim(total == want.size(), "the number of a product's entries", seed);
    c.columns.resize(total + 1);
    c.values.resize(total + 1);
    multiply(c.columns.data(), c.values.data());
    c.columns.resize(total);
    claim(c.map() == want, "a product", seed);
    for (u64 i = 0; i < c.rows; i++)
        claim(std::is_sorted(c.columns.begin() + c.offsets[i], c.columns.begin() + c.offsets[i + 1]), "its order", seed);

    Csr<I> mask = made<I>(a.rows, cols, 20);
    std::vector<VALUE> got(mask.nnz());
    grid(2, WARPS, [&] {
        K::masked(a.offsets.data(), a.columns.data(), a.values.data(), a.nnz(), b.offsets.data(), b.columns.data(),
                  b.values.data(), b.nnz(), 2, a.rows, mask.offsets.data(), mask.columns.data(), mask.nnz(), got.data());
    });
    for (u64 i = 0; i < a.rows; i++)
        for (I p = mask.offsets[i]; p < mask.offsets[i + 1]; p++) {
            auto at = want.find({i, (u64)mask.columns[p]});
            claim(got[p] == (at == want.end() ? VALUE{} : at->second), "a masked product", seed);
        }
}

// Sums of two matrices, of one structure or of two.
template <class I> static void sums(int seed) {
    using K = Kernels<I>;
    u64 rows = below(40), cols = 1 + below(200), lanes = 1u << below(6);
    Csr<I> a = made<I>(rows, cols, 10), b = below(3) ? made<I>(rows, cols, below(3) * 15) : a, c{rows, cols, std::vector<I>(rows + 1), {}, {}};
    std::map<std::pair<u64, u64>, VALUE> want;
    for (auto &[at, x] : a.map()) want[at] = 2 * x;
    for (auto &[at, x] : b.map()) want[at] = want.count(at) ? want[at] + 3 * x : 3 * x;
    auto add = [&](I *indices, VALUE *values) {
        warps(rows * lanes, [&] {
            K::add(a.offsets.data(), a.columns.data(), a.values.data(), a.nnz(), b.offsets.data(), b.columns.data(), b.values.data(),
                   b.nnz(), 2, 3, rows, lanes, c.offsets.data(), indices, values);
        });
    };
    add(nullptr, nullptr);
    u64 total = 0;
    K::accumulate(c.offsets.data(), rows, &total);
    claim(total == want.size(), "the number of a sum's entries", seed);
    c.columns.resize(total + 1), c.values.resize(total + 1);
    add(c.columns.data(), c.values.data());
    c.columns.resize(total);
    claim(c.map() == want, "a sum", seed);
    for (u64 i = 0; i < rows; i++)
        claim(std::is_sorted(c.columns.begin() + c.offsets[i], c.columns.begin() + c.offsets[i + 1]), "its order", seed);
}

// Times a dense matrix by rows.
template <class I> static void dense(int seed) {
    using K = Kernels<I>;
    u64 inner = below(60), n = 1 + below(150), b_step = n + below(3), c_step = n + below(3);
    Csr<I> a = made<I>(below(40), inner, 10);
    VALUE beta = (VALUE)below(2);
    std::vector<VALUE> b(inner * b_step + 1), c(a.rows * c_step + 1, 5);
    for (auto &x : b) x = (VALUE)((int)below(9) - 4);
    u64 warps_of_block = LANES == 1 ? 1 + below(3) : 1, tiles = (n + TILE_COLUMNS - 1) / TILE_COLUMNS;
    grid((unsigned)((a.rows + warps_of_block - 1) / warps_of_block * tiles), (unsigned)warps_of_block, [&] {
        K::times_rows(a.offsets.data(), a.columns.data(), a.values.data(), a.rows, a.nnz(), 2, b.data(), b_step, beta, c.data(),
                      c_step, n);
    });
    for (u64 i = 0; i < a.rows; i++)
        for (u64 j = 0; j < c_step; j++) {
            VALUE want = j < n ? 5 * beta : 5;
            for (I p = a.offsets[i]; j < n && p < a.offsets[i + 1]; p++)
                want = want + 2 * a.values[p] * b[(u64)a.columns[p] * b_step + j];
            claim(c[i * c_step + j] == want, "a product with a dense matrix", seed);
        }
}

// Offsets of many rows, in tiles.
template <class I> static void offsets(int seed) {
    using K = Kernels<I>;
    u64 rows = below(3 * RUN), tiles = (rows + RUN - 1) / RUN, total = 0, want_total = 0;
    std::vector<I> counts(rows + 1, 77), want;
    for (u64 i = 1; i <= rows; i++) counts[i] = (I)below(9);
    want = counts;
    K::accumulate(want.data(), rows, &want_total);
    std::vector<i64> parts(tiles + 1);
    counts[0] = rows ? 77 : 0;
    grid((unsigned)tiles, 256, [&] { K::sum_tiles(counts.data(), rows, parts.data()); });
    accumulate_8(parts.data(), tiles, &total);
    grid((unsigned)tiles, 256, [&] { K::accumulate_tiles(counts.data(), rows, parts.data()); });
    claim(counts == want && total == want_total, "offsets of tiles", seed);
}

// A triangle by levels: with whole numbers and a unit diagonal, or one of ones and halves, all is exact.
template <class I> static void triangles(int seed) {
    using K = Kernels<I>;
    u64 n = below(150), sides = 1 + below(3), upper = below(2), unit = below(2), lanes = 1u << below(6), teams = 1 + below(sides);
    Csr<I> a{n, n, {0}, {}, {}};
    for (u64 i = 0; i < n; i++) {
        for (u64 j = 0; j < n; j++)
            if (i == j || below(100) < (i % 9 == 0 ? 40 : 3)) {
                a.columns.push_back((I)j);
                a.values.push_back(i == j ? (VALUE)(unit ? 7 : 0.5 + 0.5 * below(2)) : (VALUE)(i % 9 == 0 && below(9) ? 0 : 1));
            }
        a.offsets.push_back((I)a.columns.size());
    }
    std::vector<I> level(n + 1), order(n + 1);
    unsigned counter = 0;
    warps(n, [&] { K::levels(a.offsets.data(), a.columns.data(), n, a.nnz(), upper, level.data(), &counter); });
    std::vector<u64> want_level(n), by_level(n);
    for (u64 step = 0; step < n; step++) {
        u64 row = upper ? n - 1 - step : step, most = 0;
        for (I p = a.offsets[row]; p < a.offsets[row + 1]; p++) {
            u64 j = (u64)a.columns[p];
            if (j != row && (j > row) == (upper != 0)) most = std::max(most, want_level[j]);
        }
        want_level[row] = most + 1, by_level[step] = step;
        claim((u64)level[row] == most + 1, "a level", seed);
    }
    std::stable_sort(by_level.begin(), by_level.end(), [&](u64 x, u64 y) { return want_level[x] < want_level[y]; });
    each(n, [&] { K::order(by_level.data(), n, order.data()); });
    std::vector<VALUE> b(n * sides), x(n * sides + 1, 5);
    for (auto &y : b) y = (VALUE)((int)below(9) - 4);
    each(n * sides, [&] { forget_lines_all(x.data(), n, sides, n); });
    counter = 0;
    u64 per_warp = LANES / std::min<u64>(lanes, LANES);
    warps((n + per_warp - 1) / per_warp * teams * LANES, [&] {
        K::triangle(order.data(), a.offsets.data(), a.columns.data(), a.values.data(), n, a.nnz(), upper, unit, 0, 2, sides,
                    b.data(), 1, n, x.data(), 1, n, lanes, teams, &counter);
    });
    std::vector<VALUE> want(n * sides);
    for (u64 side = 0; side < sides; side++)
        for (u64 step = 0; step < n; step++) {
            u64 row = upper ? n - 1 - step : step;
            VALUE rest = 2 * b[row + side * n], diagonal = 1;
            for (I p = a.offsets[row]; p < a.offsets[row + 1]; p++) {
                u64 j = (u64)a.columns[p];
                if (j == row) diagonal = unit ? 1 : a.values[p];
                else if ((j > row) == (upper != 0)) rest = rest - a.values[p] * want[j + side * n];
            }
            want[row + side * n] = rest / diagonal;
            VALUE got = x[row + side * n];
            claim(std::abs(got - want[row + side * n]) <= 1e-9 * std::abs(got), "a triangular system", seed);
        }
    claim(x[n * sides] == 5, "nothing behind the unknowns", seed);
}

template <class I> static void stacks(int seed) {
    using K = Kernels<I>;
    u64 rows = below(20);
    std::vector<Csr<I>> parts{made<I>(rows, below(9), 30), made<I>(rows, 0, 30), made<I>(rows, below(9), 30)};
    std::map<std::pair<u64, u64>, VALUE> want;
    std::vector<I> offsets(rows + 1);
    u64 shift = 0, total = 0;
    for (auto &part : parts) {
        for (auto &[at, x] : part.map()) want[{at.first, at.second + shift}] = x;
        shift += part.cols;
        each(rows, [&] { K::add_lengths(part.offsets.data(), rows, offsets.data()); });
    }
    K::accumulate(offsets.data(), rows, &total);
    std::vector<I> next(offsets), columns(total + 1);
    std::vector<VALUE> values(total + 1);
    shift = 0;
    for (auto &part : parts) {
        each(rows, [&] {
            K::beside(part.offsets.data(), part.columns.data(), part.values.data(), rows, part.nnz(), shift, next.data(),
                      columns.data(), values.data());
        });
        shift += part.cols;
    }
    columns.resize(total);
    claim((Csr<I>{rows, shift, offsets, columns, values}.map()) == want && total == want.size(), "matrices side by side", seed);
    each(rows + 1, [&] { K::shift_offsets(offsets.data(), rows + 1, 7, next.data()); });
    for (u64 i = 0; i <= rows; i++) claim(next[i] == offsets[i] + 7, "offsets further on", seed);
}

template <class I> static void blocks(int seed) {
    using K = Kernels<I>;
    u64 size = 1 + below(5), block_rows = below(6), rows = block_rows * size, cols = (1 + below(6)) * size, by_columns = below(2);
    Csr<I> a = made<I>(rows, cols, 10);
    std::vector<I> next(rows + 1), offsets(block_rows + 1), columns;
    std::vector<VALUE> values;
    auto block = [&](I *to_columns, VALUE *to_values) {
        each(block_rows, [&] {
            K::block(a.offsets.data(), a.columns.data(), a.values.data(), a.nnz(), block_rows, size, by_columns, next.data(),
                     offsets.data(), to_columns, to_values);
        });
    };
    block(nullptr, nullptr);
    u64 stored = 0;
    K::accumulate(offsets.data(), block_rows, &stored);
    columns.resize(stored + 1);
    values.resize(stored * size * size + 1, 77);
    block(columns.data(), values.data());
    u64 n = stored * size * size;
    Csr<I> back{rows, cols, std::vector<I>(rows + 1, -1), std::vector<I>(n + 1), std::vector<VALUE>(n + 1)};
    each(rows + 1, [&] {
        K::unblock(offsets.data(), columns.data(), values.data(), block_rows, stored, size, by_columns, back.offsets.data(),
                   back.columns.data(), back.values.data());
    });
    back.columns.resize(n);
    auto want = a.map(), got = back.map();
    claim(got.size() == n && (u64)back.offsets[rows] == n, "all elements of all blocks", seed);
    for (u64 i = 0; i < rows; i++)
        claim(std::is_sorted(back.columns.begin() + back.offsets[i], back.columns.begin() + back.offsets[i + 1]), "their order", seed);
    std::vector<VALUE> dense(rows * cols + 1);
    each(rows, [&] {
        K::blocks_to_dense(offsets.data(), columns.data(), values.data(), block_rows, stored, size, by_columns, dense.data(), 1, rows);
    });
    std::map<std::pair<u64, u64>, bool> taken;
    for (auto &[at, x] : want) taken[{at.first / size, at.second / size}] = true;
    claim(taken.size() == stored, "no block without an entry", seed);
    for (auto &[at, x] : got) {
        auto it = want.find(at);
        claim(x == (it == want.end() ? VALUE{} : it->second) && dense[at.first + at.second * rows] == x, "blocks", seed);
    }
}

template <class I> static void sorts(int seed) {
    using K = Kernels<I>;
    u64 n = seed % 3 == 0 ? 9000 + below(5000) : below(300), height = 1 + below(seed % 2 ? 70000 : 20), width = 1 + below(300);
    std::vector<I> rows(n), columns(n);
    std::vector<VALUE> values(n);
    for (u64 i = 0; i < n; i++) {
        rows[i] = (I)below(height), columns[i] = (I)below(width);
        values[i] = (VALUE)((int)below(19) - 9);
    }
    u64 tiles = (n + TILE - 1) / TILE, sum = 0;
    std::vector<u64> order(n), other(n);
    std::vector<i64> counts(1 + DIGITS * tiles);
    each(n, [&] { sort_begin(order.data(), n); });
    auto by = [&](const std::vector<I> &keys, u64 most) {
        for (u64 shift = 0; shift < 64 && most >> shift; shift += 8) {
            counts[0] = 0;
            grid((unsigned)tiles, 1, [&] { K::sort_count(keys.data(), order.data(), n, shift, tiles, counts.data()); });
            accumulate_8(counts.data(), DIGITS * tiles, &sum);
            grid((unsigned)tiles, 1, [&] { K::sort_move(keys.data(), order.data(), n, shift, tiles, counts.data(), other.data()); });
            std::swap(order, other);
        }
    };
    by(columns, width - 1);
    by(rows, height - 1);
    std::vector<u64> want(n);
    for (u64 i = 0; i < n; i++) want[i] = i;
    std::stable_sort(want.begin(), want.end(), [&](u64 a, u64 b) { return std::tie(rows[a], columns[a]) < std::tie(rows[b], columns[b]); });
    claim(order == want, "a stable order", seed);

    std::vector<I> to_rows(n), to_columns(n), places(n + 1);
    std::vector<VALUE> to_values(n);
    each(n, [&] { K::permute_indices(order.data(), rows.data(), n, to_rows.data()); });
    each(n, [&] { K::permute_indices(order.data(), columns.data(), n, to_columns.data()); });
    each(n, [&] { permute_all(order.data(), values.data(), n, to_values.data()); });
    each(n, [&] { K::first_of_place(to_rows.data(), to_columns.data(), n, places.data()); });
    u64 count = 0, first = ~0ull, result = 0;
    K::accumulate(places.data(), n, &count);
    std::map<std::pair<I, I>, VALUE> sums;
    for (u64 i = 0; i < n; i++) sums[{rows[i], columns[i]}] = sums[{rows[i], columns[i]}] + values[i];
    claim(count == sums.size(), "the number of places", seed);
    std::vector<I> sum_rows(count), sum_columns(count);
    std::vector<VALUE> sum_values(count);
    each(n, [&] {
        K::sum_places(to_rows.data(), to_columns.data(), to_values.data(), n, places.data(), count, sum_rows.data(),
                      sum_columns.data(), sum_values.data());
    });
    u64 i = 0;
    for (auto &[at, x] : sums) {
        claim(at == std::make_pair(sum_rows[i], sum_columns[i]) && x == sum_values[i], "summed places", seed);
        i++;
    }
    each(n, [&] { K::check_places(rows.data(), columns.data(), height, width, n, &first); });
    each(1, [&] { settle_places(&first, &count, &result); });
    claim(result == count, "all inside", seed);
    if (n > 5) {
        columns[5] = (I)width, rows[n - 1] = -1;
        each(n, [&] { K::check_places(rows.data(), columns.data(), height, width, n, &first); });
        each(1, [&] { settle_places(&first, &count, &result); });
        claim(result == (5 | 1ull << 63), "the first outside", seed);
    }
}

int main() {
#ifdef LOCKSTEP
    const int seeds = 12;
#else
    const int seeds = 200;
#endif
    for (int seed = 0; seed < seeds; seed++) {
        rng.seed(seed);
        products<int>(seed), products<i64>(seed);
        sums<int>(seed), sums<i64>(seed);
        dense<int>(seed), dense<i64>(seed);
        offsets<int>(seed), offsets<i64>(seed);
        triangles<int>(seed), triangles<i64>(seed);
        stacks<int>(seed), stacks<i64>(seed);
        blocks<int>(seed), blocks<i64>(seed);
        sorts<int>(seed), sorts<i64>(seed);
    }
    std::vector<int> narrow{-1, 0, 2147483647}, again(3);
    std::vector<i64> wide(3);
    each(3, [&] { widen_indices(narrow.data(), 3, wide.data()); });
    each(3, [&] { narrow_indices(wide.data(), 3, again.data()); });
    claim(again == narrow && wide[2] == 2147483647, "indices of another width", 0);
    if (!failures) printf("all as it should be\n");
    return failures > 0;
}
