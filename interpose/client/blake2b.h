// BLAKE2b with 32-byte digests (RFC 7693), no key: names modules and objects, checks cache files.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fatload::client {

using Digest = std::array<uint8_t, 32>;

class Blake2b {
 public:
  Blake2b();
  void update(const void* bytes, size_t count);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // Integers go in as little-endian bytes.
  void update_u32(uint32_t value);
  void update_u64(uint64_t value);
  // Ends the computation; call once.
  Digest digest();

 private:
  void compress(const uint8_t* block, bool last);

  std::array<uint64_t, 8> state_;
  std::array<uint8_t, 128> buffer_{};
  size_t buffered_ = 0;
  uint64_t counter_low_ = 0, counter_high_ = 0;
};

// Lower-case hexadecimal digits, two a byte.
std::string hex(const Digest& digest);

}  // namespace fatload::client
