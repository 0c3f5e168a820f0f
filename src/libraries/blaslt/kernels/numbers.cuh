// Number types of the kernels of this folder: stored ones, by their `cudaDataType`, and what they are computed in.
#pragma once
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

enum Type { F32 = 0, F64 = 1, F16 = 2, I8 = 3, C32 = 4, C64 = 5, I32 = 10, BF16 = 14, E4M3 = 28, E5M2 = 29 };

// Parts one by one, so that the parts' alignment is enough.
template <typename P> struct pair { P re, im; };

#ifndef ON_A_CPU
__device__ inline float half_to_float(u16 bits) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
    return wide;
}
__device__ inline u16 float_to_half(float x) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif

// 8 bits: the exponent is moved to its place in a float, and what it is too small by multiplied.
__device__ inline float eight_to_float(u8 code, u32 type) {
    const u32 size = code & 0x7f, sign = (u32)(code & 0x80) << 24;
    float x;
    if (type == E4M3) {
        x = size == 0x7f ? __uint_as_float(0x7fc00000) : __uint_as_float(size << 20) * 0x1p120f;
    } else {
        x = size > 0x7c ? __uint_as_float(0x7fc00000) : size == 0x7c ? __uint_as_float(0x7f800000)
                                                                     : __uint_as_float(size << 21) * 0x1p112f;
    }
    return __uint_as_float(__float_as_uint(x) | sign);
}

// To nearest, ties to even; what is too large, infinity as well, becomes the largest; a NaN stays one.
__device__ inline u8 float_to_eight(float x, u32 type) {
    const u32 bits = __float_as_uint(x), size = bits & 0x7fffffff, sign = bits >> 24 & 0x80;
    if (size > 0x7f800000) return (u8)(sign | 0x7f);
    // Bits that are dropped, the largest finite code, the distance between the exponents, and the least normal number.
    const bool e4m3 = type == E4M3;
    const u32 shift = e4m3 ? 20 : 21, most = e4m3 ? 0x7e : 0x7b, lower = e4m3 ? 120u << 3 : 112u << 2;
    const u32 normal = e4m3 ? 121u << 23 : 113u << 23;
    u32 code;
    if (size < normal) {
        code = (u32)rintf(__uint_as_float(size) * (e4m3 ? 512.0f : 65536.0f));
    } else {
        code = ((size + (1u << (shift - 1)) - 1 + (size >> shift & 1)) >> shift) - lower;
    }
    return (u8)(sign | (code < most ? code : most));
}

__device__ inline u16 float_to_bfloat(float x) {
    const u32 bits = __float_as_uint(x);
    return x != x ? (u16)((bits >> 16) | 0x40) : (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

__device__ inline void load(float* x, const void* from, u32 type, u64 at) {
    switch (type) {
    case F32: *x = ((const float*)from)[at]; break;
    case F16: *x = half_to_float(((const u16*)from)[at]); break;
    case BF16: *x = __uint_as_float((u32)((const u16*)from)[at] << 16); break;
    case I8: *x = (float)((const signed char*)from)[at]; break;
    default: *x = eight_to_float(((const u8*)from)[at], type); break;
    }
}
__device__ inline void load(double* x, const void* from, u32, u64 at) { *x = ((const double*)from)[at]; }
__device__ inline void load(u32* x, const void* from, u32, u64 at) { *x = ((const u32*)from)[at]; }
template <typename P> __device__ inline void load(pair<P>* x, const void* from, u32, u64 at) {
    *x = ((const pair<P>*)from)[at];
}

__device__ inline void store(void* to, u32 type, u64 at, float x) {
    switch (type) {
    case F32: ((float*)to)[at] = x; break;
    case F16: ((u16*)to)[at] = float_to_half(x); break;
    case BF16: ((u16*)to)[at] = float_to_bfloat(x); break;
    // Saturating; a NaN becomes 0.
    case I8: ((signed char*)to)[at] = (signed char)(x != x ? 0.0f : rintf(fminf(fmaxf(x, -128.0f), 127.0f))); break;
    default: ((u8*)to)[at] = float_to_eight(x, type); break;
    }
}
__device__ inline void store(void* to, u32, u64 at, double x) { ((double*)to)[at] = x; }
__device__ inline void store(void* to, u32, u64 at, u32 x) { ((u32*)to)[at] = x; }
template <typename P> __device__ inline void store(void* to, u32, u64 at, pair<P> x) { ((pair<P>*)to)[at] = x; }

__device__ inline float plus(float x, float y) { return x + y; }
__device__ inline double plus(double x, double y) { return x + y; }
__device__ inline u32 plus(u32 x, u32 y) { return x + y; }
template <typename P> __device__ inline pair<P> plus(pair<P> x, pair<P> y) { return {x.re + y.re, x.im + y.im}; }
__device__ inline float times(float x, float y) { return x * y; }
__device__ inline double times(double x, double y) { return x * y; }
__device__ inline u32 times(u32 x, u32 y) { return x * y; }
template <typename P> __device__ inline pair<P> times(pair<P> x, pair<P> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
__device__ inline bool is_zero(float x) { return x == 0; }
__device__ inline bool is_zero(double x) { return x == 0; }
__device__ inline bool is_zero(u32 x) { return x == 0; }
template <typename P> __device__ inline bool is_zero(pair<P> x) { return x.re == 0 && x.im == 0; }

__device__ inline float tanh_of(float x) { return tanhf(x); }
__device__ inline double tanh_of(double x) { return tanh(x); }

__device__ inline u64 divide(u64 a, u64 b) { return ((a | b) >> 32) == 0 ? (u64)((u32)a / (u32)b) : a / b; }
