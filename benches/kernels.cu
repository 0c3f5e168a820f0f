extern "C" __global__ void saxpy(float a, const float* x, float* y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void heat(const float* now, float* next, unsigned width, unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    size_t i = (size_t)y * width + x;
    float here = now[i];
    float left = x > 0 ? now[i - 1] : here, right = x + 1 < width ? now[i + 1] : here;
    float above = y > 0 ? now[i - width] : here, below = y + 1 < height ? now[i + width] : here;
    next[i] = here + 0.2f * (left + right + above + below - 4.0f * here);
}
extern "C" __global__ void sum(const float* x, float* y) {
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    for (unsigned step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
extern "C" __global__ void product(const float* a, const float* b, float* c, unsigned n) {
    __shared__ float left[16][16], right[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; k += 16) {
        left[y][x] = a[(size_t)row * n + k + x];
        right[y][x] = b[(size_t)(k + y) * n + column];
        __syncthreads();
        for (unsigned j = 0; j < 16; ++j) sum += left[y][j] * right[j][x];
        __syncthreads();
    }
    c[(size_t)row * n + column] = sum;
}
extern "C" __global__ void polynomial(const float* x, float* y, unsigned n, unsigned terms) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], sum = 0.0f;
    for (unsigned k = 0; k < terms; ++k) sum = sum * v + 0.5f;
    y[i] = sum;
}
