/* The kernels of src/device/tensor/assign/kernels/assign.cu: copies of strided tensors. */
#include "simulator.h"

#include <string.h>

/* An axis, as the parameters give it: extents, steps of the source, steps of the target; `most` of each. */
static int64_t axis_of(const uint64_t *slots, int most, int what, uint64_t axis) {
    return (int64_t)slots[(uint64_t)(what * most) + axis];
}
enum { EXTENT, FROM, TO };

/* From the first to the last unit that is reached. */
static struct range reach(uint64_t start, const uint64_t *slots, int most, uint64_t rank, int what, size_t unit) {
    int64_t low = 0, high = 0;
    for (uint64_t axis = 0; axis < rank; axis++) {
        int64_t far = (axis_of(slots, most, EXTENT, axis) - 1) * axis_of(slots, most, what, axis);
        *(far < 0 ? &low : &high) += far;
    }
    return flat(start + (uint64_t)(low * (int64_t)unit), (size_t)(high - low + 1) * unit);
}

static int64_t place(uint64_t k, const uint64_t *slots, int most, uint64_t rank, int what) {
    int64_t at = 0;
    for (uint64_t axis = 0; axis < rank; axis++) {
        uint64_t n = (uint64_t)axis_of(slots, most, EXTENT, axis);
        at += (int64_t)(k % n) * axis_of(slots, most, what, axis);
        k /= n;
    }
    return at;
}

static void move(uint64_t from, int64_t at_from, uint64_t to, int64_t at_to, size_t unit) {
    const char *source = (const char *)standin_backing(from) + at_from * (int64_t)unit;
    memcpy((char *)standin_backing(to) + at_to * (int64_t)unit, source, unit);
}

/* Parameters: from, to, total, rank, eight axes. */
static void walk_operands(struct command *command, const struct launch *launch, size_t unit) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, reach(s[0], s + 4, 8, s[3], FROM, unit));
    add_operand(command, WRITE, reach(s[1], s + 4, 8, s[3], TO, unit));
}

static void walk(const struct launch *launch, size_t unit) {
    const uint64_t *s = launch->slots;
    for (uint64_t k = 0; k < s[2]; k++)
        move(s[0], place(k, s + 4, 8, s[3], FROM), s[1], place(k, s + 4, 8, s[3], TO), unit);
}

/* Parameters: from, to, total, table, rank. What is reached stands in the table, which may not be written yet. */
static void walk_table_operands(struct command *command, const struct launch *launch, size_t unit) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, flat(s[0], unit));
    add_operand(command, WRITE, flat(s[1], unit));
    add_operand(command, READ, flat(s[3], 24 * s[4]));
}

static void walk_table(const struct launch *launch, size_t unit) {
    const uint64_t *s = launch->slots;
    const int64_t *axes = standin_backing(s[3]);
    for (uint64_t k = 0; k < s[2]; k++) {
        uint64_t rest = k;
        int64_t from = 0, to = 0;
        for (uint64_t axis = 0; axis < s[4]; axis++) {
            int64_t i = (int64_t)(rest % (uint64_t)axes[3 * axis]);
            rest /= (uint64_t)axes[3 * axis];
            from += i * axes[3 * axis + 1];
            to += i * axes[3 * axis + 2];
        }
        move(s[0], from, s[1], to, unit);
    }
}

/* Parameters: from, to, na, nb, fa, tb, rests, rank, six axes. */
static struct range turned(const uint64_t *s, int what, uint64_t start, int64_t a, int64_t b, size_t unit) {
    struct range rest = reach(start, s + 8, 6, s[7], what, unit);
    int64_t far_a = (int64_t)(s[2] - 1) * a, far_b = (int64_t)(s[3] - 1) * b;
    int64_t low = (far_a < 0 ? far_a : 0) + (far_b < 0 ? far_b : 0), high = far_a + far_b - low;
    return flat(rest.address + (uint64_t)(low * (int64_t)unit), rest.width + (size_t)(high - low) * unit);
}

static void turn_operands(struct command *command, const struct launch *launch, size_t unit) {
    const uint64_t *s = launch->slots;
    add_operand(command, READ, turned(s, FROM, s[0], (int64_t)s[4], 1, unit));
    add_operand(command, WRITE, turned(s, TO, s[1], 1, (int64_t)s[5], unit));
}

static void turn(const struct launch *launch, size_t unit) {
    const uint64_t *s = launch->slots;
    for (uint64_t k = 0; k < s[6]; k++)
        for (uint64_t b = 0; b < s[3]; b++)
            for (uint64_t a = 0; a < s[2]; a++)
                move(s[0], place(k, s + 8, 6, s[7], FROM) + (int64_t)a * (int64_t)s[4] + (int64_t)b, s[1],
                     place(k, s + 8, 6, s[7], TO) + (int64_t)b * (int64_t)s[5] + (int64_t)a, unit);
}

#define OF(name, unit)                                                                                                 \
    static void name##_##unit##_operands(struct command *command, const struct launch *launch) {                       \
        name##_operands(command, launch, unit);                                                                        \
    }                                                                                                                  \
    static void name##_##unit(void *payload) { name(payload, unit); }
#define ALL(name) OF(name, 1) OF(name, 2) OF(name, 4) OF(name, 8) OF(name, 16)
ALL(walk)
ALL(walk_table)
ALL(turn)

#define FOUR 8, 8, 8, 8
#define SIX 8, 8, 8, 8, 8, 8
#define ROW(name, unit, count, ...) {#name "_" #unit, count, {__VA_ARGS__}, name##_##unit##_operands, name##_##unit, 0},
#define ROWS(name, count, ...)                                                                                         \
    ROW(name, 1, count, __VA_ARGS__)                                                                                   \
    ROW(name, 2, count, __VA_ARGS__)                                                                                   \
    ROW(name, 4, count, __VA_ARGS__)                                                                                   \
    ROW(name, 8, count, __VA_ARGS__)                                                                                   \
    ROW(name, 16, count, __VA_ARGS__)
static const struct kernel kernels[] = {
    ROWS(walk, 28, FOUR, SIX, SIX, SIX, SIX)
    ROWS(walk_table, 5, FOUR, 8)
    ROWS(turn, 26, FOUR, FOUR, SIX, SIX, SIX)
};

const struct kernel *known_tensor_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
