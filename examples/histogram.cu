// Histogram with atomics in shared and global memory: histogram [ELEMENTS]
#include "check.h"

constexpr int kBins = 64;

__global__ void histogram(const unsigned char* data, unsigned* bins, int n) {
  __shared__ unsigned mine[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[data[i] % kBins], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 200003);
  Random random;
  std::vector<unsigned char> data(n);
  std::vector<unsigned> expected(kBins);
  for (unsigned char& v : data) {
    v = static_cast<unsigned char>((random.next() >> 24) * (random.next() >> 24) >> 8);  // uneven on purpose
    expected[v % kBins]++;
  }
  unsigned char* device = to_device(data);
  unsigned* bins = zeros<unsigned>(kBins);
  histogram<<<24, 192>>>(device, bins, n);
  LAUNCHED();
  return report("histogram", to_host(bins, kBins) == expected);
}
