// The table of all driver functions, behind cuGetProcAddress, and what stubs and per-thread entry points are made of.
#pragma once
#include <cstddef>

#define FATLOAD_EXPORT __attribute__((visibility("default")))

// The entry point of a function's variant whose stream NULL means the calling thread's own stream: sets a mark in
// thread-local storage, which the function takes at its start, and jumps to it with every argument untouched.
#define FATLOAD_PER_THREAD(name, plain)                         \
  FATLOAD_EXPORT int plain();                                   \
  FATLOAD_EXPORT __attribute__((naked)) int name() {            \
    __asm__(                                                    \
        "movq fatload_per_thread_mark@gottpoff(%rip), %r11\n\t" \
        "movb $1, %fs:(%r11)\n\t"                               \
        "jmp " #plain);                                         \
  }

namespace fatload {

struct Export {
  const char* name;
  const char* base;
  int version;  // of the API that introduced it
  enum Kind { Plain, PerThread } kind;
  bool real;  // implemented
  void* address;
};

extern const Export kExports[];
extern const size_t kExportCount;

// Names the function once on stderr; the answer is CUDA_ERROR_NOT_SUPPORTED.
int unsupported(const char* function);

}  // namespace fatload
