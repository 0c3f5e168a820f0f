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

/* The crate's own: a pivot that is no row of a matrix of `n` becomes the row that it stands for. */
static void keep_pivots_operands(struct command *command, const struct launch *launch) {
    size_t bytes = elements(launch, launch->slots[2]) * sizeof(int32_t);
    add_operand(command, READ, flat(launch->slots[0], bytes));
    add_operand(command, WRITE, flat(launch->slots[1], bytes));
}

static void keep_pivots(void *payload) {
    const struct launch *launch = payload;
    const int32_t *from = standin_backing(launch->slots[0]);
    int32_t *to = standin_backing(launch->slots[1]), n = (int32_t)launch->slots[3];
    for (uint64_t i = 0; i < elements(launch, launch->slots[2]); i++)
        to[i] = from[i] >= 1 && from[i] <= n ? from[i] : (int32_t)(i % (uint64_t)n) + 1;
}

/* The crate's own: words that come with the launch, and those of up to three series. */
static void write_few_operands(struct command *command, const struct launch *launch) {
    add_operand(command, WRITE, flat(launch->slots[0], elements(launch, launch->slots[1]) * sizeof(uint64_t)));
}

static void write_few(void *payload) {
    const struct launch *launch = payload;
    memcpy(standin_backing(launch->slots[0]), launch->bulk, elements(launch, launch->slots[1]) * sizeof(uint64_t));
}

/* The crate's own: what a device that comes back is tested with. */
static void self_test_operands(struct command *command, const struct launch *launch) {
    size_t bytes = elements(launch, launch->slots[2]) * sizeof(uint32_t);
    add_operand(command, READ, flat(launch->slots[1], bytes));
    add_operand(command, WRITE, flat(launch->slots[0], bytes));
}

static void self_test(void *payload) {
    const struct launch *launch = payload;
    const uint32_t *x = standin_backing(launch->slots[1]);
    uint32_t *y = standin_backing(launch->slots[0]);
    for (uint64_t i = 0; i < elements(launch, launch->slots[2]); i++) y[i] = x[i] * x[i] + 1;
}

static void write_even_operands(struct command *command, const struct launch *launch) {
    size_t bytes = launch->slots[1] * sizeof(uint64_t);
    add_operand(command, WRITE, flat(launch->slots[0], bytes * launch->slots[2]));
}

static void write_even(void *payload) {
    const struct launch *launch = payload;
    const uint64_t *slots = launch->slots;
    uint64_t *to = standin_backing(slots[0]);
    for (uint64_t series = 0; series < slots[2]; series++)
        for (uint64_t i = 0; i < elements(launch, slots[1]); i++)
            to[series * slots[1] + i] = slots[3 + 2 * series] + i * slots[4 + 2 * series];
}

/* The crate's own: products of bytes, in a batch. Of a table it is known when it runs what it names. */
static void gemm_i8_operands(struct command *command, const struct launch *launch) {
    const uint64_t *slots = launch->slots;
    if (slots[0] != 0) {
        add_operand(command, READ, flat(slots[0], 3 * slots[7] * sizeof(uint64_t)));
    } else {
        for (uint64_t z = 0; z < slots[7]; z++)
            add_operand(command, WRITE, (struct range){slots[3] + z * slots[6], slots[8] * sizeof(int32_t),
                                                       slots[15] * sizeof(int32_t), slots[9]});
    }
    for (int i = 18; i < 20; i++)
        if (slots[i] != 0) add_operand(command, READ, flat(slots[i], sizeof(int32_t)));
}

static void gemm_i8(void *payload) {
    const struct launch *launch = payload;
    const uint64_t *slots = launch->slots, *table = slots[0] != 0 ? standin_backing(slots[0]) : NULL;
    uint64_t count = slots[7], m = slots[8], n = slots[9], k = slots[10];
    uint32_t factors[2];
    for (int i = 0; i < 2; i++)
        factors[i] = slots[18 + i] != 0 ? *(const uint32_t *)standin_backing(slots[18 + i]) : (uint32_t)slots[16 + i];
    for (uint64_t z = 0; z < count; z++) {
        const int8_t *a = standin_backing(table != NULL ? table[z] : slots[1] + z * slots[4]);
        const int8_t *b = standin_backing(table != NULL ? table[count + z] : slots[2] + z * slots[5]);
        uint32_t *c = standin_backing(table != NULL ? table[2 * count + z] : slots[3] + z * slots[6]);
        for (uint64_t j = 0; j < n; j++)
            for (uint64_t i = 0; i < m && i < (uint64_t)launch->grid[0] * launch->block[0]; i++) {
                uint32_t sum = 0, *to = &c[i + j * slots[15]];
                for (uint64_t l = 0; l < k; l++)
                    sum += (uint32_t)(a[i * slots[11] + l * slots[12]] * b[l * slots[13] + j * slots[14]]);
                *to = sum * factors[0] + (factors[1] != 0 ? *to * factors[1] : 0);
            }
    }
}

/* Those of tests/nvrtc/launch/kernels.cu and globals.cu. */
static void where_am_i_operands(struct command *command, const struct launch *launch) {
    add_operand(command, WRITE, flat(launch->slots[0], launch->threads * sizeof(uint32_t)));
}

static void where_am_i(void *payload) {
    const struct launch *launch = payload;
    uint32_t *out = standin_backing(launch->slots[0]);
    uint32_t extent[3];
    for (int i = 0; i < 3; i++) extent[i] = launch->grid[i] * launch->block[i];
    for (uint32_t z = 0; z < extent[2]; z++)
        for (uint32_t y = 0; y < extent[1]; y++)
            for (uint32_t x = 0; x < extent[0]; x++) *out++ = z << 20 | y << 10 | x;
}

static void turn_blocks_operands(struct command *command, const struct launch *launch) {
    size_t bytes = elements(launch, launch->slots[2]) * sizeof(float);
    add_operand(command, READ, flat(launch->slots[0], bytes));
    add_operand(command, WRITE, flat(launch->slots[1], bytes));
}

static void turn_blocks(void *payload) {
    const struct launch *launch = payload;
    const float *source = standin_backing(launch->slots[0]);
    float *target = standin_backing(launch->slots[1]);
    uint64_t count = elements(launch, launch->slots[2]), block = launch->block[0];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from = i / block * block + (i + 1) % block;
        target[i] = from < count ? source[from] : 0.0f;
    }
}

static void sixteen_operands(struct command *command, const struct launch *launch) {
    static const size_t bytes[] = {4, 8, 4, 1, 8, 2, 8, 4};
    for (int i = 0; i < 8; i++)
        add_operand(command, i < 6 ? READ : WRITE, flat(launch->slots[i], elements(launch, launch->slots[14]) * bytes[i]));
}

static void sixteen(void *payload) {
    const struct launch *launch = payload;
    const uint64_t *slots = launch->slots;
    const float *f = standin_backing(slots[0]);
    const double *d = standin_backing(slots[1]);
    const int32_t *i4 = standin_backing(slots[2]);
    const uint8_t *u1 = standin_backing(slots[3]);
    const uint64_t *u8 = standin_backing(slots[4]);
    const int16_t *i2 = standin_backing(slots[5]);
    double *sum = standin_backing(slots[6]);
    uint32_t *index = standin_backing(slots[7]);
    struct { uint32_t a; float b; uint8_t c[4]; } mix;
    memcpy(&mix, launch->wide[13], sizeof mix);
    for (uint64_t i = 0; i < elements(launch, slots[14]); i++) {
        sum[i] += (double)f[i] + d[i] + i4[i] + u1[i] + (double)u8[i] + i2[i];
        sum[i] += float_of(slots[8]) + double_of(slots[9]) + (int8_t)slots[10] + (uint16_t)slots[11];
        sum[i] += (double)(int64_t)slots[12] + mix.a + mix.b + mix.c[3] + (slots[15] != 0);
        index[i] = (uint32_t)i;
    }
}

/* The count is added to atomically, so launches may meet in it; what the host does may not. */
static void scale_by_factor_operands(struct command *command, const struct launch *launch) {
    const struct variable *factor = find_variable(launch->module, "factor");
    const struct variable *calls = find_variable(launch->module, "calls");
    add_operand(command, WRITE, flat(launch->slots[0], elements(launch, launch->slots[1]) * sizeof(float)));
    add_operand(command, READ, flat(factor->address, factor->bytes));
    add_operand(command, READ, flat(calls->address, calls->bytes));
}

static void scale_by_factor(void *payload) {
    const struct launch *launch = payload;
    float *data = standin_backing(launch->slots[0]);
    const float *factor = standin_backing(find_variable(launch->module, "factor")->address);
    uint32_t *calls = standin_backing(find_variable(launch->module, "calls")->address);
    for (uint64_t i = 0; i < elements(launch, launch->slots[1]); i++) data[i] *= factor[i % 4];
    ++*calls;
}

static const struct kernel kernels[] = {
    {.name = "empty"},
    {.name = "fault", .outcome = CUDA_ERROR_ILLEGAL_ADDRESS},
    {.name = "endless", .outcome = -1},
    {"add_one_f32", 2, {8, 8}, add_one_operands, add_one, 0},
    {"scale_f64", 3, {8, 8, 8}, scale_operands, scale, 0},
    {"axpb_f32", 5, {8, 8, 8, 4, 4}, axpb_operands, axpb, 0},
    {"scale_i32", 5, {8, 8, 8, 8, 4}, scale_i32_operands, scale_i32, 0},
    {"keep_pivots", 4, {8, 8, 8, 8}, keep_pivots_operands, keep_pivots, 0},
    {"self_test", 3, {8, 8, 8}, self_test_operands, self_test, 0},
    {"write_few", 3, {8, 4, 496}, write_few_operands, write_few, 0},
    {"write_more", 3, {8, 4, 3840}, write_few_operands, write_few, 0},
    {"write_even", 9, {8, 8, 4, 8, 8, 8, 8, 8, 8}, write_even_operands, write_even, 0},
    {"gemm_i8", 20, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 8, 8}, gemm_i8_operands, gemm_i8, 0},
    {"where_am_i", 1, {8}, where_am_i_operands, where_am_i, 0},
    {"turn_blocks", 3, {8, 8, 8}, turn_blocks_operands, turn_blocks, 0},
    {"sixteen", 16, {8, 8, 8, 8, 8, 8, 8, 8, 4, 8, 1, 2, 8, 12, 8, 8}, sixteen_operands, sixteen, 0},
    {"scale_by_factor", 2, {8, 8}, scale_by_factor_operands, scale_by_factor, 0},
};

const struct kernel *known_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    const struct kernel *kernel = known_fft_kernel(name);
    if (kernel == NULL) kernel = known_trigonometric_kernel(name);
    if (kernel == NULL) kernel = known_matmul_kernel(name);
    if (kernel == NULL) kernel = known_solver_kernel(name);
    if (kernel == NULL) kernel = known_small_kernel(name);
    if (kernel == NULL) kernel = known_small_spectra_kernel(name);
    if (kernel == NULL) kernel = known_tensor_kernel(name);
    if (kernel == NULL) kernel = known_expression_kernel(name);
    return kernel != NULL ? kernel : known_sparse_kernel(name);
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

static const char *after_blanks(const char *at) {
    while (*at == ' ' || *at == '\t') at++;
    return at;
}

/* `.align 4 .b8 factor[16] = {0, 0, 128, 63, ...};` */
static bool make_variable(struct module *module, const char *at) {
    at = after_blanks(at);
    if (strncmp(at, ".align", 6) == 0) {
        strtoul(at + 6, (char **)&at, 10);
        at = after_blanks(at);
    }
    size_t size = type_bytes(at), count = 1, length = 0;
    if (size == 0 || module->variable_count == 8) return true;
    while (*at != ' ' && *at != 0) at++;
    at = after_blanks(at);
    struct variable *variable = &module->variables[module->variable_count];
    while (in_name(at[length]) && length + 1 < sizeof variable->name) length++;
    memcpy(variable->name, at, length);
    at += length;
    if (*at == '[') count = strtoul(at + 1, (char **)&at, 10), at += *at == ']';
    variable->bytes = size * count;
    variable->address = standin_allocate(module->object.device, variable->bytes);
    if (variable->address == 0) return false;
    module->variable_count++;
    unsigned char *memory = standin_backing(variable->address);
    memset(memory, 0, variable->bytes);
    at = after_blanks(at);
    for (size_t i = 0; i < count && (*at == '=' || *at == '{' || *at == ','); i++) {
        while (*at == '=' || *at == '{' || *at == ',' || *at == ' ') at++;
        uint64_t value = strtoull(at, (char **)&at, 10);
        memcpy(memory + i * size, &value, size < 8 ? size : 8);
    }
    return true;
}

bool make_variables(struct module *module) {
    for (const char *line = module->text; line != NULL && *line != 0; line = strchr(line, '\n')) {
        while (isspace((unsigned char)*line)) line++;
        const char *at = strncmp(line, ".visible ", 9) == 0 ? line + 9 : line;
        const char *space = strncmp(at, ".global ", 8) == 0 ? at + 8 : strncmp(at, ".const ", 7) == 0 ? at + 7 : NULL;
        if (space != NULL && !make_variable(module, space)) return false;
    }
    return true;
}

const struct variable *find_variable(const struct module *module, const char *name) {
    for (int i = 0; i < module->variable_count; i++)
        if (strcmp(module->variables[i].name, name) == 0) return &module->variables[i];
    return NULL;
}
