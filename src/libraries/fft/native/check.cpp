// Carries the kernels of trigonometric.cu and spectra.cu out on a CPU, with transforms by the definition between them, and holds what comes
// out against the definitions of the cosine and sine transforms. Prints the worst error of each type, in units of its
// epsilon, and fails where one is too large.
//
//     g++ -std=c++17 -O1 -o check src/libraries/fft/native/check.cpp && ./check
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#define ON_A_CPU
#define __device__
#define __global__
#define __align__(n) alignas(n)
static struct { unsigned x; } gridDim, blockDim, blockIdx, threadIdx;

static float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
static void sincospif(float x, float* s, float* c) { *s = (float)sin(M_PI * x), *c = (float)cos(M_PI * x); }
static void sincospi(double x, double* s, double* c) {
    *s = (double)sinl(acosl(-1.0L) * x), *c = (double)cosl(acosl(-1.0L) * x);
}
struct f16;
static float widen(f16 x);
static void narrow(f16* to, float x);
#define FAMILY 32
#include "trigonometric.cu"
#include "spectra.cu"
#undef FAMILY
KERNELS(f64, double, double)
MULTIPLY(c64, double)
FRAMES(f64, double, double)
static float widen(f16 x) { _Float16 h; memcpy(&h, &x.bits, 2); return h; }
static void narrow(f16* to, float x) { _Float16 h = (_Float16)x; memcpy(&to->bits, &h, 2); }

template <class F> static void grid(unsigned blocks, F kernel) {
    gridDim.x = blocks, blockDim.x = 64;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < 64; threadIdx.x++) kernel();
}

typedef std::complex<long double> number;
static const long double PI = acosl(-1.0L);

static long double defined(u32 kind, const std::vector<long double>& x, u64 k) {
    const u64 n = x.size();
    long double sum = 0;
    for (u64 j = 0; j < n; j++) {
        long double term;
        switch (kind) {
            case 1: term = (j == 0 || j == n - 1 ? 1 : 2) * cosl(PI * (j * k % (2 * (n - 1))) / (n - 1)); break;
            case 2: term = 2 * cosl(PI * (k * (2 * j + 1) % (4 * n)) / (2 * n)); break;
            case 3: term = (j == 0 ? 1 : 2) * cosl(PI * (j * (2 * k + 1) % (4 * n)) / (2 * n)); break;
            case 4: term = 2 * cosl(PI * ((2 * j + 1) * (2 * k + 1) % (8 * n)) / (4 * n)); break;
            case 1 | SINE: term = 2 * sinl(PI * ((j + 1) * (k + 1) % (2 * (n + 1))) / (n + 1)); break;
            case 2 | SINE: term = 2 * sinl(PI * ((k + 1) * (2 * j + 1) % (4 * n)) / (2 * n)); break;
            case 3 | SINE:
                term = (j == n - 1 ? 1 : 2) * sinl(PI * ((j + 1) * (2 * k + 1) % (4 * n)) / (2 * n));
                break;
            default: term = 2 * sinl(PI * ((2 * j + 1) * (2 * k + 1) % (8 * n)) / (4 * n));
        }
        sum += x[j] * term;
    }
    return sum;
}

// Lines of `count` numbers as the kernels lay them, transformed.
static std::vector<number> transformed(const std::vector<number>& x, u64 n, bool inverse) {
    std::vector<number> y(n);
    for (u64 k = 0; k < n; k++)
        for (u64 j = 0; j < n; j++) y[k] += x[j] * std::polar(1.0L, (inverse ? 2 : -2) * PI * (long double)(j * k % n) / n);
    return y;
}

template <typename P, typename S, class BR, class BC, class AR, class AC>
static double worst(BR before_real, BC before_complex, AR after_real, AC after_complex, double epsilon) {
    double most = 0;
    for (u32 kind : {1, 2, 3, 4, 1 | SINE, 2 | SINE, 3 | SINE, 4 | SINE})
        for (u64 n = kind == 1 ? 2 : 1; n < 24; n++)
            for (u64 inner : {1, 3}) {
                const u64 outer = 2, lines = outer * inner;
                std::vector<S> x(n * lines), y(n * lines);
                for (u64 i = 0; i < x.size(); i++) narrow(&x[i], (P)((i * 7 + 3) % 11) - (P)4.5);
                const double first = 1.5, last = 0.75, scale = 0.25, first_out = 2.0, last_out = 3.0;
                const u32 number_kind = kind & 15;
                const u64 length = number_kind == 1 ? (kind == 1 ? 2 * (n - 1) : 2 * (n + 1)) : number_kind == 4 && n % 2 == 0 ? n / 2 : n;
                auto at = [&](u64 count, u64 line, u64 m) { return inner == 1 ? line * count + m : m * lines + line; };
                if (number_kind <= 2) {
                    std::vector<P> work(length * lines);
                    grid(3, [&] { before_real(work.data(), x.data(), n, length, lines, inner, kind, first, last); });
                    const u64 half = length / 2 + 1;
                    std::vector<pair<P>> spectra(half * lines);
                    for (u64 line = 0; line < lines; line++) {
                        std::vector<number> one(length);
                        for (u64 j = 0; j < length; j++) one[j] = work[at(length, line, j)];
                        one = transformed(one, length, false);
                        for (u64 m = 0; m < half; m++) spectra[at(half, line, m)] = {(P)one[m].real(), (P)one[m].imag()};
                    }
                    grid(3, [&] { after_complex(y.data(), spectra.data(), n, half, lines, inner, kind, scale, first_out, last_out); });
                } else {
                    const u64 begun = number_kind == 3 ? n / 2 + 1 : length;
                    std::vector<pair<P>> work(begun * lines);
                    std::vector<P> reals(n * lines);
                    grid(3, [&] { before_complex(work.data(), x.data(), n, begun, lines, inner, kind, first, last); });
                    for (u64 line = 0; line < lines; line++) {
                        std::vector<number> one(length);
                        for (u64 m = 0; m < begun; m++) {
                            const pair<P> z = work[at(begun, line, m)];
                            one[m] = number(z.re, z.im);
                            if (number_kind == 3 && m > 0 && 2 * m != n) one[n - m] = std::conj(one[m]);
                            if (number_kind == 3 && (m == 0 || 2 * m == n) && z.im != 0) printf("an end that is not real\n"), most = 1e9;
                        }
                        one = transformed(one, length, number_kind == 3);
                        for (u64 m = 0; m < length; m++) {
                            if (number_kind == 3) reals[at(n, line, m)] = (P)one[m].real();
                            else work[at(begun, line, m)] = {(P)one[m].real(), (P)one[m].imag()};
                        }
                    }
                    if (number_kind == 3)
                        grid(3, [&] { after_real(y.data(), reals.data(), n, n, lines, inner, kind, scale, first_out, last_out); });
                    else
                        grid(3, [&] { after_complex(y.data(), work.data(), n, begun, lines, inner, kind, scale, first_out, last_out); });
                }
                for (u64 line = 0; line < lines; line++) {
                    std::vector<long double> one(n);
                    auto place = [&](u64 j) { return (line / inner * n + j) * inner + line % inner; };
                    long double size = 0;
                    for (u64 j = 0; j < n; j++) {
                        one[j] = widen(x[place(j)]);
                        if (j == 0) one[j] *= first;
                        if (j == n - 1) one[j] *= last;
                        size += fabsl(one[j]);
                    }
                    for (u64 k = 0; k < n; k++) {
                        long double want = defined(kind, one, k) * scale;
                        if (k == 0) want *= first_out;
                        if (k == n - 1) want *= last_out;
                        const double error = (double)(fabsl(widen(y[place(k)]) - want) / (size * epsilon));
                        if (!(error <= most)) most = error;
                    }
                }
            }
    return most;
}

#define WORST(name, S, P, epsilon) \
    worst<P, S>(before_real_##name, before_complex_##name, after_real_##name, after_complex_##name, epsilon)

// Frames and what they are of, and back: the same arrays, but for rounding, wherever a window reaches.
template <typename P, typename S, class F, class L, class O> static double framed(F frames, L largest, O overlap, double epsilon) {
    double most = 0;
    for (u64 n : {1, 4, 7})
        for (u64 hop : {1, 2, 3})
            for (u64 length : {9, 20})
                for (u32 mirrored : {0, 1}) {
                    const u64 arrays = 2, before = n / 2, count = 1 + length / hop;
                    std::vector<S> x(length * arrays), y(length * arrays), window(n);
                    for (u64 i = 0; i < x.size(); i++) narrow(&x[i], (P)((i * 7 + 3) % 11) - (P)4.5);
                    for (u64 i = 0; i < n; i++) narrow(&window[i], (P)(i + 1));
                    std::vector<P> work(n * count * arrays);
                    grid(2, [&] { frames(work.data(), x.data(), window.data(), n, count, arrays, length, hop, before, mirrored); });
                    for (u64 i = 0; i < work.size(); i++) {
                        const u64 frame = i / n % count, array = i / n / count;
                        long long at = (long long)(frame * hop + i % n) - (long long)before;
                        if (mirrored) at = at < 0 ? -at : at >= (long long)length ? 2 * (long long)length - 2 - at : at;
                        const double want = at < 0 || at >= (long long)length ? 0 : widen(x[array * length + at]) * (double)(i % n + 1);
                        if (!(fabs(work[i] - want) <= 1e-6)) most = 1e9;
                        work[i] *= 3;
                    }
                    std::vector<P> parts(PARTS);
                    grid(PARTS / 64, [&] { largest(parts.data(), window.data(), n); });
                    grid(2, [&] { overlap(y.data(), work.data(), window.data(), parts.data(), n, count, arrays, length, hop, before, 2.0); });
                    for (u64 i = 0; i < y.size(); i++) {
                        bool reached = false;
                        for (u64 frame = 0; frame < count; frame++)
                            reached |= i % length + before >= frame * hop && i % length + before < frame * hop + n;
                        const double error = fabs(widen(y[i]) - (reached ? 6 * (double)widen(x[i]) : 0)) / (36 * epsilon);
                        if (!(error <= most)) most = error;
                    }
                }
    return most;
}

template <typename P, class M> static double product(M multiply) {
    double most = 0;
    std::vector<pair<P>> a(12), b(4), before;
    for (u32 conj : {0, 1}) {
        for (u64 i = 0; i < 12; i++) a[i] = {(P)i, (P)(5 - (int)i)};
        for (u64 i = 0; i < 4; i++) b[i] = {(P)(i + 1), (P)(2 * i)};
        before = a;
        grid(1, [&] { multiply(a.data(), b.data(), 12, 4, conj, 0.5); });
        for (u64 i = 0; i < 12; i++) {
            const number y(b[i % 4].re, conj ? -b[i % 4].im : b[i % 4].im), want = number(before[i].re, before[i].im) * y * 0.5L;
            most = fmax(most, (double)std::abs(want - number(a[i].re, a[i].im)));
        }
    }
    return most == 0 ? 0 : 1e9;
}

int main() {
    const double errors[] = {WORST(f32, float, float, 0x1p-23), WORST(f64, double, double, 0x1p-52),
                             WORST(f16, f16, float, 0x1p-10), WORST(bf16, bf16, float, 0x1p-7)};
    const char* names[] = {"f32", "f64", "f16", "bf16"};
    const double framing[] = {framed<float, float>(frames_f32, largest_f32, overlap_f32, 0x1p-23),
                              framed<double, double>(frames_f64, largest_f64, overlap_f64, 0x1p-52),
                              framed<float, f16>(frames_f16, largest_f16, overlap_f16, 0x1p-10),
                              framed<float, bf16>(frames_bf16, largest_bf16, overlap_bf16, 0x1p-7)};
    int bad = product<float>(multiply_c32) + product<double>(multiply_c64) != 0;
    for (int i = 0; i < 4; i++) {
        printf("%-4s %.2f %.2f\n", names[i], errors[i], framing[i]);
        bad |= !(errors[i] < 12 && framing[i] < 12);
    }
    return bad;
}
