// What is done before and behind the Fourier transform that a cosine or sine transform is made of (`trigonometric.rs`).
//
// `.ci/kernels` makes two files of it: trigonometric_32.ptx (f32, f16 and bf16, computed in f32) and trigonometric_64.ptx.
// `check.cpp` carries the kernels out on a CPU beside the definitions.
//
// An array is `lines` lines of `n` numbers along one axis; `inner` numbers lie between neighbours of a line. Memory to work
// in has `length` numbers for each line: one line after another where `inner` is 1, else neighbours are `lines` apart, so
// that threads side by side touch numbers side by side in both.
#include "types.cuh"

// Cosine and sine of `pi * at`.
__device__ inline void turn(double at, float* cosine, float* sine) { sincospif((float)at, sine, cosine); }
__device__ inline void turn(double at, double* cosine, double* sine) { sincospi(at, sine, cosine); }

// A kind: 1 to 4, and whether it is of sines.
#define SINE 16

// Number `j` of line `line`, multiplied where it is the first or the last.
template <typename P, typename S>
__device__ inline P element(const S* x, u64 n, u64 inner, u64 line, u64 j, double first, double last) {
    const u64 outer = divide(line, inner);
    P value = widen(x[(outer * n + j) * inner + (line - outer * inner)]);
    if (j == 0) value *= (P)first;
    if (j == n - 1) value *= (P)last;
    return value;
}

// A real line for a real transform of `length`: mirrored (kinds 1), or its even elements and then its odd ones backwards
// (kinds 2).
template <typename P, typename S>
__device__ inline void before_real(P* work, const S* x, u64 n, u64 length, u64 lines, u64 inner, u32 kind, double first,
                                   double last) {
    const u64 total = length * lines, stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const u64 by = inner == 1 ? length : lines, quotient = divide(i, by), rest = i - quotient * by;
        const u64 line = inner == 1 ? quotient : rest, j = inner == 1 ? rest : quotient;
        P value = 0;
        if (kind == 1) {
            value = element<P>(x, n, inner, line, j < n ? j : length - j, first, last);
        } else if (kind == (1 | SINE)) {
            if (j >= 1 && j <= n) value = element<P>(x, n, inner, line, j - 1, first, last);
            else if (j > n + 1) value = -element<P>(x, n, inner, line, length - 1 - j, first, last);
        } else {
            const bool even = j < (n + 1) / 2;
            value = element<P>(x, n, inner, line, even ? 2 * j : 2 * (n - j) - 1, first, last);
            if (!even && kind == (2 | SINE)) value = -value;
        }
        work[i] = value;
    }
}

// A real line as the half spectrum of `length` numbers that kinds 3 are the transform of, or as the complex numbers, half as
// many where there are an even number, that kinds 4 are.
template <typename P, typename S>
__device__ inline void before_complex(pair<P>* work, const S* x, u64 n, u64 length, u64 lines, u64 inner, u32 kind,
                                      double first, double last) {
    const u64 total = length * lines, stride = (u64)gridDim.x * blockDim.x;
    const double over = 1.0 / (4.0 * (double)n);
    const bool sine = (kind & SINE) != 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        const u64 by = inner == 1 ? length : lines, quotient = divide(i, by), rest = i - quotient * by;
        const u64 line = inner == 1 ? quotient : rest, j = inner == 1 ? rest : quotient;
        u64 one, other, angle;
        bool both = true;
        if ((kind & 15) == 3) {
            one = j, other = n - j, angle = 2 * j;
            both = j != 0;
        } else if (n % 2 == 0) {
            one = 2 * j, other = n - 1 - 2 * j, angle = 4 * j + 1;
        } else {
            one = j, other = 0, angle = 2 * j;
            both = false;
        }
        // A sine transform takes the line backwards.
        P re = element<P>(x, n, inner, line, sine ? n - 1 - one : one, first, last), im = 0, cosine, sines;
        if (both) im = element<P>(x, n, inner, line, sine ? n - 1 - other : other, first, last);
        turn((double)angle * over, &cosine, &sines);
        if ((kind & 15) == 3) {
            // (re - i im) exp(+i angle); the ends of a half spectrum are real.
            const bool end = j == 0 || 2 * j == n;
            const P real = re * cosine + im * sines, imaginary = re * sines - im * cosine;
            re = real, im = end ? 0 : imaginary;
        } else {
            const P real = re * cosine + im * sines, imaginary = im * cosine - re * sines;
            re = real, im = imaginary;
        }
        work[i].re = re;
        work[i].im = im;
    }
}

// Where element `k` of line `line` goes, and number `m` of that line in the memory to work in.
#define PLACES(i)                                                                                          \
    const u64 step = n * inner, outer = divide(i, step), within = i - outer * step;                        \
    const u64 k = divide(within, inner), line = outer * inner + (within - k * inner);
#define AT(m) (inner == 1 ? line * length + (m) : (m) * lines + line)

// Kinds 3: the numbers of the transform, whose second half are the odd elements backwards.
template <typename P, typename D>
__device__ inline void after_real(D* y, const P* work, u64 n, u64 length, u64 lines, u64 inner, u32 kind, double scale,
                                  double first, double last) {
    const u64 total = n * lines, stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        PLACES(i)
        P value = work[AT(k % 2 == 0 ? k / 2 : n - 1 - k / 2)] * (P)scale;
        if (k % 2 == 1 && (kind & SINE) != 0) value = -value;
        if (k == 0) value *= (P)first;
        if (k == n - 1) value *= (P)last;
        narrow(y + i, value);
    }
}

// Kinds 1, 2 and 4: from spectra.
template <typename P, typename D>
__device__ inline void after_complex(D* y, const pair<P>* work, u64 n, u64 length, u64 lines, u64 inner, u32 kind,
                                     double scale, double first, double last) {
    const u64 total = n * lines, stride = (u64)gridDim.x * blockDim.x;
    const double over = 1.0 / (4.0 * (double)n);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
        PLACES(i)
        P value;
        if (kind == 1) {
            value = work[AT(k)].re;
        } else if (kind == (1 | SINE)) {
            value = -work[AT(k + 1)].im;
        } else {
            u64 m, angle;
            bool imaginary, negative = false;
            if ((kind & 15) == 2) {
                // The second half of the spectrum is the conjugate of the first; a sine transform comes out backwards.
                const u64 at = kind == 2 ? k : n - 1 - k;
                imaginary = at > n / 2;
                m = imaginary ? n - at : at;
                angle = 2 * m;
            } else if (n % 2 == 0) {
                imaginary = k % 2 == 1;
                m = imaginary ? (n - 1 - k) / 2 : k / 2;
                angle = 4 * m;
            } else {
                imaginary = false;
                negative = k % 2 == 1;
                m = negative ? (2 * n - 1 - k) / 2 : k / 2;
                angle = 4 * m + 1;
            }
            const pair<P> number = work[AT(m)];
            P cosine, sines;
            // Of angles beyond half a turn, which the last case has.
            turn((double)angle * over, &cosine, &sines);
            // The number times exp(-i angle).
            value = imaginary ? number.re * sines - number.im * cosine : number.re * cosine + number.im * sines;
            value *= 2;
            if ((kind & 15) == 4 && (kind & SINE) != 0 && k % 2 == 1) negative = !negative;
            if (negative) value = -value;
        }
        value *= (P)scale;
        if (k == 0) value *= (P)first;
        if (k == n - 1) value *= (P)last;
        narrow(y + i, value);
    }
}

#define KERNELS(name, S, P)                                                                                       \
    extern "C" __global__ void before_real_##name(P* work, const S* x, u64 n, u64 length, u64 lines, u64 inner,   \
                                                  u32 kind, double first, double last) {                         \
        before_real<P>(work, x, n, length, lines, inner, kind, first, last);                                      \
    }                                                                                                             \
    extern "C" __global__ void before_complex_##name(pair<P>* work, const S* x, u64 n, u64 length, u64 lines,     \
                                                     u64 inner, u32 kind, double first, double last) {           \
        before_complex<P>(work, x, n, length, lines, inner, kind, first, last);                                   \
    }                                                                                                             \
    extern "C" __global__ void after_real_##name(S* y, const P* work, u64 n, u64 length, u64 lines, u64 inner,    \
                                                 u32 kind, double scale, double first, double last) {            \
        after_real<P>(y, work, n, length, lines, inner, kind, scale, first, last);                                \
    }                                                                                                             \
    extern "C" __global__ void after_complex_##name(S* y, const pair<P>* work, u64 n, u64 length, u64 lines,      \
                                                    u64 inner, u32 kind, double scale, double first, double last) { \
        after_complex<P>(y, work, n, length, lines, inner, kind, scale, first, last);                             \
    }

#if FAMILY == 32
KERNELS(f32, float, float)
KERNELS(f16, f16, float)
KERNELS(bf16, bf16, float)
#else
KERNELS(f64, double, double)
#endif
