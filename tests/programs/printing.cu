// printf in kernels: the test compares the lines. Each CTA is one thread, so that lines come in a known order.
#include "check.h"

__global__ void print(int n) {
  const char* word = n % 2 ? "odd" : "even";
  printf("%d %5d|%-5d|%05d|%+d %u %x %X %o %c %%\n", n, n, n, n, n, -n, 255 + n, 255 + n, 8 + n, 'a' + n);
  printf("%s %10s|%-6s|%.2s\n", word, word, word, word);
  printf("%f %.3f %10.2f|%-10.1f|%e %g %G\n", n / 3.0, n / 3.0, n * 1000.0, n + 0.25, n * 12345.678, n / 7.0, n * 1e20);
  printf("%lld %llu %llx %ld %hd\n", n * 10000000000ll, 1ull << (60 + n), 1ll << 40, -1l, 70000 + n);
  printf("%*d|%-*d|%.*f\n", 6, n, 4, n, 2, n / 3.0);
  printf("no arguments\n");
}

__global__ void many() { printf("thread %d\n", blockIdx.x * blockDim.x + threadIdx.x); }

int main() {
  for (int n = 0; n < 3; n++) {
    print<<<1, 1>>>(n);
    LAUNCHED();
  }
  many<<<2, 40>>>();
  LAUNCHED();
  return report("printing", true);
}
