// Loops whose lanes leave apart, shuffles and votes in divergent code, early returns, nested and irreducible control
// flow.
#include "check.h"

__global__ void collatz(const unsigned* in, unsigned* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = in[i];
  unsigned count = 0;
  while (x != 1) {
    if (x % 2 == 0) {
      x /= 2;
    } else {
      x = 3 * x + 1;
      if (count > 200) break;
    }
    count++;
  }
  steps[i] = count;
}

static unsigned collatz_host(unsigned long long x) {
  unsigned count = 0;
  while (x != 1) {
    if (x % 2 == 0) {
      x /= 2;
    } else {
      x = 3 * x + 1;
      if (count > 200) break;
    }
    count++;
  }
  return count;
}

// Each lane sums with those lanes that take the same branch.
__global__ void branches(int* out) {
  int lane = threadIdx.x % 32, value = threadIdx.x * 3 + 1, sum = 0;
  switch (lane % 5) {
    case 0:
      sum = __reduce_add_sync(__activemask(), value);
      break;
    case 1:
    case 2: {
      unsigned mask = __match_any_sync(__activemask(), lane % 5);
      for (int from = 0; from < 32; from++) {
        int other = __shfl_sync(__activemask(), value, from);
        if (mask >> from & 1) sum += other;
      }
      break;
    }
    default: {
      unsigned mask = __ballot_sync(__activemask(), lane % 5 == 3);
      sum = lane % 5 == 3 ? __popc(mask) : -__popc(mask);
    }
  }
  out[threadIdx.x] = sum;
}

static int branches_host(int thread) {
  int warp = thread / 32 * 32, kind = thread % 32 % 5, sum = 0;
  if (kind <= 2) {
    for (int t = warp; t < warp + 32; t++)
      if (t % 32 % 5 == kind) sum += t * 3 + 1;
    return sum;
  }
  for (int lane = 0; lane < 32; lane++) sum += lane % 5 == 3;
  return kind == 3 ? sum : -sum;
}

// The inner loop's length depends on the lane; a warp-wide reduction follows in every round of the outer loop.
__global__ void rounds(int* out) {
  int lane = threadIdx.x, total = 0;
  for (int round = 0; round < 8; round++) {
    int mine = 0;
    for (int k = 0; k < (lane * 7 + round) % 13; k++) {
      if (k == 9 && lane % 3 == 0) continue;
      mine += k * round;
    }
    for (int step = 16; step; step /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, step);
    if (__any_sync(0xffffffffu, mine % 2 == 1)) total += mine;
  }
  out[lane] = total;
}

static int rounds_host() {
  int total = 0;
  for (int round = 0; round < 8; round++) {
    int sum = 0;
    for (int lane = 0; lane < 32; lane++)
      for (int k = 0; k < (lane * 7 + round) % 13; k++)
        if (!(k == 9 && lane % 3 == 0)) sum += k * round;
    if (sum % 2 == 1) total += sum;
  }
  return total;
}

// A jump into a loop: irreducible.
__global__ void tangled(int* out) {
  int lane = threadIdx.x, x = lane, n = 0;
  if (lane % 2) goto middle;
top:
  x = x * 5 + 1;
  n += 1;
middle:
  x ^= 0x55;
  n += 100;
  if (x % 7 > 2 && n < 2000) goto top;
  if (x % 11 == 5 && n < 2000) {
    x += 3;
    goto middle;
  }
  out[lane] = x * 4096 + n;
}

static int tangled_host(int lane) {
  unsigned x = lane;
  int n = 0;
  if (lane % 2) goto middle;
top:
  x = x * 5 + 1;
  n += 1;
middle:
  x ^= 0x55;
  n += 100;
  if (int(x) % 7 > 2 && n < 2000) goto top;
  if (int(x) % 11 == 5 && n < 2000) {
    x += 3;
    goto middle;
  }
  return int(x * 4096 + n);
}

int main() {
  bool good = true;
  const int n = 1000;
  std::vector<unsigned> in(n);
  for (int i = 0; i < n; i++) in[i] = i * 37 + 1;
  unsigned *device = to_device(in), *steps = zeros<unsigned>(n);
  collatz<<<(n + 95) / 96, 96>>>(device, steps, n);
  LAUNCHED();
  std::vector<unsigned> got = to_host(steps, n);
  for (int i = 0; i < n; i++) good &= got[i] == collatz_host(in[i]);
  int* out = zeros<int>(96);
  branches<<<1, 96>>>(out);
  LAUNCHED();
  std::vector<int> sums = to_host(out, 96);
  for (int t = 0; t < 96; t++) good &= sums[t] == branches_host(t);
  rounds<<<1, 32>>>(out);
  LAUNCHED();
  for (int x : to_host(out, 32)) good &= x == rounds_host();
  tangled<<<1, 32>>>(out);
  LAUNCHED();
  sums = to_host(out, 32);
  for (int t = 0; t < 32; t++) good &= sums[t] == tangled_host(t);
  return report("divergence", good);
}
