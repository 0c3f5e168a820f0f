// Carries the kernels of matmul.cu out on a CPU, one thread after the other, and holds them against their definitions: every
// code of 8 bits and what lies between, copies with every odd distance, what is made of sums with every type and every
// activation, sums in slices. Says what differs, and ends with 1.
//
//     g++ -std=c++17 -O1 -fsanitize=address,undefined -ffp-contract=off -o check src/libraries/blaslt/kernels/check.cpp && ./check
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define ON_A_CPU
#define __device__
#define __global__
static struct { unsigned x; } gridDim, blockDim, blockIdx, threadIdx;
static float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
static unsigned atomicMax(unsigned* at, unsigned x) { unsigned old = *at; if (x > old) *at = x; return old; }
static float half_to_float(unsigned short bits) { _Float16 h; memcpy(&h, &bits, 2); return h; }
static unsigned short float_to_half(float x) { _Float16 h = (_Float16)x; unsigned short bits; memcpy(&bits, &h, 2); return bits; }
#define FAMILY 32
#include "matmul.cu"
#undef FAMILY
GATHER(f64, double, Same())
GATHER(c32, pair<float>, Conjugated<float>{conj != 0})
GATHER(c64, pair<double>, Conjugated<double>{conj != 0})
FINISH(f64, double)
FINISH(c32, pair<float>)
FINISH(c64, pair<double>)
SUM(f64, double)

template <class F> static void grid(unsigned blocks, F kernel) {
    gridDim.x = blocks, blockDim.x = 32;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < 32; threadIdx.x++) kernel();
}

static std::mt19937_64 random_bits(1);
static u64 below(u64 n) { return random_bits() % n; }
static bool failed = false;
#define HOLD(condition, ...) do { if (!(condition)) { printf("line %d: ", __LINE__); printf(__VA_ARGS__); puts(""); failed = true; } } while (0)

// By the definition.
static double value_of_eight(u8 code, u32 type) {
    const int mantissa = type == E4M3 ? 3 : 2, bias = type == E4M3 ? 7 : 15, size = code & 0x7f;
    const int exponent = size >> mantissa, fraction = size & ((1 << mantissa) - 1);
    const double sign = code & 0x80 ? -1 : 1;
    if (type == E4M3 ? size == 0x7f : size > 0x7c) return NAN;
    if (type == E5M2 && size == 0x7c) return sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - mantissa);
    return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

static u8 nearest_eight(float x, u32 type) {
    int best = 0;
    const double size = fmin(fabs((double)x), 1e6);
    double least = size;
    for (int code = 1; code <= (type == E4M3 ? 0x7e : 0x7b); code++) {
        const double off = fabs(value_of_eight((u8)code, type) - size);
        if (off < least || (off == least && code % 2 == 0)) best = code, least = off;
    }
    return (u8)(best | (std::signbit(x) ? 0x80 : 0));
}

static void eights() {
    for (u32 type : {E4M3, E5M2}) {
        for (int code = 0; code < 256; code++) {
            const float got = eight_to_float((u8)code, type);
            const double want = value_of_eight((u8)code, type);
            HOLD((got != got && want != want) || (got == want && std::signbit(got) == std::signbit(want)), "code %d", code);
            if (want != want || std::isinf(want)) continue;
            HOLD(float_to_eight(got, type) == code, "code %d and back", code);
            // Its neighbours' middle, and what lies just beside that.
            const float next = (float)value_of_eight((u8)(code + 1), type), middle = (got + next) / 2;
            for (float x : {middle, nextafterf(middle, INFINITY), nextafterf(middle, -INFINITY), nextafterf(got, INFINITY)})
                if (x == x && !std::isinf(x)) HOLD(float_to_eight(x, type) == nearest_eight(x, type), "%a", x);
        }
        for (int i = 0; i < 100000; i++) {
            const float x = __uint_as_float((u32)random_bits());
            if (x != x) HOLD((float_to_eight(x, type) & 0x7f) == 0x7f, "NaN");
            else if (std::isinf(x)) HOLD((float_to_eight(x, type) & 0x7f) == (type == E4M3 ? 0x7e : 0x7b), "infinity");
            else HOLD(float_to_eight(x, type) == nearest_eight(x, type), "%a", x);
        }
    }
}

template <class E, class K> static void gathers(K kernel, bool conjugates) {
    for (int round = 0; round < 300; round++) {
        const u64 lines = 1 + below(40), terms = 1 + below(40), batch = 1 + below(3), gap = below(3);
        const bool by_terms = below(2);
        const u64 line_step = by_terms ? terms + gap : 1, term_step = by_terms ? 1 : lines + gap;
        const u64 step = below(3) ? (by_terms ? lines * line_step : terms * term_step) + gap : 0;
        const u64 wide = (lines + 15) / 16 * 16, deep = (terms + 15) / 16 * 16;
        const u32 conj = conjugates && below(2);
        std::vector<E> from((batch - 1) * step + (lines - 1) * line_step + (terms - 1) * term_step + 1), to(batch * wide * deep);
        for (E& x : from) for (u8* p = (u8*)&x; p < (u8*)(&x + 1); p++) *p = (u8)below(128);
        memset(to.data(), 0xff, to.size() * sizeof(E));
        grid(1 + (unsigned)below(9), [&] {
            kernel(from.data(), line_step, term_step, step, lines, terms, batch, to.data(), wide, deep, conj);
        });
        for (u64 b = 0; b < batch; b++)
            for (u64 u = 0; u < wide; u++)
                for (u64 p = 0; p < deep; p++) {
                    E want;
                    memset(&want, 0, sizeof want);
                    if (u < lines && p < terms) want = from[b * step + u * line_step + p * term_step];
                    if (u < lines && p < terms && conj) ((u8*)&want)[sizeof want - 1] ^= 0x80;
                    HOLD(memcmp(&want, &to[(b * wide + u) * deep + p], sizeof want) == 0, "(%llu, %llu, %llu)", b, u, p);
                }
    }
}

static size_t bytes_of(u32 type) {
    return type == I8 || type >= E4M3 ? 1 : type == F16 || type == BF16 ? 2 : type == C64 ? 16 : type == F64 || type == C32 ? 8 : 4;
}

// The whole of it once more, in double precision, from the same stored numbers.
static void finishes(u32 sums_type, u32 type_c, u32 type_d, u32 type_bias, u32 type_aux, u32 function, bool writes) {
    const u64 us = 1 + below(21), vs = 1 + below(7), batch = 1 + below(3), ld_sums = (us + 15) / 16 * 16, ld_d = us + below(3);
    const u64 ld_aux = (us + 127) / 128 * 128, step_aux = ld_aux * vs, step_d = ld_d * vs + below(3);
    const bool c_turned = below(2), bias_along_v = below(2), apart = type_c != type_d || below(2);
    const u64 c_u = apart && c_turned ? vs : 1, c_v = !apart ? ld_d : c_turned ? 1 : us, step_c = apart ? us * vs : step_d;
    auto some = [](u64 n, u32 type) {
        std::vector<u8> data(n * bytes_of(type) + 1);
        for (u64 i = 0; i < n; i++) store(data.data(), type, i, (float)((int)below(33) - 16) / 8);
        return data;
    };
    std::vector<u8> c = some(us * vs * batch, type_c), d = some(step_d * batch, type_d), bias = some((us + vs) * batch, type_bias);
    std::vector<u8> aux = some(step_aux * batch, type_aux);
    for (u64 i = 0; i < step_aux * batch / 8; i++) if (function == RELU_GRADIENT) aux[i] = (u8)below(256);
    std::vector<float> sums(ld_sums * vs * batch), scales{0.5f, 2.0f, 1.5f};
    const bool whole_sums = sums_type == I32;
    for (float& x : sums) {
        const int value = (int)below(33) - 16;
        if (whole_sums) memcpy(&x, &value, 4); else x = (float)value / 8;
    }
    const float alpha = below(4) ? 0.75f : 0.0f, beta = below(2) ? -1.5f : 0.0f;
    const bool biased = below(2), scaled = below(2), on_device = below(2), no_product = !below(5), keeps = !whole_sums && below(2);
    std::vector<float> scale_u(us, 0.5f), kept = sums;
    for (u64 i = 0; i < us; i++) scale_u[i] = i % 2 ? 2.0f : 0.25f;
    u32 amax = 0;
    const std::vector<u8> d_before = d, aux_before = aux;
    const u32 flags = function | (writes && function == RELU ? 8 : 0) | (writes && function == GELU ? 16 : 0) |
                      (no_product ? 32 : 0) | (keeps ? 64 : 0) | (whole_sums ? 128 : 0);
    grid(1 + (unsigned)below(5), [&] {
        finish_f32(sums.data(), ld_sums, ld_sums * vs, us, vs, batch, beta != 0 || on_device ? (apart ? c : d).data() : nullptr, c_u,
                   c_v, step_c, d.data(), ld_d, step_d, biased ? bias.data() : nullptr, !bias_along_v, bias_along_v, us + vs,
                   aux.data(), ld_aux, step_aux, scaled ? scale_u.data() : nullptr, 1, scaled ? &scales[1] : nullptr, 0,
                   scaled ? &scales[2] : nullptr, &amax, on_device ? &alpha : nullptr, on_device ? &beta : nullptr,
                   on_device ? 77.0f : alpha, on_device ? 77.0f : beta, type_c | type_d << 8 | type_bias << 16 | type_aux << 24, flags);
    });
    float most = 0;
    for (u64 b = 0; b < batch; b++)
        for (u64 v = 0; v < vs; v++)
            for (u64 u = 0; u < us; u++) {
                const u64 at = b * ld_sums * vs + v * ld_sums + u, aux_at = b * step_aux + v * ld_aux + u;
                float x = 0, y = 0;
                if (!no_product && alpha != 0) {
                    if (whole_sums) { int value; memcpy(&value, &kept[at], 4); x = (float)value; } else x = kept[at];
                    x *= alpha * (scaled ? scale_u[u] * 2.0f : 1.0f);
                }
                if (beta != 0) {
                    load(&y, (apart ? c : d_before).data(), type_c, b * step_c + u * c_u + v * c_v);
                    x += beta * y;
                }
                if (biased) {
                    load(&y, bias.data(), type_bias, b * (us + vs) + (bias_along_v ? v : u));
                    x += y;
                }
                const double root = 0.7978845608028654;
                double want = x, t = tanh(root * x * (1 + 0.044715 * (double)x * x));
                if (function == RELU) want = x > 0 ? x : 0;
                if (function == GELU) want = 0.5 * x * (1 + t);
                if (function == RELU_GRADIENT && !(aux_before[aux_at / 8] >> aux_at % 8 & 1)) want = 0;
                if (function == GELU_GRADIENT) {
                    load(&y, aux_before.data(), type_aux, aux_at);
                    t = tanh(root * y * (1 + 0.044715 * (double)y * y));
                    want = x * (0.5 * (1 + t) + 0.5 * y * (1 - t * t) * root * (1 + 3 * 0.044715 * (double)y * y));
                }
                if (flags & 8) HOLD((aux[aux_at / 8] >> aux_at % 8 & 1) == (x > 0), "mask");
                if (flags & 16) {
                    std::vector<u8> one(16);
                    store(one.data(), type_aux, 0, x);
                    HOLD(memcmp(one.data(), &aux[aux_at * bytes_of(type_aux)], bytes_of(type_aux)) == 0, "pre-activation");
                }
                most = fmaxf(most, fabsf((float)want));
                if (keeps) HOLD(fabs(sums[at] - want) <= 1e-6 * (1 + fabs(want)), "kept %g, %g", sums[at], want);
                if (scaled) want *= 1.5;
                float got;
                load(&got, d.data(), type_d, b * step_d + v * ld_d + u);
                const double unit = type_d == F32 ? 1e-6 : type_d == F16 ? 1e-3 : type_d == BF16 ? 8e-3 : type_d == I8 ? 0.51 : 0.13;
                HOLD(fabs(got - want) <= unit * (1 + fabs(want)), "(%llu, %llu, %llu) of type %u is %g, not %g", b, u, v, type_d, got, want);
            }
    HOLD(fabsf(__uint_as_float(amax) - most) <= 1e-5f * (1 + most), "largest %g, %g", __uint_as_float(amax), most);
    for (u64 i = 0; i < step_d * batch; i++)
        if (i % step_d / ld_d >= vs || i % step_d % ld_d >= us)
            HOLD(memcmp(&d[i * bytes_of(type_d)], &d_before[i * bytes_of(type_d)], bytes_of(type_d)) == 0, "padding");
}

template <class P, class K> static void other_scalars(K kernel, bool complex) {
    const u64 us = 1 + below(20), vs = 1 + below(5), ld = us + 3;
    typedef pair<double> wide;
    auto part = [&](u64 at, int which) { return (double)((int)(at * 7 + which * 5) % 9 - 4); };
    const int parts = complex ? 2 : 1;
    std::vector<P> sums(ld * vs * parts), c(us * vs * parts), d(ld * vs * parts), bias(us * parts), alpha(parts), beta(parts);
    for (int p = 0; p < parts; p++) {
        for (u64 i = 0; i < ld * vs; i++) sums[i * parts + p] = (P)(int)part(i, p), d[i * parts + p] = (P)99;
        for (u64 i = 0; i < us * vs; i++) c[i * parts + p] = (P)(int)part(i, p + 1);
        for (u64 i = 0; i < us; i++) bias[i * parts + p] = (P)(int)part(i, p + 2);
        alpha[p] = (P)(p ? -1 : 2), beta[p] = (P)(p ? 1 : -3);
    }
    grid(3, [&] { kernel(sums.data(), ld, us, vs, c.data(), d.data(), bias.data(), alpha.data(), beta.data()); });
    for (u64 v = 0; v < vs; v++)
        for (u64 u = 0; u < ld; u++) {
            const u64 at = v * ld + u, c_at = u * vs + v;
            wide want{99, complex ? 99.0 : 0.0};
            if (u < us) {
                wide one{2, complex ? -1.0 : 0.0}, other{-3, complex ? 1.0 : 0.0};
                wide sum{part(at, 0), complex ? part(at, 1) : 0}, old{part(c_at, 1), complex ? part(c_at, 2) : 0};
                wide extra{part(u, 2), complex ? part(u, 3) : 0};
                want = plus(plus(times(one, sum), times(other, old)), extra);
            }
            const double got = std::is_unsigned<P>::value ? (double)(int)d[at * parts] : (double)d[at * parts];
            HOLD(got == want.re, "(%llu, %llu)", u, v);
            if (complex) HOLD((double)d[at * parts + 1] == want.im, "(%llu, %llu), imaginary", u, v);
        }
}

static void sums() {
    for (int round = 0; round < 200; round++) {
        const u64 lines = 1 + below(20), terms = below(700), batch = 1 + below(3), slices = 1 + below(5), turned = below(2);
        const u64 line_step = turned ? terms + 1 : 1, term_step = turned ? 1 : lines, step = lines * (terms + 1);
        std::vector<float> from(step * batch + 1), parts(lines * slices * batch), to(lines * batch);
        for (float& x : from) x = (float)((int)below(9) - 4);
        grid(2, [&] {
            sum_f32(from.data(), line_step, term_step, step, lines, terms, batch, slices, parts.data(), lines, lines * slices, F32, F32);
        });
        grid(2, [&] { sum_f32(parts.data(), 1, lines, lines * slices, lines, slices, batch, 1, to.data(), lines, lines, F32, F32); });
        for (u64 b = 0; b < batch; b++)
            for (u64 u = 0; u < lines; u++) {
                float want = 0;
                for (u64 p = 0; p < terms; p++) want += from[b * step + u * line_step + p * term_step];
                HOLD(to[b * lines + u] == want, "sum %llu of %llu", u, b);
            }
    }
}

int main() {
    eights();
    gathers<u8>(gather_1, false);
    gathers<u16>(gather_2, false);
    gathers<u32>(gather_4, false);
    gathers<double>(gather_f64, false);
    gathers<pair<float>>(gather_c32, true);
    gathers<pair<double>>(gather_c64, true);
    for (int round = 0; round < 40; round++)
        for (u32 type_d : {F32, F16, BF16, E4M3, E5M2, I8})
            for (u32 function = NONE; function <= GELU_GRADIENT; function++) {
                const u32 type_c = type_d == E4M3 || type_d == E5M2 ? (u32)BF16 : type_d;
                const u32 type_aux = type_d == E4M3 || type_d == E5M2 || type_d == I8 ? (u32)F16 : type_d;
                finishes(type_d == I8 ? I32 : F32, type_c, type_d, type_d == I8 ? (u32)F32 : (u32)type_c, type_aux, function, below(2));
            }
#define OTHER(P, kernel, W, FLAGS)                                                                                      \
    other_scalars<P>([](P* sums, u64 ld, u64 us, u64 vs, P* c, P* d, P* bias, P* alpha, P* beta) {                 \
        W one, other;                                                                                              \
        memcpy(&one, alpha, sizeof one), memcpy(&other, beta, sizeof other);                                       \
        kernel(sums, ld, 0, us, vs, 1, c, vs, 1, 0, d, ld, 0, bias, 1, 0, 0, nullptr, 0, 0, nullptr, 0, nullptr, 0, nullptr, \
               nullptr, nullptr, nullptr, one, other, 0, FLAGS);                                                    \
    }, sizeof(W) > sizeof(P))
    for (int round = 0; round < 20; round++) {
        OTHER(double, finish_f64, double, 0);
        OTHER(float, finish_c32, pair<float>, 0);
        OTHER(double, finish_c64, pair<double>, 0);
        OTHER(u32, finish_i32, u32, WHOLE_SUMS);
    }
    sums();
    puts(failed ? "differs" : "all as defined");
    return failed;
}
