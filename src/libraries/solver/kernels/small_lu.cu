// Systems of many small square matrices by LU with partial pivoting: at most 32 rows, and as many right sides. `width` lanes (4, 8, 16 or
// 32) have a matrix, a lane has a column of A and a column of B. Everything is in shared memory. The host half is
// src/libraries/solver/host/small: each element sees one fused step for each column there too, so the bits are the same
// (--fmad=false).
typedef unsigned long long u64;

__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float nothing(float) { return __int_as_float(0x7fc00000); }
__device__ __forceinline__ double nothing(double) { return __longlong_as_double(0x7ff8000000000000); }

template <class T> __device__ __forceinline__ void small_lu(
    T *a_all, u64 lda, u64 step_a, T *b_all, u64 ldb, u64 step_b, unsigned n, unsigned right, u64 count, int *info, unsigned width) {
    extern __shared__ __align__(16) unsigned char room[];
    unsigned lane = threadIdx.x & (width - 1), own = threadIdx.x / width, ld = width + 1;
    u64 number = (u64)blockIdx.x * (blockDim.x / width) + own;
    bool live = number < count;
    T *a = (T *)room + own * 2 * width * ld, *b = a + width * ld, *column = a + lane * ld, *y = b + lane * ld;
    T *a_own = a_all + number * step_a, *b_own = b_all + number * step_b;

    T broken = 0;
    for (unsigned j = 0; j < n; ++j) {
        if (lane < n) {
            T value = live ? a_own[j * lda + lane] : (T)0;
            broken = fused(value, (T)0, broken);
            a[j * ld + lane] = value;
        }
    }
    for (unsigned j = 0; j < right; ++j)
        if (lane < n) b[j * ld + lane] = live ? b_own[j * ldb + lane] : (T)0;
    int lost = broken == broken ? 0 : 1, found = 0;
    for (unsigned step = width / 2; step > 0; step /= 2) lost |= __shfl_xor_sync(~0u, lost, step);
    __syncwarp();
    if (lost && lane < n)
        for (unsigned i = 0; i < n; ++i) column[i] = 0;
    __syncwarp();
    for (unsigned k = 0; k < n; ++k) {
        // The largest number, and the lowest of its rows; a NaN is none.
        T value = lane >= k && lane < n ? a[k * ld + lane] : nothing((T)0), most = value == value ? (T)fabs(value) : (T)-1;
        unsigned at = value == value ? lane : k;
        for (unsigned step = width / 2; step > 0; step /= 2) {
            T other = __shfl_xor_sync(~0u, most, step);
            unsigned there = __shfl_xor_sync(~0u, at, step);
            if (other > most || (other == most && there < at)) {
                most = other;
                at = there;
            }
        }
        if (found == 0 && most == (T)0) found = k + 1;
        __syncwarp();
        if (lane < n) {
            T up = column[at];
            column[at] = column[k];
            column[k] = up;
        }
        if (lane < right) {
            T up = y[at];
            y[at] = y[k];
            y[k] = up;
        }
        __syncwarp();
        // Below a zero there are zeros, which stay.
        T divisor = most == (T)0 ? (T)1 : a[k * ld + k];
        if (lane > k && lane < n) a[k * ld + lane] /= divisor;
        __syncwarp();
        if (lane > k && lane < n)
            for (unsigned i = k + 1; i < n; ++i) column[i] = fused(-a[k * ld + i], column[k], column[i]);
        if (lane < right)
            for (unsigned i = k + 1; i < n; ++i) y[i] = fused(-a[k * ld + i], y[k], y[i]);
        __syncwarp();
    }
    if (lost) {
        found = 1;
        if (lane < n)
            for (unsigned i = 0; i < n; ++i) column[i] = nothing((T)0);
    }
    __syncwarp();
    if (live && lane == 0) info[number] = found;
    if (live)
        for (unsigned j = 0; j < n; ++j)
            if (lane < n) a_own[j * lda + lane] = a[j * ld + lane] == a[j * ld + lane] ? a[j * ld + lane] : nothing((T)0);
    if (lane < right)
        for (unsigned j = n; j-- > 0;) {
            y[j] /= a[j * ld + j];
            for (unsigned i = 0; i < j; ++i) y[i] = fused(-a[j * ld + i], y[j], y[i]);
        }
    __syncwarp();
    if (live && found == 0)
        for (unsigned j = 0; j < right; ++j)
            if (lane < n) b_own[j * ldb + lane] = b[j * ld + lane] == b[j * ld + lane] ? b[j * ld + lane] : nothing((T)0);
}

#define KERNEL(name, T)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(64) name(                                                                       \
        T *a, u64 lda, u64 step_a, T *b, u64 ldb, u64 step_b, u64 n, u64 right, u64 count, int *info, u64 width) {               \
        small_lu(a, lda, step_a, b, ldb, step_b, (unsigned)n, (unsigned)right, count, info, (unsigned)width);                    \
    }
KERNEL(small_lu_4, float)
KERNEL(small_lu_8, double)
