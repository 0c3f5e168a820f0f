#pragma once
// Draws: four numbers a thread and step, of four words or of eight ("wide"). The words are Philox's own, made here, or those
// that a source of sources.cu has left in memory, in order from the first of the four numbers that hold the first one.
//
// Numbers `first` to `first + n` of a stream go to `out`. ../cuda_half.rs launches these; `.ci/kernels` makes the PTX.

#include "math.cuh"

struct Words {
    u32 w[8];
};

// A number that is known when this is compiled.
template <u32 X> struct Known {
    __device__ __forceinline__ constexpr operator u32() const { return X; }
};

// The words of four numbers, made here.
template <class Wide> __device__ __forceinline__ Words own_words(u64 quad, u64 seed, Wide wide) {
    Words out;
    u32 lane = (u32)(quad & 0xffff), k = (u32)seed, l = (u32)(seed >> 32);
    // Of 64 bits: the row of the last position is above 2^32.
    u64 row = wide ? 2 * (quad >> 16) : quad >> 16;
    Block a = philox((u32)row, (u32)(row >> 32), lane, 0, k, l);
#pragma unroll
    for (int i = 0; i < 4; i++) out.w[i] = a.w[i];
    if (wide) {
        Block b = philox((u32)row + 1, (u32)(row >> 32), lane, 0, k, l);
#pragma unroll
        for (int i = 0; i < 4; i++) out.w[4 + i] = b.w[i];
    }
    return out;
}

// The words of four numbers, which a source has left.
__device__ __forceinline__ Words given_words(const u32 *words, u64 quad, u32 wide) {
    Words out;
    const u32 *at = words + quad * (wide ? 8 : 4);
#pragma unroll
    for (int i = 0; i < 8; i++) out.w[i] = i < 4 || wide ? at[i] : 0;
    return out;
}

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {
    T x[4];
};

// Stores those of four numbers that were asked for.
template <class T>
__device__ __forceinline__ void put(T *out, const Four<T> &y, u64 at, u64 n, u64 first, bool aligned) {
    if (aligned && at + 4 <= first + n) {
        *(Four<T> *)(out + (at - first)) = y;
    } else {
        for (int i = 0; i < 4; i++) {
            if (at + i >= first && at + i < first + n) out[at + i - first] = y.x[i];
        }
    }
}

// Calls `make` for each four numbers. What Philox makes here is compiled for it alone: a test of the generator for each number
// takes as long as the number.
template <class T, class Make>
__device__ __forceinline__ void each(T *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator, u32 wide, Make make) {
    u64 base = first / 4, end = (first + n + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    bool aligned = first % 4 == 0 && (u64)out % sizeof(Four<T>) == 0;
    u64 begin = base + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (words) {
        for (u64 quad = begin; quad < end; quad += stride) {
            Four<T> y;
            make(given_words(words, quad - base, wide), y.x, generator, wide);
            put(out, y, 4 * quad, n, first, aligned);
        }
    } else if (wide) {
        for (u64 quad = begin; quad < end; quad += stride) {
            Four<T> y;
            make(own_words(quad, seed, Known<1>()), y.x, Known<PHILOX>(), Known<1>());
            put(out, y, 4 * quad, n, first, aligned);
        }
    } else {
        for (u64 quad = begin; quad < end; quad += stride) {
            Four<T> y;
            make(own_words(quad, seed, Known<0>()), y.x, Known<PHILOX>(), Known<0>());
            put(out, y, 4 * quad, n, first, aligned);
        }
    }
}

#define DRAW(T) T *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator, u32 wide, u32 mode, double a, double b, double c
