// What globals.ptx was made from, as kernels.ptx was; the variables made visible.
__constant__ float factor[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ unsigned calls;
extern "C" __global__ void scale_by_factor(float* x, unsigned long long n) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor[i % 4];
  if (i == 0) atomicAdd(&calls, 1u);
}
