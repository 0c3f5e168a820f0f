/* The kernels of src/libraries/blaslt/kernels/matmul.cu, by their definitions: copies of factors, what is made of sums of
 * products, sums. */
#include "cublas_numbers.c"

enum { MATRIX_F32 = 0, MATRIX_F64 = 1, MATRIX_C32 = 4, MATRIX_C64 = 5, MATRIX_I32 = 10 };

static void add_flat(struct command *command, enum access_kind kind, uint64_t address, uint64_t count, size_t bytes) {
    if (address != 0 && count != 0) add_operand(command, kind, flat(address, count * bytes));
}

/* Elements from the first to the last one; 0 where there is none. */
static uint64_t extent(uint64_t lines, uint64_t line_step, uint64_t terms, uint64_t term_step, uint64_t batch,
                       uint64_t step) {
    if (lines == 0 || terms == 0 || batch == 0) return 0;
    return (lines - 1) * line_step + (terms - 1) * term_step + (batch - 1) * step + 1;
}

/* gather: from, line_step, term_step, step, lines, terms, batch, to, wide, deep, conj. */
static void gather_operands(struct command *command, const struct launch *launch, size_t bytes) {
    const uint64_t *s = launch->slots;
    add_flat(command, READ, s[0], extent(s[4], s[1], s[5], s[2], s[6], s[3]), bytes);
    add_flat(command, WRITE, s[7], s[6] * s[8] * s[9], bytes);
}

static void gather(const struct launch *launch, size_t bytes, size_t part) {
    const uint64_t *s = launch->slots;
    const char *from = standin_backing(s[0]);
    char *to = standin_backing(s[7]);
    for (uint64_t b = 0; b < s[6]; b++)
        for (uint64_t u = 0; u < s[8]; u++)
            for (uint64_t p = 0; p < s[9]; p++) {
                char *element = to + ((b * s[8] + u) * s[9] + p) * bytes;
                memset(element, 0, bytes);
                if (u >= s[4] || p >= s[5]) continue;
                memcpy(element, from + (b * s[3] + u * s[1] + p * s[2]) * bytes, bytes);
                if (part != 0 && (uint32_t)s[10] != 0) element[bytes - 1] ^= (char)0x80;
            }
}

#define GATHER(name, bytes, part)                                                                                      \
    static void name##_operands(struct command *command, const struct launch *launch) {                               \
        gather_operands(command, launch, bytes);                                                                       \
    }                                                                                                                  \
    static void name(void *payload) { gather(payload, bytes, part); }
GATHER(gather_1, 1, 0)
GATHER(gather_2, 2, 0)
GATHER(gather_4, 4, 0)
GATHER(gather_f64, 8, 0)
GATHER(gather_c32, 8, 4)
GATHER(gather_c64, 16, 8)

/* finish: the order of the parameters. */
enum {
    SUMS, LD_SUMS, STEP_SUMS, US, VS, BATCH, C, C_U, C_V, STEP_C, D, LD_D, STEP_D, BIAS, BIAS_U, BIAS_V, STEP_BIAS, AUX, LD_AUX,
    STEP_AUX, SCALE_U, STEP_U, SCALE_V, STEP_V, SCALE_D, AMAX, ALPHA_AT, BETA_AT, ALPHA, BETA, TYPES, FLAGS
};
enum { WRITES_MASK = 8, WRITES_PRE = 16, NO_PRODUCT = 32, KEEPS = 64, WHOLE_SUMS = 128 };
enum { RELU = 1, GELU, RELU_GRADIENT, GELU_GRADIENT };

static void finish_operands(struct command *command, const struct launch *launch, int work) {
    const uint64_t *s = launch->slots;
    uint32_t types = (uint32_t)s[TYPES], flags = (uint32_t)s[FLAGS], function = flags & 7;
    size_t sum = flags & WHOLE_SUMS ? 4 : type_bytes(work);
    uint64_t us = s[US], vs = s[VS], batch = s[BATCH], aux = extent(us, 1, vs, s[LD_AUX], batch, s[STEP_AUX]);
    if (!(flags & NO_PRODUCT) || flags & KEEPS)
        add_flat(command, flags & KEEPS ? WRITE : READ, s[SUMS], extent(us, 1, vs, s[LD_SUMS], batch, s[STEP_SUMS]), sum);
    if (s[C] != s[D]) add_flat(command, READ, s[C], extent(us, s[C_U], vs, s[C_V], batch, s[STEP_C]), type_bytes(types & 255));
    add_flat(command, WRITE, s[D], extent(us, 1, vs, s[LD_D], batch, s[STEP_D]), type_bytes(types >> 8 & 255));
    add_flat(command, READ, s[BIAS], extent(us, s[BIAS_U], vs, s[BIAS_V], batch, s[STEP_BIAS]), type_bytes(types >> 16 & 255));
    if (function == RELU_GRADIENT || flags & WRITES_MASK)
        add_flat(command, flags & WRITES_MASK ? WRITE : READ, s[AUX], (aux + 7) / 8, 1);
    else if (function == GELU_GRADIENT || flags & WRITES_PRE)
        add_flat(command, flags & WRITES_PRE ? WRITE : READ, s[AUX], aux, type_bytes(types >> 24));
    add_flat(command, READ, s[SCALE_U], s[STEP_U] != 0 ? us : 1, 4);
    add_flat(command, READ, s[SCALE_V], s[STEP_V] != 0 ? vs : 1, 4);
    add_flat(command, READ, s[SCALE_D], 1, 4);
    add_flat(command, WRITE, s[AMAX], 1, 4);
    add_flat(command, READ, s[ALPHA_AT], 1, type_bytes(work));
    add_flat(command, READ, s[BETA_AT], 1, type_bytes(work));
}

static double share_of_gelu(double x) { return 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

static double slope_of_gelu(double x) {
    double share = share_of_gelu(x), slope = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
    return share + 2 * x * slope * share * (1 - share);
}

static float scale_of(uint64_t address, uint64_t step, uint64_t index) {
    return address != 0 ? ((const float *)standin_backing(address))[index * step] : 1.0f;
}

static void finish(const struct launch *launch, int work) {
    const uint64_t *s = launch->slots;
    uint32_t types = (uint32_t)s[TYPES], flags = (uint32_t)s[FLAGS], function = flags & 7;
    int type_c = types & 255, type_d = types >> 8 & 255, type_bias = types >> 16 & 255, type_aux = types >> 24;
    struct number alpha = load(s[ALPHA_AT] ? standin_backing(s[ALPHA_AT]) : (const void *)launch->wide[ALPHA], work, 0);
    struct number beta = load(s[BETA_AT] ? standin_backing(s[BETA_AT]) : (const void *)launch->wide[BETA], work, 0);
    bool multiplied = !(flags & NO_PRODUCT) && (alpha.re != 0 || alpha.im != 0);
    bool adds = s[C] != 0 && (beta.re != 0 || beta.im != 0);
    float most = 0;
    for (uint64_t b = 0; b < s[BATCH]; b++)
        for (uint64_t v = 0; v < s[VS]; v++)
            for (uint64_t u = 0; u < s[US]; u++) {
                struct number x = {0, 0};
                int64_t sum_at = (int64_t)(b * s[STEP_SUMS] + v * s[LD_SUMS] + u);
                int64_t aux_at = (int64_t)(b * s[STEP_AUX] + v * s[LD_AUX] + u);
                unsigned char *aux = s[AUX] != 0 ? standin_backing(s[AUX]) : NULL;
                if (multiplied) {
                    float scale = scale_of(s[SCALE_U], s[STEP_U], u) * scale_of(s[SCALE_V], s[STEP_V], v);
                    struct number factor = {alpha.re * scale, alpha.im * scale};
                    x = multiply(factor, load(standin_backing(s[SUMS]), flags & WHOLE_SUMS ? MATRIX_I32 : work, sum_at));
                }
                if (adds) {
                    int64_t at = (int64_t)(b * s[STEP_C] + u * s[C_U] + v * s[C_V]);
                    struct number c = multiply(beta, load(standin_backing(s[C]), type_c, at));
                    x.re += c.re, x.im += c.im;
                }
                if (s[BIAS] != 0) {
                    int64_t at = (int64_t)(b * s[STEP_BIAS] + u * s[BIAS_U] + v * s[BIAS_V]);
                    struct number bias = load(standin_backing(s[BIAS]), type_bias, at);
                    x.re += bias.re, x.im += bias.im;
                }
                if (flags & WRITES_PRE) store(aux, type_aux, aux_at, x);
                unsigned char bit = (unsigned char)(1 << aux_at % 8);
                if (flags & WRITES_MASK) aux[aux_at / 8] = (unsigned char)((aux[aux_at / 8] & ~bit) | (x.re > 0 ? bit : 0));
                if (function == RELU) x.re = x.re > 0 ? x.re : 0;
                if (function == GELU) x.re *= share_of_gelu(x.re);
                if (function == RELU_GRADIENT && !(aux[aux_at / 8] & bit)) x.re = 0;
                if (function == GELU_GRADIENT) x.re *= slope_of_gelu(load(aux, type_aux, aux_at).re);
                most = fmaxf(most, fabsf((float)x.re));
                if (flags & KEEPS) store(standin_backing(s[SUMS]), work, sum_at, x);
                if (s[SCALE_D] != 0) x.re *= scale_of(s[SCALE_D], 0, 0);
                store(standin_backing(s[D]), type_d, (int64_t)(b * s[STEP_D] + v * s[LD_D] + u), x);
            }
    float *amax = s[AMAX] != 0 ? standin_backing(s[AMAX]) : NULL;
    if (amax != NULL) *amax = fmaxf(*amax, most);
}

/* sum: from, line_step, term_step, step, lines, terms, batch, slices, to, slice_to, step_to, type, type_to. */
static void sum_operands(struct command *command, const struct launch *launch) {
    const uint64_t *s = launch->slots;
    uint64_t to = extent(s[4], 1, s[7], s[9], s[6], s[10]);
    add_flat(command, READ, s[0], extent(s[4], s[1], s[5], s[2], s[6], s[3]), type_bytes((int)(uint32_t)s[11]));
    add_flat(command, WRITE, s[8], to, type_bytes((int)(uint32_t)s[12]));
}

static void sum(void *payload) {
    const uint64_t *s = ((const struct launch *)payload)->slots;
    uint64_t each = (s[5] + s[7] - 1) / s[7];
    for (uint64_t b = 0; b < s[6]; b++)
        for (uint64_t slice = 0; slice < s[7]; slice++)
            for (uint64_t u = 0; u < s[4]; u++) {
                struct number all = {0, 0};
                for (uint64_t p = slice * each; p < (slice + 1) * each && p < s[5]; p++)
                    all.re += load(standin_backing(s[0]), (int)(uint32_t)s[11], (int64_t)(b * s[3] + u * s[1] + p * s[2])).re;
                store(standin_backing(s[8]), (int)(uint32_t)s[12], (int64_t)(b * s[10] + slice * s[9] + u), all);
            }
}

#define FINISH(name, work)                                                                                             \
    static void name##_operands(struct command *command, const struct launch *launch) {                               \
        finish_operands(command, launch, work);                                                                        \
    }                                                                                                                  \
    static void name(void *payload) { finish(payload, work); }
FINISH(finish_f32, MATRIX_F32)
FINISH(finish_i32, MATRIX_I32)
FINISH(finish_f64, MATRIX_F64)
FINISH(finish_c32, MATRIX_C32)
FINISH(finish_c64, MATRIX_C64)

#define EIGHTS 8, 8, 8, 8, 8, 8, 8
#define FINISHED(scalar) {EIGHTS, EIGHTS, EIGHTS, EIGHTS, scalar, scalar, 4, 4}
static const struct kernel kernels[] = {
    {"gather_1", 11, {EIGHTS, 8, 8, 8, 4}, gather_1_operands, gather_1, 0},
    {"gather_2", 11, {EIGHTS, 8, 8, 8, 4}, gather_2_operands, gather_2, 0},
    {"gather_4", 11, {EIGHTS, 8, 8, 8, 4}, gather_4_operands, gather_4, 0},
    {"gather_f64", 11, {EIGHTS, 8, 8, 8, 4}, gather_f64_operands, gather_f64, 0},
    {"gather_c32", 11, {EIGHTS, 8, 8, 8, 4}, gather_c32_operands, gather_c32, 0},
    {"gather_c64", 11, {EIGHTS, 8, 8, 8, 4}, gather_c64_operands, gather_c64, 0},
    {"finish_f32", 32, FINISHED(4), finish_f32_operands, finish_f32, 0},
    {"finish_i32", 32, FINISHED(4), finish_i32_operands, finish_i32, 0},
    {"finish_f64", 32, FINISHED(8), finish_f64_operands, finish_f64, 0},
    {"finish_c32", 32, FINISHED(8), finish_c32_operands, finish_c32, 0},
    {"finish_c64", 32, FINISHED(16), finish_c64_operands, finish_c64, 0},
    {"sum_f32", 13, {EIGHTS, 8, 8, 8, 8, 4, 4}, sum_operands, sum, 0},
    {"sum_f64", 13, {EIGHTS, 8, 8, 8, 8, 4, 4}, sum_operands, sum, 0},
};

const struct kernel *known_matmul_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
