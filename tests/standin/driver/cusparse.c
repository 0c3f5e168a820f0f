/* libcusparse's stand-in: products by the definition, in double precision, of matrices in any format.
 *
 * It holds what the real one wants and gives no more than it promises: a handle is one thread's at a time; descriptors are read
 * at the call and hold addresses alone; a workspace is garbage afterwards; where `beta` is zero the output is not read. What
 * it never does is look at indices before the device has come to them. */
#include "cublas.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 3, EXEC_FAILED = 6, NOT_SUPPORTED = 10 };
enum { CSR = 1, CSC = 2, COO = 3, BSR = 6, ROOM = 1024 };

struct handle {
    struct handle *next;
    int number, generation, device, inside;
    bool destroyed, device_pointers;
    CUstream stream;
};

/* A matrix or a vector of any kind; what it has not is zero. */
struct thing {
    struct thing *next;
    bool destroyed;
    int format, type, index_bytes, by_rows;
    int64_t rows, cols, stored, block, ld;
    uint64_t first, second, values;
    /* The buffer with which a product was looked at before. */
    uint64_t looked;
};

static struct handle *handles;
static struct thing *things;
static int count;

static struct handle *enter_handle(void *raw) {
    struct handle *handle = handles;
    while (handle != NULL && (handle != raw || handle->generation != standin_generation())) handle = handle->next;
    if (handle == NULL || handle->destroyed) {
        standin_violation("%p is no handle of cusparse", raw);
        return NULL;
    }
    if (standin_current_device() != handle->device) {
        standin_violation("sparse#%d is of context#%d, current is context#%d", handle->number, handle->device,
                          standin_current_device());
        return NULL;
    }
    if (handle->inside > 0) standin_violation("two threads inside calls on sparse#%d", handle->number);
    handle->inside++;
    standin_pause();
    handle->inside--;
    return handle->destroyed ? NULL : handle;
}

static const struct thing *find_thing(const void *raw) {
    struct thing *thing = things;
    while (thing != NULL && thing != raw) thing = thing->next;
    if (thing == NULL || thing->destroyed) standin_violation("%p is no descriptor of cusparse", raw);
    return thing == NULL || thing->destroyed ? NULL : thing;
}

EXPORT int cusparseCreate(void **handle) {
    BLAS_ENTER(cusparseCreate);
    if (handle == NULL) BLAS_LEAVE(INVALID_VALUE, "%s", "");
    if (standin_current_device() < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(EXEC_FAILED, "%s", "");
    }
    struct handle *made = calloc(1, sizeof *made);
    *made = (struct handle){.next = handles, .number = ++count, .generation = standin_generation(),
                            .device = standin_current_device()};
    *handle = handles = made;
    standin_count_blas(1);
    BLAS_LEAVE(0, "sparse#%d", made->number);
}

EXPORT int cusparseDestroy(void *raw) {
    BLAS_ENTER(cusparseDestroy);
    struct handle *handle = enter_handle(raw);
    if (handle == NULL) BLAS_LEAVE(NOT_INITIALIZED, "%p", raw);
    handle->destroyed = true;
    standin_count_blas(-1);
    BLAS_LEAVE(0, "sparse#%d", handle->number);
}

EXPORT int cusparseSetStream(void *raw, CUstream stream) {
    BLAS_ENTER(cusparseSetStream);
    struct handle *handle = enter_handle(raw);
    if (handle == NULL || standin_stream_device(stream, NULL) != handle->device) BLAS_LEAVE(INVALID_VALUE, "%p", raw);
    handle->stream = stream;
    BLAS_LEAVE(0, "sparse#%d", handle->number);
}

EXPORT int cusparseSetPointerMode(void *raw, unsigned mode) {
    BLAS_ENTER(cusparseSetPointerMode);
    struct handle *handle = enter_handle(raw);
    if (handle == NULL || mode > 1) BLAS_LEAVE(INVALID_VALUE, "%p", raw);
    handle->device_pointers = mode == 1;
    BLAS_LEAVE(0, "sparse#%d %u", handle->number, mode);
}

EXPORT int cusparseGetProperty(int which, int *value) {
    BLAS_ENTER(cusparseGetProperty);
    *value = (int[]){12, 6, 3}[which % 3];
    BLAS_LEAVE(0, "%d", which);
}

static int keep_thing(void **to, struct thing thing) {
    struct thing *made = malloc(sizeof *made);
    *made = thing;
    made->next = things;
    *to = things = made;
    return type_bytes(thing.type) == 0 ? INVALID_VALUE : 0;
}

static int destroy_thing(const void *raw) {
    struct thing *thing = (struct thing *)find_thing(raw);
    if (thing == NULL) return INVALID_VALUE;
    thing->destroyed = true;
    return 0;
}

static int index_bytes(unsigned type) { return type == 2 ? 4 : 8; }

#define COMPRESSED(name, kind)                                                                                          \
    EXPORT int name(void **to, int64_t rows, int64_t cols, int64_t nnz, uint64_t offsets, uint64_t indices,             \
                    uint64_t values, unsigned offset_type, unsigned index_type, unsigned base, unsigned type) {         \
        BLAS_ENTER(name);                                                                                               \
        if (offset_type != index_type || base != 0) BLAS_LEAVE(NOT_SUPPORTED, "%s", "");                                \
        struct thing thing = {.format = kind, .type = (int)type, .index_bytes = index_bytes(index_type), .rows = rows,  \
                              .cols = cols, .stored = nnz, .first = offsets, .second = indices, .values = values};      \
        BLAS_LEAVE(keep_thing(to, thing), "%ld x %ld", (long)rows, (long)cols);                                         \
    }
COMPRESSED(cusparseCreateCsr, CSR)
COMPRESSED(cusparseCreateConstCsc, CSC)

EXPORT int cusparseCreateConstCoo(void **to, int64_t rows, int64_t cols, int64_t nnz, uint64_t row_indices,
                                  uint64_t columns, uint64_t values, unsigned index_type, unsigned base, unsigned type) {
    BLAS_ENTER(cusparseCreateConstCoo);
    if (base != 0) BLAS_LEAVE(NOT_SUPPORTED, "%s", "");
    struct thing thing = {.format = COO, .type = (int)type, .index_bytes = index_bytes(index_type), .rows = rows,
                          .cols = cols, .stored = nnz, .first = row_indices, .second = columns, .values = values};
    BLAS_LEAVE(keep_thing(to, thing), "%ld x %ld", (long)rows, (long)cols);
}

EXPORT int cusparseCreateConstBsr(void **to, int64_t rows, int64_t cols, int64_t stored, int64_t height, int64_t width,
                                  uint64_t offsets, uint64_t columns, uint64_t values, unsigned offset_type,
                                  unsigned index_type, unsigned base, unsigned type, unsigned order) {
    BLAS_ENTER(cusparseCreateConstBsr);
    if (offset_type != index_type || base != 0 || height != width) BLAS_LEAVE(NOT_SUPPORTED, "%s", "");
    struct thing thing = {.format = BSR, .type = (int)type, .index_bytes = index_bytes(index_type), .rows = rows * height,
                          .cols = cols * width, .stored = stored, .first = offsets, .second = columns,
                          .values = values, .block = height, .by_rows = order == 2};
    BLAS_LEAVE(keep_thing(to, thing), "%ld x %ld", (long)rows, (long)cols);
}

EXPORT int cusparseCreateDnVec(void **to, int64_t size, uint64_t values, unsigned type) {
    BLAS_ENTER(cusparseCreateDnVec);
    struct thing thing = {.type = (int)type, .rows = size, .cols = 1, .ld = size, .values = values};
    BLAS_LEAVE(keep_thing(to, thing), "%ld", (long)size);
}

EXPORT int cusparseCreateDnMat(void **to, int64_t rows, int64_t cols, int64_t ld, uint64_t values, unsigned type,
                               unsigned order) {
    BLAS_ENTER(cusparseCreateDnMat);
    if (ld < (order == 2 ? cols : rows)) BLAS_LEAVE(INVALID_VALUE, "ld %ld", (long)ld);
    struct thing thing = {.type = (int)type, .rows = rows, .cols = cols, .ld = ld, .values = values, .by_rows = order == 2};
    BLAS_LEAVE(keep_thing(to, thing), "%ld x %ld", (long)rows, (long)cols);
}

#define DESTROY(name)                                                                                                   \
    EXPORT int name(const void *thing) {                                                                                \
        BLAS_ENTER(name);                                                                                               \
        BLAS_LEAVE(destroy_thing(thing), "%p", thing);                                                                  \
    }
DESTROY(cusparseDestroySpMat)
DESTROY(cusparseDestroyDnVec)
DESTROY(cusparseDestroyDnMat)

/* What runs: the operands as they were at the call. */
struct product {
    struct thing a, b, c;
    unsigned op_a, op_b;
    bool sampled;
    struct scalar alpha, beta;
    struct workspace workspace;
    /* It was looked at before, with this buffer, which nobody has touched since. */
    bool looked;
};

enum { LOOKED = 0x5A };

static int64_t index_at(const void *from, int bytes, int64_t at) {
    return bytes == 4 ? ((const int32_t *)from)[at] : ((const int64_t *)from)[at];
}

static int64_t dense_place(const struct thing *dense, int64_t i, int64_t j) {
    return dense->by_rows ? i * dense->ld + j : i + j * dense->ld;
}

static struct number turned(struct number x, unsigned op) { return op == 2 ? (struct number){x.re, -x.im} : x; }

static struct number dense_at(const struct thing *dense, unsigned op, int64_t i, int64_t j) {
    int64_t at = op == 0 ? dense_place(dense, i, j) : dense_place(dense, j, i);
    return turned(load(standin_backing(dense->values), dense->type, at), op);
}

static int64_t columns_of(const struct thing *dense, unsigned op) { return op == 0 ? dense->cols : dense->rows; }

/* Entry `place` of a matrix, whose line is known: where it is, and its value. */
struct entry {
    int64_t i, j;
    struct number value;
};

typedef void (*visit)(const struct entry *entry, int64_t place, void *with);

static void each_entry(const struct thing *a, visit visit, void *with) {
    const void *first = standin_backing(a->first), *second = standin_backing(a->second);
    const void *values = standin_backing(a->values);
    int64_t lines = a->format == CSR ? a->rows : a->format == CSC ? a->cols : a->format == BSR ? a->rows / a->block : 1;
    for (int64_t line = 0; line < lines; line++) {
        int64_t from = a->format == COO ? 0 : index_at(first, a->index_bytes, line);
        int64_t to = a->format == COO ? a->stored : index_at(first, a->index_bytes, line + 1);
        for (int64_t place = from; place < to; place++) {
            int64_t other = index_at(second, a->index_bytes, place);
            if (a->format != BSR) {
                int64_t own = a->format == COO ? index_at(first, a->index_bytes, place) : line;
                struct entry entry = {own, other, load(values, a->type, place)};
                if (a->format == CSC) entry.i = other, entry.j = own;
                visit(&entry, place, with);
                continue;
            }
            for (int64_t i = 0; i < a->block; i++)
                for (int64_t j = 0; j < a->block; j++) {
                    int64_t at = (place * a->block + (a->by_rows ? i : j)) * a->block + (a->by_rows ? j : i);
                    struct entry entry = {line * a->block + i, other * a->block + j, load(values, a->type, at)};
                    visit(&entry, at, with);
                }
        }
    }
}

struct sums {
    const struct product *product;
    struct number *sums;
};

static void add_entry(const struct entry *entry, int64_t place, void *with) {
    const struct sums *sums = with;
    const struct product *product = sums->product;
    (void)place;
    int64_t i = product->op_a == 0 ? entry->i : entry->j, p = product->op_a == 0 ? entry->j : entry->i;
    for (int64_t j = 0; j < product->c.cols; j++) {
        struct number more = multiply(turned(entry->value, product->op_a), dense_at(&product->b, product->op_b, p, j));
        struct number *sum = &sums->sums[i * product->c.cols + j];
        *sum = (struct number){sum->re + more.re, sum->im + more.im};
    }
}

static void put_sum(const struct product *product, int64_t at, struct number sum) {
    struct number alpha = load_scalar(&product->alpha), beta = load_scalar(&product->beta), value = multiply(alpha, sum);
    void *to = standin_backing(product->c.values);
    if (beta.re != 0 || beta.im != 0) {
        struct number old = multiply(beta, load(to, product->c.type, at));
        value = (struct number){value.re + old.re, value.im + old.im};
    }
    store(to, product->c.type, at, value);
}

/* C is the pattern; A and B are dense. */
static void sample_entry(const struct entry *entry, int64_t place, void *with) {
    const struct product *product = with;
    struct number sum = {0, 0};
    for (int64_t p = 0; p < columns_of(&product->a, product->op_a); p++) {
        struct number more = multiply(dense_at(&product->a, product->op_a, entry->i, p),
                                      dense_at(&product->b, product->op_b, p, entry->j));
        sum = (struct number){sum.re + more.re, sum.im + more.im};
    }
    put_sum(product, place, sum);
}

static void execute_look(void *payload) {
    const struct workspace *workspace = payload;
    memset(standin_backing(workspace->address), LOOKED, workspace->bytes);
}

static void execute_product(void *payload) {
    const struct product *product = payload;
    const unsigned char *buffer = standin_backing(product->workspace.address);
    for (size_t i = 0; product->looked && i < product->workspace.bytes; i++)
        if (buffer[i] != LOOKED) {
            standin_violation("a buffer of cusparse has other contents than when a matrix was looked at");
            break;
        }
    if (!product->looked) scribble(product->workspace);
    if (product->sampled) {
        each_entry(&product->c, sample_entry, payload);
        return;
    }
    struct sums sums = {product, calloc((size_t)(product->c.rows * product->c.cols) + 1, sizeof(struct number))};
    each_entry(&product->a, add_entry, &sums);
    for (int64_t i = 0; i < product->c.rows; i++)
        for (int64_t j = 0; j < product->c.cols; j++)
            put_sum(product, dense_place(&product->c, i, j), sums.sums[i * product->c.cols + j]);
    free(sums.sums);
}

static int add_thing(struct operand *operands, int at, const struct thing *thing, bool written) {
    size_t element = type_bytes(thing->type);
    if (thing->format == 0) {
        int64_t lines = thing->by_rows ? thing->rows : thing->cols, line = thing->by_rows ? thing->cols : thing->rows;
        struct range range = {thing->values, (size_t)line * element, (size_t)thing->ld * element, (size_t)lines};
        operands[at] = (struct operand){.range = range, .kind = written ? WRITE : READ};
        return at + 1;
    }
    int64_t lines = thing->format == CSR   ? thing->rows + 1
                    : thing->format == CSC ? thing->cols + 1
                    : thing->format == BSR ? thing->rows / thing->block + 1
                                           : thing->stored;
    int64_t area = thing->format == BSR ? thing->block * thing->block : 1;
    struct range first = {thing->first, (size_t)(lines * thing->index_bytes), 0, 1};
    struct range second = {thing->second, (size_t)(thing->stored * thing->index_bytes), 0, 1};
    struct range values = {thing->values, (size_t)(thing->stored * area) * element, 0, 1};
    operands[at] = (struct operand){.range = first, .kind = READ};
    operands[at + 1] = (struct operand){.range = second, .kind = READ};
    operands[at + 2] = (struct operand){.range = values, .kind = written ? WRITE : READ};
    return at + 3;
}

static bool take(const struct handle *handle, struct scalar *scalar, const void *pointer, int type) {
    struct blas blas = {.device_pointers = handle->device_pointers};
    *scalar = (struct scalar){.type = type};
    if (pointer == NULL) return false;
    if (blas.device_pointers) {
        scalar->address = (uint64_t)(uintptr_t)pointer;
        return true;
    }
    if (standin_is_device_address(pointer)) {
        standin_violation("a device address for a scalar in host pointer mode");
        return false;
    }
    memcpy(scalar->bytes, pointer, type_bytes(type));
    return true;
}

/* Whether the operands fit and, with a workspace, the work of it. */
static int multiply_things(struct product product, void *raw, const void *a, const void *b, const void *c,
                           const void *alpha, const void *beta, int compute, uint64_t workspace, bool run) {
    struct handle *handle = enter_handle(raw);
    const struct thing *things_of[3] = {find_thing(a), find_thing(b), find_thing(c)};
    if (handle == NULL || things_of[0] == NULL || things_of[1] == NULL || things_of[2] == NULL) return INVALID_VALUE;
    product.a = *things_of[0], product.b = *things_of[1], product.c = *things_of[2];
    const struct thing *dense = product.sampled ? &product.a : &product.c;
    int64_t rows = product.op_a == 0 ? product.a.rows : product.a.cols;
    int64_t inner = product.op_a == 0 ? product.a.cols : product.a.rows;
    bool fits = rows == product.c.rows && inner == (product.op_b == 0 ? product.b.rows : product.b.cols) &&
                columns_of(&product.b, product.op_b) == product.c.cols && dense->format == 0 && product.b.format == 0;
    if (!fits) return INVALID_VALUE;
    if (product.a.format == BSR && product.op_a != 0) return NOT_SUPPORTED;
    if (!take(handle, &product.alpha, alpha, compute) || !take(handle, &product.beta, beta, compute)) return INVALID_VALUE;
    if (!run) return 0;
    if (workspace == 0) standin_violation("a product without its workspace");
    if (product.c.values % 16 != 0) standin_violation("an output that does not begin at 16 bytes");
    product.workspace = (struct workspace){workspace, ROOM};
    struct operand operands[MAXIMUM_OPERANDS];
    int operand_count = add_thing(operands, 0, &product.a, false);
    operand_count = add_thing(operands, operand_count, &product.b, false);
    operand_count = add_thing(operands, operand_count, &product.c, true);
    operand_count = add_scalar(operands, operand_count, &product.alpha);
    operand_count = add_scalar(operands, operand_count, &product.beta);
    product.looked = product.a.looked == workspace;
    operands[operand_count++] =
        (struct operand){.range = {workspace, ROOM, 0, 1}, .kind = product.looked ? READ : WRITE};
    if (standin_sticky() != CUDA_SUCCESS) return EXEC_FAILED;
    CUresult code = standin_enqueue(handle->stream, operands, operand_count, execute_product, &product, sizeof product);
    return code == CUDA_SUCCESS ? 0 : EXEC_FAILED;
}

/* Looks at a matrix: what is found lies in the buffer and is known by the descriptor. */
static int look_at(struct product product, void *raw, const void *a, const void *b, const void *c, const void *alpha,
                   const void *beta, int compute, uint64_t buffer) {
    int code = multiply_things(product, raw, a, b, c, alpha, beta, compute, 0, false);
    struct handle *handle = enter_handle(raw);
    struct thing *matrix = (struct thing *)find_thing(a);
    if (code != 0 || handle == NULL || matrix == NULL || buffer == 0) return code != 0 ? code : INVALID_VALUE;
    struct operand operands[MAXIMUM_OPERANDS];
    int operand_count = add_thing(operands, 0, matrix, false);
    operands[operand_count++] = (struct operand){.range = {buffer, ROOM, 0, 1}, .kind = WRITE};
    struct workspace workspace = {buffer, ROOM};
    if (standin_sticky() != CUDA_SUCCESS) return EXEC_FAILED;
    CUresult done = standin_enqueue(handle->stream, operands, operand_count, execute_look, &workspace, sizeof workspace);
    matrix->looked = done == CUDA_SUCCESS ? buffer : 0;
    return done == CUDA_SUCCESS ? 0 : EXEC_FAILED;
}

EXPORT int cusparseSpMatSetValues(void *matrix, uint64_t values) {
    BLAS_ENTER(cusparseSpMatSetValues);
    struct thing *thing = (struct thing *)find_thing(matrix);
    if (thing == NULL || thing->format == 0) BLAS_LEAVE(INVALID_VALUE, "%p", matrix);
    thing->values = values;
    BLAS_LEAVE(0, "%p", matrix);
}

EXPORT int cusparseSpMV_preprocess(void *handle, unsigned op, const void *alpha, const void *a, const void *x,
                                   const void *beta, const void *y, unsigned compute, unsigned algorithm,
                                   uint64_t buffer) {
    BLAS_ENTER(cusparseSpMV_preprocess);
    int code = look_at((struct product){.op_a = op}, handle, a, x, y, alpha, beta, (int)compute, buffer);
    BLAS_LEAVE(code, "%u", algorithm);
}

EXPORT int cusparseSpMM_preprocess(void *handle, unsigned op_a, unsigned op_b, const void *alpha, const void *a,
                                   const void *b, const void *beta, const void *c, unsigned compute, unsigned algorithm,
                                   uint64_t buffer) {
    BLAS_ENTER(cusparseSpMM_preprocess);
    struct product product = {.op_a = op_a, .op_b = op_b};
    int code = look_at(product, handle, a, b, c, alpha, beta, (int)compute, buffer);
    BLAS_LEAVE(code, "%u", algorithm);
}

EXPORT int cusparseSpMV_bufferSize(void *handle, unsigned op, const void *alpha, const void *a, const void *x,
                                   const void *beta, const void *y, unsigned compute, unsigned algorithm, size_t *bytes) {
    BLAS_ENTER(cusparseSpMV_bufferSize);
    *bytes = ROOM;
    int code = multiply_things((struct product){.op_a = op}, handle, a, x, y, alpha, beta, (int)compute, 0, false);
    BLAS_LEAVE(code, "%u", algorithm);
}

EXPORT int cusparseSpMV(void *handle, unsigned op, const void *alpha, const void *a, const void *x, const void *beta,
                        const void *y, unsigned compute, unsigned algorithm, uint64_t buffer) {
    BLAS_ENTER(cusparseSpMV);
    int code = multiply_things((struct product){.op_a = op}, handle, a, x, y, alpha, beta, (int)compute, buffer, true);
    BLAS_LEAVE(code, "%u", algorithm);
}

#define PRODUCT(name, is_sampled)                                                                                       \
    EXPORT int name##_bufferSize(void *handle, unsigned op_a, unsigned op_b, const void *alpha, const void *a,          \
                                 const void *b, const void *beta, const void *c, unsigned compute, unsigned algorithm,  \
                                 size_t *bytes) {                                                                       \
        BLAS_ENTER(name##_bufferSize);                                                                                  \
        *bytes = ROOM;                                                                                                  \
        struct product product = {.op_a = op_a, .op_b = op_b, .sampled = is_sampled};                                   \
        int code = multiply_things(product, handle, a, b, c, alpha, beta, (int)compute, 0, false);                      \
        BLAS_LEAVE(code, "%u", algorithm);                                                                              \
    }                                                                                                                   \
    EXPORT int name(void *handle, unsigned op_a, unsigned op_b, const void *alpha, const void *a, const void *b,        \
                    const void *beta, const void *c, unsigned compute, unsigned algorithm, uint64_t buffer) {           \
        BLAS_ENTER(name);                                                                                               \
        struct product product = {.op_a = op_a, .op_b = op_b, .sampled = is_sampled};                                   \
        int code = multiply_things(product, handle, a, b, c, alpha, beta, (int)compute, buffer, true);                  \
        BLAS_LEAVE(code, "%u", algorithm);                                                                              \
    }
PRODUCT(cusparseSpMM, false)
PRODUCT(cusparseSDDMM, true)

/* Compressed rows of 32-bit indices into compressed columns. */
struct turn {
    int m, n, nnz, type;
    uint64_t values, offsets, indices, to_values, to_offsets, to_indices;
    struct workspace workspace;
};

static void execute_turn(void *payload) {
    const struct turn *turn = payload;
    scribble(turn->workspace);
    const int32_t *offsets = standin_backing(turn->offsets), *indices = standin_backing(turn->indices);
    int32_t *to_offsets = standin_backing(turn->to_offsets), *to_indices = standin_backing(turn->to_indices);
    size_t element = type_bytes(turn->type);
    const char *values = standin_backing(turn->values);
    char *to_values = standin_backing(turn->to_values);
    int32_t to = 0;
    for (int column = 0; column < turn->n; column++) {
        to_offsets[column] = to;
        for (int row = 0; row < turn->m; row++)
            for (int32_t at = offsets[row]; at < offsets[row + 1]; at++) {
                if (indices[at] != column) continue;
                to_indices[to] = row;
                memcpy(to_values + element * (size_t)to++, values + element * (size_t)at, element);
            }
    }
    to_offsets[turn->n] = to;
}

EXPORT int cusparseCsr2cscEx2_bufferSize(void *handle, int m, int n, int nnz, uint64_t values, uint64_t offsets,
                                         uint64_t indices, uint64_t to_values, uint64_t to_offsets, uint64_t to_indices,
                                         unsigned type, unsigned action, unsigned base, unsigned algorithm, size_t *bytes) {
    BLAS_ENTER(cusparseCsr2cscEx2_bufferSize);
    (void)values, (void)offsets, (void)indices, (void)to_values, (void)to_offsets, (void)to_indices;
    *bytes = ROOM;
    bool known = enter_handle(handle) != NULL && type_bytes((int)type) != 0 && action == 1 && base == 0;
    BLAS_LEAVE(known ? 0 : INVALID_VALUE, "%d x %d, %d, %u", m, n, nnz, algorithm);
}

EXPORT int cusparseCsr2cscEx2(void *raw, int m, int n, int nnz, uint64_t values, uint64_t offsets, uint64_t indices,
                              uint64_t to_values, uint64_t to_offsets, uint64_t to_indices, unsigned type, unsigned action,
                              unsigned base, unsigned algorithm, uint64_t buffer) {
    BLAS_ENTER(cusparseCsr2cscEx2);
    struct handle *handle = enter_handle(raw);
    if (handle == NULL || type_bytes((int)type) == 0 || action != 1 || base != 0) BLAS_LEAVE(INVALID_VALUE, "%u", algorithm);
    struct turn turn = {m, n, nnz, (int)type, values, offsets, indices, to_values, to_offsets, to_indices, {buffer, ROOM}};
    size_t element = type_bytes((int)type), entries = (size_t)nnz;
    struct operand operands[] = {
        {.range = {values, element * entries, 0, 1}, .kind = READ},
        {.range = {offsets, 4 * ((size_t)m + 1), 0, 1}, .kind = READ},
        {.range = {indices, 4 * entries, 0, 1}, .kind = READ},
        {.range = {to_values, element * entries, 0, 1}, .kind = WRITE},
        {.range = {to_offsets, 4 * ((size_t)n + 1), 0, 1}, .kind = WRITE},
        {.range = {to_indices, 4 * entries, 0, 1}, .kind = WRITE},
        {.range = {buffer, ROOM, 0, 1}, .kind = WRITE},
    };
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(EXEC_FAILED, "(poisoned)");
    CUresult code = standin_enqueue(handle->stream, operands, 7, execute_turn, &turn, sizeof turn);
    BLAS_LEAVE(code == CUDA_SUCCESS ? 0 : EXEC_FAILED, "%d x %d", m, n);
}

/* Tridiagonal systems it has not. */
#define TRIDIAGONAL(letter)                                                                                             \
    EXPORT int cusparse##letter##gtsv2_bufferSizeExt(void) { return NOT_SUPPORTED; }                                    \
    EXPORT int cusparse##letter##gtsv2(void) { return NOT_SUPPORTED; }                                                  \
    EXPORT int cusparse##letter##gtsv2StridedBatch_bufferSizeExt(void) { return NOT_SUPPORTED; }                        \
    EXPORT int cusparse##letter##gtsv2StridedBatch(void) { return NOT_SUPPORTED; }
TRIDIAGONAL(S)
TRIDIAGONAL(D)
TRIDIAGONAL(C)
TRIDIAGONAL(Z)
