// Two translation units with kernels and variables of the same names (internal linkage), one program.
#include "check.h"

int other_unit(int* device);

static __device__ int offset_ = 100;
static __global__ void shift(int* p) { p[threadIdx.x] += offset_; }

int main() {
  int* p = zeros<int>(32);
  shift<<<1, 32>>>(p);
  LAUNCHED();
  bool good = other_unit(p) == 1000;
  for (int x : to_host(p, 32)) good &= x == 1100;
  return report("units", good);
}
