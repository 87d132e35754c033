// Loads an x86-64 ELF relocatable that the code generator made: maps its sections, applies its relocations, protects.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fatload::cpu {

class LoadedObject {
 public:
  // Null, with a reason in `error`, for anything that is not an object the loader understands whole.
  static std::unique_ptr<LoadedObject> load(std::string_view bytes, const std::string& entry, std::string* error);

  LoadedObject(const LoadedObject&) = delete;
  ~LoadedObject();

  void* entry() const { return entry_; }
  bool holds(const void* address) const {
    const uint8_t* at = static_cast<const uint8_t*>(address);
    return at >= base_ && at < base_ + bytes_;
  }
  size_t bytes() const { return bytes_; }

 private:
  LoadedObject(uint8_t* base, size_t bytes) : base_(base), bytes_(bytes) {}

  uint8_t* base_;
  size_t bytes_;
  void* entry_ = nullptr;
};

}  // namespace fatload::cpu
