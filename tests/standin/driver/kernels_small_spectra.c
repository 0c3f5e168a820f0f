/* Eigenvalues and singular values of small matrices (src/libraries/solver/kernels/small_spectra.cu): they run by their text. */
#include "simulator.h"

#include <string.h>

enum { VECTORS = 1, FULL = 4 };
enum { MATRICES = 3 };

/* Of many matrices the first ones and the last one stand for all. */
static void matrices(struct command *command, enum access_kind how, uint64_t first, uint64_t step, uint64_t count, struct range one) {
    for (uint64_t i = 0; i < count && i < MATRICES; i++) {
        struct range each = one;
        each.address = first + step * (i + 1 == MATRICES ? count - 1 : i);
        add_operand(command, how, each);
    }
}

/* Parameters: a, lda, step, w, info, n, count, what, width. */
static void eigh(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    struct range one = {s[0], s[5] * bytes, s[1] * bytes, s[5]};
    matrices(command, s[7] & VECTORS ? WRITE : READ, s[0], s[2] * bytes, s[6], one);
    add_operand(command, WRITE, flat(s[3], s[5] * s[6] * bytes));
    add_operand(command, WRITE, flat(s[4], 4 * s[6]));
}

/* Parameters: a, lda, step_a, s, u, ldu, step_u, vh, ldvh, step_vh, info, rows, cols, count, what, width. */
static void svd(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    uint64_t rows = s[11], cols = s[12], count = s[13], least = rows < cols ? rows : cols;
    matrices(command, READ, s[0], s[2] * bytes, count, (struct range){s[0], rows * bytes, s[1] * bytes, cols});
    add_operand(command, WRITE, flat(s[3], least * count * bytes));
    add_operand(command, WRITE, flat(s[10], 4 * count));
    if (!(s[14] & VECTORS)) return;
    uint64_t left = s[14] & FULL ? rows : least, right = s[14] & FULL ? cols : least;
    matrices(command, WRITE, s[4], s[6] * bytes, count, (struct range){s[4], rows * bytes, s[5] * bytes, left});
    matrices(command, WRITE, s[7], s[9] * bytes, count, (struct range){s[7], right * bytes, s[8] * bytes, cols});
}

static void eigh_4(struct command *command, const struct launch *launch) { eigh(command, launch, 4); }
static void eigh_8(struct command *command, const struct launch *launch) { eigh(command, launch, 8); }
static void svd_4(struct command *command, const struct launch *launch) { svd(command, launch, 4); }
static void svd_8(struct command *command, const struct launch *launch) { svd(command, launch, 8); }

static const struct kernel kernels[] = {
    {"small_eigh_4", 9, {8, 8, 8, 8, 8, 8, 8, 8, 8}, eigh_4, NULL, 0, true},
    {"small_eigh_8", 9, {8, 8, 8, 8, 8, 8, 8, 8, 8}, eigh_8, NULL, 0, true},
    {"small_svd_4", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, svd_4, NULL, 0, true},
    {"small_svd_8", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, svd_8, NULL, 0, true},
};

const struct kernel *known_small_spectra_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
