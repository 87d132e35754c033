// y = a * x + y with a grid-stride loop: saxpy [ELEMENTS]
#include "check.h"

__global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 200001);
  Random random;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; i++) {
    x[i] = random.real();
    y[i] = random.real();
  }
  float *dx = to_device(x), *dy = to_device(y);
  saxpy<<<64, 128>>>(2.5f, dx, dy, n);
  LAUNCHED();
  std::vector<float> result = to_host(dy, n);
  bool good = true;
  for (int i = 0; i < n; i++) good &= result[i] == std::fmaf(2.5f, x[i], y[i]);
  return report("saxpy", good);
}
