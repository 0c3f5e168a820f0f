// What kernels.ptx was made from: NVRTC 13.0 for compute_75, its header lowered to PTX 7.0 for sm_70.
struct Mix {
    unsigned a;
    float b;
    unsigned char c[4];
};
extern "C" __global__ void axpb_f32(const float* src, float* dst, unsigned long long n, float a, float b) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dst[i] = a * src[i] + b;
}
extern "C" __global__ void add_one_f32(float* data, unsigned long long n) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1.0f;
}
extern "C" __global__ void sixteen(const float* f, const double* d, const int* i4, const unsigned char* u1, const unsigned long long* u8, const short* i2,
  double* sum, unsigned* index, float sf, double sd, signed char s1, unsigned short s2, long long s8, Mix mix, unsigned long long n, const void* pointer) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    sum[i] += (double)f[i] + d[i] + i4[i] + u1[i] + (double)u8[i] + i2[i] + sf + sd + s1 + s2 + (double)s8 + mix.a + mix.b + mix.c[3] + (pointer != 0);
    index[i] = (unsigned)i;
  }
}
extern "C" __global__ void turn_blocks(const float* x, float* y, unsigned long long n) {
  extern __shared__ float tile[];
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x * 16] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = tile[((threadIdx.x + 1) % blockDim.x) * 16];
}
extern "C" __global__ void where_am_i(unsigned* out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
  out[(z * h + y) * w + x] = (z << 20) | (y << 10) | x;
}
