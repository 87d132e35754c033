#include "device/cpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "device/cpu/host.h"

namespace fatload::cpu {
namespace {

constexpr size_t kAlign = 512, kPage = 4096, kMapped = 1 << 20, kHuge = 2 << 20, kAsk = 64 << 20;

size_t whole(size_t bytes) {
  size_t unit = bytes >= kMapped ? kPage : kAlign;
  return (bytes + unit - 1) / unit * unit;
}

// Mapped memory; large blocks start where a huge page can.
void* map(size_t bytes) {
  size_t extra = bytes >= 2 * kHuge ? kHuge : 0;
  void* memory = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (!extra) return memory;
  uintptr_t start = reinterpret_cast<uintptr_t>(memory), at = (start + kHuge - 1) / kHuge * kHuge;
  if (at > start) munmap(memory, at - start);
  size_t behind = start + extra - at;
  if (behind) munmap(reinterpret_cast<void*>(at + bytes), behind);
  memory = reinterpret_cast<void*>(at);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

Memory::Memory() : total_(host_memory()) {}

CUresult Memory::allocate(size_t bytes, void** out) {
  if (bytes == 0) return kInvalidValue;
  if (bytes > total_) return kOutOfMemory;
  size_t size = whole(bytes);
  // Linux promises more than it has; asking costs too much for small blocks.
  if (size >= kAsk && size > host_free_memory()) return kOutOfMemory;
  std::lock_guard lock(mutex_);
  if (size > total_ - std::min(used_, total_)) return kOutOfMemory;
  void* memory = size >= kMapped ? map(size) : std::aligned_alloc(kAlign, size);
  if (!memory) return kOutOfMemory;
  sizes_.emplace(memory, size);
  used_ += size;
  *out = memory;
  return kSuccess;
}

CUresult Memory::release(void* pointer) {
  std::lock_guard lock(mutex_);
  auto found = sizes_.find(pointer);
  if (found == sizes_.end()) return kInvalidValue;
  if (found->second >= kMapped)
    munmap(pointer, found->second);
  else
    std::free(pointer);
  used_ -= found->second;
  sizes_.erase(found);
  return kSuccess;
}

void Memory::info(size_t* free, size_t* total) {
  std::lock_guard lock(mutex_);
  *total = total_;
  *free = std::min(total_ - std::min(used_, total_), host_free_memory());
}

void Memory::after_fork() { new (&mutex_) std::mutex; }

}  // namespace fatload::cpu
