// Source of kernels.ptx: nvcc -ptx -O3 -arch=sm_75 kernels.cu
extern "C" __global__ void vecadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <int N>
__device__ void reduce(const float* values, float* sums, int n) {
  __shared__ float part[N];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += values[i];
  part[t] = sum;
  __syncthreads();
  for (int k = N / 2; k > 0; k >>= 1) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce32(const float* values, float* sums, int n) { reduce<32>(values, sums, n); }
extern "C" __global__ void reduce256(const float* values, float* sums, int n) { reduce<256>(values, sums, n); }
