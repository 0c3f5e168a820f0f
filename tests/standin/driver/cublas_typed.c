/*
 * The typed routines of levels 2 and 3, the batches and the extensions: what a call was given, not what it computes.
 *
 * A routine is a line: its name behind the letter, and its arguments. Each call is logged with the pointer mode of the
 * handle and every argument by name; what it reads and writes is known to the race checker, must be alive when it runs,
 * and must lie inside its allocation. The written elements keep what they held.
 *
 * An argument is `name:kind`, with a shape for what lies in device memory:
 *   f a flag       i, l a number of 32, 64 bits       h the address of an int in host memory, which becomes 0
 *   s a scalar of the letter's type, where the pointer mode says; e of the real type; x of what `compute` scales by
 *   r, w elements that are read, written; I, O 32-bit integers that are; A an array of addresses, one a matrix
 *   g, G, X arrays in host memory with a flag, a number, a scalar for each of `groups`
 * `r@type` takes the element type from another argument. A shape counts elements:
 *   (^n) a packed triangle    (n,inc) a vector    (rows,columns,ld) a matrix    (..,stride,batch) as many of either
 * where a count is a sum of arguments and digits, and `m/n?side` is m or, where the flag is set, n.
 */
#include "cublas.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argument {
    char name[16], kind, type_name[16], shape[64];
    int64_t value;
};

/* What is looked at when the call's turn has come. */
struct after {
    struct workspace workspace;
    struct {
        uint64_t address;
        int64_t count;
    } arrays[3];
    int array_count;
};

struct arguments {
    struct argument all[32];
    int count, letter_type;
    char text[400];
    size_t length;
    struct operand operands[MAXIMUM_OPERANDS];
    int operand_count;
    struct after after;
    bool bad;
};

/* -- What was given. -- */

static void parse(struct arguments *given, const char *signature) {
    while (*signature != 0) {
        struct argument *argument = &given->all[given->count++];
        int taken = 0;
        sscanf(signature, "%15[^:]:%c%n", argument->name, &argument->kind, &taken);
        signature += taken;
        taken = 0;
        if (*signature == '@') sscanf(signature, "@%15[a-z_]%n", argument->type_name, &taken), signature += taken;
        taken = 0;
        if (*signature == '(') sscanf(signature, "(%63[^)])%n", argument->shape, &taken), signature += taken;
        while (*signature == ' ') signature++;
    }
}

/* An argument by the name that `text` begins with; a digit is itself. */
static int64_t lookup(struct arguments *given, const char *text, size_t length) {
    if (*text >= '0' && *text <= '9') return *text - '0';
    for (int i = 0; i < given->count; i++)
        if (strlen(given->all[i].name) == length && strncmp(given->all[i].name, text, length) == 0)
            return given->all[i].value;
    standin_violation("a signature names %.*s, which is no argument", (int)length, text);
    return 0;
}

/* The count at the beginning of `*at`, which moves behind it and its comma. */
static int64_t count_at(struct arguments *given, const char **at) {
    int64_t sum = 0;
    while (**at != 0 && **at != ',') {
        size_t length = strcspn(*at, "+,/?");
        int64_t value = lookup(given, *at, length);
        *at += length;
        if (**at == '/') {
            const char *other = *at + 1;
            size_t of_other = strcspn(other, "?"), of_flag = strcspn(other + of_other + 1, "+,");
            if (lookup(given, other + of_other + 1, of_flag) != 0) value = lookup(given, other, of_other);
            *at = other + of_other + 1 + of_flag;
        }
        sum += value;
        if (**at == '+') ++*at;
    }
    if (**at == ',') ++*at;
    return sum;
}

static void say(struct arguments *given, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct arguments *given, const char *format, ...) {
    va_list values;
    va_start(values, format);
    size_t room = sizeof given->text - given->length;
    int length = vsnprintf(given->text + given->length, room, format, values);
    va_end(values);
    if (length > 0) given->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void say_number(struct arguments *given, struct number value, int type) {
    if (is_complex(type)) say(given, "%g%+gi", value.re, value.im);
    else say(given, "%g", value.re);
}

/* -- What it means. -- */

/* What products are scaled by. */
static int scale_of(struct arguments *given) {
    int compute = (int)lookup(given, "compute", 7), type = (int)lookup(given, "a_type", 6);
    if (is_complex(type)) return type;
    return compute == 70 ? R_64F : compute == 72 ? R_32I : R_32F;
}

static int type_of(struct arguments *given, const struct argument *argument) {
    if (argument->type_name[0] != 0) return (int)lookup(given, argument->type_name, strlen(argument->type_name));
    switch (argument->kind) {
    case 'I': case 'O': return R_32I;
    case 'x': case 'X': return scale_of(given);
    case 'e': return given->letter_type == C_32F ? R_32F : given->letter_type == C_64F ? R_64F : given->letter_type;
    default: return given->letter_type;
    }
}

static void touch(struct arguments *given, struct range range, enum access_kind kind) {
    if (range.width == 0 || range.rows == 0) return;
    if (range.address == 0) given->bad = true;
    else if (given->operand_count < MAXIMUM_OPERANDS)
        given->operands[given->operand_count++] = (struct operand){.range = range, .kind = kind};
}

static void take_elements(struct arguments *given, const struct argument *argument) {
    bool writes = argument->kind == 'w' || argument->kind == 'O';
    int64_t counts[5], dimensions = 0, bytes = (int64_t)type_bytes(type_of(given, argument));
    const char *at = argument->shape;
    struct range range = {.address = (uint64_t)argument->value, .rows = 1};
    if (*at == '^') {
        int64_t n = lookup(given, at + 1, strlen(at + 1));
        range.width = (size_t)(n * (n + 1) / 2 * bytes);
        return touch(given, range, writes ? WRITE : READ);
    }
    while (*at != 0 && dimensions < 5) counts[dimensions++] = count_at(given, &at);
    bool vector = dimensions % 2 == 0, batched = dimensions > 3;
    /* A vector is a matrix of one row. */
    int64_t rows = vector ? 1 : counts[0], columns = vector ? counts[0] : counts[1];
    int64_t pitch = vector ? llabs(counts[1]) : counts[2];
    if (pitch < (rows > 1 ? rows : 1)) given->bad = true;
    if (rows <= 0 || columns <= 0) return;
    if (batched) {
        int64_t stride = counts[dimensions - 2], batch = counts[dimensions - 1];
        range.width = (size_t)((stride * (batch - 1) + pitch * (columns - 1) + rows) * bytes);
    } else if (columns == 1 || pitch == rows) {
        range.width = (size_t)(rows * columns * bytes);
    } else {
        range.width = (size_t)(rows * bytes);
        range.pitch = (size_t)(pitch * bytes);
        range.rows = (size_t)columns;
    }
    touch(given, range, writes ? WRITE : READ);
}

static void take_scalar_of(struct arguments *given, const struct blas *blas, const struct argument *argument) {
    struct scalar scalar;
    int type = type_of(given, argument);
    const void *pointer = (const void *)(uintptr_t)argument->value;
    if (!take_scalar(blas, &scalar, pointer, type)) {
        given->bad = true;
    } else if (scalar.address != 0) {
        say(given, "%s", standin_address_text(pointer));
        touch(given, (struct range){scalar.address, type_bytes(type), 0, 1}, READ);
    } else {
        /* The library loads it with aligned instructions. */
        if ((uintptr_t)pointer % type_bytes(type) != 0) standin_violation("a scalar that is not aligned");
        say_number(given, load_scalar(&scalar), type);
    }
}

static void take_list(struct arguments *given, const struct argument *argument) {
    const void *list = (const void *)(uintptr_t)argument->value;
    int64_t groups = lookup(given, "groups", 6);
    int type = argument->kind == 'X' ? type_of(given, argument) : 0;
    for (int64_t i = 0; i < groups; i++) {
        say(given, i == 0 ? "[" : ",");
        if (argument->kind == 'X') say_number(given, load(list, type, i), type);
        else say(given, "%" PRId64, argument->kind == 'g' ? ((const int *)list)[i] : ((const int64_t *)list)[i]);
    }
    say(given, "]");
}

/* How many addresses an array has. */
static int64_t batch_of(struct arguments *given) {
    if (given->all[0].kind != 'g') return lookup(given, "batch", 5);
    const int64_t *sizes = (const int64_t *)(uintptr_t)lookup(given, "sizes", 5);
    int64_t sum = 0;
    for (int64_t i = 0; i < lookup(given, "groups", 6); i++) sum += sizes[i];
    return sum;
}

static void take_array(struct arguments *given, uint64_t address) {
    struct after *after = &given->after;
    int64_t count = batch_of(given);
    touch(given, (struct range){address, (size_t)count * sizeof(uint64_t), 0, 1}, READ);
    after->arrays[after->array_count].address = address;
    after->arrays[after->array_count++].count = count;
}

static void understand(struct arguments *given, const struct blas *blas) {
    for (int i = 0; i < given->count; i++) {
        const struct argument *argument = &given->all[i];
        const void *pointer = (const void *)(uintptr_t)argument->value;
        say(given, " %s=", argument->name);
        switch (argument->kind) {
        case 'f': case 'i': case 'l': say(given, "%" PRId64, argument->value); break;
        case 's': case 'e': case 'x': take_scalar_of(given, blas, argument); break;
        case 'g': case 'G': case 'X': take_list(given, argument); break;
        case 'h': say(given, "host"), *(int *)(uintptr_t)argument->value = 0; break;
        case 'A':
            say(given, "%s", standin_address_text(pointer));
            take_array(given, (uint64_t)argument->value);
            break;
        default:
            say(given, "%s", standin_address_text(pointer));
            take_elements(given, argument);
        }
    }
}

static void run_typed(void *payload) {
    const struct after *after = payload;
    scribble(after->workspace);
    for (int i = 0; i < after->array_count; i++) {
        const uint64_t *addresses = standin_backing(after->arrays[i].address);
        for (int64_t j = 0; j < after->arrays[i].count; j++)
            if (strstr(standin_address_text((const void *)(uintptr_t)addresses[j]), "mem#") == NULL)
                standin_violation("entry %d of array %d of a batch is no address of the device", (int)j, i);
    }
}

static cublasStatus_t typed(struct call *call, cublasHandle_t handle, int type, const char *signature, va_list values) {
    int refused = standin_enter(call);
    if (refused != 0) return refused;
    struct blas *blas = enter_blas(handle);
    if (blas == NULL) return standin_leave(call, CUBLAS_STATUS_NOT_INITIALIZED, "blas#?");
    struct arguments given = {.letter_type = type};
    parse(&given, signature);
    for (int i = 0; i < given.count; i++) {
        struct argument *argument = &given.all[i];
        if (argument->kind == 'f' || argument->kind == 'i') argument->value = va_arg(values, int);
        else if (argument->kind == 'l') argument->value = va_arg(values, int64_t);
        else argument->value = (int64_t)(uintptr_t)va_arg(values, void *);
    }
    understand(&given, blas);
    given.after.workspace = (struct workspace){blas->workspace, blas->workspace_bytes};
    cublasStatus_t status = given.bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    if (status == CUBLAS_STATUS_SUCCESS && standin_sticky() != CUDA_SUCCESS) status = CUBLAS_STATUS_EXECUTION_FAILED;
    if (status == CUBLAS_STATUS_SUCCESS) {
        int count = add_workspace(given.operands, given.operand_count, blas);
        status = status_of(standin_enqueue(blas->stream, given.operands, count, run_typed, &given.after,
                                           sizeof given.after));
    }
    return standin_leave(call, status, "blas#%d %s%s", blas->number, blas->device_pointers ? "device" : "host",
                         given.text);
}

/* Arguments that are numbers and addresses come in the same places whether or not the callee names them. */
#define ROUTINE(full_name, type, signature)                                                                            \
    EXPORT cublasStatus_t full_name(cublasHandle_t handle, ...) {                                                      \
        static struct call this_call = {.name = #full_name};                                                           \
        va_list values;                                                                                                \
        va_start(values, handle);                                                                                      \
        cublasStatus_t status = typed(&this_call, handle, type, signature, values);                                    \
        va_end(values);                                                                                                \
        return status;                                                                                                 \
    }
#define REAL(name, signature) ROUTINE(cublasS##name, R_32F, signature) ROUTINE(cublasD##name, R_64F, signature)
#define COMPLEX(name, signature) ROUTINE(cublasC##name, C_32F, signature) ROUTINE(cublasZ##name, C_64F, signature)
#define EACH(name, signature) REAL(name, signature) COMPLEX(name, signature)

/* -- Level 2. -- */

#define FULL_A " a:r(n,n,lda) lda:l"
#define BAND_A " a:r(k+1,n,lda) lda:l"
#define PACKED_A " ap:r(^n)"
#define X " x:r(n,incx) incx:l"
#define Y " y:r(n,incy) incy:l"
#define PRODUCT " beta:s y:w(n,incy) incy:l"

EACH(gemv_v2_64, "trans:f m:l n:l alpha:s a:r(m,n,lda) lda:l x:r(n/m?trans,incx) incx:l beta:s "
                 "y:w(m/n?trans,incy) incy:l")
EACH(gemvStridedBatched_64, "trans:f m:l n:l alpha:s a:r(m,n,lda,stride_a,batch) lda:l stride_a:l "
                            "x:r(n/m?trans,incx,stride_x,batch) incx:l stride_x:l beta:s "
                            "y:w(m/n?trans,incy,stride_y,batch) incy:l stride_y:l batch:l")
EACH(gemvBatched_64, "trans:f m:l n:l alpha:s a:A lda:l x:A incx:l beta:s y:A incy:l batch:l")
EACH(gbmv_v2_64, "trans:f m:l n:l kl:l ku:l alpha:s a:r(kl+ku+1,n,lda) lda:l x:r(n/m?trans,incx) incx:l beta:s "
                 "y:w(m/n?trans,incy) incy:l")

#define GER "m:l n:l alpha:s x:r(m,incx) incx:l y:r(n,incy) incy:l a:w(m,n,lda) lda:l"
REAL(ger_v2_64, GER)
COMPLEX(geru_v2_64, GER)
COMPLEX(gerc_v2_64, GER)

EACH(symv_v2_64, "uplo:f n:l alpha:s" FULL_A X PRODUCT)
COMPLEX(hemv_v2_64, "uplo:f n:l alpha:s" FULL_A X PRODUCT)
REAL(sbmv_v2_64, "uplo:f n:l k:l alpha:s" BAND_A X PRODUCT)
COMPLEX(hbmv_v2_64, "uplo:f n:l k:l alpha:s" BAND_A X PRODUCT)
REAL(spmv_v2_64, "uplo:f n:l alpha:s" PACKED_A X PRODUCT)
COMPLEX(hpmv_v2_64, "uplo:f n:l alpha:s" PACKED_A X PRODUCT)

EACH(syr_v2_64, "uplo:f n:l alpha:s" X " a:w(n,n,lda) lda:l")
COMPLEX(her_v2_64, "uplo:f n:l alpha:e" X " a:w(n,n,lda) lda:l")
REAL(spr_v2_64, "uplo:f n:l alpha:s" X " ap:w(^n)")
COMPLEX(hpr_v2_64, "uplo:f n:l alpha:e" X " ap:w(^n)")
EACH(syr2_v2_64, "uplo:f n:l alpha:s" X Y " a:w(n,n,lda) lda:l")
COMPLEX(her2_v2_64, "uplo:f n:l alpha:s" X Y " a:w(n,n,lda) lda:l")
REAL(spr2_v2_64, "uplo:f n:l alpha:s" X Y " ap:w(^n)")
COMPLEX(hpr2_v2_64, "uplo:f n:l alpha:s" X Y " ap:w(^n)")

#define TRIANGULAR(product, system, sizes, matrix)                                                                     \
    EACH(product, "uplo:f trans:f diag:f " sizes matrix " x:w(n,incx) incx:l")                                         \
    EACH(system, "uplo:f trans:f diag:f " sizes matrix " x:w(n,incx) incx:l")
TRIANGULAR(trmv_v2_64, trsv_v2_64, "n:l", FULL_A)
TRIANGULAR(tbmv_v2_64, tbsv_v2_64, "n:l k:l", BAND_A)
TRIANGULAR(tpmv_v2_64, tpsv_v2_64, "n:l", PACKED_A)

/* -- Level 3. -- */

#define OF_A "(m/k?trans_a,k/m?trans_a,lda"
#define OF_B "(k/n?trans_b,n/k?trans_b,ldb"
#define SIZES "trans_a:f trans_b:f m:l n:l k:l "

EACH(gemm_v2_64, SIZES "alpha:s a:r" OF_A ") lda:l b:r" OF_B ") ldb:l beta:s c:w(m,n,ldc) ldc:l")
EACH(gemmBatched_64, SIZES "alpha:s a:A lda:l b:A ldb:l beta:s c:A ldc:l batch:l")
EACH(gemmStridedBatched_64, SIZES "alpha:s a:r" OF_A ",stride_a,batch) lda:l stride_a:l b:r" OF_B ",stride_b,batch) "
                            "ldb:l stride_b:l beta:s c:w(m,n,ldc,stride_c,batch) ldc:l stride_c:l batch:l")
ROUTINE(cublasGemmStridedBatchedEx_64, 0,
        SIZES "alpha:x a:r@a_type" OF_A ",stride_a,batch) a_type:f lda:l stride_a:l b:r@b_type" OF_B ",stride_b,batch) "
        "b_type:f ldb:l stride_b:l beta:x c:w@c_type(m,n,ldc,stride_c,batch) c_type:f ldc:l stride_c:l batch:l "
        "compute:f algo:f")
ROUTINE(cublasGemmBatchedEx_64, 0,
        SIZES "alpha:x a:A a_type:f lda:l b:A b_type:f ldb:l beta:x c:A c_type:f ldc:l batch:l compute:f algo:f")
ROUTINE(cublasGemmGroupedBatchedEx_64, 0,
        "trans_a:g trans_b:g m:G n:G k:G alpha:X a:A a_type:f lda:G b:A b_type:f ldb:G beta:X c:A c_type:f ldc:G "
        "groups:l sizes:G compute:f")

#define SYMM "side:f uplo:f m:l n:l alpha:s a:r(m/n?side,m/n?side,lda) lda:l b:r(m,n,ldb) ldb:l beta:s c:w(m,n,ldc) " \
             "ldc:l"
EACH(symm_v2_64, SYMM)
COMPLEX(hemm_v2_64, SYMM)

#define RANK(alpha, b, beta)                                                                                           \
    "uplo:f trans:f n:l k:l alpha:" alpha " a:r(n/k?trans,k/n?trans,lda) lda:l" b " beta:" beta " c:w(n,n,ldc) ldc:l"
#define RANK_B " b:r(n/k?trans,k/n?trans,ldb) ldb:l"
EACH(syrk_v2_64, RANK("s", "", "s"))
COMPLEX(herk_v2_64, RANK("e", "", "e"))
EACH(syr2k_v2_64, RANK("s", RANK_B, "s"))
COMPLEX(her2k_v2_64, RANK("s", RANK_B, "e"))
EACH(syrkx_64, RANK("s", RANK_B, "s"))
COMPLEX(herkx_64, RANK("s", RANK_B, "e"))

#define TRIANGLE "side:f uplo:f trans:f diag:f m:l n:l alpha:s "
EACH(trmm_v2_64, TRIANGLE "a:r(m/n?side,m/n?side,lda) lda:l b:r(m,n,ldb) ldb:l c:w(m,n,ldc) ldc:l")
EACH(trsm_v2_64, TRIANGLE "a:r(m/n?side,m/n?side,lda) lda:l b:w(m,n,ldb) ldb:l")
EACH(trsmBatched_64, TRIANGLE "a:A lda:l b:A ldb:l batch:l")

/* -- Extensions. -- */

EACH(geam_64, "trans_a:f trans_b:f m:l n:l alpha:s a:r(m/n?trans_a,n/m?trans_a,lda) lda:l beta:s "
              "b:r(m/n?trans_b,n/m?trans_b,ldb) ldb:l c:w(m,n,ldc) ldc:l")
EACH(dgmm_64, "side:f m:l n:l a:r(m,n,lda) lda:l x:r(m/n?side,incx) incx:l c:w(m,n,ldc) ldc:l")
