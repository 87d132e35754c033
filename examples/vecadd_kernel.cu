// The kernel that driver_vecadd.c loads:
//   nvcc -ptx vecadd_kernel.cu        PTX text
//   nvcc -fatbin vecadd_kernel.cu     a fatbin
extern "C" __global__ void vecadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
