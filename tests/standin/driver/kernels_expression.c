/* The kernels that the library writes as text (src/libraries/expressions/ptx, src/libraries/reductions/ptx): they run by it. */
/*
 * The kernels that the library writes as text (src/libraries/expressions/ptx, src/libraries/reductions/ptx): run by reading that
 * text, one thread after the other; at a shuffle a thread waits for its warp, at a barrier for its block. Only the instructions that are written there are
 * known; another one is a violation. What PTX leaves undefined is one too: a division by zero, a vector that is not aligned, a
 * shuffle that a lane of the warp does not reach.
 */
#include "simulator.h"

#include <stdio.h>
#include <string.h>

enum opcode {
    NOTHING_KNOWN, MOV, LD_PARAM, LD, ST, ADD, SUB, MUL, MAD, FMA, DIV, REM, MIN, MAX, AND, OR, XOR, NOT, NEG, ABS, SHL, SHR, SETP,
    SELP, CVT, SQRT, BRA, CALL, RET, BREV, SHFL, RED, BAR,
};
enum comparison { EQ, NE, LT, LE, GT, GE, EQU, NEU, GEU, ISNAN, ISNUM };
enum rounding { NONE, RNI, RMI, RPI, RZI };
enum { MAXIMUM_SOURCES = 5, MAXIMUM_GROUP = 4, MAXIMUM_SHARED = 8 };

struct type {
    char letter; /* b, u, s, f */
    unsigned char bits;
};

struct source {
    bool is_register;
    int reg;
    uint64_t value;
};

struct instruction {
    enum opcode opcode;
    enum comparison comparison;
    enum rounding rounding;
    bool wide, joined, is_shared, is_index; /* mul.wide; setp.xx.and; ld.shared; shfl.idx */
    struct type to, from;
    int guard; /* a predicate, or -1 */
    bool guard_not;
    int targets[MAXIMUM_GROUP], target_count;
    struct source sources[MAXIMUM_SOURCES];
    int source_count;
    int base; /* the register of an address, or -1 */
    int64_t offset;
    int jump;
    char name[32]; /* a label, or a function */
};

struct routine {
    char name[32];
    struct instruction *code;
    int length, registers, result, arguments[2];
    int bases[128]; /* where the registers of each class begin, by its letter */
    struct { char name[32]; uint64_t at; } shared[MAXIMUM_SHARED];
    int shared_count;
    uint64_t shared_bytes;
};

enum { MAXIMUM_ROUTINES = 24, MAXIMUM_LABELS = 4096 };

struct program {
    struct routine routines[MAXIMUM_ROUTINES];
    int count;
};

struct place {
    uint32_t block, blocks, thread, threads;
};

static const char *const NAMES[] = {
    [MOV] = "mov", [ADD] = "add", [SUB] = "sub", [MUL] = "mul", [MAD] = "mad", [FMA] = "fma", [DIV] = "div", [REM] = "rem",
    [MIN] = "min", [MAX] = "max", [AND] = "and", [OR] = "or", [XOR] = "xor", [NOT] = "not", [NEG] = "neg", [ABS] = "abs",
    [SHL] = "shl", [SHR] = "shr", [SETP] = "setp", [SELP] = "selp", [CVT] = "cvt", [SQRT] = "sqrt", [BRA] = "bra",
    [CALL] = "call", [RET] = "ret", [LD] = "ld", [ST] = "st", [BREV] = "brev", [SHFL] = "shfl", [RED] = "red",
    [BAR] = "bar",
};
static const char *const COMPARISONS[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "geu", "nan", "num"};

static int register_of(const struct routine *routine, const char *text) {
    if (strncmp(text, "%result", 7) == 0) return routine->result;
    if (strncmp(text, "%x", 2) == 0) return routine->arguments[0];
    if (strncmp(text, "%y", 2) == 0) return routine->arguments[1];
    return routine->bases[(int)text[1]] + atoi(text + 2);
}

static struct source source_of(const struct routine *routine, const char *text) {
    static const char *const special[] = {"%ctaid", "%nctaid", "%tid", "%ntid"};
    for (int i = 0; i < 4; i++)
        if (strncmp(text, special[i], strlen(special[i])) == 0) return (struct source){.is_register = true, .reg = -1 - i};
    if (*text == '%') return (struct source){.is_register = true, .reg = register_of(routine, text)};
    for (int i = 0; i < routine->shared_count; i++)
        if (strcmp(routine->shared[i].name, text) == 0) return (struct source){.value = routine->shared[i].at};
    uint64_t value;
    if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd')) value = strtoull(text + 2, NULL, 16);
    else value = *text == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
    return (struct source){.value = value};
}

/* `add.rn.f32` in its parts. */
static void decode(struct instruction *ins, char *opcode) {
    char *save, *part = strtok_r(opcode, ".", &save);
    for (size_t i = 1; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i] != NULL && strcmp(part, NAMES[i]) == 0) ins->opcode = (enum opcode)i;
    while ((part = strtok_r(NULL, ".", &save)) != NULL) {
        size_t length = strlen(part);
        if (strchr("busf", part[0]) != NULL && length > 1 && strspn(part + 1, "0123456789") == length - 1) {
            ins->from = (struct type){part[0], (unsigned char)atoi(part + 1)};
            if (ins->to.bits == 0) ins->to = ins->from;
        } else if (strcmp(part, "wide") == 0) ins->wide = true;
        else if (strcmp(part, "and") == 0) ins->joined = true;
        else if (strcmp(part, "rni") == 0) ins->rounding = RNI;
        else if (strcmp(part, "rmi") == 0) ins->rounding = RMI;
        else if (strcmp(part, "rpi") == 0) ins->rounding = RPI;
        else if (strcmp(part, "rzi") == 0) ins->rounding = RZI;
        else if (strcmp(part, "param") == 0) ins->opcode = LD_PARAM;
        else if (strcmp(part, "pred") == 0) ins->from = ins->to = (struct type){'b', 8};
        else if (strcmp(part, "shared") == 0) ins->is_shared = true;
        else if (strcmp(part, "idx") == 0) ins->is_index = true;
        else
            for (int i = 0; ins->opcode == SETP && i < 11; i++)
                if (strcmp(part, COMPARISONS[i]) == 0) ins->comparison = (enum comparison)i;
    }
}

/* The parts of a list between commas, outside of brackets. */
static int split(char *text, char **parts, int most) {
    int count = 0, depth = 0;
    char *start = text;
    for (char *at = text;; at++) {
        if (*at == '{' || *at == '(' || *at == '[') depth++;
        if (*at == '}' || *at == ')' || *at == ']') depth--;
        bool end = *at == 0;
        if (end || (*at == ',' && depth == 0)) {
            *at = 0;
            while (*start == ' ') start++;
            if (*start != 0 && count < most) parts[count++] = start;
            start = at + 1;
        }
        if (end) return count;
    }
}

static int group_of(const struct routine *routine, char *text, int *registers) {
    if (*text == '{' || *text == '(') {
        char *parts[MAXIMUM_GROUP];
        text[strlen(text) - 1] = 0;
        int count = split(text + 1, parts, MAXIMUM_GROUP);
        for (int i = 0; i < count; i++) registers[i] = register_of(routine, parts[i]);
        return count;
    }
    registers[0] = register_of(routine, text);
    return 1;
}

static void parse_line(const struct routine *routine, struct instruction *ins, char *line) {
    *ins = (struct instruction){.guard = -1, .base = -1, .jump = -1};
    if (*line == '@') {
        ins->guard_not = line[1] == '!';
        ins->guard = register_of(routine, line + 1 + ins->guard_not);
        line = strchr(line, ' ') + 1;
    }
    char *rest = strchr(line, ' ');
    if (rest != NULL) *rest++ = 0;
    decode(ins, line);
    char *parts[MAXIMUM_SOURCES];
    int count = rest == NULL ? 0 : split(rest, parts, MAXIMUM_SOURCES), first = 0;
    if (ins->opcode == BRA) {
        strncpy(ins->name, parts[0], sizeof ins->name - 1);
        return;
    }
    if (ins->opcode == LD || ins->opcode == LD_PARAM || ins->opcode == ST || ins->opcode == RED) {
        bool writes = ins->opcode == ST || ins->opcode == RED;
        char *memory = parts[writes ? 0 : 1], *plus = strchr(memory, '+');
        ins->target_count = group_of(routine, parts[writes ? 1 : 0], ins->targets);
        ins->offset = plus != NULL ? strtoll(plus + 1, NULL, 0) : 0;
        if (memory[1] == '%') ins->base = register_of(routine, memory + 1);
        return;
    }
    if (ins->opcode == CALL) {
        ins->target_count = group_of(routine, parts[0], ins->targets);
        strncpy(ins->name, parts[1], sizeof ins->name - 1);
        int arguments[MAXIMUM_GROUP];
        ins->source_count = group_of(routine, parts[2], arguments);
        for (int i = 0; i < ins->source_count; i++)
            ins->sources[i] = (struct source){.is_register = true, .reg = arguments[i]};
        return;
    }
    if (ins->opcode == BAR) return;
    if (count > 0) ins->targets[ins->target_count++] = register_of(routine, parts[first++]);
    for (; first < count; first++) ins->sources[ins->source_count++] = source_of(routine, parts[first]);
}

/* Reads a module. The text is changed. */
static struct program *parse(char *text) {
    struct program *program = calloc(1, sizeof *program);
    static __thread struct { char name[32]; int at; } labels[MAXIMUM_LABELS];
    int label_count = 0, room = 0;
    struct routine *routine = NULL;
    char *save;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        while (*line == ' ' || *line == '\t') line++;
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == ';') line[--length] = 0;
        bool is_function = strncmp(line, ".func ", 6) == 0;
        if ((is_function || strncmp(line, ".visible ", 9) == 0) && program->count < MAXIMUM_ROUTINES) {
            routine = &program->routines[program->count++];
            label_count = 0, room = 0;
            const char *name = is_function ? strchr(line, ')') + 2 : strstr(line, ".entry ") + 7;
            strncpy(routine->name, name, strcspn(name, "("));
            routine->registers = 3, routine->result = 0, routine->arguments[0] = 1, routine->arguments[1] = 2;
        } else if (routine == NULL || *line == '{' || length == 0 || *line == '/') {
            continue;
        } else if (*line == '}') {
            for (int i = 0; i < routine->length; i++)
                for (int k = 0; routine->code[i].opcode == BRA && k < label_count; k++)
                    if (strcmp(labels[k].name, routine->code[i].name) == 0) routine->code[i].jump = labels[k].at;
            routine = NULL;
        } else if (strncmp(line, ".shared", 7) == 0) {
            /* `.shared .align 8 .b8 name[1024]` */
            char *name = strstr(line, ".b8 ") + 4, *bracket = strchr(name, '[');
            *bracket = 0;
            if (routine->shared_count == MAXIMUM_SHARED) continue;
            strncpy(routine->shared[routine->shared_count].name, name, sizeof routine->shared->name - 1);
            routine->shared[routine->shared_count++].at = routine->shared_bytes;
            routine->shared_bytes += (strtoull(bracket + 1, NULL, 0) + 7) / 8 * 8;
        } else if (strncmp(line, ".reg", 4) == 0) {
            const char *percent = strchr(line, '%');
            routine->bases[(int)percent[1]] = routine->registers;
            routine->registers += atoi(strchr(percent, '<') + 1);
        } else if (line[length - 1] == ':') {
            line[length - 1] = 0;
            strncpy(labels[label_count].name, line, sizeof labels->name - 1);
            labels[label_count].name[sizeof labels->name - 1] = 0;
            labels[label_count].at = routine->length;
            if (label_count + 1 < MAXIMUM_LABELS) label_count++;
        } else {
            if (routine->length == room) {
                room = room * 2 + 64;
                routine->code = realloc(routine->code, (size_t)room * sizeof *routine->code);
            }
            char copy[64];
            strncpy(copy, line, sizeof copy - 1), copy[sizeof copy - 1] = 0;
            parse_line(routine, &routine->code[routine->length], line);
            if (routine->code[routine->length++].opcode == NOTHING_KNOWN) violation("an unknown instruction: %s", copy);
        }
    }
    return program;
}

static void release(struct program *program) {
    for (int i = 0; i < program->count; i++) free(program->routines[i].code);
    free(program);
}

static uint64_t masked(unsigned bits, uint64_t x) { return bits >= 64 ? x : x & ((1ull << bits) - 1); }
static int64_t extended(unsigned bits, uint64_t x) { return (int64_t)(x << (64 - bits)) >> (64 - bits); }
static float single_of(uint64_t x) {
    uint32_t word = (uint32_t)x;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}
static double double_of(uint64_t x) {
    double value;
    memcpy(&value, &x, sizeof value);
    return value;
}
static uint64_t of_single(float x) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}
static uint64_t of_double(double x) {
    uint64_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static double half_value(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023), value;
    if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
    else value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

/* Rounds to nearest even. */
static uint64_t half_bits(float x) {
    uint64_t sign = signbit(x) ? 0x8000 : 0;
    double size = fabs((double)x);
    if (isnan(x)) return 0x7e01;
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14) return sign | (uint64_t)nearbyint(size * 0x1p24);
    int exponent;
    frexp(size, &exponent); /* size is in [2^(exponent - 1), 2^exponent) */
    return sign | (((uint64_t)(exponent + 14 - 1) << 10) + (uint64_t)nearbyint(ldexp(size, 11 - exponent)));
}

#define FLOATS(name, real, sqrt_of, fma_of, abs_of)                                                                    \
    static real name(const struct instruction *ins, real a, real b, real c) {                                          \
        switch (ins->opcode) {                                                                                         \
        case ADD: return a + b;                                                                                        \
        case SUB: return a - b;                                                                                        \
        case MUL: return a * b;                                                                                        \
        case DIV: return a / b;                                                                                        \
        case FMA: return fma_of(a, b, c);                                                                              \
        case SQRT: return sqrt_of(a);                                                                                  \
        case NEG: return -a;                                                                                           \
        case ABS: return abs_of(a);                                                                                    \
        case MIN: return isnan(a) ? b : isnan(b) ? a : a < b ? a : b;                                                  \
        case MAX: return isnan(a) ? b : isnan(b) ? a : a > b ? a : b;                                                  \
        default: violation("an operation %d of floats", ins->opcode); return a;                                        \
        }                                                                                                              \
    }
FLOATS(singles, float, sqrtf, fmaf, fabsf)
FLOATS(doubles, double, sqrt, fma, fabs)

static uint64_t integers(const struct instruction *ins, uint64_t a, uint64_t b, uint64_t c) {
    unsigned bits = ins->from.bits;
    bool is_signed = ins->from.letter == 's';
    __int128 x = is_signed ? (__int128)extended(bits, a) : (__int128)masked(bits, a);
    __int128 y = is_signed ? (__int128)extended(bits, b) : (__int128)masked(bits, b), z = 0;
    unsigned distance = masked(32, b) < bits ? (unsigned)masked(32, b) : bits;
    switch (ins->opcode) {
    case ADD: z = x + y; break;
    case SUB: z = x - y; break;
    case MUL: return ins->wide ? masked(32, a) * masked(32, b) : masked(bits, (uint64_t)x * (uint64_t)y);
    case MAD: return masked(bits, (uint64_t)x * (uint64_t)y + c);
    case DIV:
    case REM:
        if (y == 0 || (is_signed && y == -1 && x == -((__int128)1 << (bits - 1)))) {
            violation("a quotient that PTX does not define");
            return 0;
        }
        z = ins->opcode == DIV ? x / y : x % y;
        break;
    case MIN: z = x < y ? x : y; break;
    case MAX: z = x > y ? x : y; break;
    case AND: z = x & y; break;
    case OR: z = x | y; break;
    case XOR: z = x ^ y; break;
    case NOT: z = ~x; break;
    case NEG: z = -x; break;
    case SHL: return distance >= 64 ? 0 : masked(bits, (uint64_t)x << distance);
    case SHR: z = x >> (distance > 100 ? 100 : distance); break;
    default: violation("an operation %d of integers", ins->opcode);
    }
    return masked(bits, (uint64_t)z);
}

static bool compared(const struct instruction *ins, uint64_t a, uint64_t b) {
    struct type type = ins->from;
    int order; /* -1, 0, 1; 2: none */
    if (type.letter == 'f') {
        double x = type.bits == 32 ? (double)single_of(a) : double_of(a), y = type.bits == 32 ? (double)single_of(b) : double_of(b);
        order = isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y;
    } else if (type.letter == 's') {
        int64_t x = extended(type.bits, a), y = extended(type.bits, b);
        order = x < y ? -1 : x > y;
    } else {
        uint64_t x = masked(type.bits, a), y = masked(type.bits, b);
        order = x < y ? -1 : x > y;
    }
    switch (ins->comparison) {
    case EQ: return order == 0;
    case NE: return order == -1 || order == 1;
    case LT: return order == -1;
    case LE: return order == -1 || order == 0;
    case GT: return order == 1;
    case GE: return order == 1 || order == 0;
    case EQU: return order == 0 || order == 2;
    case NEU: return order != 0;
    case GEU: return order != -1;
    case ISNUM: return order != 2;
    default: return order == 2;
    }
}

static uint64_t converted(const struct instruction *ins, uint64_t a) {
    struct type to = ins->to, from = ins->from;
    if (from.letter == 'f') {
        double x = from.bits == 16 ? half_value(a) : from.bits == 32 ? (double)single_of(a) : double_of(a);
        if (to.letter == 'f' && to.bits == from.bits) {
            double rounded = ins->rounding == RMI ? floor(x) : ins->rounding == RPI ? ceil(x) : ins->rounding == RZI ? trunc(x) : nearbyint(x);
            return to.bits == 32 ? of_single((float)rounded) : of_double(rounded);
        }
        if (to.letter == 'f') return to.bits == 16 ? half_bits((float)x) : to.bits == 32 ? of_single((float)x) : of_double(x);
        if (isnan(x)) return masked(to.bits, 1ull << (to.bits - 1));
        bool is_signed = to.letter == 's';
        double low = is_signed ? -ldexp(1, to.bits - 1) : 0, high = ldexp(1, to.bits - is_signed);
        if (x <= low) return is_signed ? masked(to.bits, 1ull << (to.bits - 1)) : 0;
        if (x >= high) return is_signed ? (1ull << (to.bits - 1)) - 1 : masked(to.bits, ~0ull);
        return is_signed ? masked(to.bits, (uint64_t)(int64_t)x) : (uint64_t)x;
    }
    bool is_signed = from.letter == 's';
    int64_t x = extended(from.bits, a);
    uint64_t y = masked(from.bits, a);
    if (to.letter == 'f' && to.bits == 32) return of_single(is_signed ? (float)x : (float)y);
    if (to.letter == 'f') return of_double(is_signed ? (double)x : (double)y);
    /* A narrow result is extended into its register of 32 bits. */
    return masked(to.bits < 32 ? 32 : to.bits, is_signed ? (uint64_t)x : y);
}

struct thread {
    const struct program *program;
    const unsigned char *arguments;
    struct place place;
    unsigned char *shared; /* of its block */
    uint64_t shared_bytes;
};

static uint64_t run(const struct thread *thread, const struct routine *routine, const uint64_t *given);

static void transfer(const struct thread *thread, const struct instruction *ins, uint64_t *registers) {
    size_t bytes = ins->from.bits / 8;
    unsigned char *memory;
    if (ins->opcode == LD_PARAM) {
        memory = (unsigned char *)thread->arguments + ins->offset;
    } else if (ins->is_shared) {
        uint64_t at = registers[ins->base] + (uint64_t)ins->offset;
        if (at % bytes != 0 || at + bytes > thread->shared_bytes || ins->target_count != 1) {
            violation("%zu bytes at %llu of %llu in shared memory", bytes, (unsigned long long)at, (unsigned long long)thread->shared_bytes);
            return;
        }
        memory = thread->shared + at;
    } else {
        uint64_t address = registers[ins->base] + (uint64_t)ins->offset;
        size_t all = bytes * (size_t)ins->target_count;
        if (address % all != 0) violation("a group of %zu bytes at %s", all, address_text(address));
        if (!is_device_address(address) || !is_device_address(address + all - 1)) {
            violation("a kernel uses %s", address_text(address));
            return;
        }
        memory = standin_backing(address);
    }
    for (int i = 0; i < ins->target_count; i++, memory += bytes) {
        if (ins->opcode == RED) { /* the maximum */
            uint64_t held;
            memcpy(&held, memory, sizeof held);
            if (bytes != sizeof held) violation("an atomic operation on %zu bytes", bytes);
            else if (registers[ins->targets[i]] > held) memcpy(memory, &registers[ins->targets[i]], bytes);
            continue;
        }
        if (ins->opcode == ST) {
            memcpy(memory, &registers[ins->targets[i]], bytes);
            continue;
        }
        uint64_t value = 0;
        memcpy(&value, memory, bytes);
        bool is_narrow = ins->from.letter == 's' && ins->from.bits < 32;
        registers[ins->targets[i]] = is_narrow ? masked(32, (uint64_t)extended(ins->from.bits, value)) : value;
    }
}

static uint64_t value_of(const struct thread *thread, const struct source *source, const uint64_t *registers) {
    if (!source->is_register) return source->value;
    switch (source->reg) {
    case -1: return thread->place.block;
    case -2: return thread->place.blocks;
    case -3: return thread->place.thread;
    case -4: return thread->place.threads;
    default: return registers[source->reg];
    }
}

static void call(const struct thread *thread, const struct instruction *ins, uint64_t *registers) {
    uint64_t given[2] = {0, 0};
    for (int i = 0; i < ins->source_count && i < 2; i++) given[i] = value_of(thread, &ins->sources[i], registers);
    for (int i = 0; i < thread->program->count; i++)
        if (strcmp(thread->program->routines[i].name, ins->name) == 0) {
            registers[ins->targets[0]] = run(thread, &thread->program->routines[i], given);
            return;
        }
    violation("a call of %s, which the module has not", ins->name);
}

static uint64_t reversed(uint64_t x) {
    uint64_t y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
    return y;
}

/* A routine that is being run: where it is, and what its registers hold. */
struct course {
    const struct routine *routine;
    uint64_t *registers;
    int at;
    bool waits, meets; /* at a shuffle; at a barrier */
};

static struct course begin(const struct routine *routine) {
    return (struct course){.routine = routine, .registers = calloc((size_t)routine->registers, sizeof(uint64_t))};
}

/* Runs until the end, or until a shuffle or a barrier. */
static void go_on(const struct thread *thread, struct course *course) {
    uint64_t *registers = course->registers;
    course->waits = course->meets = false;
    for (; course->at < course->routine->length; course->at++) {
        const struct instruction *ins = &course->routine->code[course->at];
        if (ins->guard >= 0 && (registers[ins->guard] != 0) == ins->guard_not) continue;
        uint64_t a = 0, b = 0, c = 0;
        if (ins->source_count > 0) a = value_of(thread, &ins->sources[0], registers);
        if (ins->source_count > 1) b = value_of(thread, &ins->sources[1], registers);
        if (ins->source_count > 2) c = value_of(thread, &ins->sources[2], registers);
        uint64_t result;
        switch (ins->opcode) {
        case RET: course->at = course->routine->length; continue;
        case BRA: course->at = ins->jump - 1; continue;
        case CALL: call(thread, ins, registers); continue;
        case LD: case LD_PARAM: case ST: case RED: transfer(thread, ins, registers); continue;
        case SHFL: course->waits = true; return;
        case BAR: course->meets = true; return;
        case MOV: result = masked(ins->from.bits, a); break;
        case SETP: result = compared(ins, a, b) && (!ins->joined || c != 0); break;
        case SELP: result = masked(ins->from.bits, c != 0 ? a : b); break;
        case CVT: result = converted(ins, a); break;
        case BREV: result = reversed(a); break;
        default:
            if (ins->from.letter == 'f' && ins->from.bits == 32)
                result = of_single(singles(ins, single_of(a), single_of(b), single_of(c)));
            else if (ins->from.letter == 'f') result = of_double(doubles(ins, double_of(a), double_of(b), double_of(c)));
            else result = integers(ins, a, b, c);
        }
        registers[ins->targets[0]] = result;
    }
}

static uint64_t run(const struct thread *thread, const struct routine *routine, const uint64_t *given) {
    struct course course = begin(routine);
    for (int i = 0; given != NULL && i < 2; i++) course.registers[routine->arguments[i]] = given[i];
    go_on(thread, &course);
    if (course.waits || course.meets) violation("a shuffle or a barrier in a function");
    uint64_t result = course.registers[routine->result];
    free(course.registers);
    return result;
}

enum { WARP = 32 };

/*
 * All lanes wait at a shuffle: each gets the value of the lane so far up in its segment, or its own beyond the last one; or that of
 * the lane of a number.
 */
static bool shuffle(const struct thread *threads, struct course *lanes) {
    for (int i = 1; i < WARP; i++)
        if (!lanes[i].waits || lanes[i].at != lanes[0].at) {
            violation("a shuffle that lane %d of a warp does not reach with the others", i);
            return false;
        }
    const struct instruction *ins = &lanes[0].routine->code[lanes[0].at];
    uint64_t given[WARP], all = value_of(threads, &ins->sources[3], lanes[0].registers);
    uint64_t clamp = value_of(threads, &ins->sources[2], lanes[0].registers), segment = clamp >> 8 & 31;
    if (all != 0xffffffff) violation("a shuffle of some lanes: %llx", (unsigned long long)all);
    for (int i = 0; i < WARP; i++) given[i] = masked(32, value_of(&threads[i], &ins->sources[0], lanes[i].registers));
    for (int i = 0; i < WARP; i++) {
        uint64_t own = (uint64_t)i, b = value_of(&threads[i], &ins->sources[1], lanes[i].registers);
        uint64_t last = (own & segment) | (clamp & 31 & ~segment);
        uint64_t from = ins->is_index ? (own & segment) | (b & 31 & ~segment) : own + b;
        lanes[i].registers[ins->targets[0]] = given[from <= last ? from : own];
        lanes[i].at++;
    }
    return true;
}

/* Runs a warp until its end, or until a barrier; whether it is there. */
static bool run_warp(const struct thread *threads, struct course *lanes, int count) {
    bool meets = false;
    for (bool waits = true; waits;) {
        waits = meets = false;
        for (int i = 0; i < count; i++) {
            go_on(&threads[i], &lanes[i]);
            waits |= lanes[i].waits, meets |= lanes[i].meets;
        }
        if (waits && count < WARP) violation("a shuffle in a warp of %d threads", count);
        waits = waits && count == WARP && shuffle(threads, lanes);
    }
    return meets;
}

static void run_block(const struct program *program, const struct launch *launch, uint32_t block) {
    const struct routine *entry = &program->routines[program->count - 1];
    int width = (int)launch->block[0];
    struct thread *threads = calloc((size_t)width, sizeof *threads);
    struct course *courses = calloc((size_t)width, sizeof *courses);
    unsigned char *shared = calloc(1, entry->shared_bytes + 1);
    for (int i = 0; i < width; i++) {
        struct place place = {block, launch->grid[0], (uint32_t)i, (uint32_t)width};
        threads[i] = (struct thread){program, launch->bulk, place, shared, entry->shared_bytes};
        courses[i] = begin(entry);
    }
    for (bool meets = true; meets;) {
        meets = false;
        for (int first = 0; first < width; first += WARP)
            meets |= run_warp(threads + first, courses + first, width - first < WARP ? width - first : WARP);
        for (int i = 0; meets && i < width; i++) {
            if (!courses[i].meets || courses[i].at != courses[0].at) {
                violation("a barrier that thread %d of a block does not reach with the others", i);
                meets = false;
            }
        }
        for (int i = 0; meets && i < width; i++) courses[i].at++;
    }
    for (int i = 0; i < width; i++) free(courses[i].registers);
    free(courses), free(threads), free(shared);
}

static void expression(void *payload) {
    const struct launch *launch = payload;
    char *text = strdup(launch->module->text);
    struct program *program = parse(text);
    free(text);
    for (uint32_t block = 0; program->count > 0 && block < launch->grid[0]; block++) run_block(program, launch, block);
    release(program);
}

/* The text says which words of the arguments are addresses: `// written 1 to 2, read 2 to 4`. */
static void expression_operands(struct command *command, const struct launch *launch) {
    const char *said = strstr(launch->module->text, "// written ");
    int written = 0, middle = 0, end = 0, same = 0;
    if (said == NULL || sscanf(said, "// written %d to %d, read %d to %d", &written, &middle, &same, &end) != 4) {
        violation("a kernel that does not say its operands");
        return;
    }
    const uint64_t *words = (const uint64_t *)(const void *)launch->bulk;
    for (int i = written; i < end && command->operand_count < MAXIMUM_OPERANDS; i++)
        add_operand(command, i < middle ? WRITE : READ, flat(words[i], 1));
}

/* Its one parameter has as many bytes as the text says. */
static const struct kernel kernel = {"expression", 1, {0}, expression_operands, NULL, 0, true};

const struct kernel *known_expression_kernel(const char *name) { return strcmp(name, kernel.name) == 0 ? &kernel : NULL; }
