// Mandelbrot set, a divergent loop in two dimensions: mandelbrot [WIDTH HEIGHT]
#include "check.h"

__host__ __device__ int escape(float cx, float cy, int most) {
  float x = 0, y = 0;
  int n = 0;
  while (n < most) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    n++;
  }
  return n;
}

__global__ void mandelbrot(int* out, int width, int height, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[y * width + x] = escape(-2.0f + 3.0f * x / width, -1.0f + 2.0f * y / height, most);
}

int main(int argc, char** argv) {
  int width = argument(argc, argv, 1, 150), height = argument(argc, argv, 2, 100), most = 200;
  int* out = zeros<int>(width * height);
  mandelbrot<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, width, height, most);
  LAUNCHED();
  std::vector<int> result = to_host(out, width * height);
  // Host and device may fuse multiplications differently: points near the border of the set can differ.
  int differ = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      differ += std::abs(result[y * width + x] - escape(-2.0f + 3.0f * x / width, -1.0f + 2.0f * y / height, most)) > 1;
  return report("mandelbrot", differ * 50 < width * height && result[height / 2 * width + width * 2 / 3] == most);
}
