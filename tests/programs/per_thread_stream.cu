// Compiled with -default-stream=per-thread: each host thread has a default stream of its own.
#include <thread>

#include "check.h"

__global__ void steps(int* p, int n) {
  for (int k = 0; k < n; k++) p[threadIdx.x] = p[threadIdx.x] * 3 + 1;
}

int main() {
  std::vector<int> good(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([t, &good] {
      int* p = zeros<int>(64);
      for (int k = 0; k < 20; k++) steps<<<1, 64>>>(p, t + 1);
      CUDA(cudaStreamSynchronize(cudaStreamPerThread));
      unsigned want = 0;
      for (int k = 0; k < 20 * (t + 1); k++) want = want * 3 + 1;
      good[t] = 1;
      for (int x : to_host(p, 64)) good[t] &= x == static_cast<int>(want);
    });
  for (std::thread& t : threads) t.join();
  return report("per_thread_stream", good == std::vector<int>(4, 1));
}
