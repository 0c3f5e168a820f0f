/* What the stand-ins of libcublas and libcublasLt share. */
#include "cublas.h"

#include <string.h>

int add_scalar(struct operand *operands, int count, const struct scalar *scalar) {
    if (scalar->address == 0) return count;
    struct range range = {scalar->address, type_bytes(scalar->type), 0, 1};
    operands[count] = (struct operand){.range = range, .kind = READ};
    return count + 1;
}

/* A workspace that is somebody else's memory too is found by what this leaves in it. */
void scribble(struct workspace workspace) {
    size_t bytes = workspace.bytes < 65536 ? workspace.bytes : 65536;
    if (workspace.address != 0) memset(standin_backing(workspace.address), 0xEE, bytes);
}

cublasStatus_t status_of(CUresult code) {
    if (code == CUDA_SUCCESS) return CUBLAS_STATUS_SUCCESS;
    return code == CUDA_ERROR_INVALID_HANDLE ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_EXECUTION_FAILED;
}
