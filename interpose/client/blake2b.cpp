#include "client/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fatload::client {
namespace {

constexpr std::array<uint64_t, 8> kInitial = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

constexpr uint8_t kSchedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

inline void mix(uint64_t* v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

}  // namespace

// The parameter block of an unkeyed hash is: digest length 32, key length 0, fan-out 1, depth 1.
Blake2b::Blake2b() : state_(kInitial) { state_[0] ^= 0x01010000 ^ 32; }

void Blake2b::compress(const uint8_t* block, bool last) {
  uint64_t m[16], v[16];
  std::memcpy(m, block, sizeof m);
  for (int i = 0; i < 8; ++i) {
    v[i] = state_[i];
    v[i + 8] = kInitial[i];
  }
  v[12] ^= counter_low_;
  v[13] ^= counter_high_;
  if (last) v[14] = ~v[14];
  for (int round = 0; round < 12; ++round) {
    const uint8_t* s = kSchedule[round % 10];
    mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
  }
  for (int i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
}

void Blake2b::update(const void* bytes, size_t count) {
  const uint8_t* from = static_cast<const uint8_t*>(bytes);
  // The last block is compressed by digest(), so a full buffer waits until more bytes come.
  while (count > 0) {
    if (buffered_ == buffer_.size()) {
      counter_low_ += buffer_.size();
      if (counter_low_ < buffer_.size()) ++counter_high_;
      compress(buffer_.data(), false);
      buffered_ = 0;
    }
    size_t part = std::min(count, buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, from, part);
    buffered_ += part;
    from += part;
    count -= part;
  }
}

void Blake2b::update_u32(uint32_t value) { update(&value, sizeof value); }
void Blake2b::update_u64(uint64_t value) { update(&value, sizeof value); }

Digest Blake2b::digest() {
  counter_low_ += buffered_;
  if (counter_low_ < buffered_) ++counter_high_;
  std::fill(buffer_.begin() + buffered_, buffer_.end(), uint8_t{0});
  compress(buffer_.data(), true);
  Digest out;
  std::memcpy(out.data(), state_.data(), out.size());
  return out;
}

std::string hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (uint8_t byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace fatload::client
