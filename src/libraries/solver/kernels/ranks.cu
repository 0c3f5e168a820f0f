// What tells of a rank: columns of R that depend on others, singular values above a limit, sums of squares.
typedef unsigned long long u64;

// info = the first column of R, counted from 1, whose element on the diagonal is at most `limit` times the norm of the
// column (R has the norms of the columns of A); 0 for none. A number has `parts` parts. One block.
template <class R> __device__ __forceinline__ void first_dependent(const R *r, u64 n, u64 ld, u64 parts, double limit, unsigned *info) {
    if (threadIdx.x == 0) *info = ~0u;
    __syncthreads();
    for (u64 j = threadIdx.x; j < n; j += blockDim.x) {
        const R *column = r + j * ld * parts;
        u64 numbers = (j + 1) * parts;
        double most = 0;
        for (u64 i = 0; i < numbers; ++i) most = fmax(most, fabs((double)column[i]));
        double sum = 0, own = 0;
        for (u64 i = 0; i < numbers; ++i) {
            double x = most > 0 ? (double)column[i] / most : 0;
            sum += x * x;
            if (i >= j * parts) own += x * x;
        }
        if (sqrt(own) <= limit * sqrt(sum)) {
            atomicMin(info, (unsigned)(j + 1));
            break;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && *(volatile unsigned *)info == ~0u) *info = 0;
}

// How many of values that descend are above `tolerance` times the first.
template <class R> __device__ __forceinline__ void count_above(const R *values, u64 n, double tolerance, int *count) {
    if (threadIdx.x != 0) return;
    int found = 0;
    for (u64 i = 0; i < n; ++i) found += (double)values[i] > tolerance * (double)values[0];
    *count = found;
}

// The sum of squares of each column; a block of 256 threads takes one. `rows` and `ld` count parts of numbers.
template <class R> __device__ __forceinline__ void sum_squares(const R *x, u64 rows, u64 ld, R *sums) {
    __shared__ double parts[256];
    const R *column = x + blockIdx.x * ld;
    double sum = 0;
    for (u64 i = threadIdx.x; i < rows; i += 256) sum += (double)column[i] * (double)column[i];
    parts[threadIdx.x] = sum;
    for (unsigned half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = (R)parts[0];
}

#define K extern "C" __global__ void
K first_dependent_4(const float *r, u64 n, u64 ld, u64 parts, double limit, unsigned *info) { first_dependent(r, n, ld, parts, limit, info); }
K first_dependent_8(const double *r, u64 n, u64 ld, u64 parts, double limit, unsigned *info) { first_dependent(r, n, ld, parts, limit, info); }
K count_above_4(const float *values, u64 n, double tolerance, int *count) { count_above(values, n, tolerance, count); }
K count_above_8(const double *values, u64 n, double tolerance, int *count) { count_above(values, n, tolerance, count); }
K sum_squares_4(const float *x, u64 rows, u64 ld, float *sums) { sum_squares(x, rows, ld, sums); }
K sum_squares_8(const double *x, u64 rows, u64 ld, double *sums) { sum_squares(x, rows, ld, sums); }
