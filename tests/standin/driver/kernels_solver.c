/* The kernels of src/libraries/solver/native/kernels.ptx that the stand-in's routines go with. */
#include "simulator.h"

#include <string.h>

/* Parameters: info, count, result. The first that is not zero, with its number in the upper half. */
static void first_info_operands(struct command *command, const struct launch *launch) {
    add_operand(command, READ, flat(launch->slots[0], 4 * launch->slots[1]));
    add_operand(command, WRITE, flat(launch->slots[2], 8));
}

static void first_info(void *payload) {
    const struct launch *launch = payload;
    const uint32_t *info = standin_backing(launch->slots[0]);
    uint64_t *result = standin_backing(launch->slots[2]);
    *result = 0;
    for (uint64_t i = launch->slots[1]; i-- > 0;)
        if (info[i] != 0) *result = i << 32 | info[i];
}

/* Parameters: from, to, len, n, signed. */
static void keep_pivots_operands(struct command *command, const struct launch *launch) {
    add_operand(command, READ, flat(launch->slots[0], 8 * launch->slots[2]));
    add_operand(command, WRITE, flat(launch->slots[1], 8 * launch->slots[2]));
}

static void keep_pivots(void *payload) {
    const struct launch *launch = payload;
    const int64_t *from = standin_backing(launch->slots[0]);
    int64_t *to = standin_backing(launch->slots[1]), n = (int64_t)launch->slots[3];
    for (uint64_t i = 0; i < launch->slots[2]; i++) {
        int64_t size = launch->slots[4] != 0 && from[i] < 0 ? -from[i] : from[i];
        to[i] = size >= 1 && size <= n ? from[i] : (int64_t)(i % (uint64_t)n) + 1;
    }
}

static const struct kernel kernels[] = {
    {"first_info", 3, {8, 8, 8}, first_info_operands, first_info, 0},
    {"keep_long_pivots", 5, {8, 8, 8, 8, 8}, keep_pivots_operands, keep_pivots, 0},
};

const struct kernel *known_solver_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
