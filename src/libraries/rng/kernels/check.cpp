// Runs the kernels on the CPU and prints a sum of the bits of each draw, as tests/host/rng/kernels.rs does of the host half.
//
//     g++ -std=c++17 -O1 -ffp-contract=off -o check src/libraries/rng/kernels/check.cpp && ./check > tests/host/rng/kernels.txt
//
// Contraction is off, and what is fused says so, as on a GPU.

#include "shim.h"
#include "uniform.cu"
#include "normal.cu"
#include "integers.cu"
#include "sources.cu"

#include <cstdio>
#include <vector>

template <class F> static void grid(unsigned blocks, F kernel) {
    gridDim.x = blocks;
    blockDim.x = 64;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < 64; threadIdx.x++) kernel();
}

static const u64 SEED = 0x0123456789abcdefull, FIRST = 70001, COUNT = 30011;

template <class T> static void print(const char *name, const char *what, const std::vector<T> &x) {
    u64 sum = 0;
    const u8 *bytes = (const u8 *)x.data();
    for (u64 i = 0; i < x.size() * sizeof(T); i++) sum = (sum + bytes[i] + 1) * 0x9e3779b97f4a7c15ull;
    printf("%s %s %016llx\n", name, what, sum);
}

struct From {
    const char *name;
    u32 generator;
    u32 lanes;
};

// The words of the fours that hold the numbers, `width` of them a visit that gives `outputs`.
static std::vector<u32> words_for(const From &from, u32 width, u32 outputs) {
    std::vector<u32> words;
    if (from.generator == PHILOX) return words;
    u64 fours = (FIRST + COUNT + 3) / 4 - FIRST / 4, each = 4 / outputs;
    u64 visit = FIRST / 4 * each, visits = fours * each;
    words.resize(visits * width);
    // Lane 0, walked to the row.
    u64 steps = visit / from.lanes * width;
    if (from.generator == XORWOW) {
        u32 s0 = (u32)SEED ^ 0xaad26b49u, s1 = (u32)(SEED >> 32) ^ 0xf7dcefddu;
        u32 t0 = s0 * 1099087573u, t1 = s1 * 2591861531u;
        u32 v[5] = {t0 + 123456789u, t0 ^ 362436069u, t1 + 521288629u, t1 ^ 88675123u, t0 + 5783321u};
        u32 counter = t0 + t1 + 6615241u + (u32)steps * 362437u;
        for (u64 i = 0; i < steps; i++) {
            u32 t = v[0] ^ (v[0] >> 2);
            for (int k = 0; k < 4; k++) v[k] = v[k + 1];
            v[4] = v[4] ^ (v[4] << 4) ^ t ^ (t << 1);
        }
        grid(64, [&] { xorwow_words(words.data(), visits, visit, width, v[0], v[1], v[2], v[3], v[4], counter); });
    } else {
        u64 x = (u32)SEED ^ 0x55555555u, y = (u32)(SEED >> 32) ^ 0xAAAAAAAAu;
        u64 a[3] = {x * 12345 % M1, y * 12345 % M1, x * 12345 % M1}, b[3] = {y * 12345 % M2, x * 12345 % M2, y * 12345 % M2};
        for (u64 i = 0; i < steps; i++) {
            u64 p = (1403580ull * a[1] + 810728ull * (M1 - a[0])) % M1, q = (527612ull * b[2] + 1370589ull * (M2 - b[0])) % M2;
            a[0] = a[1], a[1] = a[2], a[2] = p;
            b[0] = b[1], b[1] = b[2], b[2] = q;
        }
        grid(from.lanes / 64, [&] {
            mrg_words(words.data(), visits, visit, width, from.lanes, (u32)a[0], (u32)a[1], (u32)a[2], (u32)b[0], (u32)b[1], (u32)b[2]);
        });
    }
    return words;
}

#define RUN(T, what, kernel, width, outputs, ...)                                                          \
    {                                                                                                      \
        std::vector<T> out(COUNT);                                                                         \
        std::vector<u32> words = words_for(from, width, outputs);                                          \
        grid(20, [&] { kernel(out.data(), words.empty() ? nullptr : words.data(), COUNT, FIRST, SEED, from.generator, __VA_ARGS__); }); \
        print(from.name, what, out);                                                                       \
    }
#define PLAIN(T, what, kernel)                                                                             \
    {                                                                                                      \
        std::vector<T> out(COUNT);                                                                         \
        std::vector<u32> words = words_for(from, 1, 1);                                                    \
        grid(20, [&] { kernel(out.data(), words.empty() ? nullptr : words.data(), COUNT, FIRST, SEED, from.generator); }); \
        print(from.name, what, out);                                                                       \
    }

int main() {
    const From all[] = {{"Philox", PHILOX, 65536}, {"Xorwow", XORWOW, 4096}, {"Mrg32k3a", MRG, 81920}};
    for (const From &from : all) {
        bool mrg = from.generator == MRG;
        u32 w = mrg ? 1 : 2, wide = mrg ? 0 : 1;
        PLAIN(u32, "bits_u32", bits_32)
        RUN(u64, "bits_u64", integers_64, 2, 1, 0ull, 0ull)
        RUN(float, "above_zero_f32", uniform_f32, 1, 1, 0, ABOVE_ZERO, 0.0, 0.0, 0.0)
        RUN(double, "above_zero_f64", uniform_f64, w, 1, wide, ABOVE_ZERO, 0.0, 0.0, 0.0)
        RUN(Half, "above_zero_f16", uniform_f16, 1, 1, 0, ABOVE_ZERO, 0.0, 0.0, 0.0)
        RUN(Brief, "above_zero_bf16", uniform_bf16, 1, 1, 0, ABOVE_ZERO, 0.0, 0.0, 0.0)
        RUN(float, "below_one_f32", uniform_f32, 1, 1, 0, BELOW_ONE, 0.0, 0.0, 0.0)
        RUN(double, "below_one_f64", uniform_f64, 2, 1, 1, BELOW_ONE, 0.0, 0.0, 0.0)
        RUN(Half, "below_one_f16", uniform_f16, 1, 1, 0, BELOW_ONE, 0.0, 0.0, 0.0)
        RUN(float, "between_f32", uniform_f32, 1, 1, 0, BETWEEN, -2.5, 7.25, (double)nextafterf(7.25f, 0.0f))
        RUN(double, "between_f64", uniform_f64, 2, 1, 1, BETWEEN, -2.5, 7.25, nextafter(7.25, 0.0))
        RUN(float, "exponential_f32", uniform_f32, 1, 1, 0, EXPONENTIAL, 3.5, 0.0, 0.0)
        RUN(double, "exponential_f64", uniform_f64, w, 1, wide, EXPONENTIAL, 3.5, 0.0, 0.0)
        RUN(Half, "exponential_f16", uniform_f16, 1, 1, 0, EXPONENTIAL, 3.5, 0.0, 0.0)
        RUN(float, "normal_f32", normal_f32, 2, 2, 0, 0, 1.5, 0.25, 0.0)
        RUN(Half, "normal_f16", normal_f16, 2, 2, 0, 0, 1.5, 0.25, 0.0)
        RUN(Brief, "normal_bf16", normal_bf16, 2, 2, 0, 0, 1.5, 0.25, 0.0)
        RUN(double, "normal_f64", normal_f64, mrg ? 2 : 4, 2, wide, 0, 1.5, 0.25, 0.0)
        RUN(float, "log_normal_f32", normal_f32, 2, 2, 0, LOG, 1.5, 20.0, 0.0)
        RUN(double, "log_normal_f64", normal_f64, mrg ? 2 : 4, 2, wide, LOG, 1.5, 150.0, 0.0)
        RUN(float, "quantile_f32", normal_f32, 1, 1, 0, QUANTILE, 1.5, 0.25, 0.0)
        RUN(double, "quantile_f64", normal_f64, w, 1, wide, QUANTILE, 1.5, 0.25, 0.0)
        RUN(u8, "integers_u8", integers_8, 2, 1, 3ull, 7ull)
        RUN(u16, "integers_i16", integers_16, 2, 1, (u64)-5ll, 11ull)
        RUN(u32, "integers_u32", integers_32, 2, 1, 0ull, 1000000007ull)
        RUN(u64, "integers_u64", integers_64, 2, 1, 5ull, 3ull << 62)
        RUN(u8, "bernoulli", bernoulli, 2, 1, (u64)(0.3 * 18446744073709551616.0), 0ull)
    }
    for (const From &from : all) {
        for (double lambda : {3.5, 64.0}) {
            double b = 0.931 + 2.53 * sqrt(lambda), inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
            bool many = lambda >= 10.0;
            RUN(u32, many ? "poisson_64" : "poisson_3.5", poisson, 2, 1, lambda, exponential(-lambda), ln(lambda), -0.059 + 0.02483 * b, b,
                many ? ln(inverse_alpha) : 0.0, many ? 0.9277 - 3.6224 / (b - 2.0) : 0.0)
        }
        for (double trials : {20.0, 500.0}) {
            // 0.75 is the other outcome's 0.25.
            double p = 0.25, q = 1.0 - p, ln_q = ln(q) + ((1.0 - q) - p) / q, spread = sqrt(trials * p * q);
            double b = 1.15 + 2.53 * spread, mode = floor((trials + 1.0) * p), odds = p / q;
            bool search = trials * p < 10.0;
            RUN(u32, search ? "binomial_20" : "binomial_500", binomial, 2, 1, 1u | (search ? 2u : 0u), trials, exponential(trials * ln_q), odds,
                -0.0873 + 0.0248 * b + 0.01 * p, b, trials * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread,
                search ? 0.0 : ln(odds), mode, ln_factorial(mode) + ln_factorial(trials - mode))
        }
    }
    // Rows above 2^32: the second word of Philox's counter.
    const u64 far = (1ull << 52) + 3;
    std::vector<u32> far_32(1001);
    grid(20, [&] { bits_32(far_32.data(), nullptr, 1001, far, SEED, PHILOX); });
    print("Philox", "far_u32", far_32);
    std::vector<u64> far_64(1001);
    grid(20, [&] { integers_64(far_64.data(), nullptr, 1001, far, SEED, PHILOX, 0, 0); });
    print("Philox", "far_u64", far_64);
    std::vector<double> far_normal(1001);
    grid(20, [&] { normal_f64(far_normal.data(), nullptr, 1001, far, SEED, PHILOX, 1, 0, 1.5, 0.25, 0); });
    print("Philox", "far_normal_f64", far_normal);
    // All ones: a number 1, whose logarithm is 0.
    u32 ones[8] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
    std::vector<float> end(4);
    grid(1, [&] { uniform_f32(end.data(), ones, 4, 0, 0, XORWOW, 0, EXPONENTIAL, 3.5, 0, 0); });
    if (bits_of(end[0]) != 0) printf("-0 for 1\n");
    // Two dimensions: the directions of the second are their own halves' sums.
    u64 directions[128];
    for (int k = 0; k < 64; k++) {
        directions[k] = 1ull << (63 - k);
        directions[64 + k] = k == 0 ? 1ull << 63 : directions[63 + k] ^ directions[63 + k] >> 1;
    }
    std::vector<u32> narrow(20008), both(40016);
    std::vector<float> single(20002);
    std::vector<double> twice(20002);
    grid(20, [&] { sobol_words(narrow.data(), 20002, 0, 10001, 77, 1, directions); });
    grid(20, [&] { sobol_words(both.data(), 20002, 0, 10001, 77, 2, directions); });
    grid(20, [&] { uniform_f32(single.data(), narrow.data(), 20002, 0, 0, SOBOL32, 0, ABOVE_ZERO, 0, 0, 0); });
    print("Sobol32", "above_zero_f32", single);
    grid(20, [&] { normal_f64(twice.data(), narrow.data(), 20002, 0, 0, SOBOL32, 0, QUANTILE, 0, 1, 0); });
    print("Sobol32", "standard_f64", twice);
    grid(20, [&] { uniform_f64(twice.data(), both.data(), 20002, 0, 0, SOBOL64, 1, ABOVE_ZERO, 0, 0, 0); });
    print("Sobol64", "above_zero_f64", twice);
    grid(20, [&] { normal_f32(single.data(), both.data(), 20002, 0, 0, SOBOL64, 1, QUANTILE, 0, 1, 0); });
    print("Sobol64", "standard_f32", single);
    for (u32 n : {10u, 4096u}) {
        std::vector<u64> keys(n);
        std::vector<u32> out(n);
        grid(64, [&] { permutation_keys(keys.data(), n, 1, 2); });
        grid(64, [&] { permutation_ranks(out.data(), n, keys.data(), n); });
        print("key", n == 10 ? "permutation_10" : "permutation_4096", out);
    }
    std::vector<u32> out(5000);
    grid(8, [&] { permutation_network(out.data(), 5000, 100003, 8, 9, 1, 2); });
    print("key", "permutation_100003", out);
    return 0;
}
