/* The kernels of src/libraries/fft/native/kernels.cu: copies of arrays of numbers, and arrays moved end around. */
#include "simulator.h"

#include <math.h>
#include <string.h>

enum { AXES = 9, TURNS = 8 };

/* `move_c32_rh`: r or c for real or complex; 32, 64, h or b for the type of the parts. */
struct format {
    bool complex;
    char type;
};

static struct format format_of(const char *text) { return (struct format){text[0] == 'c', text[1]}; }

static size_t part_bytes(struct format format) { return format.type == '6' ? 8 : format.type == '3' ? 4 : 2; }

static size_t format_bytes(struct format format) { return part_bytes(format) * (format.complex ? 2 : 1); }

static double load_part(const void *from, struct format format, int64_t at) {
    if (format.type == '6') return ((const double *)from)[at];
    if (format.type == '3') return ((const float *)from)[at];
    if (format.type == 'h') return (double)((const _Float16 *)from)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)from)[at] << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static void store_part(void *to, struct format format, int64_t at, double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (format.type == '6') ((double *)to)[at] = value;
    else if (format.type == '3') ((float *)to)[at] = narrow;
    else if (format.type == 'h') ((_Float16 *)to)[at] = (_Float16)narrow;
    else ((uint16_t *)to)[at] = isnan(narrow) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* Parameters: to, from, total, rank, conj, factor, then n, inside, from, to of each axis. */
struct move {
    struct format from, to;
};

/* The elements that one side reaches, from the first on; strides that wrap around go backwards. Nothing: `last < first`. */
struct reach {
    int64_t first, last;
};

static struct reach reached(const struct launch *launch, int side) {
    struct reach reach = {0, 0};
    for (uint64_t k = 0; k < (uint32_t)launch->slots[3]; k++) {
        const uint64_t *axis = launch->slots + 6 + 4 * k;
        uint64_t count = side == 2 ? axis[1] : axis[0];
        if (count == 0) return (struct reach){0, -1};
        int64_t far = (int64_t)((count - 1) * axis[side]);
        if (far < 0) reach.first += far;
        else reach.last += far;
    }
    return reach;
}

static struct range touched(const struct launch *launch, int side, uint64_t address, struct format format) {
    struct reach reach = reached(launch, side);
    size_t bytes = format_bytes(format);
    return flat(address + (uint64_t)reach.first * bytes, (size_t)(reach.last - reach.first + 1) * bytes);
}

static void move_operands(struct command *command, const struct launch *launch, struct move move) {
    bool same = launch->slots[0] == launch->slots[1];
    struct range read = touched(launch, 2, launch->slots[1], move.from);
    if (!same && reached(launch, 2).last >= reached(launch, 2).first) add_operand(command, READ, read);
    add_operand(command, WRITE, touched(launch, 3, launch->slots[0], move.to));
}

static void move_numbers(const struct launch *launch, struct move move) {
    const void *from = standin_backing(launch->slots[1]);
    void *to = standin_backing(launch->slots[0]);
    double factor;
    memcpy(&factor, &launch->slots[5], sizeof factor);
    bool single = move.to.type != '6';
    for (uint64_t i = 0; i < launch->slots[2]; i++) {
        uint64_t rest = i, a = 0, b = 0;
        bool inside = true;
        for (uint64_t k = 0; k < (uint32_t)launch->slots[3]; k++) {
            const uint64_t *axis = launch->slots + 6 + 4 * k;
            uint64_t place = rest % axis[0];
            rest /= axis[0];
            inside = inside && place < axis[1];
            a += place * axis[2];
            b += place * axis[3];
        }
        double re = 0, im = 0;
        if (inside) re = load_part(from, move.from, (int64_t)(move.from.complex ? 2 * a : a));
        if (inside && move.from.complex) im = load_part(from, move.from, (int64_t)(2 * a + 1));
        if ((uint32_t)launch->slots[4] != 0) im = -im;
        re = single ? (float)re * (float)factor : re * factor;
        im = single ? (float)im * (float)factor : im * factor;
        store_part(to, move.to, (int64_t)(move.to.complex ? 2 * b : b), re);
        if (move.to.complex) store_part(to, move.to, (int64_t)(2 * b + 1), im);
    }
}

#define MOVE(name, source, target)                                                                                     \
    static void name##_operands(struct command *command, const struct launch *launch) {                               \
        move_operands(command, launch, (struct move){format_of(source), format_of(target)});                           \
    }                                                                                                                  \
    static void name(void *payload) {                                                                                  \
        move_numbers(payload, (struct move){format_of(source), format_of(target)});                                    \
    }
#define MOVES(EACH)                                                                                                    \
    EACH(r32_r32, "r3", "r3") EACH(c32_c32, "c3", "c3") EACH(r32_c32, "r3", "c3") EACH(c32_r32, "c3", "r3")            \
    EACH(r64_r64, "r6", "r6") EACH(c64_c64, "c6", "c6") EACH(r64_c64, "r6", "c6") EACH(c64_r64, "c6", "r6")            \
    EACH(rh_r32, "rh", "r3") EACH(ch_c32, "ch", "c3") EACH(r32_rh, "r3", "rh") EACH(c32_ch, "c3", "ch")                \
    EACH(rh_rh, "rh", "rh") EACH(ch_ch, "ch", "ch") EACH(rb_r32, "rb", "r3") EACH(cb_c32, "cb", "c3")                  \
    EACH(r32_rb, "r3", "rb") EACH(c32_cb, "c3", "cb") EACH(rb_rb, "rb", "rb") EACH(cb_cb, "cb", "cb")
MOVES(MOVE)

/* Parameters: to, from, total, rank, then n and by of each axis. */
static void roll_operands(struct command *command, const struct launch *launch, size_t bytes) {
    add_operand(command, READ, flat(launch->slots[1], launch->slots[2] * bytes));
    add_operand(command, WRITE, flat(launch->slots[0], launch->slots[2] * bytes));
}

static void roll(const struct launch *launch, size_t bytes) {
    const unsigned char *from = standin_backing(launch->slots[1]);
    unsigned char *to = standin_backing(launch->slots[0]);
    for (uint64_t i = 0; i < launch->slots[2]; i++) {
        uint64_t rest = i, a = 0, step = 1;
        for (uint64_t k = 0; k < (uint32_t)launch->slots[3]; k++) {
            uint64_t n = launch->slots[4 + 2 * k], by = launch->slots[5 + 2 * k], place = rest % n;
            rest /= n;
            a += (place + n - by) % n * step;
            step *= n;
        }
        memcpy(to + i * bytes, from + a * bytes, bytes);
    }
}

#define ROLL(bytes)                                                                                                    \
    static void roll_##bytes##_operands(struct command *command, const struct launch *launch) {                       \
        roll_operands(command, launch, bytes);                                                                         \
    }                                                                                                                  \
    static void roll_##bytes(void *payload) { roll(payload, bytes); }
ROLL(1)
ROLL(2)
ROLL(4)
ROLL(8)
ROLL(16)

#define MOVE_SIZES                                                                                                     \
    {8, 8, 8, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}
#define MOVE_ROW(name, source, target) {"move_" #name, 6 + 4 * AXES, MOVE_SIZES, name##_operands, name, 0},
#define ROLL_ROW(bytes)                                                                                                \
    {"roll_" #bytes, 4 + 2 * TURNS, {8, 8, 8, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8},                      \
     roll_##bytes##_operands, roll_##bytes, 0},

static const struct kernel kernels[] = {MOVES(MOVE_ROW) ROLL_ROW(1) ROLL_ROW(2) ROLL_ROW(4) ROLL_ROW(8) ROLL_ROW(16)};

const struct kernel *known_fft_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
