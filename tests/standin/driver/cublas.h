/* The inside of libcublas's stand-in. The mutex is the driver's: standin_enter takes it, standin_leave gives it back. */
#ifndef CUBLAS_H
#define CUBLAS_H

#include "simulator.h"

typedef int cublasStatus_t;
typedef void *cublasHandle_t;

enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

enum data_type {
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_8I = 3,
    C_32F = 4,
    C_64F = 5,
    R_32I = 10,
    R_16BF = 14,
    R_8F_E4M3 = 28,
    R_8F_E5M2 = 29,
};

struct blas {
    struct blas *next;
    int number, generation, device, inside;
    bool destroyed, device_pointers;
    CUstream stream;
    uint64_t own_memory;
    uint64_t workspace; /* the user's; 0: our own */
    size_t workspace_bytes;
    int math_mode, atomics_mode;
};

/* A complex number, whatever the type; the imaginary part of a real one is 0. */
struct number {
    double re, im;
};

/* alpha, beta: taken when the call is made, or read from device memory when it runs. */
struct scalar {
    uint64_t address; /* 0: the bytes are here */
    unsigned char bytes[16];
    int type;
};

/* What every computation carries along. */
struct workspace {
    uint64_t address;
    size_t bytes;
};

#define BLAS_ENTER(call_name)                                                                                          \
    static struct call this_call = {.name = #call_name};                                                              \
    do {                                                                                                               \
        int refused = standin_enter(&this_call);                                                                       \
        if (refused != 0) return refused;                                                                              \
    } while (0)
#define BLAS_LEAVE(code, ...) return standin_leave(&this_call, code, __VA_ARGS__)

/* cublas.c: NULL, and a violation, for a bad handle, a second thread in it, or a wrong context. */
struct blas *enter_blas(cublasHandle_t handle);
/* Takes the scalar of a call; false if the pointer cannot be one in the handle's pointer mode. */
bool take_scalar(const struct blas *blas, struct scalar *scalar, const void *pointer, int type);
/* Adds the scalar's and the workspace's operands to the others. */
int add_scalar(struct operand *operands, int count, const struct scalar *scalar);
int add_workspace(struct operand *operands, int count, const struct blas *blas);
void scribble(struct workspace workspace);
/* The library's status for what the driver said. */
cublasStatus_t status_of(CUresult code);

/* cublas_numbers.c */
size_t type_bytes(int type); /* 0: not one of ours */
bool is_complex(int type);
bool is_double(int type);
struct number load(const void *from, int type, int64_t index);
void store(void *to, int type, int64_t index, struct number value);
struct number load_scalar(const struct scalar *scalar);
struct number multiply(struct number one, struct number other);
/* What a tensor core makes of a factor in single precision, for CUBLAS_COMPUTE_32F_FAST_TF32. */
enum { COMPUTE_FAST_TF32 = 77 };
struct number round_to_tf32(struct number value);

#endif
