// Words of the generators whose lanes must be jumped to: word j of visit v goes to words[(v - first) * width + j].
// The jumps' matrices are in tables.cuh, which `tables` writes.

#include "math.cuh"
#include "tables.cuh"

// One thread a lane. `v0` to `v4` and `counter` are lane 0 before row first / 4096.
extern "C" __global__ void xorwow_words(u32 *words, u64 visits, u64 first, u32 width, u32 v0, u32 v1, u32 v2, u32 v3, u32 v4,
                                        u32 counter) {
    u32 lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= 4096) return;
    u32 v[5] = {v0, v1, v2, v3, v4};
    for (int k = 0; k < 12; k++) {
        if (!(lane >> k & 1)) continue;
        u32 sum[5] = {0, 0, 0, 0, 0};
        for (int bit = 0; bit < 160; bit++) {
            if (v[bit / 32] >> (bit % 32) & 1) {
                for (int i = 0; i < 5; i++) sum[i] ^= xorwow_lanes[k][bit][i];
            }
        }
        for (int i = 0; i < 5; i++) v[i] = sum[i];
    }
    u64 end = first + visits;
    for (u64 at = first / 4096 * 4096 + lane; at < end; at += 4096) {
        for (u32 j = 0; j < width; j++) {
            u32 t = v[0] ^ (v[0] >> 2);
            v[0] = v[1];
            v[1] = v[2];
            v[2] = v[3];
            v[3] = v[4];
            v[4] = v[4] ^ (v[4] << 4) ^ t ^ (t << 1);
            counter += 362437;
            if (at >= first) words[(at - first) * width + j] = v[4] + counter;
        }
    }
}

#define M1 4294967087ull
#define M2 4294944443ull

// Modulo 2^32 - C, of numbers below 2^54.
template <u32 C> __device__ __forceinline__ u64 reduced(u64 x) {
    x = (x >> 32) * C + (u32)x;
    x = (x >> 32) * C + (u32)x;
    return x >= 0x100000000ull - C ? x - (0x100000000ull - C) : x;
}

__device__ __forceinline__ void apply(const u32 *matrix, u64 *x, u64 m) {
    u64 y[3];
    for (int i = 0; i < 3; i++) {
        u64 sum = 0;
        for (int j = 0; j < 3; j++) sum = (sum + matrix[3 * i + j] * x[j] % m) % m;
        y[i] = sum;
    }
    for (int i = 0; i < 3; i++) x[i] = y[i];
}

// One thread a lane. `a0` to `b2` are lane 0 before row first / lanes.
extern "C" __global__ void mrg_words(u32 *words, u64 visits, u64 first, u32 width, u32 lanes, u32 a0, u32 a1, u32 a2, u32 b0, u32 b1,
                                     u32 b2) {
    u32 lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    u64 a[3] = {a0, a1, a2}, b[3] = {b0, b1, b2};
    for (int k = 0; k < 17; k++) {
        if (!(lane >> k & 1)) continue;
        apply(mrg_lanes[k], a, M1);
        apply(mrg_lanes[k] + 9, b, M2);
    }
    u64 end = first + visits;
    for (u64 at = first / lanes * lanes + lane; at < end; at += lanes) {
        for (u32 j = 0; j < width; j++) {
            u64 p = reduced<209>(1403580ull * a[1] + 810728ull * (M1 - a[0]));
            u64 q = reduced<22853>(527612ull * b[2] + 1370589ull * (M2 - b[0]));
            a[0] = a[1];
            a[1] = a[2];
            a[2] = p;
            b[0] = b[1];
            b[1] = b[2];
            b[2] = q;
            if (at >= first) words[(at - first) * width + j] = (u32)(p <= q ? p + M1 - q : p - q);
        }
    }
}

// Points `first` to `first + points` of some dimensions, dimension by dimension, from number `at` of that order on.
extern "C" __global__ void sobol_words(u32 *words, u64 count, u64 at, u64 points, u64 first, u32 width, const u64 *directions) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        u64 dimension = (at + i) / points, index = first + (at + i) % points;
        const u64 *v = directions + 64 * dimension;
        u64 x = 0, gray = index ^ index >> 1;
        for (int k = 0; gray; k++, gray >>= 1) {
            if (gray & 1) x ^= v[k];
        }
        if (width == 1) {
            words[i] = (u32)(x >> 32);
        } else {
            words[2 * i] = (u32)x;
            words[2 * i + 1] = (u32)(x >> 32);
        }
    }
}

// -- permutations ----------------------------------------------------------------------------------------------------------

// What up to 4096 numbers are sorted by.
extern "C" __global__ void permutation_keys(u64 *keys, u32 n, u32 k, u32 l) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 x, y;
    further(k, l, i, &x, &y);
    keys[i] = x;
}

// The first `len` numbers in the order of their keys.
extern "C" __global__ void permutation_ranks(u32 *out, u32 len, const u64 *keys, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 own = keys[i];
    u32 rank = 0;
    for (u32 j = 0; j < n; j++) rank += keys[j] < own || (keys[j] == own && j < i);
    if (rank < len) out[rank] = i;
}

__device__ __forceinline__ u64 hash(u64 x, u64 key, u32 bits) {
    x = (x + key) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return (x ^ x >> 32) >> (64 - bits);
}

// The first `len` images of a bijection of the numbers below `n`, of `low + high` bits.
extern "C" __global__ void permutation_network(u32 *out, u64 len, u64 n, u32 low, u32 high, u32 k, u32 l) {
    u64 keys[16];
    for (int i = 0; i < 8; i++) further(k, l, i, keys + 2 * i, keys + 2 * i + 1);
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += stride) {
        u64 x = i;
        do {
            u64 a = x & ((1ull << low) - 1), b = x >> low;
            for (int r = 0; r < 16; r += 2) {
                a ^= hash(b, keys[r], low);
                b ^= hash(a, keys[r + 1], high);
            }
            x = b << low | a;
        } while (x >= n);
        out[i] = (u32)x;
    }
}
