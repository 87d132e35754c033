// Error codes as CUDA gives them: configurations, pointers, queries; which errors stay and which do not.
#include <cstring>

#include "check.h"

__global__ void nothing(int*) {}
__global__ void __launch_bounds__(64) bounded(int*) {}
__global__ void much_shared(int* out) {
  extern __shared__ int room[];
  room[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

// Up to 12.x the runtime looks at the geometry itself; 13.x passes on what the driver says.
#if CUDART_VERSION >= 13000
const cudaError_t kBadGeometry = cudaErrorInvalidValue;
#else
const cudaError_t kBadGeometry = cudaErrorInvalidConfiguration;
#endif

static bool good = true;

static void expect(cudaError_t got, cudaError_t want, int line) {
  if (got == want) return;
  good = false;
  std::printf("line %d: %s, not %s\n", line, cudaGetErrorName(got), cudaGetErrorName(want));
}
#define EXPECT(got, want) expect(got, want, __LINE__)
#define LAUNCH_GIVES(want)             \
  EXPECT(cudaPeekAtLastError(), want); \
  EXPECT(cudaGetLastError(), want);    \
  EXPECT(cudaGetLastError(), cudaSuccess)

int main() {
  int* p = zeros<int>(1024);
  nothing<<<0, 32>>>(p);
  LAUNCH_GIVES(kBadGeometry);
  nothing<<<1, 0>>>(p);
  LAUNCH_GIVES(kBadGeometry);
  nothing<<<1, 1025>>>(p);
  LAUNCH_GIVES(kBadGeometry);
  nothing<<<1, dim3(1, 1, 65)>>>(p);
  LAUNCH_GIVES(kBadGeometry);
  nothing<<<dim3(1, 65536), 1>>>(p);
  LAUNCH_GIVES(kBadGeometry);
  nothing<<<1, 32, 1 << 20>>>(p);
  LAUNCH_GIVES(cudaErrorInvalidValue);
  bounded<<<1, 128>>>(p);
  LAUNCH_GIVES(cudaErrorInvalidValue);
  much_shared<<<1, 32, 60000>>>(p);
  LAUNCH_GIVES(cudaErrorInvalidValue);
  EXPECT(cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000), cudaSuccess);
  much_shared<<<1, 32, 60000>>>(p);
  LAUNCH_GIVES(cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 32; i++) good &= to_host(p, 32)[i] == 31 - i;
  EXPECT(cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
         cudaErrorInvalidValue);
  LAUNCH_GIVES(cudaErrorInvalidValue);

  void* big;
  EXPECT(cudaMalloc(&big, size_t(1) << 50), cudaErrorMemoryAllocation);
  LAUNCH_GIVES(cudaErrorMemoryAllocation);
  EXPECT(cudaFree(nullptr), cudaSuccess);
  EXPECT(cudaFree(reinterpret_cast<void*>(0x1000)), cudaErrorInvalidValue);
  EXPECT(cudaFree(p), cudaSuccess);
  EXPECT(cudaFree(p), cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT(cudaSetDevice(100), cudaErrorInvalidDevice);
  cudaGetLastError();
  cudaDeviceProp properties;
  EXPECT(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  good &= properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024 && properties.multiProcessorCount > 0;
  good &= std::strlen(properties.name) > 0 && properties.totalGlobalMem > 0 && properties.major >= 7;
  cudaFuncAttributes attributes;
  EXPECT(cudaFuncGetAttributes(&attributes, bounded), cudaSuccess);
  good &= attributes.maxThreadsPerBlock == 64;
  int blocks = 0, grid = 0, block = 0;
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 128, 0), cudaSuccess);
  EXPECT(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing), cudaSuccess);
  good &= blocks >= 1 && grid >= 1 && block >= 32 && block <= 1024;
  EXPECT(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  good &= !std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  return report("errors", good);
}
