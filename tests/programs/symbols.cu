// Variables of a module: copied to before any launch, shared by kernels, addressed from the host; functions by address.
#include <new>

#include "check.h"

struct Table {
  float scale;
  int shift[3];
};

__constant__ Table table_ = {2.0f, {1, 2, 3}};
__constant__ double weights_[64];
__device__ int counter_ = 5;
__device__ int grid_[4][4] = {{1, 2, 3, 4}, {5, 6}};
__device__ int* pointer_ = &grid_[1][1];
static __device__ float buffer_[256];

__global__ void count_up(int by) { atomicAdd(&counter_, by); }
__global__ void count_more(int* out) { out[0] = atomicAdd(&counter_, 1000) + 1000; }
__global__ void constants(double* out) {
  int t = threadIdx.x;
  out[t] = weights_[t] * table_.scale + table_.shift[t % 3];
}
__global__ void scale_buffer(float by) { buffer_[threadIdx.x] *= by; }
__global__ void through_pointer(int* out) { out[0] = *pointer_, out[1] = pointer_[-1], out[2] = grid_[1][3]; }

using Operation = int (*)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ Operation chosen_ = times;
__global__ void choose(Operation* table) { table[0] = plus, table[1] = times, table[2] = minus; }
__global__ void apply(Operation* table, int* out) {
  int t = threadIdx.x;
  out[t] = table[t % 3](t, 7) + chosen_(t, 2);
}

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Ring : Shape {
  float outer, inner;
  __device__ Ring(float o, float i) : outer(o), inner(i) {}
  __device__ float area() const override { return 3.0f * (outer * outer - inner * inner); }
};
__global__ void areas(float* out) {
  int t = threadIdx.x;
  alignas(16) char room[sizeof(Ring)];
  Shape* shape = t % 2 ? static_cast<Shape*>(new (room) Ring(t + 1, t)) : new (room) Square(t);
  out[t] = shape->area();
}

int main() {
  bool good = true;
  std::vector<double> weights(64);
  for (int i = 0; i < 64; i++) weights[i] = i * 0.5;
  CUDA(cudaMemcpyToSymbol(weights_, weights.data(), 64 * sizeof(double)));  // before the first launch
  double* d = zeros<double>(64);
  constants<<<1, 64>>>(d);
  LAUNCHED();
  std::vector<double> got = to_host(d, 64);
  for (int t = 0; t < 64; t++) good &= got[t] == weights[t] * 2 + (t % 3 + 1);
  Table changed = {4.0f, {10, 20, 30}};
  CUDA(cudaMemcpyToSymbol(table_, &changed, sizeof changed));
  constants<<<1, 64>>>(d);
  LAUNCHED();
  got = to_host(d, 64);
  for (int t = 0; t < 64; t++) good &= got[t] == weights[t] * 4 + (t % 3 + 1) * 10;

  int* out = zeros<int>(64);
  count_up<<<2, 10>>>(3);
  count_more<<<1, 1>>>(out);
  LAUNCHED();
  int counter = 0;
  CUDA(cudaMemcpyFromSymbol(&counter, counter_, sizeof counter));
  good &= counter == 1065 && to_host(out, 1)[0] == 1065;

  size_t size = 0;
  void* address = nullptr;
  CUDA(cudaGetSymbolSize(&size, buffer_));
  CUDA(cudaGetSymbolAddress(&address, buffer_));
  std::vector<float> ones(256, 1.5f);
  CUDA(cudaMemcpy(address, ones.data(), size, cudaMemcpyHostToDevice));
  scale_buffer<<<1, 256>>>(4.0f);
  LAUNCHED();
  CUDA(cudaMemcpyFromSymbol(ones.data(), buffer_, size));
  good &= size == 1024;
  for (float x : ones) good &= x == 6.0f;

  through_pointer<<<1, 1>>>(out);
  LAUNCHED();
  std::vector<int> values = to_host(out, 3);
  good &= values[0] == 6 && values[1] == 5 && values[2] == 0;

  Operation* functions = zeros<Operation>(3);
  choose<<<1, 1>>>(functions);
  apply<<<1, 64>>>(functions, out);
  LAUNCHED();
  values = to_host(out, 64);
  for (int t = 0; t < 64; t++) good &= values[t] == (t % 3 == 0 ? t + 7 : t % 3 == 1 ? t * 7 : t - 7) + t * 2;

  float* f = zeros<float>(64);
  areas<<<1, 64>>>(f);
  LAUNCHED();
  std::vector<float> area = to_host(f, 64);
  for (int t = 0; t < 64; t++) good &= area[t] == (t % 2 ? 3.0f * ((t + 1) * (t + 1) - t * t) : float(t * t));
  return report("symbols", good);
}
