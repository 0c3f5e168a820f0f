// Number types of the kernels of this folder: stored ones, and what they are computed in.
#pragma once
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

struct f16 { u16 bits; };
struct bf16 { u16 bits; };

#ifndef ON_A_CPU
__device__ inline float widen(f16 x) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}
__device__ inline void narrow(f16* to, float x) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    to->bits = bits;
}
#endif
__device__ inline float widen(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }
__device__ inline void narrow(bf16* to, float x) {
    u32 bits = __float_as_uint(x);
    // To nearest, ties to even; a NaN stays one.
    to->bits = x != x ? (u16)((bits >> 16) | 0x40) : (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
__device__ inline void narrow(float* to, float x) { *to = x; }
__device__ inline void narrow(double* to, double x) { *to = x; }

template <typename T> struct pair;
template <> struct __align__(8) pair<float> { float re, im; };
template <> struct __align__(16) pair<double> { double re, im; };

__device__ inline u64 divide(u64 a, u64 b) { return ((a | b) >> 32) == 0 ? (u64)((u32)a / (u32)b) : a / b; }
