// Copies of strided tensors. All sizes and steps count units of 1, 2, 4, 8 or 16 bytes; `n0` is the fastest axis.
typedef unsigned long long u64;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned char b1;
typedef unsigned short b2;
typedef u32 b4;
typedef u64 b8;
struct __align__(16) b16 { u64 low, high; };

// Where unit `k` is in the source and in the target, from the first ones. `k` and all extents are below 2^31.
template <int MOST>
__device__ __forceinline__ void place(u32 k, u32 rank, const u64 *n, const i64 *f, const i64 *t, i64 &from, i64 &to) {
#pragma unroll
    for (u32 axis = 0; axis < MOST; ++axis) {
        if (axis >= rank) break;
        u32 i = k, rest = 0;
        if (axis + 1 < rank) {
            rest = k / (u32)n[axis];
            i = k - rest * (u32)n[axis];
        }
        from += i * f[axis];
        to += i * t[axis];
        k = rest;
    }
}

template <class E>
__device__ __forceinline__ void walk(const E *from, E *to, u32 total, u32 rank, const u64 *n, const i64 *f, const i64 *t) {
    u32 step = gridDim.x * blockDim.x;
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += step) {
        i64 a = 0, b = 0;
        place<8>(k, rank, n, f, t, a, b);
        to[b] = from[a];
    }
}

// For more than eight axes, or 2^31 units: the axes in memory, the fastest first, each as its extent, the step of the source and
// the step of the target.
template <class E>
__device__ __forceinline__ void walk_table(const E *from, E *to, u64 total, const u64 *axes, u64 rank) {
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < total; k += step) {
        i64 a = 0, b = 0;
        u64 rest = k;
        for (u64 axis = 0; axis < rank; ++axis) {
            u64 n = axes[3 * axis], i = rest % n;
            a += (i64)i * (i64)axes[3 * axis + 1];
            b += (i64)i * (i64)axes[3 * axis + 2];
            rest /= n;
        }
        to[b] = from[a];
    }
}

// Tiles of SIDE x SIDE, of which the source is read along its neighbours (`nb` of them) and the target is written along its own
// (`na`); numbers of tiles and extents are below 2^31. A row of a tile in shared memory is one 32-bit word longer, so that the lanes of a warp that read a column use
// different banks.
template <class E, int SIDE>
__device__ __forceinline__ void turn(const E *from, E *to, u32 na, u32 nb, i64 fa, i64 tb, u32 rests, u32 rank, const u64 *n, const i64 *f, const i64 *t) {
    const int PAD = sizeof(E) >= 4 ? 1 : 4 / sizeof(E);
    __shared__ E tile[SIDE][SIDE + PAD];
    const u32 x = threadIdx.x % SIDE, first = threadIdx.x / SIDE, ROWS = 256 / SIDE;
    u32 wide = (na + SIDE - 1) / SIDE, tiles = wide * ((nb + SIDE - 1) / SIDE);
    for (u32 k = blockIdx.x; k < tiles * rests; k += gridDim.x) {
        u32 rest = k / tiles, at = k - rest * tiles;
        u32 b0 = at / wide * SIDE, a0 = at % wide * SIDE;
        i64 s = 0, d = 0;
        place<6>(rest, rank, n, f, t, s, d);
        for (u32 r = first; r < SIDE; r += ROWS)
            if (a0 + r < na && b0 + x < nb) tile[r][x] = from[s + (i64)(a0 + r) * fa + (i64)(b0 + x)];
        __syncthreads();
        for (u32 r = first; r < SIDE; r += ROWS)
            if (b0 + r < nb && a0 + x < na) to[d + (i64)(b0 + r) * tb + (i64)(a0 + x)] = tile[x][r];
        __syncthreads();
    }
}

#define K extern "C" __global__ void
#define SIX u64 n0, u64 n1, u64 n2, u64 n3, u64 n4, u64 n5, i64 f0, i64 f1, i64 f2, i64 f3, i64 f4, i64 f5, i64 t0, i64 t1, i64 t2, i64 t3, i64 t4, i64 t5
#define SIX_AXES const u64 n[6] = {n0, n1, n2, n3, n4, n5}; const i64 f[6] = {f0, f1, f2, f3, f4, f5}, t[6] = {t0, t1, t2, t3, t4, t5};
#define EIGHT u64 n0, u64 n1, u64 n2, u64 n3, u64 n4, u64 n5, u64 n6, u64 n7, i64 f0, i64 f1, i64 f2, i64 f3, i64 f4, i64 f5, i64 f6, i64 f7, i64 t0, i64 t1, i64 t2, i64 t3, i64 t4, i64 t5, i64 t6, i64 t7
#define EIGHT_AXES const u64 n[8] = {n0, n1, n2, n3, n4, n5, n6, n7}; const i64 f[8] = {f0, f1, f2, f3, f4, f5, f6, f7}, t[8] = {t0, t1, t2, t3, t4, t5, t6, t7};
#define ALL(S, SIDE) \
    K walk_##S(const b##S *from, b##S *to, u64 total, u64 rank, EIGHT) { EIGHT_AXES walk(from, to, (u32)total, (u32)rank, n, f, t); } \
    K walk_table_##S(const b##S *from, b##S *to, u64 total, const u64 *axes, u64 rank) { walk_table(from, to, total, axes, rank); } \
    K __launch_bounds__(256) turn_##S(const b##S *from, b##S *to, u64 na, u64 nb, i64 fa, i64 tb, u64 rests, u64 rank, SIX) { SIX_AXES turn<b##S, SIDE>(from, to, (u32)na, (u32)nb, fa, tb, (u32)rests, (u32)rank, n, f, t); }
ALL(1, 64)
ALL(2, 64)
ALL(4, 64)
ALL(8, 32)
ALL(16, 32)
