// Transposition through a padded tile of shared memory: transpose [WIDTH HEIGHT]
#include "check.h"

constexpr int kTile = 32, kRows = 8;

template <typename T>
__global__ void transpose(const T* in, T* out, int width, int height) {
  __shared__ T tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows)
    if (x < width && y + k < height) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows)
    if (x < height && y + k < width) out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}

template <typename T>
bool transposes(int width, int height) {
  Random random;
  std::vector<T> in(width * height);
  for (T& v : in) v = static_cast<T>(random.next());
  T *device = to_device(in), *out = zeros<T>(width * height);
  transpose<T><<<dim3((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), dim3(kTile, kRows)>>>(device, out,
                                                                                                        width, height);
  LAUNCHED();
  std::vector<T> result = to_host(out, width * height);
  bool good = true;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) good &= result[x * height + y] == in[y * width + x];
  return good;
}

int main(int argc, char** argv) {
  int width = argument(argc, argv, 1, 150), height = argument(argc, argv, 2, 97);
  return report("transpose", transposes<float>(width, height) && transposes<unsigned char>(width, height) &&
                                 transposes<short>(width, height) && transposes<double>(width, height));
}
