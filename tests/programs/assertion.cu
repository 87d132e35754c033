// A failed assertion ends the context: cudaErrorAssert from then on, until the device is reset.
#undef NDEBUG
#include <cassert>

#include "check.h"

__global__ void judge(int limit) { assert(int(threadIdx.x) < limit); }

int main() {
  bool good = true;
  judge<<<1, 32>>>(32);
  LAUNCHED();
  judge<<<1, 32>>>(31);
  good &= cudaDeviceSynchronize() == cudaErrorAssert;
  good &= cudaDeviceSynchronize() == cudaErrorAssert;
  int* p;
  good &= cudaMalloc(&p, 4) == cudaErrorAssert;
  return report("assertion", good);
}
