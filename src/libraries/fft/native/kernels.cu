// Copies of arrays of numbers, for what the library does not do itself: gathered, filled up with zeros, conjugated,
// multiplied, widened or narrowed; and arrays moved along their axes, end around.
//
// Compiled ahead to four files, of which the crate loads what it needs (`.ci/kernels`): -DFAMILY=32, 64, 16 and 0 make
// move_32.ptx, move_64.ptx, move_16.ptx, roll.ptx.
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

struct f16 { u16 bits; };
struct bf16 { u16 bits; };

__device__ inline float widen(f16 x) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}
__device__ inline float widen(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }

__device__ inline void narrow(f16* to, float x) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    to->bits = bits;
}
__device__ inline void narrow(bf16* to, float x) {
    u32 bits = __float_as_uint(x);
    // To nearest, ties to even; a NaN stays one.
    to->bits = x != x ? (u16)((bits >> 16) | 0x40) : (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
__device__ inline void narrow(float* to, float x) { *to = x; }
__device__ inline void narrow(double* to, double x) { *to = x; }

template <typename T> struct wide { typedef float type; };
template <> struct wide<double> { typedef double type; };

template <typename T> struct pair { T re, im; };
template <> struct __align__(8) pair<float> { float re, im; };
template <> struct __align__(16) pair<double> { double re, im; };

template <typename P, typename T> __device__ inline void read(const T* from, P* re, P* im) {
    *re = widen(*from);
    *im = 0;
}
template <typename P, typename T> __device__ inline void read(const pair<T>* from, P* re, P* im) {
    // Part by part: a pair of a narrowed buffer may begin where it is not aligned.
    *re = widen(((const T*)from)[0]);
    *im = widen(((const T*)from)[1]);
}
template <typename P, typename T> __device__ inline void write(T* to, P re, P im) { narrow(to, re); }
template <typename P, typename T> __device__ inline void write(pair<T>* to, P re, P im) {
    narrow((T*)to, re);
    narrow((T*)to + 1, im);
}

__device__ inline u64 divide(u64 a, u64 b) { return ((a | b) >> 32) == 0 ? (u64)((u32)a / (u32)b) : a / b; }

// An axis: elements, of which so many are read, and the strides of both sides. The first counts fastest.
#define AXIS(k) u64 n##k, u64 inside##k, u64 from##k, u64 to##k
#define AXES AXIS(0), AXIS(1), AXIS(2), AXIS(3), AXIS(4), AXIS(5), AXIS(6), AXIS(7), AXIS(8)
#define STEP(k)                                  \
    if (k < rank) {                              \
        const u64 next = divide(rest, n##k);     \
        const u64 place = rest - next * n##k;    \
        rest = next;                             \
        read_it = read_it && place < inside##k;  \
        a += place * from##k;                    \
        b += place * to##k;                      \
    }

#define MOVE(name, S, D, P)                                                                               \
    extern "C" __global__ void name(D* to, const S* from, u64 total, u32 rank, u32 conj, double factor, AXES) { \
        const P scale = (P)factor;                                                                        \
        const u64 stride = (u64)gridDim.x * blockDim.x;                                                   \
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {                \
            u64 rest = i, a = 0, b = 0;                                                                   \
            bool read_it = true;                                                                          \
            STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)                       \
            P re = 0, im = 0;                                                                             \
            if (read_it) read(from + a, &re, &im);                                                        \
            if (conj) im = -im;                                                                           \
            write(to + b, re * scale, im * scale);                                                        \
        }                                                                                                 \
    }

#if FAMILY == 32
MOVE(move_r32_r32, float, float, float)
MOVE(move_c32_c32, pair<float>, pair<float>, float)
MOVE(move_r32_c32, float, pair<float>, float)
MOVE(move_c32_r32, pair<float>, float, float)
#elif FAMILY == 64
MOVE(move_r64_r64, double, double, double)
MOVE(move_c64_c64, pair<double>, pair<double>, double)
MOVE(move_r64_c64, double, pair<double>, double)
MOVE(move_c64_r64, pair<double>, double, double)
#elif FAMILY == 16
MOVE(move_rh_r32, f16, float, float)
MOVE(move_ch_c32, pair<f16>, pair<float>, float)
MOVE(move_r32_rh, float, f16, float)
MOVE(move_c32_ch, pair<float>, pair<f16>, float)
MOVE(move_rh_rh, f16, f16, float)
MOVE(move_ch_ch, pair<f16>, pair<f16>, float)
MOVE(move_rb_r32, bf16, float, float)
MOVE(move_cb_c32, pair<bf16>, pair<float>, float)
MOVE(move_r32_rb, float, bf16, float)
MOVE(move_c32_cb, pair<float>, pair<bf16>, float)
MOVE(move_rb_rb, bf16, bf16, float)
MOVE(move_cb_cb, pair<bf16>, pair<bf16>, float)

#else
// An axis: elements, and by how many places they move on.
#define TURN(k) u64 n##k, u64 by##k
#define TURNED(k)                                                                          \
    if (k < rank) {                                                                        \
        const u64 next = divide(rest, n##k);                                               \
        const u64 place = rest - next * n##k;                                              \
        rest = next;                                                                       \
        a += (place >= by##k ? place - by##k : place + (n##k - by##k)) * step;             \
        step *= n##k;                                                                      \
    }
#define ROLL(name, T)                                                                                     \
    extern "C" __global__ void name(T* to, const T* from, u64 total, u32 rank, TURN(0), TURN(1), TURN(2), \
                                    TURN(3), TURN(4), TURN(5), TURN(6), TURN(7)) {                        \
        const u64 stride = (u64)gridDim.x * blockDim.x;                                                   \
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {                \
            u64 rest = i, a = 0, step = 1;                                                                \
            TURNED(0) TURNED(1) TURNED(2) TURNED(3) TURNED(4) TURNED(5) TURNED(6) TURNED(7)               \
            to[i] = from[a];                                                                              \
        }                                                                                                 \
    }
struct __align__(8) double_word { u64 low, high; };
ROLL(roll_1, unsigned char)
ROLL(roll_2, u16)
ROLL(roll_4, u32)
ROLL(roll_8, u64)
ROLL(roll_16, double_word)
#endif
