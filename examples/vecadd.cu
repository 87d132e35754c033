// Vector addition: vecadd [ELEMENTS]
#include "check.h"

__global__ void vecadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 100003);  // the last CTA is partial
  Random random;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; i++) {
    a[i] = random.real();
    b[i] = random.real();
  }
  float *da = to_device(a), *db = to_device(b), *dc = zeros<float>(n);
  vecadd<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  LAUNCHED();
  std::vector<float> c = to_host(dc, n);
  bool good = true;
  for (int i = 0; i < n; i++) good &= c[i] == a[i] + b[i];
  CUDA(cudaFree(da));
  CUDA(cudaFree(db));
  CUDA(cudaFree(dc));
  return report("vecadd", good);
}
