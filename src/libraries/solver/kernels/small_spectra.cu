// Eigenvalues and singular values of many matrices of at most 32 rows and columns, by rotations. `width` lanes (4, 8, 16 or 32) have
// a matrix, which is in shared memory. The host half is src/libraries/solver/host/small/spectra: it does the same in the same order, so
// the bits are the same. Therefore nothing is fused but what says `fused` (--fmad=false). What is done to a matrix does not depend on
// those beside it; only the sign of a zero may, and every zero that is written is positive.
//
// A sweep rotates each pair of n columns once, in n - 1 rounds of n / 2 pairs that have no column in common (n is made even by a
// column of zeros). In round r pair 0 is (n - 1, r), and pair k is (r + k, r - k), modulo n - 1.
typedef unsigned long long u64;

enum { VECTORS = 1, UPPER = 2, FULL = 4 };

// The most sweeps. Singular values take up to 40 where rows are graded, else at most 10, and eigenvalues 9.
enum { SWEEPS = 100 };

__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float epsilon(float) { return 1.1920928955078125e-7f; }
__device__ __forceinline__ double epsilon(double) { return 2.220446049250313e-16; }
// The smallest normal number over epsilon: columns with a smaller sum of squares are not rotated.
__device__ __forceinline__ float least(float) { return __int_as_float((127 - 103) << 23); }
__device__ __forceinline__ double least(double) { return __longlong_as_double((long long)(1023 - 970) << 52); }
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

__device__ __forceinline__ bool any_of(bool x, unsigned width) {
    int all = x;
    for (unsigned step = width / 2; step > 0; step /= 2) all |= __shfl_xor_sync(~0u, all, step);
    return all;
}

// Tangent of the rotation that makes g zero, its sine, and the tangent of half its angle; g is not zero where it is `on`.
template <class T> __device__ __forceinline__ void rotation(T difference, T g, bool on, T &t, T &s, T &half) {
    T z = difference / (g + g), size = fabs(z);
    // A square that leaves the range is nothing beside which one counts.
    T root = size > (T)1 / epsilon((T)0) ? size : sqrt(fused(z, z, (T)1));
    t = copysign((T)1 / (size + root), z);
    t = on ? t : (T)0;
    T c = (T)1 / sqrt(fused(t, t, (T)1));
    s = c * t;
    half = s / ((T)1 + c);
}

// What is added is small where the angle is, so the norms of columns that are rotated hundreds of times stay.
template <class T> __device__ __forceinline__ void rotate(T &x, T &y, T s, T half) {
    T turned = fused(-s, fused(half, x, y), x);
    y = fused(s, fused(-half, y, x), y);
    x = turned;
}

// What is written: no negative zero, and of the many NaN one.
template <class T> __device__ __forceinline__ T written(T x, bool bad) { return bad ? nothing((T)0) : x + (T)0; }

// Elements of a matrix in shared memory, so that those of neighbours are in other banks.
__device__ __forceinline__ unsigned padded(unsigned elements, unsigned width) { return elements + ((width - elements) & 31); }

// Columns p and q of pair k.
__device__ __forceinline__ void columns(unsigned k, unsigned round, unsigned even, unsigned &p, unsigned &q) {
    p = round + k;
    p = k == 0 ? even - 1 : p >= even - 1 ? p - (even - 1) : p;
    q = round >= k ? round - k : round + (even - 1) - k;
}

// Of eigenvalues, the matrix is stored by places: in each round pair k has the places 2k and 2k + 1. The place of a column in round 0:
__device__ __forceinline__ unsigned place(unsigned column, unsigned even) {
    return column == even - 1 ? 0 : column == 0 ? 1 : column < even / 2 ? 2 * column : 2 * (even - 1 - column) + 1;
}

// The place in the next round.
__device__ __forceinline__ unsigned moved(unsigned at, unsigned half) {
    if (half == 1 || at == 0) return at;
    if (at & 1) return at / 2 == half - 1 ? at - 1 : at + 2;
    return at == 2 ? 1 : at - 2;
}

// Where the element of two places is: the four of two pairs at even distances, then one of each pair, then the diagonal.
__device__ __forceinline__ unsigned where(unsigned i, unsigned j, unsigned half) {
    unsigned blocks = half * (half - 1) / 2, low = i < j ? i : j, high = i < j ? j : i, p = low / 2, r = high / 2;
    if (i == j) return 4 * blocks + half + i;
    if (p == r) return 4 * blocks + p;
    return (low % 2 * 2 + high % 2) * blocks + p * (2 * half - p - 1) / 2 + (r - p - 1);
}

// The most blocks of two pairs that a lane has.
enum { BLOCKS = 4 };

template <class T> __device__ __forceinline__ void small_eigh(
    T *a_all, u64 lda, u64 step_a, T *w_all, int *info, unsigned n, u64 count, unsigned what, unsigned width) {
    extern __shared__ __align__(16) unsigned char room[];
    unsigned lane = threadIdx.x & (width - 1), own = threadIdx.x / width;
    u64 number = (u64)blockIdx.x * (blockDim.x / width) + own;
    bool live = number < count, vectors = what & VECTORS;
    unsigned even = n + n % 2, half = even / 2, blocks = half * (half - 1) / 2, stored = even * (even + 1) / 2;
    unsigned each = padded(stored + even + (vectors ? even * width : 0), width);
    T *x = (T *)room + own * each, *g = x + 4 * blocks, *d = g + half, *turns = x + stored, *v = turns + even;
    T *a_own = a_all + number * step_a;

    for (unsigned i = lane; i < stored; i += width) x[i] = 0;
    if (vectors)
        for (unsigned j = 0; j < even; ++j) v[j * width + lane] = (T)(lane == j);
    __syncwarp();
    T broken = 0, largest = 0, scale, inverse;
    for (unsigned j = 0; j < n; ++j) {
        if (lane < n && (what & UPPER ? lane <= j : lane >= j)) {
            T value = live ? a_own[j * lda + lane] : (T)0;
            broken = fused(value, (T)0, broken);
            largest = most(largest, value);
            x[where(place(lane, even), place(j, even), half)] = value;
        }
    }
    bool bad = any_of(!(broken == broken), width);
    largest = most_of(bad ? (T)0 : largest, width);
    powers(largest, scale, inverse);
    T limit = largest * inverse * epsilon((T)0);
    __syncwarp();
    for (unsigned i = lane; i < stored; i += width) x[i] = bad ? (T)0 : x[i] * inverse;
    __syncwarp();

    // What a lane does in each round: its blocks, and where their elements are in the next round.
    unsigned first[BLOCKS], second[BLOCKS], to[BLOCKS][4];
#pragma unroll
    for (unsigned k = 0; k < BLOCKS; ++k) {
        unsigned block = lane + k * width, p = 0, rest = block < blocks ? block : 0;
        while (p + 1 < half && rest >= half - 1 - p) rest -= half - 1 - p++;
        unsigned r = p + 1 + rest;
        first[k] = p;
        second[k] = r;
#pragma unroll
        for (unsigned e = 0; e < 4; ++e)
            to[k][e] = half < 2 ? 0 : where(moved(2 * p + e / 2, half), moved(2 * r + e % 2, half), half);
    }
    bool pair = lane < half;
    unsigned to_d = pair ? moved(2 * lane, half) : 0, to_other = pair ? moved(2 * lane + 1, half) : 0;
    unsigned to_g = pair ? where(to_d, to_other, half) : 0;

    bool done = false;
    for (unsigned sweep = 0;; ++sweep) {
        T off = 0;
        for (unsigned i = lane; i < 4 * blocks + half; i += width) off = most(off, x[i]);
        done = !(most_of(off, width) > limit);
        if (sweep == SWEEPS || __all_sync(~0u, done)) break;
        for (unsigned round = 0; round + 1 < even; ++round) {
            T one = 0, other = 0;
            if (pair && !done) {
                T t, s, tangent, between = g[lane];
                one = d[2 * lane];
                other = d[2 * lane + 1];
                rotation(other - one, between, between != (T)0, t, s, tangent);
                one = fused(-t, between, one);
                other = fused(t, between, other);
                turns[lane] = s;
                turns[half + lane] = tangent;
            }
            __syncwarp();
            T y[BLOCKS][4];
            if (!done) {
#pragma unroll
                for (unsigned k = 0; k < BLOCKS; ++k) {
                    unsigned block = lane + k * width;
                    if (block < blocks) {
                        T s = turns[second[k]], tangent = turns[half + second[k]];
#pragma unroll
                        for (unsigned e = 0; e < 4; ++e) y[k][e] = x[e * blocks + block];
                        rotate(y[k][0], y[k][1], s, tangent);
                        rotate(y[k][2], y[k][3], s, tangent);
                        s = turns[first[k]];
                        tangent = turns[half + first[k]];
                        rotate(y[k][0], y[k][2], s, tangent);
                        rotate(y[k][1], y[k][3], s, tangent);
                    }
                }
                if (vectors && lane < n) {
#pragma unroll 2
                    for (unsigned k = 0; k < half; ++k) {
                        unsigned p, q;
                        columns(k, round, even, p, q);
                        rotate(v[p * width + lane], v[q * width + lane], turns[k], turns[half + k]);
                    }
                }
            }
            __syncwarp();
            if (!done) {
#pragma unroll
                for (unsigned k = 0; k < BLOCKS; ++k) {
                    if (lane + k * width < blocks) {
#pragma unroll
                        for (unsigned e = 0; e < 4; ++e) x[to[k][e]] = y[k][e];
                    }
                }
                if (pair) {
                    d[to_d] = one;
                    d[to_other] = other;
                    x[to_g] = 0;
                }
            }
            __syncwarp();
        }
    }

    T value = lane < n ? d[place(lane, even)] : (T)0;
    unsigned rank = 0;
    for (unsigned j = 0; j < n; ++j) {
        T other = __shfl_sync(~0u, value, j, width);
        rank += other < value || (other == value && j < lane);
    }
    if (!live) return; // with all lanes of the matrix; what follows exchanges nothing beyond it
    unsigned mask = width == 32 ? ~0u : ((1u << width) - 1) << (threadIdx.x % 32 / width * width);
    if (lane < n) w_all[number * n + rank] = written(value * scale, bad);
    if (lane == 0) info[number] = bad ? (int)n : done ? 0 : (int)n + 1;
    if (vectors)
        for (unsigned j = 0; j < n; ++j) {
            unsigned to = __shfl_sync(mask, rank, j, width);
            if (lane < n) a_own[to * lda + lane] = written(v[j * width + lane], bad);
        }
}

template <class T> __device__ __forceinline__ void small_svd(
    const T *a_all, u64 lda, u64 step_a, T *s_all, T *u_all, u64 ldu, u64 step_u, T *vh_all, u64 ldvh, u64 step_vh, int *info,
    unsigned rows, unsigned cols, u64 count, unsigned what, unsigned width) {
    extern __shared__ __align__(16) unsigned char room[];
    unsigned lane = threadIdx.x & (width - 1), own = threadIdx.x / width, ld = width + 2;
    u64 number = (u64)blockIdx.x * (blockDim.x / width) + own;
    bool live = number < count, vectors = what & VECTORS, wide = rows < cols;
    // Of a wide matrix the adjoint.
    unsigned m = wide ? cols : rows, n = wide ? rows : cols, even = n + n % 2, wanted = what & FULL ? m : n;
    unsigned kept = wanted > even ? wanted : even;
    unsigned each = padded(kept * ld + (vectors ? even * ld : 0) + 2 * width, width);
    T *x = (T *)room + own * each, *y = x + kept * ld, *z = y + width, *v = z + width;

    for (unsigned j = 0; j < kept; ++j) x[j * ld + lane] = 0;
    if (vectors)
        for (unsigned j = 0; j < even; ++j) v[j * ld + lane] = (T)(lane == j);
    __syncwarp();
    T broken = 0, largest = 0, scale, inverse;
    for (unsigned j = 0; j < cols; ++j) {
        if (lane < rows) {
            T value = live ? a_all[number * step_a + j * lda + lane] : (T)0;
            broken = fused(value, (T)0, broken);
            largest = most(largest, value);
            x[wide ? lane * ld + j : j * ld + lane] = value;
        }
    }
    bool bad = any_of(!(broken == broken), width);
    largest = most_of(bad ? (T)0 : largest, width);
    powers(largest, scale, inverse);
    __syncwarp();
    for (unsigned j = 0; j < n; ++j) x[j * ld + lane] = bad ? (T)0 : x[j * ld + lane] * inverse;
    __syncwarp();

    T limit = sqrt((T)(m < 4 ? 4 : m)) * epsilon((T)0), smallest = least((T)0);
    unsigned side = lane % 2;
    bool done = false;
    for (unsigned sweep = 0; sweep < SWEEPS; ++sweep) {
        bool turned = false;
        for (unsigned round = 0; round + 1 < even; ++round) {
            unsigned p = 0, q = 0;
            T one = 0, other = 0, g = 0, t, s, tangent;
            bool mine = lane < even && !done;
            if (mine) {
                columns(lane / 2, round, even, p, q);
#pragma unroll 2
                for (unsigned i = side; i < m; i += 2) {
                    T a = x[p * ld + i], b = x[q * ld + i];
                    one = fused(a, a, one);
                    other = fused(b, b, other);
                    g = fused(a, b, g);
                }
            }
            one += __shfl_xor_sync(~0u, one, 1);
            other += __shfl_xor_sync(~0u, other, 1);
            g += __shfl_xor_sync(~0u, g, 1);
            bool on = mine && one >= smallest && other >= smallest && fabs(g) > limit * (sqrt(one) * sqrt(other));
            if (on) {
                turned = true;
                rotation(other - one, g, true, t, s, tangent);
#pragma unroll 2
                for (unsigned i = side; i < m; i += 2) rotate(x[p * ld + i], x[q * ld + i], s, tangent);
                if (vectors)
#pragma unroll 2
                    for (unsigned i = side; i < n; i += 2) rotate(v[p * ld + i], v[q * ld + i], s, tangent);
            }
            __syncwarp();
        }
        done = !any_of(turned, width);
        if (__all_sync(~0u, done)) break;
    }

    // The norm of each column, its rank, and the column by its norm. A column without a direction of its own becomes zero.
    T norm = 0;
    bool missing = vectors && !bad && lane < wanted;
    if (lane < n) {
        T *column = x + lane * ld, size = 0, power, by, squares = 0;
        for (unsigned i = 0; i < m; ++i) size = most(size, column[i]);
        powers(size, power, by);
        for (unsigned i = 0; i < m; ++i) {
            T value = column[i] * by;
            squares = fused(value, value, squares);
        }
        T root = sqrt(squares);
        norm = root * power;
        missing = vectors && !bad && !(norm * norm >= smallest * (T)4);
        if (vectors)
            for (unsigned i = 0; i < m; ++i) column[i] = missing || bad ? (T)0 : column[i] * by / root;
    }
    unsigned rank = lane < n ? 0 : lane;
    for (unsigned j = 0; j < n; ++j) {
        T other = __shfl_sync(~0u, norm, j, width);
        rank += lane < n && (other > norm || (other == norm && j < lane));
    }
    __syncwarp();

    // What is missing: of the unit vector that has most left, what is orthogonal to the others.
    for (unsigned slot = 0; vectors && slot < wanted; ++slot) {
        bool mine = __shfl_sync(~0u, (int)missing, slot, width);
        if (!__any_sync(~0u, mine)) continue;
        T weight = 2;
        if (lane < m) {
            weight = 0;
            for (unsigned k = 0; k < wanted; ++k) weight = fused(x[k * ld + lane], x[k * ld + lane], weight);
        }
        unsigned at = lane;
        for (unsigned step = width / 2; step > 0; step /= 2) {
            T other = __shfl_xor_sync(~0u, weight, step);
            unsigned it = __shfl_xor_sync(~0u, at, step);
            bool less = other < weight || (other == weight && it < at);
            weight = less ? other : weight;
            at = less ? it : at;
        }
        T own_y = (T)(lane == at), squares = 0;
        for (unsigned pass = 0; pass < 2; ++pass) {
            T sum = 0;
            y[lane] = own_y;
            __syncwarp();
            if (lane < wanted)
                for (unsigned i = 0; i < m; ++i) sum = fused(x[lane * ld + i], y[i], sum);
            z[lane] = sum;
            __syncwarp();
            if (lane < m)
                for (unsigned k = 0; k < wanted; ++k) own_y = fused(-z[k], x[k * ld + lane], own_y);
        }
        y[lane] = own_y;
        __syncwarp();
        for (unsigned i = 0; i < m; ++i) squares = fused(y[i], y[i], squares);
        if (mine && lane < m) x[slot * ld + lane] = own_y / sqrt(squares);
        __syncwarp();
    }

    if (live && lane < n) s_all[number * n + rank] = written(norm * scale, bad);
    if (live && lane == 0) info[number] = bad ? (int)n : done ? 0 : (int)n + 1;
    if (vectors && live) {
        unsigned left = wide ? n : wanted, right = wide ? wanted : n;
        const T *of_u = wide ? v : x, *of_v = wide ? x : v;
        unsigned mask = width == 32 ? ~0u : ((1u << width) - 1) << (threadIdx.x % 32 / width * width);
        for (unsigned j = 0; j < left; ++j) {
            unsigned to = __shfl_sync(mask, rank, j, width);
            if (lane < rows) u_all[number * step_u + to * ldu + lane] = written(of_u[j * ld + lane], bad);
        }
        for (unsigned i = 0; i < cols; ++i)
            if (lane < right) vh_all[number * step_vh + i * ldvh + rank] = written(of_v[lane * ld + i], bad);
    }
}

#define KERNELS(size, T)                                                                                                             \
    extern "C" __global__ void __launch_bounds__(64) small_eigh_##size(                                                              \
        T *a, u64 lda, u64 step_a, T *w, int *info, u64 n, u64 count, u64 what, u64 width) {                                         \
        small_eigh(a, lda, step_a, w, info, (unsigned)n, count, (unsigned)what, (unsigned)width);                                    \
    }                                                                                                                                \
    extern "C" __global__ void __launch_bounds__(64) small_svd_##size(                                                               \
        const T *a, u64 lda, u64 step_a, T *s, T *u, u64 ldu, u64 step_u, T *vh, u64 ldvh, u64 step_vh, int *info, u64 rows,         \
        u64 cols, u64 count, u64 what, u64 width) {                                                                                  \
        small_svd(a, lda, step_a, s, u, ldu, step_u, vh, ldvh, step_vh, info, (unsigned)rows, (unsigned)cols, count,                 \
                  (unsigned)what, (unsigned)width);                                                                                  \
    }
KERNELS(4, float)
KERNELS(8, double)
