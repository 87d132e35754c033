// Memory that grows and is reused, for shared and local variables of CTAs. Its contents are not kept.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace fatload::cpu {

class Buffer {
 public:
  // At least `bytes`, aligned to 128, with room for a vector access that starts at the last byte. False: no memory.
  bool reserve(size_t bytes) {
    if (bytes_ && bytes <= bytes_) return true;
    size_t whole = (bytes + 4096 + 255) / 128 * 128;
    data_.reset(static_cast<uint8_t*>(std::aligned_alloc(128, whole)));
    bytes_ = data_ ? whole - 255 : 0;
    return data_ != nullptr;
  }
  uint8_t* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t bytes_ = 0;
};

}  // namespace fatload::cpu
