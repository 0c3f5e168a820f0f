/* The kernels of src/libraries/fft/native/trigonometric.cu and spectra.cu: what is done before and behind the Fourier
 * transform that a cosine or sine transform is made of, spectra multiplied, frames cut out of signals and laid over each other.
 * In double precision, and rounded when stored. */
#include "simulator.h"

#include <math.h>
#include <string.h>

enum { SINE = 16 };

/* A type by a character: 6 for f64, 3 for f32, h and b for halves. */
static size_t bytes_of(char type) { return type == '6' ? 8 : type == '3' ? 4 : 2; }

static double load_real(uint64_t from, char type, uint64_t at) {
    const void *memory = standin_backing(from);
    if (type == '6') return ((const double *)memory)[at];
    if (type == '3') return ((const float *)memory)[at];
    if (type == 'h') return (double)((const _Float16 *)memory)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)memory)[at] << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static void store_real(uint64_t to, char type, uint64_t at, double value) {
    void *memory = standin_backing(to);
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (type == '6') ((double *)memory)[at] = value;
    else if (type == '3') ((float *)memory)[at] = narrow;
    else if (type == 'h') ((_Float16 *)memory)[at] = (_Float16)narrow;
    else ((uint16_t *)memory)[at] = isnan(narrow) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static double real_slot(const struct launch *launch, int slot) {
    double value;
    memcpy(&value, &launch->slots[slot], sizeof value);
    return value;
}

/* Parameters: to, from, n, length, lines, inner, kind, then factors. */
struct sizes {
    uint64_t to, from, n, length, lines, inner;
    unsigned kind;
};

static struct sizes sizes_of(const struct launch *launch) {
    const uint64_t *slots = launch->slots;
    return (struct sizes){slots[0], slots[1], slots[2], slots[3], slots[4], slots[5], (uint32_t)slots[6]};
}

/* Where number `m` of line `line` is in the memory to work in, and element `j` in the array. */
static uint64_t working(const struct sizes *s, uint64_t line, uint64_t m) {
    return s->inner == 1 ? line * s->length + m : m * s->lines + line;
}

static uint64_t placed(const struct sizes *s, uint64_t line, uint64_t j) {
    return (line / s->inner * s->n + j) * s->inner + line % s->inner;
}

static void operands(struct command *command, const struct launch *launch, size_t work, char type, bool before) {
    struct sizes s = sizes_of(launch);
    size_t area = s.length * s.lines * work, array = s.n * s.lines * bytes_of(type);
    add_operand(command, READ, flat(s.from, before ? array : area));
    add_operand(command, WRITE, flat(s.to, before ? area : array));
}

static double element(const struct sizes *s, const struct launch *launch, char type, uint64_t line, uint64_t j) {
    double value = load_real(s->from, type, placed(s, line, j));
    if (j == 0) value *= real_slot(launch, 7);
    if (j == s->n - 1) value *= real_slot(launch, 8);
    return value;
}

static void before_real(const struct launch *launch, char type, char work) {
    struct sizes s = sizes_of(launch);
    for (uint64_t line = 0; line < s.lines; line++)
        for (uint64_t j = 0; j < s.length; j++) {
            double value = 0;
            if (s.kind == 1) value = element(&s, launch, type, line, j < s.n ? j : s.length - j);
            else if (s.kind == (1 | SINE) && j >= 1 && j <= s.n) value = element(&s, launch, type, line, j - 1);
            else if (s.kind == (1 | SINE) && j > s.n + 1) value = -element(&s, launch, type, line, s.length - 1 - j);
            else if (s.kind == 2 || s.kind == (2 | SINE)) {
                bool even = 2 * j < s.n;
                value = element(&s, launch, type, line, even ? 2 * j : 2 * s.n - 1 - 2 * j);
                if (!even && s.kind != 2) value = -value;
            }
            store_real(s.to, work, working(&s, line, j), value);
        }
}

static void before_complex(const struct launch *launch, char type, char work) {
    struct sizes s = sizes_of(launch);
    bool sine = (s.kind & SINE) != 0, third = (s.kind & 15) == 3, even = s.n % 2 == 0;
    for (uint64_t line = 0; line < s.lines; line++)
        for (uint64_t j = 0; j < s.length; j++) {
            uint64_t one = third || !even ? j : 2 * j, other = third ? s.n - j : s.n - 1 - 2 * j;
            double re = element(&s, launch, type, line, sine ? s.n - 1 - one : one), im = 0;
            if (third ? j != 0 : even) im = element(&s, launch, type, line, sine ? s.n - 1 - other : other);
            double angle = M_PI * (double)(third || !even ? 2 * j : 4 * j + 1) / (4.0 * (double)s.n);
            if (third) im = -im, angle = -angle;
            uint64_t at = working(&s, line, j);
            store_real(s.to, work, 2 * at, re * cos(angle) + im * sin(angle));
            bool end = third && (j == 0 || 2 * j == s.n);
            store_real(s.to, work, 2 * at + 1, end ? 0 : im * cos(angle) - re * sin(angle));
        }
}

static void put(const struct sizes *s, const struct launch *launch, char type, uint64_t line, uint64_t k, double value) {
    value *= real_slot(launch, 7);
    if (k == 0) value *= real_slot(launch, 8);
    if (k == s->n - 1) value *= real_slot(launch, 9);
    store_real(s->to, type, placed(s, line, k), value);
}

static void after_real(const struct launch *launch, char type, char work) {
    struct sizes s = sizes_of(launch);
    for (uint64_t line = 0; line < s.lines; line++)
        for (uint64_t k = 0; k < s.n; k++) {
            double value = load_real(s.from, work, working(&s, line, k % 2 == 0 ? k / 2 : s.n - 1 - k / 2));
            put(&s, launch, type, line, k, k % 2 == 1 && (s.kind & SINE) != 0 ? -value : value);
        }
}

static void after_complex(const struct launch *launch, char type, char work) {
    struct sizes s = sizes_of(launch);
    for (uint64_t line = 0; line < s.lines; line++)
        for (uint64_t k = 0; k < s.n; k++) {
            uint64_t m = k, angle = 0;
            bool imaginary = false, negative = false, twice = true;
            if ((s.kind & 15) == 1) {
                imaginary = s.kind != 1, m = imaginary ? k + 1 : k, twice = false;
            } else if ((s.kind & 15) == 2) {
                uint64_t at = s.kind == 2 ? k : s.n - 1 - k;
                imaginary = at > s.n / 2, m = imaginary ? s.n - at : at, angle = 2 * m;
            } else {
                negative = k % 2 == 1 && (s.kind & SINE) != 0;
                if (s.n % 2 == 0) {
                    imaginary = k % 2 == 1, m = imaginary ? (s.n - 1 - k) / 2 : k / 2, angle = 4 * m;
                } else {
                    negative = negative != (k % 2 == 1);
                    m = k % 2 == 1 ? (2 * s.n - 1 - k) / 2 : k / 2, angle = 4 * m + 1;
                }
            }
            double turn = M_PI * (double)angle / (4.0 * (double)s.n);
            double re = load_real(s.from, work, 2 * working(&s, line, m));
            double im = load_real(s.from, work, 2 * working(&s, line, m) + 1);
            double value = imaginary ? re * sin(turn) - im * cos(turn) : re * cos(turn) + im * sin(turn);
            if (twice) value *= 2;
            put(&s, launch, type, line, k, negative ? -value : value);
        }
}

#define TYPES(EACH) EACH(f32, '3', '3') EACH(f64, '6', '6') EACH(f16, 'h', '3') EACH(bf16, 'b', '3')
#define KERNEL(what, name, type, work, numbers)                                                                        \
    static void what##_##name##_operands(struct command *command, const struct launch *launch) {                      \
        operands(command, launch, numbers * bytes_of(work), type, #what[0] == 'b');                                    \
    }                                                                                                                  \
    static void what##_##name(void *payload) { what(payload, type, work); }
#define KERNELS(name, type, work)                                                                                      \
    KERNEL(before_real, name, type, work, 1) KERNEL(before_complex, name, type, work, 2)                               \
    KERNEL(after_real, name, type, work, 1) KERNEL(after_complex, name, type, work, 2)
TYPES(KERNELS)

/* Parameters: a, b, total, period, conj, scale. */
static void multiply_operands(struct command *command, const struct launch *launch, size_t bytes) {
    add_operand(command, READ, flat(launch->slots[1], launch->slots[3] * bytes));
    add_operand(command, WRITE, flat(launch->slots[0], launch->slots[2] * bytes));
}

static void multiply(const struct launch *launch, char type) {
    uint64_t a = launch->slots[0], b = launch->slots[1], period = launch->slots[3];
    double sign = (uint32_t)launch->slots[4] != 0 ? -1 : 1, scale = real_slot(launch, 5);
    for (uint64_t i = 0; i < launch->slots[2]; i++) {
        double re = load_real(a, type, 2 * i), im = load_real(a, type, 2 * i + 1);
        double re_b = load_real(b, type, 2 * (i % period)), im_b = sign * load_real(b, type, 2 * (i % period) + 1);
        store_real(a, type, 2 * i, (re * re_b - im * im_b) * scale);
        store_real(a, type, 2 * i + 1, (re * im_b + im * re_b) * scale);
    }
}

/* Parameters of `frames`: to, from, window, n, frames, arrays, length, hop, before, mirrored. Of `overlap`: to, from, window, the
 * parts of its largest weight, n, frames, arrays, length, hop, before, scale. Of `largest`: the parts, window, n. */
#define PARTS 128
static void frames_operands(struct command *command, const struct launch *launch, size_t stored, size_t work, bool apart) {
    const uint64_t *s = launch->slots + (apart ? 0 : 1);
    size_t cut = s[3] * s[4] * s[5] * work, whole = s[5] * s[6] * stored;
    add_operand(command, READ, flat(launch->slots[1], apart ? whole : cut));
    add_operand(command, READ, flat(launch->slots[2], s[3] * stored));
    if (!apart) add_operand(command, READ, flat(launch->slots[3], PARTS * work));
    add_operand(command, WRITE, flat(launch->slots[0], apart ? cut : whole));
}

static void largest_operands(struct command *command, const struct launch *launch, size_t stored, size_t work) {
    add_operand(command, READ, flat(launch->slots[1], launch->slots[2] * stored));
    add_operand(command, WRITE, flat(launch->slots[0], PARTS * work));
}

static void largest(const struct launch *launch, char type, char work) {
    const uint64_t *s = launch->slots;
    for (uint64_t part = 0; part < PARTS; part++) {
        double most = 0;
        for (uint64_t j = part; j < s[2]; j += PARTS) most = fmax(most, fabs(load_real(s[1], type, j)));
        store_real(s[0], work, part, most);
    }
}

static void frames(const struct launch *launch, char type, char work) {
    const uint64_t *s = launch->slots;
    for (uint64_t array = 0; array < s[5]; array++)
        for (uint64_t frame = 0; frame < s[4]; frame++)
            for (uint64_t j = 0; j < s[3]; j++) {
                int64_t at = (int64_t)(frame * s[7] + j) - (int64_t)s[8], length = (int64_t)s[6];
                if ((uint32_t)s[9] != 0 && at < 0) at = -at;
                if ((uint32_t)s[9] != 0 && at >= length) at = 2 * (length - 1) - at;
                double value = 0;
                if (at >= 0 && at < length)
                    value = load_real(s[1], type, array * s[6] + (uint64_t)at) * load_real(s[2], type, j);
                store_real(s[0], work, (array * s[4] + frame) * s[3] + j, value);
            }
}

static void overlap(const struct launch *launch, char type, char work) {
    uint64_t s[10];
    memcpy(s, launch->slots, 3 * sizeof *s);
    memcpy(s + 3, launch->slots + 4, 6 * sizeof *s);
    double least = 0;
    for (uint64_t part = 0; part < PARTS; part++) least = fmax(least, load_real(launch->slots[3], work, part));
    least *= work == '3' ? 0x1p-19 : 0x1p-48;
    least *= least;
    for (uint64_t i = 0; i < s[5] * s[6]; i++) {
        double sum = 0, weights = 0;
        for (uint64_t frame = 0; frame < s[4]; frame++) {
            int64_t j = (int64_t)(i % s[6] + s[8]) - (int64_t)(frame * s[7]);
            if (j < 0 || j >= (int64_t)s[3]) continue;
            double weight = load_real(s[2], type, (uint64_t)j);
            sum += load_real(s[1], work, (i / s[6] * s[4] + frame) * s[3] + (uint64_t)j) * weight;
            weights += weight * weight;
        }
        store_real(s[0], type, i, weights > least ? sum * real_slot(launch, 10) / weights : 0);
    }
}

#define FRAMES(name, type, work)                                                                                       \
    static void frames_##name##_operands(struct command *command, const struct launch *launch) {                      \
        frames_operands(command, launch, bytes_of(type), bytes_of(work), true);                                        \
    }                                                                                                                  \
    static void largest_##name##_operands(struct command *command, const struct launch *launch) {                     \
        largest_operands(command, launch, bytes_of(type), bytes_of(work));                                             \
    }                                                                                                                  \
    static void largest_##name(void *payload) { largest(payload, type, work); }                                        \
    static void overlap_##name##_operands(struct command *command, const struct launch *launch) {                     \
        frames_operands(command, launch, bytes_of(type), bytes_of(work), false);                                       \
    }                                                                                                                  \
    static void frames_##name(void *payload) { frames(payload, type, work); }                                          \
    static void overlap_##name(void *payload) { overlap(payload, type, work); }
TYPES(FRAMES)
static void multiply_c32_operands(struct command *command, const struct launch *launch) {
    multiply_operands(command, launch, 8);
}
static void multiply_c64_operands(struct command *command, const struct launch *launch) {
    multiply_operands(command, launch, 16);
}
static void multiply_c32(void *payload) { multiply(payload, '3'); }
static void multiply_c64(void *payload) { multiply(payload, '6'); }

#define BEFORE(what, name) {#what "_" #name, 9, {8, 8, 8, 8, 8, 8, 4, 8, 8}, what##_##name##_operands, what##_##name, 0},
#define AFTER(what, name)                                                                                              \
    {#what "_" #name, 10, {8, 8, 8, 8, 8, 8, 4, 8, 8, 8}, what##_##name##_operands, what##_##name, 0},
#define ROWS(name, type, work)                                                                                         \
    BEFORE(before_real, name) BEFORE(before_complex, name) AFTER(after_real, name) AFTER(after_complex, name)          \
    {"frames_" #name, 10, {8, 8, 8, 8, 8, 8, 8, 8, 8, 4}, frames_##name##_operands, frames_##name, 0},                 \
    {"largest_" #name, 3, {8, 8, 8}, largest_##name##_operands, largest_##name, 0},                                    \
    {"overlap_" #name, 11, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, overlap_##name##_operands, overlap_##name, 0},

static const struct kernel kernels[] = {
    TYPES(ROWS)
    {"multiply_c32", 6, {8, 8, 8, 8, 4, 8}, multiply_c32_operands, multiply_c32, 0},
    {"multiply_c64", 6, {8, 8, 8, 8, 4, 8}, multiply_c64_operands, multiply_c64, 0},
};

const struct kernel *known_trigonometric_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
