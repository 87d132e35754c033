// Gravity between all pairs of bodies, tiles of positions in shared memory: nbody [BODIES]
#include "check.h"

constexpr int kThreads = 128;

__global__ void forces(const float4* bodies, float3* acceleration, int n) {
  __shared__ float4 tile[kThreads];
  int i = blockIdx.x * kThreads + threadIdx.x;
  float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += kThreads) {
    int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < kThreads; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float pull = other.w * inverse * inverse * inverse;
      sum.x += pull * dx;
      sum.y += pull * dy;
      sum.z += pull * dz;
    }
    __syncthreads();
  }
  if (i < n) acceleration[i] = sum;
}

int main(int argc, char** argv) {
  int n = argument(argc, argv, 1, 500);
  Random random;
  std::vector<float4> bodies(n);
  for (float4& b : bodies) b = make_float4(random.real(), random.real(), random.real(), random.real() + 0.1f);
  float4* device = to_device(bodies);
  float3* acceleration = zeros<float3>(n);
  forces<<<(n + kThreads - 1) / kThreads, kThreads>>>(device, acceleration, n);
  LAUNCHED();
  std::vector<float3> result = to_host(acceleration, n);
  bool good = true;
  for (int i = 0; i < n; i++) {
    double x = 0, scale = 0;
    for (int j = 0; j < n; j++) {
      double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y, dz = bodies[j].z - bodies[i].z;
      double pull = bodies[j].w / std::pow(dx * dx + dy * dy + dz * dz + 0.01, 1.5);
      x += pull * dx;
      scale += std::fabs(pull * dx);
    }
    good &= std::fabs(result[i].x - x) < 1e-5 * scale;
  }
  return report("nbody", good);
}
