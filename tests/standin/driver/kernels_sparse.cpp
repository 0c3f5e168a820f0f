/* The kernels of src/libraries/sparse/kernels, of f64, compiled for the CPU: one thread after the other, a warp of one lane. In a
 * library of its own, for it takes a compiler of C++; without one the simulator knows none of these, and they do nothing. */
extern "C" {
#include "simulator.h"
}

#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#define ON_CPU
#define VALUE double
#define FACTOR double
namespace sparse {
#include "../../../src/libraries/sparse/kernels/number.cuh"
#include "../../../src/libraries/sparse/kernels/structure.cu"
#undef EACH_INDEX
#include "../../../src/libraries/sparse/kernels/sort.cu"
#include "../../../src/libraries/sparse/kernels/entries.cu"
#undef SUM
#include "../../../src/libraries/sparse/kernels/products.cu"
#undef SUM
#include "../../../src/libraries/sparse/kernels/arrange.cu"
#include "../../../src/libraries/sparse/kernels/solve.cu"
thread_local Dim blockIdx, threadIdx, blockDim, gridDim;
}

template <class A> static A argument(const struct launch &launch, size_t i) {
    if constexpr (std::is_pointer_v<A>) {
        return launch.slots[i] == 0 ? nullptr : static_cast<A>(standin_backing(launch.slots[i]));
    } else {
        A value;
        memcpy(&value, &launch.slots[i], sizeof value);
        return value;
    }
}

template <auto F> struct Kernel;
template <class... A, void (*F)(A...)> struct Kernel<F> {
    template <size_t... i> static void call(const struct launch &launch, std::index_sequence<i...>) {
        F(argument<A>(launch, i)...);
    }
    static void grid(void *payload, unsigned blocks, unsigned threads) {
        const struct launch &launch = *static_cast<struct launch *>(payload);
        sparse::gridDim.x = blocks;
        sparse::blockDim.x = threads;
        for (sparse::blockIdx.x = 0; sparse::blockIdx.x < blocks; sparse::blockIdx.x++)
            for (sparse::threadIdx.x = 0; sparse::threadIdx.x < threads; sparse::threadIdx.x++)
                call(launch, std::index_sequence_for<A...>());
    }
    /* One thread an element; one lane a block; all by one thread, where threads take rows in turns. */
    static void each(void *payload) {
        const struct launch &launch = *static_cast<struct launch *>(payload);
        grid(payload, launch.grid[0], launch.block[0]);
    }
    static void blocks(void *payload) { grid(payload, static_cast<struct launch *>(payload)->grid[0], 1); }
    static void once(void *payload) { grid(payload, 1, 1); }
    /* Where warps of one block have something in common: one lane a warp. */
    static void warps(void *payload) {
        const struct launch &launch = *static_cast<struct launch *>(payload);
        grid(payload, launch.grid[0], launch.block[0] / 32);
    }

    static struct kernel made(const char *name, work run) {
        struct kernel kernel = {name, sizeof...(A), {sizeof(A)...}, nullptr, run, 0};
        return kernel;
    }
};

#define ONE(name, how) Kernel<sparse::name>::made(#name, Kernel<sparse::name>::how)
#define TWO(name, how) ONE(name##_4, how), ONE(name##_8, how)

static struct kernel kernels[] = {
    TWO(check_offsets, each), TWO(check_indices, each), ONE(settle_verdict, each), TWO(check_coordinates, each),
    TWO(check_list, each), TWO(expand, each), TWO(compress, each), TWO(accumulate, once), ONE(sort_begin, each),
    TWO(sort_count, blocks), TWO(sort_move, blocks), TWO(check_places, each), TWO(first_of_place, each),
    ONE(settle_places, each), ONE(widen_indices, each), ONE(narrow_indices, each), TWO(permute_indices, each),
    TWO(shift_offsets, each), TWO(add_lengths, each), ONE(zero_lines_all, each), ONE(scale_dense_all, each),
    ONE(conjugate_all, each), TWO(to_dense, each), TWO(coo_to_dense, each), TWO(from_dense, each), TWO(select, each),
    TWO(add, each), TWO(scale, each), TWO(row_sums, each), TWO(diagonal, each), TWO(scatter_add, each), TWO(gather, each),
    TWO(scatter, each), TWO(rot, each), TWO(dot, once), TWO(multiply, once), TWO(masked, once), TWO(beside, each),
    TWO(unblock, each), TWO(blocks_to_dense, each), TWO(block, each), TWO(sum_places, each), ONE(permute_all, each),
    TWO(sum_tiles, blocks), TWO(accumulate_tiles, blocks), TWO(levels, each), TWO(order, each), TWO(multiply_short, each),
    TWO(times_vector, each), TWO(times_rows, warps), ONE(forget_lines_all, each), TWO(triangle, each), TWO(ilu0, once), TWO(ic0, once), ONE(settle_pivot, each), ONE(tiny_tridiagonal_all, each),
    ONE(quotients_all, once), ONE(lanczos_all, once), ONE(xpby_all, each), ONE(times_all, each), ONE(reciprocal_all, each),
};

/* The kernel of this name, whose operands are told by `operands`. */
extern "C" EXPORT const struct kernel *standin_sparse_kernel(const char *name,
                                                             void (*operands)(struct command *, const struct launch *)) {
    for (struct kernel &kernel : kernels)
        if (strcmp(kernel.name, name) == 0) {
            kernel.operands = operands;
            return &kernel;
        }
    return nullptr;
}
