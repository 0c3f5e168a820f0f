// Normal numbers, and their exponentials.

#include "draw.cuh"

// The mode's bits: the exponential of it; by the quantile.
enum { LOG = 1, QUANTILE = 2 };

__device__ __forceinline__ double quantile_unit(u32 generator, u32 wide, const Words &w, int i) {
    return wide ? unit_long(generator, false, w.w[2 * i], w.w[2 * i + 1]) : unit_middle(generator, w.w[i]);
}

template <class T> __device__ __forceinline__ void normal(DRAW(T)) {
    float mean = (float)a, deviation = (float)b;
    each(out, words, n, first, seed, generator, wide, [=](const Words &w, T *y, auto generator, auto wide) {
        float z[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (mode & QUANTILE) {
                z[i] = deviation * (float)quantile(quantile_unit(generator, wide, w, i)) + mean;
            } else if (i % 2 == 0) {
                float r = sqrtf(-2.0f * ln(unit_single(generator, false, w.w[i]))), s, t;
                turn(unit_single(generator, false, w.w[i + 1]), &s, &t);
                z[i] = deviation * (r * s) + mean;
                z[i + 1] = deviation * (r * t) + mean;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) store(mode & LOG ? exponential(z[i]) : z[i], y + i);
    });
}

extern "C" __global__ void normal_f32(DRAW(float)) { normal(out, words, n, first, seed, generator, wide, mode, a, b, c); }
extern "C" __global__ void normal_f16(DRAW(Half)) { normal(out, words, n, first, seed, generator, wide, mode, a, b, c); }
extern "C" __global__ void normal_bf16(DRAW(Brief)) { normal(out, words, n, first, seed, generator, wide, mode, a, b, c); }

extern "C" __global__ void normal_f64(DRAW(double)) {
    each(out, words, n, first, seed, generator, wide, [=](const Words &w, double *y, auto generator, auto wide) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (mode & QUANTILE) {
                y[i] = b * quantile(quantile_unit(generator, wide, w, i)) + a;
            } else if (i % 2 == 0) {
                double u = wide ? unit_long(generator, false, w.w[2 * i], w.w[2 * i + 1]) : unit_short(generator, false, w.w[i]);
                double v = wide ? unit_long(generator, false, w.w[2 * i + 2], w.w[2 * i + 3])
                                : unit_short(generator, false, w.w[i + 1]);
                double r = sqrt(-2.0 * ln(u)), s, t;
                turn(v, &s, &t);
                y[i] = b * (r * s) + a;
                y[i + 1] = b * (r * t) + a;
            }
        }
        if (mode & LOG) {
#pragma unroll
            for (int i = 0; i < 4; i++) y[i] = exponential(y[i]);
        }
    });
}

