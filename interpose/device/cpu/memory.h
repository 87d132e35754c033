// Allocations of the CPU device: device, pinned and managed memory are all memory of the process.
#pragma once
#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "device/cpu/state.h"

namespace fatload::cpu {

class Memory {
 public:
  Memory();

  // Aligned to 512, to a page from 1 MiB on. Errors: 1 for no bytes, 2 when the machine has not so much memory.
  CUresult allocate(size_t bytes, void** out);
  CUresult release(void* pointer);  // 1: not from allocate
  void info(size_t* free, size_t* total);
  size_t total() const { return total_; }
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork();

 private:
  const size_t total_;
  std::mutex mutex_;
  size_t used_ = 0;
  std::unordered_map<void*, size_t> sizes_;
};

}  // namespace fatload::cpu
