#pragma once
// Elementary functions and the pieces of distributions: the same operations in the same order as in ../host/math.rs,
// units.rs and discrete.rs, so that every bit is the same. Compiled without contraction: what is fused says so.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum Generator { PHILOX, XORWOW, MRG, MT, MTGP, SOBOL32, SOBOL64 };

__device__ __forceinline__ float f32_of(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ u32 bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ double f64_of(u64 bits) { return __longlong_as_double((i64)bits); }
__device__ __forceinline__ u64 bits_of(double x) { return (u64)__double_as_longlong(x); }

// -- Philox4x32-10 -----------------------------------------------------------------------------------------------------

struct Block {
    u32 w[4];
};

__device__ __forceinline__ Block philox(u32 a, u32 b, u32 c, u32 d, u32 k, u32 l) {
#pragma unroll
    for (int i = 0; i < 10; i++) {
        u64 x = (u64)0xD2511F53u * a, y = (u64)0xCD9E8D57u * c;
        a = (u32)(y >> 32) ^ b ^ k;
        b = (u32)y;
        c = (u32)(x >> 32) ^ d ^ l;
        d = (u32)x;
        k += 0x9E3779B9u;
        l += 0xBB67AE85u;
    }
    Block out = {{a, b, c, d}};
    return out;
}

__device__ __noinline__ void further(u32 k, u32 l, u32 index, u64 *x, u64 *y) {
    Block b = philox(index, 0x57696e64u, 0, 0, k, l);
    *x = (u64)b.w[0] | (u64)b.w[1] << 32;
    *y = (u64)b.w[2] | (u64)b.w[3] << 32;
}

// -- functions -----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ float ln(float u) {
    u32 bits = bits_of(u);
    int exponent = (int)(bits - 0x3f3504f3u) >> 23;
    float f = f32_of(bits - ((u32)exponent << 23)) - 1.0f;
    float e = (float)exponent;
    float s = f / (2.0f + f);
    float z = s * s;
    float p = 0.18181819f;
    p = fmaf(p, z, 0.22222222f);
    p = fmaf(p, z, 0.2857143f);
    p = fmaf(p, z, 0.4f);
    p = fmaf(p, z, 0.6666667f);
    float small = fmaf(s * z, p, e * 1.4286068e-6f);
    return fmaf(e, 0.69314575f, (s + s) + small);
}

__device__ __forceinline__ double ln(double u) {
    u64 bits = bits_of(u);
    i64 exponent = (i64)(bits - 0x3fe6a09e667f3bcdull) >> 52;
    double f = f64_of(bits - ((u64)exponent << 52)) - 1.0;
    double e = (double)exponent;
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0.08695652173913043;
    p = fma(p, z, 0.09523809523809524);
    p = fma(p, z, 0.10526315789473684);
    p = fma(p, z, 0.11764705882352941);
    p = fma(p, z, 0.13333333333333333);
    p = fma(p, z, 0.15384615384615385);
    p = fma(p, z, 0.18181818181818182);
    p = fma(p, z, 0.22222222222222222);
    p = fma(p, z, 0.2857142857142857);
    p = fma(p, z, 0.4);
    p = fma(p, z, 0.6666666666666666);
    double small = fma(s * z, p, e * 1.9082149292705877e-10);
    return fma(e, 0.6931471803691238, (s + s) + small);
}

__device__ __forceinline__ void turn(float u, float *sin_u, float *cos_u) {
    float q = u * 4.0f;
    float near = q + 12582912.0f;
    u32 quarter = bits_of(near);
    float f = q - (near - 12582912.0f);
    float z = f * f;
    float s = 1.6044118e-4f;
    s = fmaf(s, z, -4.681754e-3f);
    s = fmaf(s, z, 0.079692625f);
    s = fmaf(s, z, -0.6459641f);
    s = fmaf(s, z, 1.5707964f);
    s = f * s;
    float c = -2.5202042e-5f;
    c = fmaf(c, z, 9.1926026e-4f);
    c = fmaf(c, z, -0.02086348f);
    c = fmaf(c, z, 0.2536695f);
    c = fmaf(c, z, -1.2337005f);
    c = fmaf(c, z, 1.0f);
    float a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
    *sin_u = f32_of(bits_of(a) ^ ((quarter & 2) << 30));
    *cos_u = f32_of(bits_of(b) ^ (((quarter + 1) & 2) << 30));
}

__device__ __forceinline__ void turn(double u, double *sin_u, double *cos_u) {
    double q = u * 4.0;
    double near = q + 6755399441055744.0;
    u64 quarter = bits_of(near);
    double f = q - (near - 6755399441055744.0);
    double z = f * f;
    double s = 6.0669357311061955e-12;
    s = fma(s, z, -6.688035109811468e-10);
    s = fma(s, z, 5.692172921967927e-8);
    s = fma(s, z, -3.598843235212085e-6);
    s = fma(s, z, 1.6044118478735983e-4);
    s = fma(s, z, -4.681754135318688e-3);
    s = fma(s, z, 0.07969262624616705);
    s = fma(s, z, -0.6459640975062463);
    s = fma(s, z, 1.5707963267948966);
    s = f * s;
    double c = 6.565963114979473e-11;
    c = fma(c, z, -6.386603083791852e-9);
    c = fma(c, z, 4.710874778818172e-7);
    c = fma(c, z, -2.5202042373060607e-5);
    c = fma(c, z, 9.192602748394266e-4);
    c = fma(c, z, -0.02086348076335296);
    c = fma(c, z, 0.25366950790104803);
    c = fma(c, z, -1.2337005501361697);
    c = fma(c, z, 1.0);
    double a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
    *sin_u = f64_of(bits_of(a) ^ ((quarter & 2) << 62));
    *cos_u = f64_of(bits_of(b) ^ (((quarter + 1) & 2) << 62));
}

__device__ __forceinline__ float power(int k) { return f32_of((u32)(k + 127) << 23); }
__device__ __forceinline__ double power(i64 k) { return f64_of((u64)(k + 1023) << 52); }

__device__ __forceinline__ float exponential(float x) {
    x = x > 100.0f ? 100.0f : x;
    x = x < -120.0f ? -120.0f : x;
    float near = fmaf(x, 1.442695f, 12582912.0f);
    float k = near - 12582912.0f;
    float r = fmaf(k, -1.4286068e-6f, fmaf(k, -0.69314575f, x));
    float p = 1.984127e-4f;
    p = fmaf(p, r, 1.3888889e-3f);
    p = fmaf(p, r, 8.333334e-3f);
    p = fmaf(p, r, 0.041666668f);
    p = fmaf(p, r, 0.16666667f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    int n = (int)(bits_of(near) - 0x4b400000u), half = n >> 1;
    return p * power(half) * power(n - half);
}

__device__ __noinline__ double exponential(double x) {
    x = x > 720.0 ? 720.0 : x;
    x = x < -760.0 ? -760.0 : x;
    double near = fma(x, 1.4426950408889634, 6755399441055744.0);
    double k = near - 6755399441055744.0;
    double r = fma(k, -1.9082149292705877e-10, fma(k, -0.6931471803691238, x));
    double p = 1.6059043836821613e-10;
    p = fma(p, r, 2.08767569878681e-9);
    p = fma(p, r, 2.505210838544172e-8);
    p = fma(p, r, 2.755731922398589e-7);
    p = fma(p, r, 2.7557319223985893e-6);
    p = fma(p, r, 2.48015873015873e-5);
    p = fma(p, r, 1.984126984126984e-4);
    p = fma(p, r, 1.388888888888889e-3);
    p = fma(p, r, 8.333333333333333e-3);
    p = fma(p, r, 0.041666666666666664);
    p = fma(p, r, 0.16666666666666666);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);
    i64 n = (i64)(bits_of(near) - 0x4338000000000000ull), half = n >> 1;
    return p * power(half) * power(n - half);
}

#define HORNER8(x, a, b, c, d, e, f, g, h) \
    fma(fma(fma(fma(fma(fma(fma(a, x, b), x, c), x, d), x, e), x, f), x, g), x, h)

__device__ __noinline__ double quantile(double u) {
    double q = u - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        double above = HORNER8(r, 2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.693765509461,
                               1971.5909503065514, 133.14166789178438, 3.3871328727963665);
        double below = HORNER8(r, 5226.495278852546, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751,
                               687.1870074920579, 42.31333070160091, 1.0);
        return q * above / below;
    }
    double tail = q < 0.0 ? u : 1.0 - u;
    tail = tail < 5.421010862427522e-20 ? 5.421010862427522e-20 : tail;
    double r = sqrt(-ln(tail)), above, below;
    if (r <= 5.0) {
        r = r - 1.6;
        above = HORNER8(r, 7.745450142783414e-4, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
                        5.769497221460691, 4.630337846156546, 1.4234371107496835);
        below = HORNER8(r, 1.0507500716444169e-9, 5.475938084995345e-4, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
                        1.6763848301838038, 2.053191626637759, 1.0);
    } else {
        r = r - 5.0;
        above = HORNER8(r, 2.0103343992922881e-7, 2.7115555687434876e-5, 1.2426609473880784e-3, 0.026532189526576124,
                        0.29656057182850487, 1.7848265399917291, 5.463784911164114, 6.657904643501103);
        below = HORNER8(r, 2.0442631033899398e-15, 1.421511758316446e-7, 1.8463183175100548e-5, 7.868691311456133e-4,
                        0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0);
    }
    double x = above / below;
    return q < 0.0 ? -x : x;
}

__device__ __noinline__ double ln_factorial(double k) {
    const double few[10] = {0.0, 0.0, 0.6931471805599453, 1.791759469228055, 3.1780538303479458, 4.787491742782046,
                            6.579251212010101, 8.525161361065415, 10.60460290274525, 12.801827480081469};
    if (k < 10.0) return k >= 0.0 ? few[(int)k] : 0.0;
    double x = k + 1.0, y = 1.0 / x, z = y * y;
    double series = -5.952380952380953e-4;
    series = fma(series, z, 7.936507936507937e-4);
    series = fma(series, z, -2.777777777777778e-3);
    series = fma(series, z, 0.08333333333333333);
    series = y * series;
    return fma(x - 0.5, ln(x), -x) + 0.9189385332046728 + series;
}

// -- numbers of the unit interval ----------------------------------------------------------------------------------------

__device__ __forceinline__ double unit(u64 x) { return (double)(x >> 11) * 1.1102230246251565e-16; }

__device__ __forceinline__ u32 random_bits(u32 generator, u32 word) {
    return generator == MRG ? (u32)((double)word * 1.000000048662) : word;
}

__device__ __forceinline__ float unit_single(u32 generator, bool lower, u32 x) {
    if (lower) return (float)(random_bits(generator, x) >> 8) * 5.9604645e-8f;
    if (generator == MRG) return (float)((double)x * 2.3283065498378288e-10);
    if (generator == MT) return (float)(((double)x + 0.5) * 2.3283064365386963e-10);
    return (float)x * 2.3283064e-10f + 1.1641532e-10f;
}

__device__ __forceinline__ float unit_coarse(u32 generator, bool lower, u32 bits, u32 x) {
    float unit = 1.0f / (float)(1u << bits);
    return (float)((random_bits(generator, x) >> (32 - bits)) + (lower ? 0 : 1)) * unit;
}

// Of one word.
__device__ __forceinline__ double unit_short(u32 generator, bool lower, u32 x) {
    if (generator == MRG && !lower) return (double)x * 2.3283065498378288e-10;
    double add = lower ? 0.0 : generator == MT ? 0.5 : 1.0;
    return ((double)random_bits(generator, x) + add) * 2.3283064365386963e-10;
}

// Of two words.
__device__ __forceinline__ double unit_long(u32 generator, bool lower, u32 x, u32 y) {
    u64 bits;
    if (generator == SOBOL64) {
        bits = ((u64)y << 32 | x) >> 11;
    } else {
        x = random_bits(generator, x);
        y = random_bits(generator, y);
        bits = (u64)x ^ (u64)y << 21;
    }
    return (double)bits * 1.1102230246251565e-16 + (lower ? 0.0 : 5.551115123125783e-17);
}

// Of one word, symmetric about the middle.
__device__ __forceinline__ double unit_middle(u32 generator, u32 x) {
    if (generator == MRG) return (double)x * 2.3283065498378288e-10;
    return ((double)x + 0.5) * 2.3283064365386963e-10;
}

// -- narrow floats ---------------------------------------------------------------------------------------------------------

struct Half {
    u16 bits;
};
struct Brief {
    u16 bits;
};

__device__ __forceinline__ void store(float x, float *out) { *out = x; }

__device__ __forceinline__ void store(float x, Half *out) {
    u32 bits = bits_of(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff, h;
    if (a > 0x7f800000) h = 0x7e00 | (a >> 13 & 0x3ff);
    else if (a >= 0x47800000) h = 0x7c00;
    else if (a < 0x38800000) h = bits_of(f32_of(a) + 0.5f) - 0x3f000000;
    else h = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
    out->bits = (u16)(sign | h);
}

__device__ __forceinline__ void store(float x, Brief *out) {
    u32 bits = bits_of(x);
    if ((bits & 0x7fffffff) > 0x7f800000) out->bits = (u16)(bits >> 16 | 0x40);
    else out->bits = (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
