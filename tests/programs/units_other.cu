// The other unit of units_main.cu.
#include "check.h"

static __device__ int offset_ = 1000;
static __global__ void shift(int* p) { p[threadIdx.x] += offset_; }

int other_unit(int* device) {
  shift<<<1, 32>>>(device);
  LAUNCHED();
  int offset = 0;
  CUDA(cudaMemcpyFromSymbol(&offset, offset_, sizeof offset));
  return offset;
}
