// What the examples share: errors, random numbers, sizes from the command line.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                                                    \
  do {                                                                                                \
    cudaError_t error_ = (call);                                                                      \
    if (error_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(2);                                                                                   \
    }                                                                                                 \
  } while (0)

// Launch errors, then those of execution.
#define LAUNCHED()                 \
  do {                             \
    CUDA(cudaGetLastError());      \
    CUDA(cudaDeviceSynchronize()); \
  } while (0)

inline int argument(int argc, char** argv, int index, int otherwise) {
  return argc > index ? std::atoi(argv[index]) : otherwise;
}

struct Random {
  unsigned state = 12345;
  unsigned next() { return state = state * 1664525u + 1013904223u; }
  float real() { return static_cast<float>(next() >> 8) / 16777216.0f; }
};

// A copy of host data on the device.
template <typename T>
T* to_device(const std::vector<T>& host) {
  T* device;
  CUDA(cudaMalloc(&device, host.size() * sizeof(T)));
  CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <typename T>
T* zeros(size_t count) {
  T* device;
  CUDA(cudaMalloc(&device, count * sizeof(T)));
  CUDA(cudaMemset(device, 0, count * sizeof(T)));
  return device;
}

template <typename T>
std::vector<T> to_host(const T* device, size_t count) {
  std::vector<T> host(count);
  CUDA(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

// Prints the outcome; the program's exit status.
inline int report(const char* name, bool good) {
  std::printf("%s: %s\n", name, good ? "ok" : "WRONG RESULT");
  return good ? 0 : 1;
}
