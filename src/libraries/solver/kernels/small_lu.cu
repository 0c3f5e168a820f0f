// LU with partial pivoting, Cholesky, what is solved with their factors, and triangles, of many small matrices: at most 32 rows, columns
// and right sides. `what` says what is done (src/libraries/solver/small/systems.rs has the table). `width` lanes (4, 8, 16 or 32) have a
// matrix; a lane has a row where pivots are chosen and columns are divided, else a column of A and of B. Everything is in shared
// memory. The host half is src/libraries/solver/host/small/systems.rs: each element sees one fused step for each column, in the same
// order, there too, so the bits are the same (--fmad=false).
typedef unsigned long long u64;

enum {
    LU = 1, CHOLESKY = 2, PIVOTS = 4, KEEP = 8, IDENTITY = 16, IN_PLACE = 32, CHECK = 64, CLEAR = 128, LOWER = 256, UPPER = 512,
    STRICT = 1024, BACK = 2048
};
// A stage: a triangle that is solved with. The first is 16 bits up, the second 20.
enum { STAGE = 1, IS_UPPER = 2, TRANSPOSED = 4, UNIT = 8 };

__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float nothing(float) { return __int_as_float(0x7fc00000); }
__device__ __forceinline__ double nothing(double) { return __longlong_as_double(0x7ff8000000000000); }

// Whether an element is read, and written.
__device__ __forceinline__ bool inside(unsigned what, unsigned i, unsigned j) {
    return i == j ? !(what & STRICT) : i > j ? !(what & UPPER) : !(what & LOWER);
}

// y[i] -= l[i] * by. Four at a time, which are loaded before the first is stored.
template <class T> __device__ __forceinline__ void subtract(
    T *y, unsigned step_y, const T *l, unsigned step_l, T by, unsigned from, unsigned to) {
    unsigned i = from;
    for (; i + 4 <= to; i += 4) {
        T a = y[i * step_y], b = y[(i + 1) * step_y], c = y[(i + 2) * step_y], d = y[(i + 3) * step_y];
        T p = l[i * step_l], q = l[(i + 1) * step_l], r = l[(i + 2) * step_l], s = l[(i + 3) * step_l];
        y[i * step_y] = fused(-p, by, a);
        y[(i + 1) * step_y] = fused(-q, by, b);
        y[(i + 2) * step_y] = fused(-r, by, c);
        y[(i + 3) * step_y] = fused(-s, by, d);
    }
    for (; i < to; ++i) y[i * step_y] = fused(-l[i * step_l], by, y[i * step_y]);
}

template <class T> __device__ __forceinline__ void swap(T *y, unsigned one, unsigned other) {
    T up = y[other];
    y[other] = y[one];
    y[one] = up;
}

// Solves with a triangle: element (i, j) of it is a[i * down + j * across].
template <class T> __device__ __forceinline__ void solve(
    unsigned stage, const T *a, unsigned ld, T *b, unsigned n, unsigned right, unsigned lane, unsigned width) {
    bool forward = (stage & IS_UPPER) == 0, unit = stage & UNIT;
    if (stage & TRANSPOSED) forward = !forward;
    unsigned down = stage & TRANSPOSED ? ld : 1, across = stage & TRANSPOSED ? 1 : ld;
    if (right == 1) {
        // A lane has a row.
        T y = lane < n ? b[lane] : (T)0;
        for (unsigned step = 0; step < n; ++step) {
            unsigned k = forward ? step : n - 1 - step;
            if (!unit && lane == k) y /= a[k * (ld + 1)];
            T x = __shfl_sync(~0u, y, k, width);
            if (forward ? lane > k && lane < n : lane < k) y = fused(-a[lane * down + k * across], x, y);
        }
        if (lane < n) b[lane] = y;
    } else if (lane < right) {
        T *y = b + lane * ld;
        for (unsigned step = 0; step < n; ++step) {
            unsigned k = forward ? step : n - 1 - step;
            T x = y[k];
            if (!unit) y[k] = x = x / a[k * (ld + 1)];
            subtract(y, 1u, a + k * across, down, x, forward ? k + 1 : 0, forward ? n : k);
        }
    }
    __syncwarp();
}

template <class T> __device__ __forceinline__ void small_lu(
    T *a_all, u64 lda, u64 step_a, long long *pivots_all, T *b_all, u64 ldb, u64 step_b, unsigned rows, unsigned cols, unsigned right,
    u64 count, int *info, unsigned what, unsigned width) {
    extern __shared__ __align__(16) unsigned char room[];
    unsigned lane = threadIdx.x & (width - 1), own = threadIdx.x / width, ld = width + 1, size = rows < cols ? rows : cols;
    unsigned matrices = blockDim.x / width, panels = right > 0 ? 2 : 1;
    u64 number = (u64)blockIdx.x * matrices + own;
    bool live = number < count;
    T *a = (T *)room + own * panels * width * ld, *b = a + (panels - 1) * width * ld, *column = a + lane * ld, *y = b + lane * ld;
    unsigned *pivots = (unsigned *)((T *)room + matrices * panels * width * ld) + own * width;
    T *a_own = a_all + number * step_a, *b_own = b_all + number * step_b;
    long long *pivots_own = pivots_all + number * size;

    T broken = 0;
    for (unsigned j = 0; j < cols; ++j)
        if (lane < rows) {
            T value = live && inside(what, lane, j) ? a_own[j * lda + lane] : (T)0;
            broken = fused(value, (T)0, broken);
            a[j * ld + lane] = value;
        }
    for (unsigned j = 0; j < right; ++j)
        if (lane < rows) b[j * ld + lane] = what & IDENTITY ? (T)(lane == j) : live ? b_own[j * ldb + lane] : (T)0;
    int lost = 0, found = 0;
    if (what & (LU | CHOLESKY)) {
        lost = broken == broken ? 0 : 1;
        for (unsigned step = width / 2; step > 0; step /= 2) lost |= __shfl_xor_sync(~0u, lost, step);
    }
    __syncwarp();

    if (what & LU) {
        if (lost && lane < cols)
            for (unsigned i = 0; i < rows; ++i) column[i] = 0;
        __syncwarp();
        for (unsigned k = 0; k < size; ++k) {
            // The largest number, and the lowest of its rows; a NaN is none.
            T value = lane >= k && lane < rows ? a[k * ld + lane] : nothing((T)0), most = value == value ? (T)fabs(value) : (T)-1;
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
            if (lane == 0) pivots[k] = at;
            if (at != k) {
                if (lane < cols) swap(column, k, at);
                if (lane < right) swap(y, k, at);
            }
            __syncwarp();
            // Below a zero there are zeros, which stay.
            T divisor = most == (T)0 ? (T)1 : a[k * ld + k];
            if (lane > k && lane < rows) a[k * ld + lane] /= divisor;
            __syncwarp();
            if (lane > k && lane < cols) subtract(column, 1u, a + k * ld, 1u, column[k], k + 1, rows);
            __syncwarp();
        }
    } else if (what & PIVOTS) {
        // What is no row swaps nothing.
        if (lane < size) {
            long long pivot = live ? pivots_own[lane] : 0;
            pivots[lane] = pivot >= 1 && pivot <= rows ? (unsigned)pivot - 1 : lane;
        }
        __syncwarp();
        if (!(what & BACK) && lane < right)
            for (unsigned k = 0; k < size; ++k) swap(y, k, pivots[k]);
    } else if (what & CHOLESKY) {
        // Element (i, j) of the lower triangle, which may be stored as the upper one.
        unsigned down = what & UPPER ? ld : 1, across = what & UPPER ? 1 : ld;
        for (unsigned k = 0; k < size; ++k) {
            T *head = a + k * (ld + 1), pivot = *head, root = sqrt(pivot);
            if (found == 0 && !(pivot > (T)0)) found = k + 1;
            __syncwarp();
            if (lane == k) *head = root;
            if (lane > k && lane < size) a[lane * down + k * across] /= root;
            __syncwarp();
            if (lane > k && lane < size)
                subtract(a + lane * across, down, a + k * across, down, a[lane * down + k * across], k + 1, size);
            __syncwarp();
        }
    }
    if (what & CHECK) {
        unsigned first = lane < size && a[lane * (ld + 1)] == (T)0 ? lane + 1 : 64;
        for (unsigned step = width / 2; step > 0; step /= 2) {
            unsigned other = __shfl_xor_sync(~0u, first, step);
            first = other < first ? other : first;
        }
        found = first == 64 ? 0 : first;
    }
    if (lost) found = 1;
    __syncwarp();
    if (live && (what & KEEP) && (what & LU || lost || found == 0))
        for (unsigned j = 0; j < cols; ++j)
            if (lane < rows && inside(what, lane, j)) {
                T value = a[j * ld + lane];
                a_own[j * lda + lane] = value == value && !lost ? value : nothing((T)0);
            }
    if (live && (what & LU) && (what & PIVOTS) && lane < size) pivots_own[lane] = pivots[lane] + 1;
    if (live && info && lane == 0) info[number] = found;
    if (right == 0) return;

#pragma unroll 1
    for (unsigned stages = what >> 16; stages & STAGE; stages >>= 4) solve(stages, a, ld, b, size, right, lane, width);
    if (what & BACK) {
        if (lane < right)
            for (unsigned k = size; k-- > 0;) swap(y, k, pivots[k]);
        __syncwarp();
    }
    if (live && (found == 0 || what & CLEAR))
        for (unsigned j = 0; j < right; ++j)
            if (lane < rows && (!(what & IN_PLACE) || inside(what, lane, j))) {
                T value = b[j * ld + lane];
                b_own[j * ldb + lane] = value == value && found == 0 ? value : nothing((T)0);
            }
}

// LU alone, of more than eight rows or columns: a lane has a row in registers, of which the first is that of the column at hand. Rows change
// places by their numbers only; the row of a pivot goes round by shared memory, where each column that is done waits for its place. The
// above moves each column through shared memory once for each step.
template <class T, unsigned WIDTH> struct Rows {
    T r[WIDTH];
    T *kept, *shared;
    unsigned lane, rows, size, place, segment;
    bool done;
    int found;

    // Eight steps, with so many columns left at first.
    template <unsigned LEFT> __device__ __forceinline__ void steps(unsigned begin, unsigned *pivots) {
#pragma unroll 1
        for (unsigned k = begin; k < begin + 8 && k < size; ++k) {
            // The largest number, and the lowest of its places; a NaN is none.
            T value = r[0], most = !done && lane < rows && value == value ? (T)fabs(value) : (T)-1;
            unsigned at = most >= (T)0 ? place * WIDTH + lane : ~0u;
            unsigned first = __ffs(__ballot_sync(~0u, place == k) >> segment) - 1;
            for (unsigned step = WIDTH / 2; step > 0; step /= 2) {
                T other = __shfl_xor_sync(~0u, most, step);
                unsigned there = __shfl_xor_sync(~0u, at, step);
                if (other > most || (other == most && there < at)) {
                    most = other;
                    at = there;
                }
            }
            if (at == ~0u) at = k * WIDTH + first;
            if (found == 0 && most == (T)0) found = k + 1;
            unsigned from = at / WIDTH, pivot = at % WIDTH;
            if (lane == 0) pivots[k] = from;
            if (lane == pivot) {
#pragma unroll
                for (unsigned j = 0; j < LEFT; ++j) shared[j] = r[j];
            }
            __syncwarp();
            // Below a zero there are zeros, which stay.
            T divisor = most == (T)0 ? (T)1 : shared[0], own = value;
            if (!done && lane != pivot) {
                own = value / divisor;
#pragma unroll
                for (unsigned j = 1; j < LEFT; ++j) r[j - 1] = fused(-own, shared[j], r[j]);
            } else {
#pragma unroll
                for (unsigned j = 1; j < LEFT; ++j) r[j - 1] = r[j];
            }
            kept[k * WIDTH] = own;
            if (lane == first) place = from;
            if (lane == pivot) {
                place = k;
                done = true;
            }
            __syncwarp();
        }
        if constexpr (LEFT > 8) steps<LEFT - 8>(begin + 8, pivots);
    }
};

template <class T, unsigned WIDTH> __device__ __forceinline__ void small_lu_rows(
    T *a_all, u64 lda, u64 step_a, long long *pivots_all, unsigned rows, unsigned cols, u64 count, int *info) {
    extern __shared__ __align__(16) unsigned char room[];
    constexpr unsigned matrices = 64 / WIDTH;
    unsigned lane = threadIdx.x % WIDTH, own = threadIdx.x / WIDTH, size = rows < cols ? rows : cols;
    u64 number = (u64)blockIdx.x * matrices + own;
    bool live = number < count;
    T *a_own = a_all + number * step_a;
    Rows<T, WIDTH> all;
    all.shared = (T *)room + own * WIDTH;
    all.kept = (T *)room + matrices * WIDTH + own * WIDTH * WIDTH + lane;
    unsigned *pivots = (unsigned *)((T *)room + matrices * WIDTH * (WIDTH + 1)) + own * WIDTH;
    all.lane = all.place = lane;
    all.rows = rows;
    all.size = size;
    all.segment = threadIdx.x % 32 / WIDTH * WIDTH;
    all.done = false;
    all.found = 0;
    T broken = 0;
#pragma unroll
    for (unsigned j = 0; j < WIDTH; ++j) {
        all.r[j] = live && j < cols && lane < rows ? a_own[j * lda + lane] : (T)0;
        broken = fused(all.r[j], (T)0, broken);
    }
    int lost = broken == broken ? 0 : 1;
    for (unsigned step = WIDTH / 2; step > 0; step /= 2) lost |= __shfl_xor_sync(~0u, lost, step);
#pragma unroll
    for (unsigned j = 0; j < WIDTH; ++j)
        if (lost) all.r[j] = 0;
    all.template steps<WIDTH>(0, pivots);
    // Columns beyond the last pivot.
    if (size < cols) {
#pragma unroll
        for (unsigned j = 0; j < WIDTH; ++j)
            if (size + j < cols) all.kept[(size + j) * WIDTH] = all.r[j];
    }
    if (live && lane < rows)
        for (unsigned j = 0; j < cols; ++j) {
            T value = all.kept[j * WIDTH];
            a_own[j * lda + all.place] = value == value && !lost ? value : nothing((T)0);
        }
    if (live && lane < size) pivots_all[number * size + lane] = pivots[lane] + 1;
    if (live && lane == 0) info[number] = lost ? 1 : all.found;
}

#define KERNEL(name, T)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(64) name(                                                                       \
        T *a, u64 lda, u64 step_a, long long *pivots, T *b, u64 ldb, u64 step_b, u64 rows, u64 cols, u64 right, u64 count,       \
        int *info, u64 what, u64 width) {                                                                                        \
        small_lu(a, lda, step_a, pivots, b, ldb, step_b, (unsigned)rows, (unsigned)cols, (unsigned)right, count, info,           \
                 (unsigned)what, (unsigned)width);                                                                               \
    }
KERNEL(small_lu_4, float)
KERNEL(small_lu_8, double)
// The same parameters, of which not all are used.
#define ROWS(name, T, WIDTH)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(64) name(                                                                       \
        T *a, u64 lda, u64 step_a, long long *pivots, T *, u64, u64, u64 rows, u64 cols, u64, u64 count, int *info, u64, u64) {  \
        small_lu_rows<T, WIDTH>(a, lda, step_a, pivots, (unsigned)rows, (unsigned)cols, count, info);                            \
    }
ROWS(small_lu_rows_16_4, float, 16)
ROWS(small_lu_rows_16_8, double, 16)
ROWS(small_lu_rows_32_4, float, 32)
ROWS(small_lu_rows_32_8, double, 32)
