// CTAs and grids of many shapes: every thread is there once, with the right indices, lanes and warps.
#include "check.h"

struct Seen {
  int count, x, y, z, bx, by, bz, lane, warp, ballot;
};

__global__ void record(Seen* seen) {
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int size = blockDim.x * blockDim.y * blockDim.z;
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  Seen& s = seen[b * size + t];
  atomicAdd(&s.count, 1);
  s.x = threadIdx.x, s.y = threadIdx.y, s.z = threadIdx.z;
  s.bx = blockIdx.x, s.by = blockIdx.y, s.bz = blockIdx.z;
  s.lane = lane;
  s.warp = t / 32;
  s.ballot = __popc(__activemask());
}

// The sum over a CTA by shared memory; the last warp may be partial, the second half of the CTA leaves early.
__global__ void sum(int* out, int half_leaves) {
  __shared__ int total;
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (t == 0) total = 0;
  __syncthreads();
  if (half_leaves && t % 2) return;
  atomicAdd(&total, t);
  __syncthreads();
  if (t == 0) out[blockIdx.x] = total;
}

static bool shape(dim3 grid, dim3 block) {
  int size = block.x * block.y * block.z, blocks = grid.x * grid.y * grid.z;
  Seen* device = zeros<Seen>(size * blocks);
  record<<<grid, block>>>(device);
  LAUNCHED();
  bool good = true;
  std::vector<Seen> seen = to_host(device, size * blocks);
  for (int i = 0; i < size * blocks; i++) {
    const Seen& s = seen[i];
    int t = i % size, b = i / size, last = size - t / 32 * 32;
    good &= s.count == 1 && s.lane == t % 32 && s.warp == t / 32 && s.ballot == (last < 32 ? last : 32);
    good &= t == s.x + int(block.x) * (s.y + int(block.y) * s.z) && s.x < int(block.x) && s.y < int(block.y);
    good &= b == s.bx + int(grid.x) * (s.by + int(grid.y) * s.bz) && s.bx < int(grid.x) && s.by < int(grid.y);
  }
  for (int half = 0; half < 2; half++) {
    int* out = zeros<int>(blocks);
    sum<<<blocks, block>>>(out, half);
    LAUNCHED();
    int want = 0;
    for (int t = 0; t < size; t++) want += half && t % 2 ? 0 : t;
    for (int got : to_host(out, blocks)) good &= got == want;
    CUDA(cudaFree(out));
  }
  CUDA(cudaFree(device));
  if (!good) std::printf("CTA %u x %u x %u, grid %u x %u x %u\n", block.x, block.y, block.z, grid.x, grid.y, grid.z);
  return good;
}

int main() {
  bool good = true;
  const dim3 blocks[] = {1,          2,       31,         32,         33,        64,        95,
                         256,        1000,    1024,       {16, 16},   {8, 8, 8}, {7, 5, 3}, {1, 40},
                         {1, 1, 33}, {32, 4}, {64, 2, 2}, {5, 1, 20}, {3, 11}};
  const dim3 grids[] = {1, 7, {3, 2}, {2, 3, 4}};
  for (dim3 grid : grids)
    for (dim3 block : blocks) good &= shape(grid, block);
  return report("shapes", good);
}
