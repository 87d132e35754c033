// What host code of nvcc 12 and newer calls and the runtime of 11.8 lacks, by what nvcc 11 called instead.
#include <cuda_runtime_api.h>

extern "C" cudaError_t __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return cudaSuccess;
}

extern "C" cudaError_t __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                          cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
