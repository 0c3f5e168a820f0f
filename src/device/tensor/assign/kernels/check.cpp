// Runs the kernels of assign.cu on the CPU, a thread for each of a block, and compares them with loops over the axes.
//
//     g++ -std=c++20 -O1 -pthread -fsanitize=address,undefined -o /tmp/check src/device/tensor/assign/kernels/check.cpp && /tmp/check
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

struct dim { unsigned x = 0; };
static dim gridDim, blockDim;
static thread_local dim blockIdx, threadIdx;
static std::barrier<> *together;
static void __syncthreads() { together->arrive_and_wait(); }
#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __align__(n) alignas(n)
#define __launch_bounds__(n)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "assign.cu"

static const unsigned THREADS = 256;

template <class F> static void launch(unsigned blocks, F kernel) {
    gridDim.x = blocks;
    blockDim.x = THREADS;
    for (unsigned block = 0; block < blocks; ++block) {
        std::barrier<> barrier(THREADS);
        together = &barrier;
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < THREADS; ++i)
            threads.emplace_back([=] { blockIdx.x = block, threadIdx.x = i, kernel(); });
        for (auto &thread : threads) thread.join();
    }
}

static std::mt19937_64 rng(7);
static u64 below(u64 n) { return rng() % n; }

struct Axis { u64 n; i64 f, t; };

// Axes of a target with gaps, over a source of other strides, negative ones among them, in another order. For a turn, axis 0 is the
// fastest of the target, and axis 1 that of the source.
template <class E> struct Case {
    std::vector<Axis> axes; // the fastest of the target first
    std::vector<unsigned char> source, target;
    i64 first = 0;

    Case(std::vector<u64> extents, bool turn) {
        u64 rank = extents.size(), step = 1;
        for (u64 n : extents) axes.push_back({n, 0, (i64)step}), step *= n + below(2);
        std::vector<u64> order(rank);
        for (u64 i = 0; i < rank; ++i) order[i] = i;
        for (u64 i = 1; i < rank; ++i) std::swap(order[i], order[below(i + 1)]);
        if (turn) for (u64 i = 0; i < rank; ++i) if (order[i] == 1) std::swap(order[0], order[i]);
        u64 from = 1, length = 1;
        for (u64 i : order) {
            bool back = !(turn && i == 1) && below(3) == 0;
            axes[i].f = back ? -(i64)from : (i64)from;
            if (back) first += (i64)(from * (axes[i].n - 1));
            length += (axes[i].n - 1) * from;
            from *= axes[i].n + below(2);
        }
        source.resize(length * sizeof(E));
        for (auto &byte : source) byte = (unsigned char)rng();
        target.assign(step * sizeof(E), 0xcc);
    }

    std::vector<unsigned char> wanted() const {
        auto all = target;
        u64 total = 1;
        for (auto &axis : axes) total *= axis.n;
        for (u64 k = 0; k < total; ++k) {
            i64 f = first, t = 0;
            u64 rest = k;
            for (auto &axis : axes) f += (i64)(rest % axis.n) * axis.f, t += (i64)(rest % axis.n) * axis.t, rest /= axis.n;
            memcpy(&all[t * sizeof(E)], &source[f * sizeof(E)], sizeof(E));
        }
        return all;
    }
};

template <class E, class F> static void check(const char *name, Case<E> it, F run) {
    auto wanted = it.wanted();
    std::vector<E> from((it.source.size() + sizeof(E) - 1) / sizeof(E)), to(it.target.size() / sizeof(E));
    memcpy((void *)from.data(), it.source.data(), it.source.size());
    memcpy((void *)to.data(), it.target.data(), it.target.size());
    run(from.data() + it.first, to.data(), it.axes);
    if (memcmp(to.data(), wanted.data(), wanted.size()) != 0) printf("%s of %zu bytes is wrong\n", name, sizeof(E)), exit(1);
}

template <class E, int SIDE> static void all() {
    for (int round = 0; round < 6; ++round) {
        std::vector<u64> extents;
        for (u64 i = 0, rank = 1 + below(8); i < rank; ++i) extents.push_back(1 + below(4));
        auto walked = [](const E *from, E *to, const std::vector<Axis> &axes) {
            u64 n[8], total = 1;
            i64 f[8], t[8];
            for (u64 i = 0; i < 8; ++i) {
                Axis axis = i < axes.size() ? axes[i] : Axis{1, 0, 0};
                n[i] = axis.n, f[i] = axis.f, t[i] = axis.t, total *= axis.n;
            }
            launch(2, [&] { walk(from, to, (u32)total, (u32)axes.size(), n, f, t); });
        };
        check<E>("walk", Case<E>(extents, false), walked);
        auto by_table = [](const E *from, E *to, const std::vector<Axis> &axes) {
            std::vector<u64> table;
            u64 total = 1;
            for (auto &axis : axes) table.insert(table.end(), {axis.n, (u64)axis.f, (u64)axis.t}), total *= axis.n;
            launch(2, [&] { walk_table(from, to, total, table.data(), (u64)axes.size()); });
        };
        extents.insert(extents.end(), {2, 1, 3});
        check<E>("walk_table", Case<E>(extents, false), by_table);
        std::vector<u64> tiles = {16 + below(120), 16 + below(120)};
        for (u64 i = 0, rank = below(4); i < rank; ++i) tiles.push_back(1 + below(3));
        auto turned = [](const E *from, E *to, const std::vector<Axis> &axes) {
            u64 n[6], rests = 1;
            i64 f[6], t[6];
            for (u64 i = 0; i < 6; ++i) {
                Axis axis = i + 2 < axes.size() ? axes[i + 2] : Axis{1, 0, 0};
                n[i] = axis.n, f[i] = axis.f, t[i] = axis.t, rests *= axis.n;
            }
            launch(3, [&] {
                turn<E, SIDE>(from, to, (u32)axes[0].n, (u32)axes[1].n, axes[0].f, axes[1].t, (u32)rests, (u32)axes.size() - 2, n, f, t);
            });
        };
        check<E>("turn", Case<E>(tiles, true), turned);
    }
}

int main() {
    all<b1, 64>();
    all<b2, 64>();
    all<b4, 64>();
    all<b8, 32>();
    all<b16, 32>();
    puts("walk, walk_table and turn are exact");
}
