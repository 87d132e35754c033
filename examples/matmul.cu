// Matrix product with 16x16 tiles in shared memory: matmul [SIZE]
#include "check.h"

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[kTile][kTile], tb[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    ta[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0.0f;
    tb[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; i++) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 100);  // not a multiple of the tile
  Random random;
  std::vector<float> a(n * n), b(n * n);
  for (float& v : a) v = random.real() - 0.5f;
  for (float& v : b) v = random.real() - 0.5f;
  float *da = to_device(a), *db = to_device(b), *dc = zeros<float>(n * n);
  dim3 grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  matmul<<<grid, dim3(kTile, kTile)>>>(da, db, dc, n);
  LAUNCHED();
  std::vector<float> c = to_host(dc, n * n);
  bool good = true;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int k = 0; k < n; k++) sum += static_cast<double>(a[i * n + k]) * b[k * n + j];
      good &= std::fabs(c[i * n + j] - sum) < 1e-4;
    }
  return report("matmul", good);
}
