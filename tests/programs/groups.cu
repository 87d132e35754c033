// Cooperative groups: tiles, coalesced groups, a grid-wide barrier.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void tiles(int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int sum = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
  if (threadIdx.x % 3 == 0) {
    auto some = cg::coalesced_threads();
    sum += 1000 * int(some.size()) + 100000 * int(some.thread_rank());
  }
  out[threadIdx.x] = sum;
}

__global__ void relax(int* p, int n, int rounds) {
  auto grid = cg::this_grid();
  int i = grid.thread_rank();
  for (int k = 0; k < rounds; k++) {
    int next = p[(i + 1) % n];
    grid.sync();
    p[i] += next;
    grid.sync();
  }
}

int main() {
  int* out = zeros<int>(64);
  tiles<<<1, 64>>>(out);
  LAUNCHED();
  std::vector<int> got = to_host(out, 64);
  bool good = true;
  for (int t = 0; t < 64; t++) {
    int first = t / 8 * 8, want = 8 * first + 28, size = 0, rank = 0;
    for (int u = t / 32 * 32; u < t / 32 * 32 + 32; u++) size += u % 3 == 0, rank += u % 3 == 0 && u < t;
    good &= got[t] == want + (t % 3 == 0 ? 1000 * size + 100000 * rank : 0);
  }
  int n = 8 * 64, rounds = 6;
  std::vector<int> host(n), next(n);
  for (int i = 0; i < n; i++) host[i] = i % 17;
  int* p = to_device(host);
  void* arguments[] = {&p, &n, &rounds};
  CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(relax), dim3(8), dim3(64), arguments, 0, nullptr));
  LAUNCHED();
  for (int k = 0; k < rounds; k++) {
    for (int i = 0; i < n; i++) next[i] = host[i] + host[(i + 1) % n];
    host = next;
  }
  good &= to_host(p, n) == host;
  return report("groups", good);
}
