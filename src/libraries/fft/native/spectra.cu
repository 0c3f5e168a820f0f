// What convolutions and short-time transforms (`convolve.rs`, `frames.rs`) do beside Fourier transforms and copies.
//
// `.ci/kernels` makes two files of it: spectra_32.ptx (f32, f16 and bf16, computed in f32) and spectra_64.ptx. `check.cpp` carries
// the kernels out on a CPU.
#include "types.cuh"

// `a[i] = a[i] * b[i % period] * scale`, of `b` the conjugates where `conj` says so.
template <typename P>
__device__ inline void multiply(pair<P>* a, const pair<P>* b, u64 total, u64 period, u32 conj, double scale) {
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const pair<P> x = a[i];
        pair<P> y = b[period == total ? i : i - divide(i, period) * period];
        if (conj) y.im = -y.im;
        pair<P> product;
        product.re = (x.re * y.re - x.im * y.im) * (P)scale;
        product.im = (x.re * y.im + x.im * y.re) * (P)scale;
        a[i] = product;
    }
}

// Frames of `n` numbers, `hop` apart, of arrays of `length`, each multiplied with the window. The first begins `before`
// numbers ahead of its array. Beyond the ends an array goes on mirrored, or with zeros.
template <typename P, typename S>
__device__ inline void frames(P* work, const S* x, const S* window, u64 n, u64 frames, u64 arrays, u64 length, u64 hop,
                              u64 before, u32 mirrored) {
    const u64 total = n * frames * arrays, stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const u64 frame = divide(i, n), j = i - frame * n, array = divide(frame, frames);
        long long at = (long long)((frame - array * frames) * hop + j) - (long long)before;
        if (mirrored && at < 0) at = -at;
        if (mirrored && at >= (long long)length) at = 2 * ((long long)length - 1) - at;
        const bool inside = at >= 0 && at < (long long)length;
        work[i] = inside ? widen(x[array * length + (u64)at]) * widen(window[j]) : (P)0;
    }
}

// The largest weight of a window, in so many parts: one thread each.
#define PARTS 128

template <typename P, typename S> __device__ inline void largest(P* parts, const S* window, u64 n) {
    const u64 part = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (part >= PARTS) return;
    P most = 0;
    for (u64 j = part; j < n; j += PARTS) {
        const P w = widen(window[j]), size = w < 0 ? -w : w;
        most = size > most ? size : most;
    }
    parts[part] = most;
}

// The arrays that such frames are of: where several have a number, their mean with the squares of the window as weights.
// Where the window is only noise beside its largest weight, nothing is left of the numbers: 0.
template <typename P, typename D>
__device__ inline void overlap(D* y, const P* work, const D* window, const P* parts, u64 n, u64 frames, u64 arrays, u64 length,
                               u64 hop, u64 before, double scale) {
    P least = 0;
    for (u32 part = 0; part < PARTS; part++) least = parts[part] > least ? parts[part] : least;
    least *= sizeof(P) == 4 ? (P)0x1p-19 : (P)0x1p-48; // 16 epsilon
    least *= least;
    const u64 total = length * arrays, stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const u64 array = divide(i, length), at = i - array * length + before;
        const u64 first = at < n ? 0 : divide(at - n, hop) + 1, beyond = divide(at, hop) + 1;
        P sum = 0, weight = 0;
        for (u64 frame = first; frame < beyond && frame < frames; frame++) {
            const u64 j = at - frame * hop;
            const P w = widen(window[j]);
            sum += work[(array * frames + frame) * n + j] * w;
            weight += w * w;
        }
        narrow(y + i, weight > least ? sum * (P)scale / weight : (P)0);
    }
}

#define MULTIPLY(name, P)                                                                                          \
    extern "C" __global__ void multiply_##name(pair<P>* a, const pair<P>* b, u64 total, u64 period, u32 conj,      \
                                               double scale) {                                                     \
        multiply<P>(a, b, total, period, conj, scale);                                                             \
    }
#define FRAMES(name, S, P)                                                                                         \
    extern "C" __global__ void frames_##name(P* work, const S* x, const S* window, u64 n, u64 count, u64 arrays,   \
                                             u64 length, u64 hop, u64 before, u32 mirrored) {                      \
        frames<P>(work, x, window, n, count, arrays, length, hop, before, mirrored);                               \
    }                                                                                                              \
    extern "C" __global__ void largest_##name(P* parts, const S* window, u64 n) { largest<P>(parts, window, n); }  \
    extern "C" __global__ void overlap_##name(S* y, const P* work, const S* window, const P* parts, u64 n,         \
                                              u64 count, u64 arrays, u64 length, u64 hop, u64 before,              \
                                              double scale) {                                                      \
        overlap<P>(y, work, window, parts, n, count, arrays, length, hop, before, scale);                          \
    }

#if FAMILY == 32
MULTIPLY(c32, float)
FRAMES(f32, float, float)
FRAMES(f16, f16, float)
FRAMES(bf16, bf16, float)
#else
MULTIPLY(c64, double)
FRAMES(f64, double, double)
#endif
