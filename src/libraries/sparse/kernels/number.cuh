// The element types: how they are stored, and the types in which sums are accumulated.
#pragma once
#ifdef ON_CPU
#define DEVICE
#define KERNEL extern "C"
#else
#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#endif

typedef unsigned long long u64;
typedef long long i64;

template <class R> struct Complex { R re, im; };
typedef Complex<float> c32;
typedef Complex<double> c64;
struct f16 { unsigned short bits; };
struct b16 { unsigned short bits; };

template <class R> DEVICE Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> DEVICE Complex<R> operator-(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }
template <class R> DEVICE Complex<R> operator-(Complex<R> a) { return {-a.re, -a.im}; }
template <class R> DEVICE Complex<R> operator*(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R> DEVICE bool operator==(Complex<R> a, Complex<R> b) { return a.re == b.re && a.im == b.im; }

DEVICE float absolute(float x) { return x < 0 ? -x : x; }
DEVICE double absolute(double x) { return x < 0 ? -x : x; }
#ifdef ON_CPU
#include <cmath>
#include <cstring>
DEVICE float root(float x) { return std::sqrt(x); }
DEVICE double root(double x) { return std::sqrt(x); }
DEVICE double magnitude(c64 x) { return std::hypot(x.re, x.im); }
DEVICE double magnitude(c32 x) { return std::hypot((double)x.re, (double)x.im); }
#else
DEVICE float root(float x) { return sqrtf(x); }
DEVICE double root(double x) { return sqrt(x); }
DEVICE double magnitude(c64 x) { return hypot(x.re, x.im); }
DEVICE double magnitude(c32 x) { return hypot((double)x.re, (double)x.im); }
#endif
DEVICE double magnitude(float x) { return absolute((double)x); }
DEVICE double magnitude(double x) { return absolute(x); }

DEVICE float conj(float x) { return x; }
DEVICE double conj(double x) { return x; }
template <class R> DEVICE Complex<R> conj(Complex<R> x) { return {x.re, -x.im}; }
DEVICE double real(float x) { return x; }
DEVICE double real(double x) { return x; }
template <class R> DEVICE double real(Complex<R> x) { return x.re; }
DEVICE float real_root(float x) { return root(x); }
DEVICE double real_root(double x) { return root(x); }
template <class R> DEVICE Complex<R> real_root(Complex<R> x) { return {root(x.re), 0}; }
DEVICE float over(float a, float b) { return a / b; }
DEVICE double over(double a, double b) { return a / b; }
// Smith's method: divides the smaller part of the divisor by the larger one first.
template <class R> DEVICE Complex<R> over(Complex<R> a, Complex<R> b) {
    if (b.im == 0) return {a.re / b.re, a.im / b.re};
    if (absolute(b.re) >= absolute(b.im)) {
        R ratio = b.im / b.re, whole = b.re + b.im * ratio;
        return {(a.re + a.im * ratio) / whole, (a.im - a.re * ratio) / whole};
    }
    R ratio = b.re / b.im, whole = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / whole, (a.im * ratio - a.re) / whole};
}

template <class S> struct One;
template <> struct One<float> { static DEVICE float value() { return 1; } };
template <> struct One<double> { static DEVICE double value() { return 1; } };
template <class R> struct One<Complex<R>> { static DEVICE Complex<R> value() { return {1, 0}; } };
// The distance of 1 to the next larger number.
template <class S> struct Epsilon;
template <> struct Epsilon<float> { static DEVICE double value() { return 1.1920928955078125e-07; } };
template <> struct Epsilon<double> { static DEVICE double value() { return 2.220446049250313e-16; } };
template <class R> struct Epsilon<Complex<R>> { static DEVICE double value() { return Epsilon<R>::value(); } };
template <class S> DEVICE S zero() { return S{}; }
template <class S> DEVICE S quotient(S a, S b) { return b == zero<S>() ? zero<S>() : over(a, b); }

// Stored values and their sums.
template <class V> struct Value {
    typedef V Sum;
    static DEVICE V widen(V x) { return x; }
    static DEVICE V narrow(V x) { return x; }
};
template <> struct Value<f16> {
    typedef float Sum;
    static DEVICE float widen(f16 x) {
#ifdef ON_CPU
        _Float16 h;
        memcpy(&h, &x, 2);
        return (float)h;
#else
        float y;
        asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
        return y;
#endif
    }
    static DEVICE f16 narrow(float x) {
        f16 y;
#ifdef ON_CPU
        _Float16 h = (_Float16)x;
        memcpy(&y, &h, 2);
#else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#endif
        return y;
    }
};
template <> struct Value<b16> {
    typedef float Sum;
    static DEVICE float widen(b16 x) {
        union { unsigned bits; float value; } u;
        u.bits = (unsigned)x.bits << 16;
        return u.value;
    }
    // Rounds to nearest, ties to even; a NaN stays a NaN.
    static DEVICE b16 narrow(float x) {
        union { float value; unsigned bits; } u;
        u.value = x;
        if (x != x) return {(unsigned short)((u.bits >> 16) | 0x40)};
        return {(unsigned short)((u.bits + 0x7fff + ((u.bits >> 16) & 1)) >> 16)};
    }
};

// A factor by value, or in device memory if there is an address.
template <class S> DEVICE S scalar(S value, const S *at) { return at ? *at : value; }
template <class V, class S> DEVICE V updated(V y, S product, S beta) {
    return Value<V>::narrow(beta == zero<S>() ? product : product + beta * Value<V>::widen(y));
}

#ifdef ON_CPU
// Runs the threads one after the other.
struct Dim { unsigned x; };
extern thread_local Dim blockIdx, threadIdx, blockDim, gridDim;
#undef KERNEL
#define KERNEL extern "C" void
DEVICE u64 atomicMin(u64 *at, u64 value) { u64 old = *at; if (value < old) *at = value; return old; }
DEVICE u64 atomicMax(u64 *at, u64 value) { u64 old = *at; if (value > old) *at = value; return old; }
DEVICE unsigned atomicAdd(unsigned *at, unsigned value) { unsigned old = *at; *at += value; return old; }
DEVICE unsigned acquire(const unsigned *at) { return *at; }
DEVICE void release(unsigned *at, unsigned value) { *at = value; }
DEVICE unsigned peek(const unsigned *at) { return *at; }
DEVICE u64 peek(const u64 *at) { return *at; }
DEVICE void poke(unsigned *at, unsigned value) { *at = value; }
DEVICE void poke(u64 *at, u64 value) { *at = value; }
DEVICE void rest_a_little() {}
template <class V> DEVICE void store_last(V *at, V value) { *at = value; }
DEVICE unsigned highest(unsigned mask) { return 31u - (unsigned)__builtin_clz(mask); }
DEVICE unsigned lowest(unsigned mask) { return (unsigned)__builtin_ctz(mask); }
#ifdef LOCKSTEP
// Warps of 32 lanes, which synchronise wherever one lane reads another (`check.cpp`): the values of the lanes, 16 bytes
// each.
#define LANES 32u
const unsigned char *meet(const void *mine, unsigned bytes);
template <class S> DEVICE S of_lane(const unsigned char *all, unsigned lane) {
    S x;
    memcpy(&x, all + 16 * lane, sizeof x);
    return x;
}
DEVICE void sync_warp() { meet(nullptr, 0); }
DEVICE unsigned broadcast(unsigned x) { return of_lane<unsigned>(meet(&x, sizeof x), 0); }
template <class S> DEVICE S warp_sum(S x) {
    for (unsigned lane = 16; lane > 0; lane /= 2) x = x + of_lane<S>(meet(&x, sizeof x), threadIdx.x % LANES ^ lane);
    return x;
}
DEVICE u64 warp_min(u64 x) {
    const unsigned char *all = meet(&x, sizeof x);
    for (unsigned lane = 0; lane < LANES; ++lane) x = of_lane<u64>(all, lane) < x ? of_lane<u64>(all, lane) : x;
    return x;
}
DEVICE unsigned same(unsigned x) {
    const unsigned char *all = meet(&x, sizeof x);
    unsigned mask = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) mask |= (unsigned)(of_lane<unsigned>(all, lane) == x) << lane;
    return mask;
}
DEVICE unsigned ballot(bool x) {
    unsigned mask = same(x);
    return x ? mask : ~mask;
}
template <class S> DEVICE S from_lane(S x, unsigned lane) { return of_lane<S>(meet(&x, sizeof x), lane); }
template <class S> DEVICE S group_sum(S x, unsigned width) {
    for (unsigned lane = width / 2; lane > 0; lane /= 2) x = x + of_lane<S>(meet(&x, sizeof x), threadIdx.x % LANES ^ lane);
    return x;
}
DEVICE unsigned ones(unsigned mask) { return (unsigned)__builtin_popcount(mask); }
DEVICE unsigned lower(unsigned mask) { return ones(mask & ((1u << (threadIdx.x % LANES)) - 1)); }
#else
#define LANES 1u
DEVICE void sync_warp() {}
DEVICE unsigned broadcast(unsigned x) { return x; }
template <class S> DEVICE S warp_sum(S x) { return x; }
template <class S> DEVICE S group_sum(S x, unsigned) { return x; }
template <class S> DEVICE S from_lane(S x, unsigned) { return x; }
DEVICE u64 warp_min(u64 x) { return x; }
DEVICE unsigned ballot(bool x) { return x; }
DEVICE unsigned same(unsigned) { return 1; }
DEVICE unsigned ones(unsigned mask) { return mask; }
DEVICE unsigned lower(unsigned) { return 0; }
#endif
// The next part of the work in order, one part for each warp.
DEVICE u64 next_part(unsigned *counter) {
    unsigned part = 0;
    if (threadIdx.x % LANES == 0) part = atomicAdd(counter, 1u);
    return broadcast(part);
}
#define SHARED static thread_local
#else
#define LANES 32u
DEVICE void sync_warp() { __syncwarp(); }
DEVICE unsigned broadcast(unsigned x) { return __shfl_sync(0xffffffffu, x, 0); }
DEVICE unsigned acquire(const unsigned *at) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
DEVICE void release(unsigned *at, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");
}
// Accesses to a word that another thread writes or waits for: each is a single access, and gives no ordering with other
// words.
DEVICE unsigned peek(const unsigned *at) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
DEVICE u64 peek(const u64 *at) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
DEVICE void poke(unsigned *at, unsigned value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");
}
DEVICE void poke(u64 *at, u64 value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}
// For a thread that waits long: leaves the memory to the others.
DEVICE void rest_a_little() { __nanosleep(100); }
DEVICE unsigned highest(unsigned mask) { return 31u - (unsigned)__clz((int)mask); }
DEVICE unsigned lowest(unsigned mask) { return (unsigned)__ffs((int)mask) - 1u; }
// The next part of the work in order, one part for each warp. Blocks take parts when they begin, so every earlier part
// is running or done: a part may wait for those before it.
DEVICE u64 next_part(unsigned *counter) {
    __shared__ unsigned taken;
    if (threadIdx.x == 0) taken = atomicAdd(counter, 1u);
    __syncthreads();
    return (u64)taken * (blockDim.x / LANES) + threadIdx.x / LANES;
}
DEVICE u64 warp_min(u64 x) {
    for (int lane = 16; lane > 0; lane /= 2) {
        u64 other = __shfl_xor_sync(0xffffffffu, x, lane);
        if (other < x) x = other;
    }
    return x;
}
DEVICE unsigned ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
// The lanes with the same number.
DEVICE unsigned same(unsigned x) { return __match_any_sync(0xffffffffu, x); }
DEVICE unsigned ones(unsigned mask) { return __popc(mask); }
// The lanes of a mask before this one.
DEVICE unsigned lower(unsigned mask) { return __popc(mask & ((1u << (threadIdx.x % 32)) - 1)); }
#define SHARED __shared__
DEVICE u64 shuffle(u64 x, int lane) { return __shfl_xor_sync(0xffffffffu, x, lane); }
DEVICE float shuffle(float x, int lane) { return __shfl_xor_sync(0xffffffffu, x, lane); }
DEVICE double shuffle(double x, int lane) { return __shfl_xor_sync(0xffffffffu, x, lane); }
template <class R> DEVICE Complex<R> shuffle(Complex<R> x, int lane) { return {shuffle(x.re, lane), shuffle(x.im, lane)}; }
// The sum over the lanes, returned on all of them: pairs first, so always in the same order.
template <class S> DEVICE S warp_sum(S x) {
    for (int lane = 16; lane > 0; lane /= 2) x = x + shuffle(x, lane);
    return x;
}
DEVICE u64 from_lane(u64 x, unsigned lane) { return __shfl_sync(0xffffffffu, x, (int)lane); }
DEVICE float from_lane(float x, unsigned lane) { return __shfl_sync(0xffffffffu, x, (int)lane); }
DEVICE double from_lane(double x, unsigned lane) { return __shfl_sync(0xffffffffu, x, (int)lane); }
template <class R> DEVICE Complex<R> from_lane(Complex<R> x, unsigned lane) {
    return {from_lane(x.re, lane), from_lane(x.im, lane)};
}
// Stores data that is not read soon.
DEVICE void store_last(float *at, float value) { __stcs(at, value); }
DEVICE void store_last(double *at, double value) { __stcs(at, value); }
template <class V> DEVICE void store_last(V *at, V value) { *at = value; }
// The same over groups of `width` lanes, a power of two.
template <class S> DEVICE S group_sum(S x, unsigned width) {
    for (unsigned lane = width / 2; lane > 0; lane /= 2) x = x + shuffle(x, (int)lane);
    return x;
}
#endif
// For a warp whose lanes work in groups of `width` (a power of two): the lanes of this lane's group.
DEVICE unsigned group_mask(unsigned width) {
    unsigned first = threadIdx.x % LANES / width * width;
    return width < 32 ? ((1u << width) - 1) << first : ~0u;
}
DEVICE u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// The row that an offset's place belongs to is known where threads are rows; all loops over entries are clamped to them.
template <class I> DEVICE u64 clamp(I offset, u64 nnz) { return offset < 0 ? 0 : (u64)offset < nnz ? (u64)offset : nnz; }
