#!/bin/sh
# Builds the stand-in with every warning an error and the address sanitizer on, and runs its self-test.
# Usage: check.sh [FOLDER]      SANITIZE=thread check.sh, SANITIZE=none check.sh
set -eu
here=$(dirname "$0")
folder=${1:-$(mktemp -d)}
sanitize=${SANITIZE:-address,undefined}
flags="-std=gnu11 -O1 -g -fPIC -fvisibility=hidden -pthread -Wall -Wextra -Wno-missing-field-initializers -Werror"
if [ "$sanitize" != none ]; then flags="$flags -fsanitize=$sanitize"; fi
driver="state chance scheduler execute memory races $(cd "$here" && echo kernels*.c | sed 's/\.c//g') machine
        calls script control
        shared cuda_device cuda_errors cuda_stream cuda_memory cuda_managed cuda_growth cuda_copy cuda_module cuda_graph"
blas="cublas cublas_shared cublas_numbers cublas_gemm cublas_lu cublas_vector cublas_typed"
solver="cusolver cusolver_dense cusolver_indefinite cusolver_qr cusolver_svd cusolver_refine cusolver_spectra cublas_numbers cublas_shared"
lt="cublaslt cublas_shared cublas_numbers"
sources() { for name in "$@"; do echo "$here/$name.c"; done; }
compiler=${CC:-cc}
# Words are split on purpose: these are lists.
$compiler $flags -shared -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -o "$folder/libcuda.so.1" $(sources $driver) -ldl
$compiler $flags -shared -Wl,-soname,libcublas.so.13 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' -o "$folder/libcublas.so.13" \
    $(sources $blas) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libcublasLt.so.13 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' \
    -o "$folder/libcublasLt.so.13" $(sources $lt) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libcufft.so.12 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' \
    -o "$folder/libcufft.so.12" $(sources cufft cublas_numbers) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libcusparse.so.12 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' \
    -o "$folder/libcusparse.so.12" $(sources cusparse cublas_numbers cublas_shared) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libcusolver.so.12 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' \
    -o "$folder/libcusolver.so.12" $(sources $solver) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libcudss.so.1 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' -o "$folder/libcudss.so.1" \
    $(sources cudss cublas_numbers cublas_shared) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libnccl.so.2 -Wl,-z,nodelete -Wl,-rpath,'$ORIGIN' -o "$folder/libnccl.so.2" \
    $(sources nccl cublas_numbers cublas_shared) -L"$folder" -l:libcuda.so.1 -lm
$compiler $flags -shared -Wl,-soname,libnvtx3interop.so.1 -o "$folder/libnvtx3interop.so.1" $(sources nvtx) -L"$folder" \
    -l:libcuda.so.1
$compiler $flags -shared -o "$folder/libstandin-turns.so" $(sources turns) -ldl
$compiler $flags -o "$folder/selftest" "$here/selftest.c" -L"$folder" -l:libcublas.so.13 -l:libcuda.so.1 -lm \
    -Wl,-rpath,'$ORIGIN'
"$folder/selftest"
