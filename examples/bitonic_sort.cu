// Bitonic sort, one launch a step: bitonic_sort [LOG2-OF-ELEMENTS]
#include <algorithm>

#include "check.h"

__global__ void step(unsigned* values, int j, int k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
  if (other <= i) return;
  bool ascending = (i & k) == 0;
  unsigned a = values[i], b = values[other];
  if ((a > b) == ascending) {
    values[i] = b;
    values[other] = a;
  }
}

int main(int argc, char** argv) {
  int n = 1 << argument(argc, argv, 1, 12);
  Random random;
  std::vector<unsigned> values(n);
  for (unsigned& v : values) v = random.next();
  unsigned* device = to_device(values);
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) step<<<n / 64, 64>>>(device, j, k);
  LAUNCHED();
  std::sort(values.begin(), values.end());
  return report("bitonic_sort", to_host(device, n) == values);
}
