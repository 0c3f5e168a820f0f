// Numbers of the unit interval, of ranges, and exponential ones.

#include "draw.cuh"

enum Mode { ABOVE_ZERO, BELOW_ONE, BETWEEN, EXPONENTIAL };

__device__ __forceinline__ float scaled(float u, u32 mode, float a, float span, float last) {
    if (mode == BETWEEN) {
        float y = span * u + a;
        return y > last ? last : y;
    }
    return mode == EXPONENTIAL ? a * (0.0f - ln(u)) : u; // not -0 for 1
}

template <class T> __device__ __forceinline__ void uniform(DRAW(T), u32 bits) {
    bool lower = mode == BELOW_ONE || mode == BETWEEN;
    float low = (float)a, span = (float)b - (float)a, last = (float)c;
    if (mode == ABOVE_ZERO && !bits) {
        each(out, words, n, first, seed, generator, wide, [=](const Words &w, T *y, auto generator, auto wide) {
#pragma unroll
            for (int i = 0; i < 4; i++) store(unit_single(generator, false, wide ? w.w[2 * i + 1] : w.w[i]), y + i);
        });
        return;
    }
    each(out, words, n, first, seed, generator, wide, [=](const Words &w, T *y, auto generator, auto wide) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 x = wide ? w.w[2 * i + 1] : w.w[i];
            if (bits && mode <= BELOW_ONE) store(unit_coarse(generator, lower, bits, x), y + i);
            else store(scaled(unit_single(generator, lower, x), mode, low, span, last), y + i);
        }
    });
}

extern "C" __global__ void uniform_f32(DRAW(float)) { uniform(out, words, n, first, seed, generator, wide, mode, a, b, c, 0); }
extern "C" __global__ void uniform_f16(DRAW(Half)) { uniform(out, words, n, first, seed, generator, wide, mode, a, b, c, 11); }
extern "C" __global__ void uniform_bf16(DRAW(Brief)) { uniform(out, words, n, first, seed, generator, wide, mode, a, b, c, 8); }

extern "C" __global__ void uniform_f64(DRAW(double)) {
    bool lower = mode == BELOW_ONE || mode == BETWEEN;
    each(out, words, n, first, seed, generator, wide, [=](const Words &w, double *y, auto generator, auto wide) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            double u = wide ? unit_long(generator, lower, w.w[2 * i], w.w[2 * i + 1]) : unit_short(generator, lower, w.w[i]);
            if (mode == BETWEEN) {
                u = (b - a) * u + a;
                u = u > c ? c : u;
            } else if (mode == EXPONENTIAL) {
                u = a * (0.0 - ln(u));
            }
            y[i] = u;
        }
    });
}

