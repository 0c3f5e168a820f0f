// Bits, integers of ranges, and discrete distributions.

#include "draw.cuh"

// The generator's own bits.
extern "C" __global__ void bits_32(u32 *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator) {
    each(out, words, n, first, seed, generator, 0, [=](const Words &w, u32 *y, auto generator, auto) {
#pragma unroll
        for (int i = 0; i < 4; i++) y[i] = random_bits(generator, w.w[i]);
    });
}

#define PATIENCE (1u << 12)

// After a first word that may have to be rejected.
__device__ __noinline__ u64 integer_again(u32 k, u32 l, u64 span, u64 high, u64 low) {
    u64 least = (0 - span) % span, x, y;
    for (u32 attempt = 0; low < least && attempt < PATIENCE; attempt++) {
        further(k, l, attempt, &x, &y);
        high = __umul64hi(x, span);
        low = x * span;
    }
    return high;
}

__device__ __forceinline__ u64 integer(u32 k, u32 l, u64 start, u64 span) {
    u64 x = (u64)k | (u64)l << 32;
    if (span == 0) return start + x;
    u64 high = __umul64hi(x, span), low = x * span;
    if (low < span) high = integer_again(k, l, span, high, low);
    return start + high;
}

#define INTEGERS(T) T *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator, u64 start, u64 span

template <class T> __device__ __forceinline__ void integers(INTEGERS(T)) {
    each(out, words, n, first, seed, generator, 1, [=](const Words &w, T *y, auto generator, auto) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            y[i] = (T)integer(random_bits(generator, w.w[2 * i]), random_bits(generator, w.w[2 * i + 1]), start, span);
        }
    });
}

extern "C" __global__ void integers_8(INTEGERS(u8)) { integers(out, words, n, first, seed, generator, start, span); }
extern "C" __global__ void integers_16(INTEGERS(u16)) { integers(out, words, n, first, seed, generator, start, span); }
extern "C" __global__ void integers_32(INTEGERS(u32)) { integers(out, words, n, first, seed, generator, start, span); }
extern "C" __global__ void integers_64(INTEGERS(u64)) { integers(out, words, n, first, seed, generator, start, span); }

// `start` is the threshold, `span` says whether it is 1 always.
extern "C" __global__ void bernoulli(INTEGERS(u8)) {
    each(out, words, n, first, seed, generator, 1, [=](const Words &w, u8 *y, auto generator, auto) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u64 x = (u64)random_bits(generator, w.w[2 * i]) | (u64)random_bits(generator, w.w[2 * i + 1]) << 32;
            y[i] = span || x < start;
        }
    });
}

__device__ __noinline__ u32 poisson_one(u32 k0, u32 l0, double lambda, double zero, double ln_lambda, double a, double b,
                           double ln_inverse_alpha, double v_r) {
    if (lambda < 10.0) {
        double u = unit((u64)k0 | (u64)l0 << 32), p = zero, sum = p;
        u32 k = 0;
        while (u >= sum && k < 200) {
            k += 1;
            p = p * (lambda / (double)k);
            sum = sum + p;
        }
        return k;
    }
    for (u32 attempt = 0; attempt < PATIENCE; attempt++) {
        u64 x, y;
        further(k0, l0, attempt, &x, &y);
        double u = unit(x) - 0.5, v = 1.0 - unit(y);
        double us = 0.5 - fabs(u);
        double k = floor((2.0 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= v_r) return (u32)k;
        if (!(k >= 0.0) || (us < 0.013 && v > us)) continue;
        double left = ln(v) + ln_inverse_alpha - ln(a / (us * us) + b);
        if (left <= k * ln_lambda - lambda - ln_factorial(k)) return (u32)k;
    }
    return (u32)lambda;
}

extern "C" __global__ void poisson(u32 *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator, double lambda, double zero,
                                   double ln_lambda, double a, double b, double ln_inverse_alpha, double v_r) {
    each(out, words, n, first, seed, generator, 1, [=](const Words &w, u32 *y, auto generator, auto) {
        for (int i = 0; i < 4; i++) {
            y[i] = poisson_one(random_bits(generator, w.w[2 * i]), random_bits(generator, w.w[2 * i + 1]), lambda, zero, ln_lambda, a,
                               b, ln_inverse_alpha, v_r);
        }
    });
}

__device__ __noinline__ double binomial_one(u32 k0, u32 l0, double n, u32 search, double zero, double odds, double a, double b, double c, double v_r,
                               double alpha, double ln_odds, double mode, double h) {
    if (search) {
        double u = unit((u64)k0 | (u64)l0 << 32), k = 0.0, p = zero, sum = p;
        while (u >= sum && k < n && k < 200.0) {
            k = k + 1.0;
            p = p * ((n - k + 1.0) / k * odds);
            sum = sum + p;
        }
        return k;
    }
    for (u32 attempt = 0; attempt < PATIENCE; attempt++) {
        u64 x, y;
        further(k0, l0, attempt, &x, &y);
        double u = unit(x) - 0.5, v = 1.0 - unit(y);
        double us = 0.5 - fabs(u);
        double k = floor((2.0 * a / us + b) * u + c);
        if (us >= 0.07 && v <= v_r) return k;
        if (!(k >= 0.0 && k <= n)) continue;
        double left = ln(v * alpha / (a / (us * us) + b));
        double right = h - ln_factorial(k) - ln_factorial(n - k) + (k - mode) * ln_odds;
        if (left <= right) return k;
    }
    return mode;
}

// `flags`: 1: of the other outcome; 2: by search.
extern "C" __global__ void binomial(u32 *out, const u32 *words, u64 n, u64 first, u64 seed, u32 generator, u32 flags, double trials,
                                    double zero, double odds, double a, double b, double c, double v_r, double alpha,
                                    double ln_odds, double mode, double h) {
    each(out, words, n, first, seed, generator, 1, [=](const Words &w, u32 *y, auto generator, auto) {
        for (int i = 0; i < 4; i++) {
            double k = binomial_one(random_bits(generator, w.w[2 * i]), random_bits(generator, w.w[2 * i + 1]), trials, flags & 2, zero,
                                    odds, a, b, c, v_r, alpha, ln_odds, mode, h);
            y[i] = (u32)(flags & 1 ? trials - k : k);
        }
    });
}

// -- with parameters of each number: ../arrays.rs launches these ----------------------------------------------------------
//
// The constants that the kernels above get from the CPU are computed here for each number, by the same operations.

// The two words of number `at` of Philox.
__device__ __forceinline__ void two_words(u64 at, u64 seed, u32 *x, u32 *y) {
    u64 quad = at >> 2, row = 2 * (quad >> 16) + (at >> 1 & 1);
    Block block = philox((u32)row, (u32)(row >> 32), (u32)(quad & 0xffff), 0, (u32)seed, (u32)(seed >> 32));
    *x = at & 1 ? block.w[2] : block.w[0];
    *y = at & 1 ? block.w[3] : block.w[1];
}

// The first element that has no distribution: the largest complement of an index.
__device__ __noinline__ void refuse(u64 *verdict, u64 i) { atomicMax((unsigned long long *)verdict, (unsigned long long)~i); }

extern "C" __global__ void poisson_each(u32 *out, const double *lambdas, u64 n, u64 first, u64 seed, u64 *verdict) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        double lambda = lambdas[i];
        if (!(lambda >= 0.0 && lambda <= 1073741824.0)) {
            refuse(verdict, i);
            out[i] = 0;
            continue;
        }
        if (!(lambda > 2.2250738585072014e-308)) lambda = 2.2250738585072014e-308;
        double b = 0.931 + 2.53 * sqrt(lambda);
        double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        bool many = lambda >= 10.0;
        u32 x, y;
        two_words(first + i, seed, &x, &y);
        double ln_inverse_alpha = many ? ln(inverse_alpha) : 0.0, v_r = many ? 0.9277 - 3.6224 / (b - 2.0) : 0.0;
        out[i] = poisson_one(x, y, lambda, exponential(-lambda), ln(lambda), -0.059 + 0.02483 * b, b, ln_inverse_alpha, v_r);
    }
}

extern "C" __global__ void binomial_each(u32 *out, const double *ps, const u32 *trials, u64 n, u64 first, u64 seed, u64 *verdict) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        double given = ps[i], all = (double)trials[i];
        if (!(given >= 0.0 && given <= 1.0)) {
            refuse(verdict, i);
            out[i] = 0;
            continue;
        }
        bool flipped = given > 0.5;
        double p = flipped ? 1.0 - given : given, q = 1.0 - p;
        bool search = all * p < 10.0;
        double ln_q = ln(q) + ((1.0 - q) - p) / q;
        double spread = sqrt(all * p * q), b = 1.15 + 2.53 * spread;
        double mode = floor((all + 1.0) * p), odds = p / q;
        double a = -0.0873 + 0.0248 * b + 0.01 * p, c = all * p + 0.5;
        double ln_odds = search ? 0.0 : ln(odds), h = ln_factorial(mode) + ln_factorial(all - mode);
        u32 x, y;
        two_words(first + i, seed, &x, &y);
        double k = binomial_one(x, y, all, search, exponential(all * ln_q), odds, a, b, c, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread,
                                ln_odds, mode, h);
        out[i] = (u32)(flipped ? all - k : k);
    }
}
