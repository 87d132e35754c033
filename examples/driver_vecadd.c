/* Vector addition through the driver API: driver_vecadd FILE-WITH-PTX-OR-FATBIN. Needs no CUDA header and no library to
 * link. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int result;
typedef unsigned long long pointer;

static void* library;

static void* function(const char* name) {
  void* address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "libcuda.so.1 lacks %s\n", name);
    exit(2);
  }
  return address;
}

#define CALL(name, types, ...)                                     \
  do {                                                             \
    result code = ((result(*) types)function(#name))(__VA_ARGS__); \
    if (code != 0) {                                               \
      fprintf(stderr, "%s returned %d\n", #name, code);            \
      exit(2);                                                     \
    }                                                              \
  } while (0)

int main(int argc, char** argv) {
  enum { N = 1000 };
  static float a[N], b[N], c[N];
  void *context, *module, *kernel, *stream;
  pointer da, db, dc;
  int device, n = N;
  if (argc != 2) {
    fprintf(stderr, "usage: driver_vecadd FILE\n");
    return 2;
  }
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  for (int i = 0; i < N; i++) {
    a[i] = (float)i;
    b[i] = (float)(i * i % 97);
  }
  CALL(cuInit, (unsigned), 0);
  CALL(cuDeviceGet, (int*, int), &device, 0);
  CALL(cuCtxCreate_v2, (void**, unsigned, int), &context, 0, device);
  CALL(cuModuleLoad, (void**, const char*), &module, argv[1]);
  CALL(cuModuleGetFunction, (void**, void*, const char*), &kernel, module, "vecadd");
  CALL(cuMemAlloc_v2, (pointer*, size_t), &da, sizeof a);
  CALL(cuMemAlloc_v2, (pointer*, size_t), &db, sizeof b);
  CALL(cuMemAlloc_v2, (pointer*, size_t), &dc, sizeof c);
  CALL(cuStreamCreate, (void**, unsigned), &stream, 1);
  CALL(cuMemcpyHtoDAsync_v2, (pointer, const void*, size_t, void*), da, a, sizeof a, stream);
  CALL(cuMemcpyHtoDAsync_v2, (pointer, const void*, size_t, void*), db, b, sizeof b, stream);
  void* arguments[] = {&da, &db, &dc, &n};
  CALL(cuLaunchKernel,
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**), kernel,
       (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
  CALL(cuMemcpyDtoHAsync_v2, (void*, pointer, size_t, void*), c, dc, sizeof c, stream);
  CALL(cuStreamSynchronize, (void*), stream);
  CALL(cuModuleUnload, (void*), module);
  CALL(cuCtxDestroy_v2, (void*), context);
  for (int i = 0; i < N; i++)
    if (c[i] != a[i] + b[i]) {
      printf("driver_vecadd: WRONG RESULT\n");
      return 1;
    }
  printf("driver_vecadd: ok\n");
  return 0;
}
