// Sum by a tree in shared memory: reduction [ELEMENTS]
#include "check.h"

__global__ void sum(const int* values, long long* total, int n) {
  extern __shared__ int part[];
  int t = threadIdx.x;
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  part[t] = mine;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(total),
              static_cast<unsigned long long>(static_cast<long long>(part[0])));
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 300007);
  Random random;
  std::vector<int> values(n);
  long long expected = 0;
  for (int& v : values) expected += v = static_cast<int>(random.next() % 2001) - 1000;
  int* device = to_device(values);
  long long* total = zeros<long long>(1);
  sum<<<32, 256, 256 * sizeof(int)>>>(device, total, n);
  LAUNCHED();
  return report("reduction", to_host(total, 1)[0] == expected);
}
