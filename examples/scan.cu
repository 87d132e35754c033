// Inclusive prefix sums with shuffles inside warps and shared memory between them: scan [ELEMENTS]
#include "check.h"

constexpr int kThreads = 256;

__device__ int warp_scan(int value) {
  int lane = threadIdx.x % 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    int other = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

__global__ void scan_blocks(const int* in, int* out, int* sums, int n) {
  __shared__ int warps[kThreads / 32];
  int i = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = warp_scan(i < n ? in[i] : 0);
  if (lane == 31) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int total = warp_scan(lane < kThreads / 32 ? warps[lane] : 0);
    if (lane < kThreads / 32) warps[lane] = total;
  }
  __syncthreads();
  if (warp > 0) value += warps[warp - 1];
  if (i < n) out[i] = value;
  if (threadIdx.x == kThreads - 1) sums[blockIdx.x] = value;
}

__global__ void add_offsets(int* out, const int* sums, int n) {
  int i = blockIdx.x * kThreads + threadIdx.x, offset = 0;
  for (int b = 0; b < static_cast<int>(blockIdx.x); b++) offset += sums[b];
  if (i < n) out[i] += offset;
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 50021), blocks = (n + kThreads - 1) / kThreads;
  Random random;
  std::vector<int> in(n);
  for (int& v : in) v = static_cast<int>(random.next() % 19) - 9;
  int *device = to_device(in), *out = zeros<int>(n), *sums = zeros<int>(blocks);
  scan_blocks<<<blocks, kThreads>>>(device, out, sums, n);
  add_offsets<<<blocks, kThreads>>>(out, sums, n);
  LAUNCHED();
  std::vector<int> result = to_host(out, n);
  bool good = true;
  int sum = 0;
  for (int i = 0; i < n; i++) good &= result[i] == (sum += in[i]);
  return report("scan", good);
}
