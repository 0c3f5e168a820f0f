// Matrices whose largest number is far from one are multiplied by a power of two, so that squares and reciprocals of their
// elements stay in range. (LAPACK does so inside its drivers, cuSOLVER does not.)
typedef unsigned long long u64;

__device__ __forceinline__ unsigned bits(float x) { return __float_as_uint(fabsf(x)); }
__device__ __forceinline__ u64 bits(double x) { return (u64)__double_as_longlong(fabs(x)); }
__device__ __forceinline__ float number(unsigned x) { return __uint_as_float(x); }
__device__ __forceinline__ double number(u64 x) { return __longlong_as_double((long long)x); }
__device__ __forceinline__ int exponent(float x) { return ilogbf(x); }
__device__ __forceinline__ int exponent(double x) { return ilogb(x); }
__device__ __forceinline__ float power(float, int e) { return __int_as_float((e + 127) << 23); }
__device__ __forceinline__ double power(double, int e) { return __longlong_as_double((long long)(e + 1023) << 52); }

// An element of a matrix that counts: `part` is 0 for all of them, 1 for the lower triangle, 2 for the upper one.
__device__ __forceinline__ bool counts(unsigned part, u64 row, u64 col) {
    return part == 0 || (part == 1 ? row >= col : row <= col);
}

// The largest absolute value of each matrix as its bits, which for such numbers are in the same order; a NaN is above all.
// `most` begins at zero. `rows`, `ld` and `step` count parts of numbers, of which each has `parts`.
template <class R, class U>
__device__ __forceinline__ void largest(const R *x, u64 rows, u64 cols, u64 ld, u64 step, u64 count, u64 part, u64 parts, U *most) {
    for (u64 m = blockIdx.y; m < count; m += gridDim.y) {
        U best = 0;
        for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < rows * cols; k += gridDim.x * (u64)blockDim.x) {
            u64 i = k % rows, j = k / rows;
            if (counts((unsigned)part, i / parts, j)) best = max(best, bits(x[m * step + j * ld + i]));
        }
        for (int lane = 16; lane > 0; lane /= 2) best = max(best, __shfl_xor_sync(~0u, best, lane));
        if (threadIdx.x % 32 == 0) atomicMax(most + m, best);
    }
}

// Multiplies each matrix by 2^-e (`back`: 2^e), where e is the exponent of its largest number, if that is beyond `reach`.
template <class R, class U>
__device__ __forceinline__ void scale(R *x, u64 rows, u64 cols, u64 ld, u64 step, u64 count, u64 part, u64 parts, const U *most, u64 reach, u64 back) {
    for (u64 m = blockIdx.y; m < count; m += gridDim.y) {
        R top = number(most[m]);
        if (!(top > 0) || isinf(top)) continue;
        int e = exponent(top);
        if (e >= -(int)reach && e <= (int)reach) continue;
        int by = back ? e : -e;
        // In two steps, both in range. Where the product is in range, nothing is rounded before the second.
        R one = power(top, by / 2), two = power(top, by - by / 2);
        for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < rows * cols; k += gridDim.x * (u64)blockDim.x) {
            u64 i = k % rows, j = k / rows;
            R *at = x + m * step + j * ld + i;
            if (counts((unsigned)part, i / parts, j)) *at = *at * one * two;
        }
    }
}

#define K extern "C" __global__ void
K range_largest_4(const float *x, u64 rows, u64 cols, u64 ld, u64 step, u64 count, u64 part, u64 parts, unsigned *most) { largest(x, rows, cols, ld, step, count, part, parts, most); }
K range_largest_8(const double *x, u64 rows, u64 cols, u64 ld, u64 step, u64 count, u64 part, u64 parts, u64 *most) { largest(x, rows, cols, ld, step, count, part, parts, most); }
K range_scale_4(float *x, u64 rows, u64 cols, u64 ld, u64 step, u64 count, u64 part, u64 parts, const unsigned *most, u64 reach, u64 back) { scale(x, rows, cols, ld, step, count, part, parts, most, reach, back); }
K range_scale_8(double *x, u64 rows, u64 cols, u64 ld, u64 step, u64 count, u64 part, u64 parts, const u64 *most, u64 reach, u64 back) { scale(x, rows, cols, ld, step, count, part, parts, most, reach, back); }
