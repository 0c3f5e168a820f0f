// QR of many small matrices, and what is made of the factors: at most 64 rows and columns. `width` lanes (4, 8, 16 or 32) have a
// matrix, a lane has a column of A and a column of B; of matrices with more than 32 rows or columns (width 64) a warp has one, a lane
// two columns of A, and B passes in parts. Everything is in shared memory. The host half is
// src/libraries/solver/host/small: every sum has the same terms in the same order there, so the bits are the same. Therefore
// nothing is fused but what says `fused` (--fmad=false), and a choice is a selection, not a branch, where it could show in the
// sign of a zero.
typedef unsigned long long u64;

// Columns of A of a lane, and of B that pass at once where it has two.
enum { COLUMNS = 2, PART = 24 };

enum { FACTOR = 1, IDENTITY = 2, FORWARD = 4, BACKWARD = 8, UPPER = 16, LOWER = 32 };

__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float epsilon(float) { return 1.1920928955078125e-7f; }
__device__ __forceinline__ double epsilon(double) { return 2.220446049250313e-16; }
__device__ __forceinline__ float nothing(float) { return __int_as_float(0x7fc00000); }
__device__ __forceinline__ double nothing(double) { return __longlong_as_double(0x7ff8000000000000); }

__device__ __forceinline__ int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

// The power of two of a size, and its inverse: both are normal.
__device__ __forceinline__ void powers(float x, float &power, float &inverse) {
    int e = clamped(__float_as_int(x) >> 23 & 0xff, 127 - 100, 127 + 100);
    power = __int_as_float(e << 23);
    inverse = __int_as_float((2 * 127 - e) << 23);
}
__device__ __forceinline__ void powers(double x, double &power, double &inverse) {
    int e = clamped((int)(__double_as_longlong(x) >> 52) & 0x7ff, 1023 - 1000, 1023 + 1000);
    power = __longlong_as_double((long long)e << 52);
    inverse = __longlong_as_double((long long)(2 * 1023 - e) << 52);
}

// The larger size; a NaN is none.
template <class T> __device__ __forceinline__ T most(T a, T x) {
    x = fabs(x);
    return x > a ? x : a;
}

template <class T> __device__ __forceinline__ T most_of(T x, unsigned width) {
    for (unsigned step = width / 2; step > 0; step /= 2) x = most(x, __shfl_xor_sync(~0u, x, step));
    return x;
}

// Reflects a column from row k on. Inner products are those with x, which times `by` is v.
template <class T> __device__ __forceinline__ void reflect(T *column, const T *x, T sum, T by, T tau, unsigned k, unsigned m) {
    T w = tau * fused(sum, by, column[k]);
    column[k] -= w;
    for (unsigned i = k + 1; i < m; ++i) column[i] = fused(-(x[i] * by), w, column[i]);
}

template <class T> __device__ __forceinline__ void multiply(T *column, const T *a, unsigned ld, T tau, unsigned k, unsigned m) {
    const T *v = a + k * ld;
    T sum = 0;
    for (unsigned i = k + 1; i < m; ++i) sum = fused(v[i], column[i], sum);
    reflect(column, v, sum, (T)1, tau, k, m);
}

template <class T> __device__ __forceinline__ void small_qr(
    T *a_all, u64 lda, u64 step_a, T *tau_all, u64 step_tau, T *b_all, u64 ldb, u64 step_b, unsigned rows, unsigned cols, unsigned right,
    unsigned size, u64 count, int *info, unsigned what, unsigned width) {
    extern __shared__ __align__(16) unsigned char room[];
    unsigned lanes = width < 32 ? width : 32, lane = threadIdx.x & (lanes - 1), own = threadIdx.x / lanes, ld = width + 1;
    u64 number = (u64)blockIdx.x * (blockDim.x / lanes) + own;
    bool live = number < count, wide = what & LOWER;
    unsigned panel = width * ld, at_once = width > 32 ? PART : width;
    unsigned each = panel + (what == FACTOR ? 0 : at_once * ld) + 2 * width;
    T *a = (T *)room + own * each, *x = a + panel, *tau = x + width, *b = tau + width;
    unsigned m = wide ? cols : rows, n = wide ? rows : cols;
    T *a_own = a_all + number * step_a, *tau_own = tau_all + number * step_tau, *b_own = b_all + number * step_b;

    T broken = 0;
    for (unsigned j = 0; j < cols; ++j) {
        for (unsigned i = lane; i < rows; i += lanes) {
            T value = live ? a_own[j * lda + i] : (T)0;
            broken = fused(value, (T)0, broken);
            a[wide ? i * ld + j : j * ld + i] = value;
        }
    }
    bool bad = false;
    __syncwarp();
    if (what & FACTOR) {
        int lost = broken == broken ? 0 : 1;
        for (unsigned step = lanes / 2; step > 0; step /= 2) lost |= __shfl_xor_sync(~0u, lost, step);
        bad = lost;
        T scale[COLUMNS];
#pragma unroll
        for (unsigned c = 0; c < COLUMNS; ++c) {
            T *column = a + (lane + c * lanes) * ld, inverse, largest = 0;
            if (lane + c * lanes < n) {
                if (bad) for (unsigned i = 0; i < m; ++i) column[i] = 0;
                for (unsigned i = 0; i < m; ++i) largest = most(largest, column[i]);
                powers(largest, scale[c], inverse);
                for (unsigned i = 0; i < m; ++i) column[i] *= inverse;
            }
        }
        __syncwarp();
        for (unsigned k = 0; k < size; ++k) {
            T *pivot = a + k * ld, head = pivot[k], below = 0, value[COLUMNS], power, inverse;
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c) {
                unsigned i = lane + c * lanes;
                value[c] = i > k && i < m ? pivot[i] : (T)0;
                below = most(below, value[c]);
            }
            below = most_of(below, lanes);
            powers(most(below, head), power, inverse);
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c) {
                value[c] *= inverse;
                if (lane + c * lanes < width) x[lane + c * lanes] = value[c];
            }
            __syncwarp();
            T alpha = head * inverse, squares = 0, sum[COLUMNS] = {0, 0};
            // A column that is not there, or not to be reflected, is read like the pivot.
            T *column[COLUMNS];
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c)
                column[c] = lane + c * lanes > k && lane + c * lanes < n ? a + (lane + c * lanes) * ld : pivot;
            if (n > lanes) {
                for (unsigned i = k + 1; i < m; ++i) {
                    squares = fused(x[i], x[i], squares);
                    sum[0] = fused(x[i], column[0][i], sum[0]);
                    sum[1] = fused(x[i], column[1][i], sum[1]);
                }
            } else {
                for (unsigned i = k + 1; i < m; ++i) {
                    squares = fused(x[i], x[i], squares);
                    sum[0] = fused(x[i], column[0][i], sum[0]);
                }
            }
            T beta = -copysign(sqrt(fused(alpha, alpha, squares)), alpha);
            bool some = below > (T)0;
            T by = some ? (T)1 / (alpha - beta) : (T)0, t = some ? (beta - alpha) / beta : (T)0;
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c)
                if (column[c] != pivot) reflect(column[c], x, sum[c], by, t, k, m);
            __syncwarp();
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c)
                if (lane + c * lanes > k && lane + c * lanes < m) pivot[lane + c * lanes] = value[c] * by;
            if (lane == 0) {
                tau[k] = t;
                if (some) pivot[k] = beta * power;
            }
            __syncwarp();
        }
#pragma unroll
        for (unsigned c = 0; c < COLUMNS; ++c) {
            unsigned j = lane + c * lanes;
            if (j < n)
                for (unsigned i = 0; i < m; ++i) {
                    T *to = a + j * ld + i;
                    if (i < size && i <= j) *to *= scale[c];
                    if (bad) *to = nothing((T)0);
                }
            if (bad && j < size) tau[j] = nothing((T)0);
        }
        __syncwarp();
        if (live && !wide)
            for (unsigned j = 0; j < n; ++j)
                for (unsigned i = lane; i < m; i += lanes)
                    a_own[j * lda + i] = a[j * ld + i] == a[j * ld + i] ? a[j * ld + i] : nothing((T)0);
        if (live && what == FACTOR)
            for (unsigned k = lane; k < size; k += lanes) tau_own[k] = tau[k];
        if (what == FACTOR) return;
    } else {
        for (unsigned k = lane; k < size; k += lanes) tau[k] = live ? tau_own[k] : (T)0;
    }
    __syncwarp();

    int found = 0;
    if (what & (UPPER | LOWER)) {
        // The first column of R that is by rounding a combination of those before it; so is one with a NaN.
        int first = 0x7fffffff;
        for (unsigned j = lane; j < size; j += lanes) {
            T *column = a + j * ld, largest = 0, power, inverse, squares = 0;
            for (unsigned i = 0; i <= j; ++i) largest = most(largest, column[i]);
            powers(largest, power, inverse);
            for (unsigned i = 0; i <= j; ++i) {
                T value = column[i] * inverse;
                squares = fused(value, value, squares);
            }
            T limit = (T)m * epsilon((T)0);
            if (!(fabs(column[j] * inverse) > limit * sqrt(squares)) && first == 0x7fffffff) first = (int)j + 1;
        }
        for (unsigned step = lanes / 2; step > 0; step /= 2) {
            int other = __shfl_xor_sync(~0u, first, step);
            first = other < first ? other : first;
        }
        found = first == 0x7fffffff ? 0 : first;
        if (live && lane == 0) info[number] = found;
    }
    for (unsigned begin = 0; begin < right; begin += at_once) {
        unsigned count_b = right - begin < at_once ? right - begin : at_once;
        T *b_here = b_own + begin * ldb;
        for (unsigned j = 0; j < count_b; ++j)
            for (unsigned i = lane; i < m; i += lanes)
                b[j * ld + i] = what & IDENTITY ? (T)(i == begin + j) : live ? b_here[j * ldb + i] : (T)0;
        __syncwarp();
        if (lane < count_b) {
            T *y = b + lane * ld;
            if (what & LOWER) {
                for (unsigned j = 0; j < size; ++j) {
                    y[j] /= a[j * ld + j];
                    for (unsigned i = j + 1; i < size; ++i) y[i] = fused(-a[i * ld + j], y[j], y[i]);
                }
                for (unsigned i = size; i < m; ++i) y[i] = 0;
            }
            if (what & FORWARD)
                for (unsigned k = 0; k < size; ++k) multiply(y, a, ld, tau[k], k, m);
            if (what & BACKWARD)
                for (unsigned k = size; k-- > 0;) multiply(y, a, ld, tau[k], k, m);
            if (what & UPPER)
                for (unsigned j = size; j-- > 0;) {
                    y[j] /= a[j * ld + j];
                    for (unsigned i = 0; i < j; ++i) y[i] = fused(-a[j * ld + i], y[j], y[i]);
                }
        }
        __syncwarp();
        if (live && found == 0)
            for (unsigned j = 0; j < count_b; ++j)
                for (unsigned i = lane; i < m; i += lanes)
                    b_here[j * ldb + i] = b[j * ld + i] == b[j * ld + i] ? b[j * ld + i] : nothing((T)0);
        __syncwarp();
    }
}

#define KERNEL(name, T)                                                                                                              \
    extern "C" __global__ void __launch_bounds__(64) name(                                                                           \
        T *a, u64 lda, u64 step_a, T *tau, u64 step_tau, T *b, u64 ldb, u64 step_b, u64 rows, u64 cols, u64 right, u64 size,       \
        u64 count, int *info, u64 what, u64 width) {                                                                                 \
        small_qr(a, lda, step_a, tau, step_tau, b, ldb, step_b, (unsigned)rows, (unsigned)cols, (unsigned)right, (unsigned)size,     \
                 count, info, (unsigned)what, (unsigned)width);                                                                      \
    }
KERNEL(small_qr_4, float)
KERNEL(small_qr_8, double)
