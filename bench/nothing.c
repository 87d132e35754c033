// A C program without CUDA: what starting a process costs here.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int n = 100003;
  float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = n - i;
  for (int i = 0; i < n; i++) c[i] = a[i] + b[i];
  puts(c[n / 2] == n ? "vecadd: ok" : "WRONG");
  return 0;
}
