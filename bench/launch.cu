// Microseconds a launch of an empty kernel takes: in a stream of launches, one by one with a synchronisation, and by
// grid size.
#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void empty() {}

static double microseconds(int launches, int ctas, int threads, bool synchronise) {
  cudaDeviceSynchronize();
  auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < launches; k++) {
    empty<<<ctas, threads>>>();
    if (synchronise) cudaDeviceSynchronize();
  }
  cudaDeviceSynchronize();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / launches;
}

int main(int argc, char** argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 100000;
  empty<<<1, 1>>>();
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("{\"stream\": %.3f, \"synchronised\": %.3f, \"cta_ns\": %.2f}\n", microseconds(n, 1, 32, false),
              microseconds(n / 10, 1, 32, true), microseconds(1, 10000000, 32, false) * 1e3 / 1e7);
}
