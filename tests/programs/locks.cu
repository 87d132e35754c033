// Spin locks between lanes of a warp, warps of a CTA and CTAs of a grid; a ticket lock; a producer and its consumer.
#include "check.h"

__device__ int mutex_;
__device__ volatile int counter_;
__device__ unsigned ticket_, serving_;

__device__ void add_locked() {
  bool done = false;
  while (!done) {
    if (atomicCAS(&mutex_, 0, 1) == 0) {
      counter_ = counter_ + 1;
      __threadfence();
      atomicExch(&mutex_, 0);
      done = true;
    }
  }
}

__global__ void all_lanes() { add_locked(); }

// Independent progress of lanes (since Volta): the lock is taken and given back in different blocks.
__global__ void naive_lock(int* sum) {
  while (atomicCAS(&mutex_, 0, 1) != 0) {
  }
  *(volatile int*)sum = *(volatile int*)sum + 1;
  __threadfence();
  atomicExch(&mutex_, 0);
}

__global__ void tickets(int* sum) {
  if (threadIdx.x % 32 == 0) {
    unsigned mine = atomicAdd(&ticket_, 1);
    while (*(volatile unsigned*)&serving_ != mine) {
    }
    *sum += 1;
    __threadfence();
    atomicAdd(&serving_, 1);
  }
}

// The last CTA produces what the others wait for.
__global__ void wait_for_last(volatile int* flag, int* out) {
  if (blockIdx.x == gridDim.x - 1) {
    if (threadIdx.x == 0) {
      __threadfence();
      *flag = 42;
    }
  } else {
    while (*flag == 0) {
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *flag;
}

// One warp of a CTA waits for another through shared memory.
__global__ void wait_for_warp(int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    while (flag == 0) {
    }
  } else if (threadIdx.x == 32) {
    flag = 7;
  }
  out[threadIdx.x] = flag;
}

int main() {
  bool good = true;
  all_lanes<<<3, 70>>>();
  LAUNCHED();
  int count = 0;
  CUDA(cudaMemcpyFromSymbol(&count, counter_, sizeof count));
  good &= count == 210;
  int* sum = zeros<int>(1);
  naive_lock<<<4, 64>>>(sum);
  LAUNCHED();
  good &= to_host(sum, 1)[0] == 256;
  CUDA(cudaMemset(sum, 0, sizeof(int)));
  tickets<<<6, 96>>>(sum);
  LAUNCHED();
  good &= to_host(sum, 1)[0] == 18;
  int *flag = zeros<int>(1), *out = zeros<int>(8 * 64);
  wait_for_last<<<8, 64>>>(flag, out);
  LAUNCHED();
  for (int x : to_host(out, 8 * 64)) good &= x == 42;
  wait_for_warp<<<1, 64>>>(out);
  LAUNCHED();
  for (int t = 0; t < 33; t++) good &= to_host(out, 64)[t] == 7;
  return report("locks", good);
}
