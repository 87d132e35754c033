// Streams, events, host functions, managed and pinned memory, copies of every kind.
#include <cstring>

#include "check.h"

__global__ void fill(int* p, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = value + i;
}
__global__ void add(int* p, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += value;
}

static void CUDART_CB host_function(void* p) { *static_cast<int*>(p) += 1; }
static void CUDART_CB callback(cudaStream_t, cudaError_t error, void* p) {
  *static_cast<int*>(p) += error == cudaSuccess ? 10 : 0;
}

static bool streams() {
  const int n = 10000;
  bool good = true;
  cudaStream_t a, b;
  int low, high;
  CUDA(cudaDeviceGetStreamPriorityRange(&low, &high));
  CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithPriority(&b, cudaStreamDefault, high));
  cudaEvent_t filled, start, stop;
  CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&stop));
  int *device, *pinned, called = 0;
  CUDA(cudaMallocAsync(&device, n * sizeof(int), a));
  CUDA(cudaMallocHost(&pinned, n * sizeof(int)));
  CUDA(cudaEventRecord(start, a));
  fill<<<(n + 255) / 256, 256, 0, a>>>(device, n, 100);
  CUDA(cudaEventRecord(filled, a));
  CUDA(cudaStreamWaitEvent(b, filled, 0));
  add<<<(n + 255) / 256, 256, 0, b>>>(device, n, 11);
  CUDA(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, b));
  CUDA(cudaLaunchHostFunc(b, host_function, &called));
  CUDA(cudaStreamAddCallback(b, callback, &called, 0));
  CUDA(cudaStreamSynchronize(b));
  CUDA(cudaEventRecord(stop, a));
  CUDA(cudaEventSynchronize(stop));
  float ms = -1;
  CUDA(cudaEventElapsedTime(&ms, start, stop));
  good &= ms >= 0 && called == 11 && cudaStreamQuery(a) == cudaSuccess && cudaEventQuery(stop) == cudaSuccess;
  good &= cudaEventElapsedTime(&ms, filled, stop) == cudaErrorInvalidResourceHandle;
  good &= cudaGetLastError() == cudaErrorInvalidResourceHandle;
  for (int i = 0; i < n; i++) good &= pinned[i] == 111 + i;
  CUDA(cudaFreeAsync(device, a));
  CUDA(cudaStreamDestroy(a));
  CUDA(cudaStreamDestroy(b));
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaEventDestroy(filled));
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(stop));
  return good;
}

static bool managed() {
  const int n = 1000;
  bool good = true;
  int* p;
  CUDA(cudaMallocManaged(&p, n * sizeof(int)));
  for (int i = 0; i < n; i++) p[i] = i;
  add<<<8, 128>>>(p, n, 5);
  LAUNCHED();
  for (int i = 0; i < n; i++) good &= p[i] == i + 5;
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, p));
  good &= attributes.type == cudaMemoryTypeManaged;
  CUDA(cudaFree(p));
  std::vector<int> own(n, 1);
  CUDA(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
  int* seen;
  CUDA(cudaHostGetDevicePointer(&seen, own.data(), 0));
  add<<<8, 128>>>(seen, n, 6);
  LAUNCHED();
  for (int x : own) good &= x == 7;
  CUDA(cudaPointerGetAttributes(&attributes, own.data()));
  good &= attributes.type == cudaMemoryTypeHost;
  CUDA(cudaHostUnregister(own.data()));
  CUDA(cudaPointerGetAttributes(&attributes, &good));
  good &= attributes.type == cudaMemoryTypeUnregistered;
  return good;
}

static bool copies() {
  bool good = true;
  const int width = 37, height = 11;
  std::vector<unsigned char> host(width * height), back(width * height);
  for (size_t i = 0; i < host.size(); i++) host[i] = static_cast<unsigned char>(i * 7);
  unsigned char* p;
  size_t pitch;
  CUDA(cudaMallocPitch(&p, &pitch, width, height));
  good &= pitch >= width && pitch % 32 == 0;
  CUDA(cudaMemset2D(p, pitch, 9, width, height));
  CUDA(cudaMemcpy2D(p, pitch, host.data(), width, width, height - 1, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy2D(back.data(), width, p, pitch, width, height, cudaMemcpyDeviceToHost));
  for (int i = 0; i < width * height; i++) good &= back[i] == (i < width * (height - 1) ? host[i] : 9);
  cudaPitchedPtr cube;
  CUDA(cudaMalloc3D(&cube, make_cudaExtent(8, 4, 3)));
  CUDA(cudaMemset3D(cube, 1, make_cudaExtent(8, 4, 3)));
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = make_cudaPitchedPtr(host.data(), 8, 8, 4);
  parameters.dstPtr = cube;
  parameters.dstPos = make_cudaPos(2, 1, 1);
  parameters.extent = make_cudaExtent(5, 3, 2);
  parameters.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&parameters));
  std::vector<unsigned char> all(8 * 4 * 3);
  parameters = {};
  parameters.srcPtr = cube;
  parameters.dstPtr = make_cudaPitchedPtr(all.data(), 8, 8, 4);
  parameters.extent = make_cudaExtent(8, 4, 3);
  parameters.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&parameters));
  for (int z = 0; z < 3; z++)
    for (int y = 0; y < 4; y++)
      for (int x = 0; x < 8; x++) {
        bool inside = x >= 2 && x < 7 && y >= 1 && z >= 1;
        good &= all[x + 8 * (y + 4 * z)] == (inside ? host[x - 2 + 8 * (y - 1 + 4 * (z - 1))] : 1);
      }
  int *a = zeros<int>(100), *b = zeros<int>(100);
  fill<<<1, 100>>>(a, 100, 3);
  CUDA(cudaMemcpy(b, a, 400, cudaMemcpyDeviceToDevice));
  CUDA(cudaMemcpy(b + 50, a, 200, cudaMemcpyDefault));
  std::vector<int> got = to_host(b, 100);
  for (int i = 0; i < 100; i++) good &= got[i] == (i < 50 ? 3 + i : 3 + i - 50);
  CUDA(cudaMemset(a, 0xab, 100));
  good &= to_host(a, 25)[24] == static_cast<int>(0xabababab) && to_host(a, 26)[25] == 28;
  return good;
}

int main() {
  bool good = true;
  for (auto part : {streams, managed, copies})
    if (!part()) {
      good = false;
      std::printf("part %s\n", part == streams ? "streams" : part == managed ? "managed" : "copies");
    }
  return report("streams", good);
}
