#pragma once
// Draws: four numbers a thread and step, of four words or of eight ("wide"). The words are Philox's own, made here, or those
// that a source of sources.cu has left in memory, in order from the first of the four numbers that hold the first one.
//
// Numbers `first` to `first + n` of a stream go to `out`. ../cuda_half.rs launches these; `compile` beside makes the PTX.

#include "math.cuh"

struct Words {
    u32 w[8];
};

// The words of four numbers.
__device__ __forceinline__ Words words_of(const u32 *words, u64 base, u64 quad, u64 seed, u32 wide) {
    Words out;
    if (words) {
        const u32 *at = words + (quad - base) * (wide ? 8 : 4);
#pragma unroll
        for (int i = 0; i < 8; i++) out.w[i] = i < 4 || wide ? at[i] : 0;
        return out;
    }
    u32 lane = (u32)(quad & 0xffff), row = (u32)(quad >> 16);
    u32 k = (u32)seed, l = (u32)(seed >> 32);
    Block a = philox(wide ? 2 * row : row, 0, lane, 0, k, l);
#pragma unroll
    for (int i = 0; i < 4; i++) out.w[i] = a.w[i];
    if (wide) {
        Block b = philox(2 * row + 1, 0, lane, 0, k, l);
#pragma unroll
        for (int i = 0; i < 4; i++) out.w[4 + i] = b.w[i];
    }
    return out;
}

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {
    T x[4];
};

// Calls `make` for each four numbers and stores those that were asked for.
template <class T, class Make>
__device__ __forceinline__ void each(T *out, const u32 *words, u64 n, u64 first, u64 seed, u32 wide, Make make) {
    u64 base = first / 4, end = (first + n + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    bool aligned = first % 4 == 0 && (u64)out % sizeof(Four<T>) == 0;
    for (u64 quad = base + (u64)blockIdx.x * blockDim.x + threadIdx.x; quad < end; quad += stride) {
        Words w = words_of(words, base, quad, seed, wide);
        Four<T> y;
        make(w, y.x);
        u64 at = 4 * quad;
        if (aligned && at + 4 <= first + n) {
            *(Four<T> *)(out + (at - first)) = y;
        } else {
            for (int i = 0; i < 4; i++) {
                if (at + i >= first && at + i < first + n) out[at + i - first] = y.x[i];
            }
        }
    }
}

#define DRAW(T) T *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator, u32 wide, u32 mode, double a, double b, double c
