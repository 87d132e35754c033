// Five-point stencil with weights in constant memory: stencil [WIDTH HEIGHT]
#include "check.h"

__constant__ float weights[5];

__global__ void stencil(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  int i = y * width + x;
  out[i] = weights[0] * in[i] + weights[1] * in[i - 1] + weights[2] * in[i + 1] + weights[3] * in[i - width] +
           weights[4] * in[i + width];
}

int main(int argc, char** argv) {
  int width = argument(argc, argv, 1, 203), height = argument(argc, argv, 2, 101);
  const float w[5] = {0.5f, 0.125f, 0.25f, 0.0625f, 0.0625f};
  CUDA(cudaMemcpyToSymbol(weights, w, sizeof w));
  Random random;
  std::vector<float> in(width * height);
  for (float& v : in) v = random.real();
  float *device = to_device(in), *out = zeros<float>(width * height);
  stencil<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(device, out, width, height);
  LAUNCHED();
  std::vector<float> result = to_host(out, width * height);
  bool good = true;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      int i = y * width + x;
      bool border = x < 1 || y < 1 || x >= width - 1 || y >= height - 1;
      double expected = border ? 0.0
                               : w[0] * double(in[i]) + w[1] * double(in[i - 1]) + w[2] * double(in[i + 1]) +
                                     w[3] * double(in[i - width]) + w[4] * double(in[i + width]);
      good &= std::fabs(result[i] - expected) < 1e-6;
    }
  return report("stencil", good);
}
