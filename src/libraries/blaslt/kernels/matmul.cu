// What a product needs beside the library where that does not take the operands as they lie.
//
// `.ci/kernels` makes two files of it: matmul_32.ptx (copies; f32 and i32) and matmul_64.ptx (f64, c32 and c64). `check.cpp` carries
// the kernels out on a CPU. Every kernel steps over what is past its grid, so that any grid will do.
#include "numbers.cuh"

#define THREADS_FROM(t, total)                                                                                     \
    u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;                                                            \
    t < (total);                                                                                                   \
    t += (u64)gridDim.x * blockDim.x

// Lines of a factor, term by term, with zeros behind them: `to[(b * wide + u) * deep + p]`. A thread has one term of 32 lines, so that
// whichever of lines and terms lie side by side, what a warp reads of memory is used.
template <typename E, typename F>
__device__ inline void gather(const E* from, u64 line_step, u64 term_step, u64 step, u64 lines, u64 terms, u64 batch, E* to,
                              u64 wide, u64 deep, F change) {
    const u64 groups = (wide + 31) / 32;
    for (THREADS_FROM(t, deep * groups * batch)) {
        const u64 rest = divide(t, deep), p = t - rest * deep, b = divide(rest, groups), first = (rest - b * groups) * 32;
        for (u64 u = first; u < first + 32 && u < wide; u++) {
            E x = {};
            if (u < lines && p < terms) x = change(from[b * step + u * line_step + p * term_step]);
            to[(b * wide + u) * deep + p] = x;
        }
    }
}

enum Function { NONE, RELU, GELU, RELU_GRADIENT, GELU_GRADIENT };
enum Flag { FUNCTION = 7, WRITES_MASK = 8, WRITES_PRE = 16, NO_PRODUCT = 32, KEEPS = 64, WHOLE_SUMS = 128 };

template <typename P> __device__ inline P tanh_part(P x, P* slope) {
    const P root = (P)0.7978845608028654, cube = (P)0.044715, square = x * x;
    *slope = root * ((P)1 + (P)3 * cube * square);
    return tanh_of(root * x * ((P)1 + cube * square));
}

template <typename P> __device__ inline P gelu(P x) {
    P slope;
    const P t = tanh_part(x, &slope);
    // At minus infinity the zero wins.
    return t == (P)-1 ? -(P)0 : (P)0.5 * x * ((P)1 + t);
}

template <typename P> __device__ inline P gelu_slope(P x) {
    P slope;
    const P t = tanh_part(x, &slope), fall = (P)1 - t * t;
    return (P)0.5 * ((P)1 + t) + (fall == 0 ? (P)0 : (P)0.5 * x * fall * slope);
}

// Numbers that have more than a sum: activations, scales, magnitudes.
template <typename P> __device__ inline P activated(P x, u32 function, bool bit, P pre, bool* positive) {
    *positive = x > 0;
    switch (function) {
    case RELU: return x > 0 ? x : (P)0;
    case GELU: return gelu(x);
    case RELU_GRADIENT: return bit ? x : (P)0;
    case GELU_GRADIENT: return x * gelu_slope(pre);
    default: return x;
    }
}
__device__ inline u32 activated(u32 x, u32 function, bool, u32, bool* positive) {
    *positive = (int)x > 0;
    return function == RELU && (int)x < 0 ? 0 : x;
}
template <typename P> __device__ inline pair<P> activated(pair<P> x, u32, bool, pair<P>, bool*) { return x; }

template <typename W> __device__ inline W scaled(W x, float) { return x; }
__device__ inline float scaled(float x, float scale) { return x * scale; }
template <typename W> __device__ inline u32 size_bits(W) { return 0; }
__device__ inline u32 size_bits(float x) { return __float_as_uint(x) & 0x7fffffff; }
template <typename W> __device__ inline W whole(u32) { return W(); }
template <> __device__ inline float whole<float>(u32 x) { return (float)(int)x; }
template <> __device__ inline u32 whole<u32>(u32 x) { return x; }

// From sums of products to D: what the host engine does, in its order (`numerics::matmul::column`). Sums and D are matrices
// whose elements lie side by side along u, and columns of which lie `ld` apart along v; C and the biases may lie either way. A
// thread has eight elements of a column, which are a byte of a mask.
template <typename W>
__device__ inline void finish(void* sums, u64 ld_sums, u64 step_sums, u64 us, u64 vs, u64 batch, const void* c, u64 c_u,
                              u64 c_v, u64 step_c, void* d, u64 ld_d, u64 step_d, const void* bias, u64 bias_u, u64 bias_v,
                              u64 step_bias, void* aux, u64 ld_aux, u64 step_aux, const float* scale_u, u64 step_u,
                              const float* scale_v, u64 step_v, const float* scale_d, u32* amax, const W* alpha_at,
                              const W* beta_at, W alpha, W beta, u32 types, u32 flags) {
    if (alpha_at) alpha = *alpha_at;
    if (beta_at) beta = *beta_at;
    const bool multiplied = !(flags & NO_PRODUCT) && !is_zero(alpha), adds = c && !is_zero(beta);
    const u32 function = flags & FUNCTION, type_c = types & 255, type_d = types >> 8 & 255;
    const u32 type_bias = types >> 16 & 255, type_aux = types >> 24;
    const u64 groups = (us + 7) / 8;
    u32 most = 0;
    for (THREADS_FROM(t, groups * vs * batch)) {
        const u64 rest = divide(t, groups), group = t - rest * groups, b = divide(rest, vs), v = rest - b * vs;
        const u64 byte = b * (step_aux / 8) + v * (ld_aux / 8) + group;
        const u32 mask = function == RELU_GRADIENT ? ((const u8*)aux)[byte] : 0;
        u32 bits = 0;
        for (u32 bit = 0; bit < 8 && group * 8 + bit < us; bit++) {
            const u64 u = group * 8 + bit, sum_at = b * step_sums + v * ld_sums + u;
            const u64 aux_at = b * step_aux + v * ld_aux + u;
            W x = W(), y = W(), pre = W();
            if (multiplied) {
                if (flags & WHOLE_SUMS) x = whole<W>(((const u32*)sums)[sum_at]);
                else x = ((const W*)sums)[sum_at];
                const float factor = (scale_u ? scale_u[u * step_u] : 1.0f) * (scale_v ? scale_v[v * step_v] : 1.0f);
                x = times(scaled(alpha, factor), x);
            }
            if (adds) {
                load(&y, c, type_c, b * step_c + u * c_u + v * c_v);
                x = plus(x, times(beta, y));
            }
            if (bias) {
                load(&y, bias, type_bias, b * step_bias + u * bias_u + v * bias_v);
                x = plus(x, y);
            }
            if (flags & WRITES_PRE) store(aux, type_aux, aux_at, x);
            if (function == GELU_GRADIENT) load(&pre, aux, type_aux, aux_at);
            bool positive = false;
            x = activated(x, function, mask >> bit & 1, pre, &positive);
            bits |= (u32)positive << bit;
            const u32 size = size_bits(x);
            if (size > most) most = size;
            if (flags & KEEPS) ((W*)sums)[sum_at] = x;
            if (scale_d) x = scaled(x, *scale_d);
            store(d, type_d, b * step_d + v * ld_d + u, x);
        }
        if (flags & WRITES_MASK) ((u8*)aux)[byte] = (u8)bits;
    }
    // Magnitudes order as their bits do, NaN above all.
    if (amax && most) atomicMax(amax, most);
}

// Sums over p of elements (u, p), in `slices` parts, each to `to[b * step_to + slice * slice_to + u]`; in two levels, so that
// the error does not grow with their number.
template <typename W>
__device__ inline void sum(const void* from, u32 type, u64 line_step, u64 term_step, u64 step, u64 lines, u64 terms, u64 batch,
                           u64 slices, void* to, u32 type_to, u64 slice_to, u64 step_to) {
    const u64 each = (terms + slices - 1) / slices;
    for (THREADS_FROM(t, lines * slices * batch)) {
        const u64 rest = divide(t, lines), u = t - rest * lines, b = divide(rest, slices), slice = rest - b * slices;
        const u64 first = slice * each, end = first + each < terms ? first + each : terms;
        W near = 0, far = 0;
        u32 count = 0;
        for (u64 p = first; p < end; p++) {
            W x;
            load(&x, from, type, b * step + u * line_step + p * term_step);
            near += x;
            if ((++count & 255) == 0) far += near, near = 0;
        }
        store(to, type_to, b * step_to + slice * slice_to + u, far + near);
    }
}

struct Same {
    template <typename E> __device__ E operator()(E x) const { return x; }
};
template <typename P> struct Conjugated {
    bool conj;
    __device__ pair<P> operator()(pair<P> x) const { return {x.re, conj ? -x.im : x.im}; }
};

#define GATHER(name, E, change)                                                                                    \
    extern "C" __global__ void gather_##name(const E* from, u64 line_step, u64 term_step, u64 step, u64 lines, u64 terms, \
                                             u64 batch, E* to, u64 wide, u64 deep, u32 conj) {                     \
        gather(from, line_step, term_step, step, lines, terms, batch, to, wide, deep, change);                     \
    }
#define FINISH(name, W)                                                                                            \
    extern "C" __global__ void finish_##name(                                                                      \
        void* sums, u64 ld_sums, u64 step_sums, u64 us, u64 vs, u64 batch, const void* c, u64 c_u, u64 c_v, u64 step_c, \
        void* d, u64 ld_d, u64 step_d, const void* bias, u64 bias_u, u64 bias_v, u64 step_bias, void* aux, u64 ld_aux, \
        u64 step_aux, const float* scale_u, u64 step_u, const float* scale_v, u64 step_v, const float* scale_d, u32* amax, \
        const W* alpha_at, const W* beta_at, W alpha, W beta, u32 types, u32 flags) {                              \
        finish<W>(sums, ld_sums, step_sums, us, vs, batch, c, c_u, c_v, step_c, d, ld_d, step_d, bias, bias_u, bias_v, \
                  step_bias, aux, ld_aux, step_aux, scale_u, step_u, scale_v, step_v, scale_d, amax, alpha_at, beta_at, \
                  alpha, beta, types, flags);                                                                      \
    }
#define SUM(name, W)                                                                                               \
    extern "C" __global__ void sum_##name(const void* from, u64 line_step, u64 term_step, u64 step, u64 lines, u64 terms, \
                                          u64 batch, u64 slices, void* to, u64 slice_to, u64 step_to, u32 type,    \
                                          u32 type_to) {                                                           \
        sum<W>(from, type, line_step, term_step, step, lines, terms, batch, slices, to, type_to, slice_to, step_to); \
    }

#if FAMILY == 32
GATHER(1, u8, Same())
GATHER(2, u16, Same())
GATHER(4, u32, Same())
FINISH(f32, float)
FINISH(i32, u32)
SUM(f32, float)
#else
GATHER(f64, double, Same())
GATHER(c32, pair<float>, Conjugated<float>{conj != 0})
GATHER(c64, pair<double>, Conjugated<double>{conj != 0})
FINISH(f64, double)
FINISH(c32, pair<float>)
FINISH(c64, pair<double>)
SUM(f64, double)
#endif
