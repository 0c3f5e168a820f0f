/* libcublasLt's stand-in: descriptors, a heuristic that signs its answers, and the product with every epilogue. */
#include "cublas.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT_MARK UINT64_C(0x4C41594F55540001)
#define DESC_MARK UINT64_C(0x4445534300000001)
#define PREFERENCE_MARK UINT64_C(0x5052454600000001)
#define HANDLE_MARK UINT64_C(0x4C54000000000001)

struct handle {
    uint64_t mark;
    int device, inside;
    uint64_t own_memory;
    struct handle *next;
};

/* Handles are kept, so that a late use is seen; in a list, so that leak checkers are content. */
static struct handle *all;

/* Before the addresses: what an algorithm is signed for. */
struct layout {
    uint64_t mark;
    uint32_t type, order;
    uint64_t rows, columns;
    int64_t leading;
    int32_t batch;
    int64_t stride;
};

struct desc {
    uint64_t mark;
    int32_t compute, scale, pointer_mode, trans[2];
    uint32_t epilogue;
    int64_t bias_stride, aux_leading, aux_stride;
    int32_t aux_type, bias_type, modes[2];
    int8_t fast;
    uint64_t bias, aux, scales[3], amax;
};

struct preference {
    uint64_t mark, workspace;
    uint32_t alignments[4];
    uint32_t reductions;
};

struct algorithm {
    uint64_t signature, index, workspace, alignments, rest[4];
};

struct result {
    struct algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

enum { BIAS = 4, RELU = 2, GELU = 32, AUX = 128, DRELU = 8, DGELU = 64, BGRAD = 16, BGRADA = 256, BGRADB = 512 };

/* One product, with all that it needs when its turn comes. */
struct product {
    struct layout layouts[4];
    struct desc desc;
    uint64_t a, b, c, d;
    struct scalar alpha, beta;
    struct workspace workspace;
};

static bool marked(const void *object, uint64_t mark, const char *what) {
    if (object != NULL && *(const uint64_t *)object == mark) return true;
    standin_violation("%p is no cublasLt %s", object, what);
    return false;
}

EXPORT cublasStatus_t cublasLtCreate(void **handle) {
    BLAS_ENTER(cublasLtCreate);
    int device = standin_current_device();
    if (device < 0) {
        standin_violation("called with no context current");
        BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "%s", "");
    }
    if (standin_sticky() != CUDA_SUCCESS) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "(poisoned)");
    uint64_t memory = standin_allocate(device, (size_t)64 << 10);
    if (memory == 0) BLAS_LEAVE(CUBLAS_STATUS_ALLOC_FAILED, "%s", "");
    struct handle *made = calloc(1, sizeof *made);
    *made = (struct handle){HANDLE_MARK, device, 0, memory, all};
    all = made;
    standin_count_blas(1);
    *handle = made;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "context#%d", device);
}

EXPORT cublasStatus_t cublasLtGetProperty(int property, int *value) {
    BLAS_ENTER(cublasLtGetProperty);
    if (property < 0 || property > 2) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "%d", property);
    const int version[] = {13, 0, 2};
    *value = version[property];
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "%d", property);
}

EXPORT cublasStatus_t cublasLtDestroy(void *handle) {
    BLAS_ENTER(cublasLtDestroy);
    if (!marked(handle, HANDLE_MARK, "handle")) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "%s", "");
    struct handle *lt = handle;
    standin_count_blas(-1);
    if (standin_sticky() == CUDA_SUCCESS && standin_wait_device(lt->device) == CUDA_SUCCESS)
        standin_deallocate(lt->own_memory);
    lt->mark = 0;
    BLAS_LEAVE(CUBLAS_STATUS_SUCCESS, "%s", "");
}

/* Descriptors are host memory alone: no call of the driver's is behind these. */

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(void **layout, uint32_t type, uint64_t rows, uint64_t columns,
                                                 int64_t leading) {
    struct layout *made = calloc(1, sizeof *made);
    *made = (struct layout){LAYOUT_MARK, type, 0, rows, columns, leading, 1, 0};
    *layout = made;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
    struct desc *made = calloc(1, sizeof *made);
    made->mark = DESC_MARK;
    made->compute = compute, made->scale = scale, made->epilogue = 1, made->aux_type = -1, made->bias_type = -1;
    *desc = made;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(void **preference) {
    struct preference *made = calloc(1, sizeof *made);
    *made = (struct preference){PREFERENCE_MARK, 0, {256, 256, 256, 256}, 7};
    *preference = made;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t destroy(void *object, uint64_t mark, const char *what) {
    if (!marked(object, mark, what)) return CUBLAS_STATUS_INVALID_VALUE;
    free(object);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(void *layout) { return destroy(layout, LAYOUT_MARK, "layout"); }
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(void *desc) { return destroy(desc, DESC_MARK, "description"); }
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(void *preference) {
    return destroy(preference, PREFERENCE_MARK, "preference");
}

static cublasStatus_t set(void *field, size_t size, const void *value, size_t bytes) {
    if (field == NULL || size != bytes) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
#define SET(field) return set(&(field), sizeof(field), value, bytes)

EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(void *object, uint32_t attribute, const void *value,
                                                       size_t bytes) {
    if (!marked(object, LAYOUT_MARK, "layout")) return CUBLAS_STATUS_INVALID_VALUE;
    struct layout *layout = object;
    switch (attribute) {
    case 1: SET(layout->order);
    case 5: SET(layout->batch);
    case 6: SET(layout->stride);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(void *object, uint32_t attribute, const void *value,
                                                     size_t bytes) {
    if (!marked(object, DESC_MARK, "description")) return CUBLAS_STATUS_INVALID_VALUE;
    struct desc *desc = object;
    switch (attribute) {
    case 2: SET(desc->pointer_mode);
    case 3: SET(desc->trans[0]);
    case 4: SET(desc->trans[1]);
    case 7: SET(desc->epilogue);
    case 8: SET(desc->bias);
    case 10: SET(desc->bias_stride);
    case 11: SET(desc->aux);
    case 12: SET(desc->aux_leading);
    case 13: SET(desc->aux_stride);
    case 17: SET(desc->scales[0]);
    case 18: SET(desc->scales[1]);
    case 20: SET(desc->scales[2]);
    case 21: SET(desc->amax);
    case 22: SET(desc->aux_type);
    case 25: SET(desc->fast);
    case 26: SET(desc->bias_type);
    case 31: SET(desc->modes[0]);
    case 32: SET(desc->modes[1]);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(void *object, uint32_t attribute, const void *value,
                                                           size_t bytes) {
    if (!marked(object, PREFERENCE_MARK, "preference")) return CUBLAS_STATUS_INVALID_VALUE;
    struct preference *preference = object;
    if (attribute == 1) SET(preference->workspace);
    if (attribute == 3) SET(preference->reductions);
    if (attribute >= 5 && attribute <= 8) SET(preference->alignments[attribute - 5]);
    return CUBLAS_STATUS_INVALID_VALUE;
}

/* -- What goes together. -- */

static bool is_eight(int type) { return type == R_8F_E4M3 || type == R_8F_E5M2; }

static int64_t extent(const struct layout *layout, bool inner) {
    bool rows = (layout->order == 0) == inner;
    return (int64_t)(rows ? layout->rows : layout->columns);
}

static bool types_fit(const struct layout *const layouts[4], const struct desc *desc) {
    int a = (int)layouts[0]->type, b = (int)layouts[1]->type, c = (int)layouts[2]->type, d = (int)layouts[3]->type;
    int compute = desc->compute == 77 && (a == R_32F || a == C_32F) ? 68 : desc->compute, scale = desc->scale;
    if (is_eight(a) && is_eight(b)) {
        bool output = d == c && (d == R_32F || d == R_16F || d == R_16BF);
        bool narrow = is_eight(d) && (c == R_16F || c == R_16BF) && (d == R_8F_E4M3 || a != b);
        return compute == 68 && scale == R_32F && (a == R_8F_E4M3 || b == R_8F_E4M3) && (output || narrow);
    }
    if (a != b || c != d) return false;
    switch (a) {
    case R_32F: case C_32F: return compute == 68 && scale == a && c == a;
    case R_64F: case C_64F: return compute == 70 && scale == a && c == a;
    case R_16F: case R_16BF: return compute == 68 && scale == R_32F && (c == a || c == R_32F);
    case R_8I: return compute == 72 && ((c == R_32I && scale == R_32I) || (c == R_8I && scale == R_32F));
    default: return false;
    }
}

static int bias_type(const struct desc *desc, const struct layout *d) {
    return desc->bias_type >= 0 ? desc->bias_type : (int)d->type;
}

/* Of 8-bit floats and integers the library takes column-major matrices, A transposed and B not, in multiples of so many
 * elements; 1: of no other type. */
static uint64_t unit_of(int type) { return is_eight(type) ? 16 : type == R_8I ? 4 : 1; }

static bool tidy(const struct layout *const layouts[4], const struct desc *desc, uint64_t m, uint64_t n, uint64_t k) {
    uint64_t unit = unit_of((int)layouts[0]->type);
    if (unit == 1) return true;
    bool fine = desc->trans[0] == 1 && desc->trans[1] == 0 && m % unit == 0 && k % unit == 0 && (unit == 4 || n % unit == 0);
    for (int i = 0; i < 4; i++) fine = fine && layouts[i]->order == 0 && layouts[i]->leading % (int64_t)unit == 0;
    return fine;
}

static cublasStatus_t check(const struct layout *const layouts[4], const struct desc *desc) {
    const struct layout *a = layouts[0], *b = layouts[1], *d = layouts[3];
    for (int i = 0; i < 4; i++) {
        if (layouts[i]->rows == 0 || layouts[i]->columns == 0) return CUBLAS_STATUS_INVALID_VALUE;
        if (layouts[i]->leading < extent(layouts[i], true)) return CUBLAS_STATUS_INVALID_VALUE;
        if (layouts[i]->batch != d->batch || d->batch < 1) return CUBLAS_STATUS_INVALID_VALUE;
    }
    uint64_t m = desc->trans[0] ? a->columns : a->rows, k = desc->trans[0] ? a->rows : a->columns;
    uint64_t n = desc->trans[1] ? b->rows : b->columns, other = desc->trans[1] ? b->columns : b->rows;
    if (m != d->rows || n != d->columns || k != other) return CUBLAS_STATUS_INVALID_VALUE;
    if (layouts[2]->rows != m || layouts[2]->columns != n) return CUBLAS_STATUS_INVALID_VALUE;
    if (!types_fit(layouts, desc)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!tidy(layouts, desc, m, n, k)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!is_eight((int)a->type) &&
        (desc->scales[0] != 0 || desc->scales[1] != 0 || desc->scales[2] != 0 || desc->amax != 0))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_eight((int)d->type) && (desc->scales[2] != 0 || desc->amax != 0)) return CUBLAS_STATUS_INVALID_VALUE;
    if (layouts[2]->order != d->order) return CUBLAS_STATUS_NOT_SUPPORTED;
    uint32_t epilogue = desc->epilogue;
    bool needs_bias = (epilogue & (BIAS | BGRAD | BGRADA | BGRADB)) != 0, needs_aux = (epilogue & AUX) != 0;
    if (needs_bias != (desc->bias != 0) || needs_aux != (desc->aux != 0)) return CUBLAS_STATUS_INVALID_VALUE;
    if (epilogue != 1 && d->order != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (epilogue != 1 && (is_complex((int)d->type) || d->type == R_32I)) return CUBLAS_STATUS_NOT_SUPPORTED;
    /* As on an H200: what is summed up must not lie along its terms. */
    bool along_a = (desc->trans[0] != 0) != (a->order != 0), along_b = (desc->trans[1] != 0) == (b->order != 0);
    if ((epilogue & BGRADA && along_a) || (epilogue & BGRADB && along_b)) return CUBLAS_STATUS_NOT_SUPPORTED;
    int64_t unit = (epilogue & (RELU | DRELU)) != 0 ? 128 : 8;
    if (needs_aux && (desc->aux_leading % unit != 0 || desc->aux_leading < (int64_t)m || desc->aux_stride % unit != 0))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static uint64_t sign(const struct layout *const layouts[4], const struct desc *desc) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
#define MIX(value) hash = (hash ^ (uint64_t)(value)) * UINT64_C(0x100000001b3), hash ^= hash >> 29
    for (int i = 0; i < 4; i++) {
        const struct layout *l = layouts[i];
        MIX(l->type), MIX(l->order), MIX(l->rows), MIX(l->columns), MIX(l->leading), MIX(l->batch), MIX(l->stride);
    }
    MIX(desc->compute), MIX(desc->scale), MIX(desc->pointer_mode), MIX(desc->trans[0]), MIX(desc->trans[1]);
    MIX(desc->epilogue), MIX(desc->bias_stride), MIX(desc->aux_leading), MIX(desc->aux_stride), MIX(desc->aux_type);
    MIX(desc->bias_type), MIX(desc->modes[0]), MIX(desc->modes[1]), MIX(desc->fast), MIX(desc->amax != 0);
    for (int i = 0; i < 3; i++) MIX(desc->scales[i] != 0);
    return hash;
}

static bool all_marked(void *handle, void *desc, void *const layouts[4]) {
    bool fine = marked(handle, HANDLE_MARK, "handle") && marked(desc, DESC_MARK, "description");
    for (int i = 0; i < 4; i++) fine = fine && marked(layouts[i], LAYOUT_MARK, "layout");
    return fine;
}

static bool enter_handle(struct handle *lt) {
    if (standin_current_device() != lt->device) {
        standin_violation("a cublasLt handle of context#%d, current is context#%d", lt->device,
                          standin_current_device());
        return false;
    }
    if (lt->inside > 0) standin_violation("two threads inside calls on one cublasLt handle");
    lt->inside++;
    standin_pause();
    lt->inside--;
    return true;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                                     void *preference, int asked, struct result *results, int *given) {
    BLAS_ENTER(cublasLtMatmulAlgoGetHeuristic);
    void *objects[4] = {a, b, c, d};
    if (!all_marked(handle, desc, objects) || !marked(preference, PREFERENCE_MARK, "preference") || asked < 1)
        BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "%s", "");
    if (!enter_handle(handle)) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "%s", "");
    const struct layout *layouts[4] = {a, b, c, d};
    const struct preference *wish = preference;
    cublasStatus_t status = check(layouts, desc);
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < 4; i++)
        if (wish->alignments[i] % unit_of((int)layouts[0]->type) != 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
    *given = 0;
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < asked && i < 3; i++) {
        uint64_t alignments = 0, workspace = (uint64_t)i << 12;
        for (int j = 0; j < 4; j++) alignments |= (uint64_t)wish->alignments[j] << (16 * j);
        if (workspace > wish->workspace) break;
        struct algorithm algorithm = {sign(layouts, desc), (uint64_t)i, workspace, alignments, {0}};
        results[i] = (struct result){.algorithm = algorithm, .workspace = workspace, .waves = 1.0f};
        ++*given;
    }
    BLAS_LEAVE(status, "%d", *given);
}

/* -- The product. -- */

static int64_t place(const struct layout *layout, int64_t batch, int64_t row, int64_t column) {
    int64_t inside = layout->order == 0 ? row + column * layout->leading : row * layout->leading + column;
    return batch * layout->stride + inside;
}

static struct number element(const struct layout *layout, uint64_t address, int operation, int64_t batch, int64_t row,
                             int64_t column) {
    int64_t at = operation == 0 ? place(layout, batch, row, column) : place(layout, batch, column, row);
    struct number value = load(standin_backing(address), (int)layout->type, at);
    if (operation == 2) value.im = -value.im;
    return value;
}

static double gelu_share(double x) { return 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

static double gelu_slope(double x) {
    double share = gelu_share(x), slope = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
    return share + 2 * x * slope * share * (1 - share);
}

static double scale_at(const struct product *p, int which, int64_t index) {
    uint64_t address = p->desc.scales[which];
    if (address == 0) return 1.0;
    bool outer = which < 2 && p->desc.modes[which] == 3;
    return ((const float *)standin_backing(address))[outer ? index : 0];
}

static struct number sum_of(const struct product *p, int64_t batch, int64_t i, int64_t j, int64_t k) {
    struct number sum = {0, 0};
    for (int64_t q = 0; q < k; q++) {
        struct number a = element(&p->layouts[0], p->a, p->desc.trans[0], batch, i, q);
        struct number b = element(&p->layouts[1], p->b, p->desc.trans[1], batch, q, j);
        if (p->desc.compute == COMPUTE_FAST_TF32) a = round_to_tf32(a), b = round_to_tf32(b);
        struct number product = multiply(a, b);
        sum.re += product.re;
        sum.im += product.im;
    }
    return sum;
}

/* The epilogue of one element; what it writes beside D goes where it belongs. */
static double finish(const struct product *p, int64_t batch, int64_t i, int64_t j, double x) {
    const struct desc *desc = &p->desc;
    uint32_t epilogue = desc->epilogue;
    int64_t at = batch * desc->aux_stride + j * desc->aux_leading + i;
    uint8_t *mask = desc->aux != 0 ? standin_backing(desc->aux) : NULL;
    int type = desc->aux_type >= 0 ? desc->aux_type : (int)p->layouts[3].type;
    if ((epilogue & DRELU) != 0) return mask[at / 8] >> (at % 8) & 1 ? x : 0.0;
    if ((epilogue & DGELU) != 0) return x * gelu_slope(load(mask, type, at).re);
    if ((epilogue & RELU) != 0) {
        if (mask != NULL) mask[at / 8] = (uint8_t)((mask[at / 8] & ~(1 << at % 8)) | (x > 0) << at % 8);
        return x > 0 ? x : 0.0;
    }
    if ((epilogue & GELU) != 0) {
        if (mask != NULL) store(mask, type, at, (struct number){x, 0});
        return x * gelu_share(x);
    }
    return x;
}

static void run_product(void *payload) {
    const struct product *p = payload;
    const struct desc *desc = &p->desc;
    const struct layout *d = &p->layouts[3];
    int64_t m = (int64_t)d->rows, n = (int64_t)d->columns;
    int64_t k = (int64_t)(desc->trans[0] ? p->layouts[0].rows : p->layouts[0].columns);
    struct number alpha = load_scalar(&p->alpha), beta = load_scalar(&p->beta);
    int bias = bias_type(desc, d);
    double amax = 0;
    scribble(p->workspace);
    for (int64_t batch = 0; batch < d->batch; batch++) {
        double *sums = calloc((size_t)m, sizeof *sums);
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = 0; i < m; i++) {
                double scale = scale_at(p, 0, i) * scale_at(p, 1, j);
                struct number factor = {alpha.re * scale, alpha.im * scale};
                struct number x = multiply(factor, sum_of(p, batch, i, j, k));
                if (beta.re != 0 || beta.im != 0) {
                    struct number c = multiply(beta, element(&p->layouts[2], p->c, 0, batch, i, j));
                    x.re += c.re;
                    x.im += c.im;
                }
                if ((desc->epilogue & BIAS) != 0)
                    x.re += load(standin_backing(desc->bias), bias, batch * desc->bias_stride + i).re;
                if (desc->epilogue != 1 && desc->epilogue != BGRADA && desc->epilogue != BGRADB)
                    x.re = finish(p, batch, i, j, x.re);
                sums[i] += x.re;
                amax = fmax(amax, fabs(x.re));
                double last = scale_at(p, 2, 0);
                x.re *= last;
                store(standin_backing(p->d), (int)d->type, place(d, batch, i, j), x);
            }
        }
        void *gradient = desc->bias != 0 ? standin_backing(desc->bias) : NULL;
        int64_t length = desc->epilogue == BGRADB ? n : m;
        for (int64_t i = 0; (desc->epilogue & (BGRAD | BGRADA | BGRADB)) != 0 && i < length; i++) {
            double sum = desc->epilogue == BGRADA || desc->epilogue == BGRADB ? 0 : sums[i];
            for (int64_t q = 0; desc->epilogue == BGRADA && q < k; q++)
                sum += element(&p->layouts[0], p->a, desc->trans[0], batch, i, q).re;
            for (int64_t q = 0; desc->epilogue == BGRADB && q < k; q++)
                sum += element(&p->layouts[1], p->b, desc->trans[1], batch, q, i).re;
            store(gradient, bias, batch * desc->bias_stride + i, (struct number){sum, 0});
        }
        free(sums);
    }
    if (desc->amax != 0) *(float *)standin_backing(desc->amax) = (float)amax;
}

static int add(struct operand *operands, int count, uint64_t address, int64_t bytes, enum access_kind kind) {
    if (address == 0 || bytes <= 0) return count;
    operands[count] = (struct operand){.range = {address, (size_t)bytes, 0, 1}, .kind = kind};
    return count + 1;
}

static int64_t bytes_of(const struct layout *layout) {
    int64_t last = place(layout, layout->batch - 1, (int64_t)layout->rows - 1, (int64_t)layout->columns - 1);
    return (last + 1) * (int64_t)type_bytes((int)layout->type);
}

static bool take(struct scalar *scalar, const struct desc *desc, const void *pointer) {
    *scalar = (struct scalar){.type = desc->scale};
    if (pointer == NULL) return false;
    if (desc->pointer_mode == 1) scalar->address = (uint64_t)(uintptr_t)pointer;
    else if (standin_is_device_address(pointer)) standin_violation("a device address for a scalar in host mode");
    else if ((uintptr_t)pointer % 16 != 0) standin_violation("a scalar that is not aligned");
    else memcpy(scalar->bytes, pointer, type_bytes(desc->scale));
    return true;
}

/* Version 13.1 moves the biases of a batch, and what lies beside D, 16 bytes at a time and does not ask where they begin:
 * elsewhere the device faults. */
static void watch_alignment(const struct product *p) {
    const struct layout *d = &p->layouts[3];
    uint64_t step = (uint64_t)p->desc.bias_stride * type_bytes(bias_type(&p->desc, d));
    if (d->batch > 1 && p->desc.bias != 0 && (p->desc.bias % 16 != 0 || step % 16 != 0))
        standin_violation("a bias of a batch that is not aligned to 16 bytes");
    if (p->desc.aux % 16 != 0) standin_violation("an auxiliary matrix that is not aligned to 16 bytes");
}

static cublasStatus_t enqueue_product(CUstream stream, struct product *p) {
    const struct desc *desc = &p->desc;
    const struct layout *d = &p->layouts[3];
    struct operand operands[MAXIMUM_OPERANDS];
    int count = 0, batch = d->batch;
    int64_t m = (int64_t)d->rows, n = (int64_t)d->columns;
    bool reads_c = desc->pointer_mode == 1 || load_scalar(&p->beta).re != 0 || load_scalar(&p->beta).im != 0;
    count = add(operands, count, p->d, bytes_of(d), WRITE);
    count = add(operands, count, p->a, bytes_of(&p->layouts[0]), READ);
    count = add(operands, count, p->b, bytes_of(&p->layouts[1]), READ);
    if (reads_c && p->c != p->d) count = add(operands, count, p->c, bytes_of(&p->layouts[2]), READ);
    bool gradient = (desc->epilogue & (BGRAD | BGRADA | BGRADB)) != 0;
    int64_t vector = (desc->epilogue == BGRADB ? n : m) + (batch - 1) * desc->bias_stride;
    count = add(operands, count, desc->bias, vector * (int64_t)type_bytes(bias_type(desc, d)), gradient ? WRITE : READ);
    bool backward = (desc->epilogue & (DRELU | DGELU)) != 0, bits = (desc->epilogue & (RELU | DRELU)) != 0;
    int64_t matrix = desc->aux_leading * n + (batch - 1) * desc->aux_stride;
    int type = desc->aux_type >= 0 ? desc->aux_type : (int)d->type;
    count = add(operands, count, desc->aux, bits ? matrix / 8 : matrix * (int64_t)type_bytes(type), backward ? READ : WRITE);
    for (int i = 0; i < 3; i++) {
        int64_t length = i < 2 && desc->modes[i] == 3 ? (i == 0 ? m : n) : 1;
        count = add(operands, count, desc->scales[i], 4 * length, READ);
    }
    count = add(operands, count, desc->amax, 4, WRITE);
    count = add_scalar(operands, count, &p->alpha);
    count = add_scalar(operands, count, &p->beta);
    count = add(operands, count, p->workspace.address, (int64_t)p->workspace.bytes, WRITE);
    return status_of(standin_enqueue(stream, operands, count, run_product, p, sizeof *p));
}

EXPORT cublasStatus_t cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                                     const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                                     void *d, void *d_layout, const struct algorithm *algorithm, void *workspace,
                                     size_t workspace_bytes, CUstream stream) {
    BLAS_ENTER(cublasLtMatmul);
    void *objects[4] = {a_layout, b_layout, c_layout, d_layout};
    if (!all_marked(handle, desc, objects)) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "%s", "");
    if (!enter_handle(handle)) BLAS_LEAVE(CUBLAS_STATUS_NOT_INITIALIZED, "%s", "");
    const struct layout *layouts[4] = {a_layout, b_layout, c_layout, d_layout};
    const void *matrices[4] = {a, b, c, d};
    cublasStatus_t status = check(layouts, desc);
    if (status != CUBLAS_STATUS_SUCCESS) BLAS_LEAVE(status, "%s", "");
    if (algorithm->signature != sign(layouts, desc)) standin_violation("an algorithm for another problem");
    if (algorithm->workspace > workspace_bytes) standin_violation("less workspace than the algorithm takes");
    if ((uintptr_t)workspace % 256 != 0) BLAS_LEAVE(CUBLAS_STATUS_INVALID_VALUE, "misaligned workspace");
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)matrices[i] % (algorithm->alignments >> (16 * i) & 0xFFFF) != 0)
            standin_violation("matrix %d is less aligned than the algorithm was asked for", i);
    struct product product = {
        .desc = *(const struct desc *)desc,
        .a = (uint64_t)(uintptr_t)a,
        .b = (uint64_t)(uintptr_t)b,
        .c = (uint64_t)(uintptr_t)c,
        .d = (uint64_t)(uintptr_t)d,
        .workspace = {(uint64_t)(uintptr_t)workspace, workspace_bytes},
    };
    for (int i = 0; i < 4; i++) product.layouts[i] = *layouts[i];
    watch_alignment(&product);
    if (c == d && layouts[2]->type != layouts[3]->type) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (!take(&product.alpha, desc, alpha) || !take(&product.beta, desc, beta)) status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS && standin_sticky() != CUDA_SUCCESS) status = CUBLAS_STATUS_EXECUTION_FAILED;
    if (status == CUBLAS_STATUS_SUCCESS) status = enqueue_product(stream, &product);
    BLAS_LEAVE(status, "%" PRIu64 "x%" PRIu64 " epilogue %u %s = %s * %s", layouts[3]->rows, layouts[3]->columns,
               product.desc.epilogue, standin_address_text(d), standin_address_text(a), standin_address_text(b));
}
