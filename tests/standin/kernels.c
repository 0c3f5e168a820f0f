/* The kernels that can be launched: found by `.entry NAME` in the module's text, executed by name. */
#include "simulator.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static float float_of(uint64_t slot) {
    float value;
    memcpy(&value, &slot, sizeof value);
    return value;
}

static double double_of(uint64_t slot) {
    double value;
    memcpy(&value, &slot, sizeof value);
    return value;
}

/* One element for each thread, as a kernel with `if (i < n)` does: too small a grid leaves the rest undone. */
static uint64_t elements(const struct launch *launch, uint64_t count) {
    return count < launch->threads ? count : launch->threads;
}

static void add_one_operands(struct command *command, const struct launch *launch) {
    add_operand(command, WRITE, flat(launch->slots[0], elements(launch, launch->slots[1]) * sizeof(float)));
}

static void add_one(void *payload) {
    const struct launch *launch = payload;
    float *data = standin_backing(launch->slots[0]);
    for (uint64_t i = 0; i < elements(launch, launch->slots[1]); i++) data[i] += 1.0f;
}

static void scale_operands(struct command *command, const struct launch *launch) {
    add_operand(command, WRITE, flat(launch->slots[0], elements(launch, launch->slots[1]) * sizeof(double)));
}

static void scale(void *payload) {
    const struct launch *launch = payload;
    double *data = standin_backing(launch->slots[0]);
    for (uint64_t i = 0; i < elements(launch, launch->slots[1]); i++) data[i] *= double_of(launch->slots[2]);
}

static void axpb_operands(struct command *command, const struct launch *launch) {
    size_t bytes = elements(launch, launch->slots[2]) * sizeof(float);
    add_operand(command, READ, flat(launch->slots[0], bytes));
    add_operand(command, WRITE, flat(launch->slots[1], bytes));
}

static void axpb(void *payload) {
    const struct launch *launch = payload;
    const float *source = standin_backing(launch->slots[0]);
    float *target = standin_backing(launch->slots[1]);
    float a = float_of(launch->slots[3]), b = float_of(launch->slots[4]);
    for (uint64_t i = 0; i < elements(launch, launch->slots[2]); i++) target[i] = a * source[i] + b;
}

/* The crate's own, for what cuBLAS has no routine for: columns of `rows` integers, `ld` apart. */
static void scale_i32_operands(struct command *command, const struct launch *launch) {
    size_t bytes = sizeof(int32_t);
    add_operand(command, WRITE, (struct range){launch->slots[0], launch->slots[1] * bytes, launch->slots[3] * bytes,
                                               launch->slots[2]});
}

static void scale_i32(void *payload) {
    const struct launch *launch = payload;
    uint32_t *data = standin_backing(launch->slots[0]), factor = (uint32_t)launch->slots[4];
    for (uint64_t column = 0; column < launch->slots[2]; column++)
        for (uint64_t row = 0; row < launch->slots[1]; row++) data[column * launch->slots[3] + row] *= factor;
}

static const struct kernel kernels[] = {
    {.name = "empty"},
    {.name = "fault", .outcome = CUDA_ERROR_ILLEGAL_ADDRESS},
    {.name = "endless", .outcome = -1},
    {"add_one_f32", 2, {8, 8}, add_one_operands, add_one, 0},
    {"scale_f64", 3, {8, 8, 8}, scale_operands, scale, 0},
    {"axpb_f32", 5, {8, 8, 8, 4, 4}, axpb_operands, axpb, 0},
    {"scale_i32", 5, {8, 8, 8, 8, 4}, scale_i32_operands, scale_i32, 0},
};

const struct kernel *known_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}

static bool in_name(char letter) { return isalnum((unsigned char)letter) || strchr("_$.", letter) != NULL; }

const char *find_entry(const char *text, const char *name) {
    size_t length = strlen(name);
    const char *entry = text;
    while (length > 0 && (entry = strstr(entry, ".entry")) != NULL) {
        entry += strlen(".entry");
        const char *at = entry;
        while (isspace((unsigned char)*at)) at++;
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || !in_name(at[length]))) return at + length;
    }
    return NULL;
}

/* `.u64` -> 8; 0 for what is no type, as `.param`, `.align` and `.ptr` are. */
static size_t type_bytes(const char *at) {
    if (at[0] != '.' || at[1] == 0 || strchr("busf", at[1]) == NULL || !isdigit((unsigned char)at[2])) return 0;
    return (size_t)strtoul(at + 2, NULL, 10) / 8;
}

int parse_parameters(const char *at, size_t *bytes, int room) {
    while (isspace((unsigned char)*at)) at++;
    if (*at != '(') return 0;
    int count = 0;
    size_t size = 0;
    for (at++; *at != 0; at++) {
        if (size == 0) size = type_bytes(at);
        if (*at == '[') size *= (size_t)strtoul(at + 1, NULL, 10);
        if ((*at == ',' || *at == ')') && size > 0 && count < room) {
            bytes[count++] = size;
            size = 0;
        }
        if (*at == ')') break;
    }
    return count;
}
