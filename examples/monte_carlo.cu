// Pi by random points, with device functions that are called, not inlined: monte_carlo [POINTS-A-THREAD]
#include "check.h"

struct Generator {
  unsigned long long state;
};

__host__ __device__ __noinline__ unsigned draw(Generator* g) {
  g->state = g->state * 6364136223846793005ull + 1442695040888963407ull;
  unsigned shifted = static_cast<unsigned>(((g->state >> 18) ^ g->state) >> 27),
           turn = static_cast<unsigned>(g->state >> 59);
  return shifted >> turn | shifted << (-turn & 31);
}

__host__ __device__ __noinline__ float uniform(Generator* g) { return (draw(g) >> 8) * (1.0f / 16777216.0f); }

__host__ __device__ unsigned inside(unsigned long long seed, int points) {
  Generator g{seed * 2654435761ull + 1};
  unsigned hits = 0;
  for (int i = 0; i < points; i++) {
    float x = uniform(&g), y = uniform(&g);
    if (x * x + y * y < 1.0f) hits++;
  }
  return hits;
}

__global__ void montecarlo(unsigned* hits, int points) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  hits[i] = inside(i, points);
}

int main(int argc, char** argv) {
  int points = argument(argc, argv, 1, 50), threads = 1024;
  unsigned* hits = zeros<unsigned>(threads);
  montecarlo<<<threads / 128, 128>>>(hits, points);
  LAUNCHED();
  std::vector<unsigned> result = to_host(hits, threads);
  double total = 0;
  int differ = 0;
  for (int i = 0; i < threads; i++) {
    total += result[i];
    int gap = static_cast<int>(result[i]) - static_cast<int>(inside(i, points));
    differ += gap < -1 || gap > 1;  // a point on the circle may fall either way when the product is fused
  }
  double pi = 4 * total / (static_cast<double>(threads) * points);
  return report("monte_carlo", differ == 0 && std::fabs(pi - 3.14159) < 0.05);
}
