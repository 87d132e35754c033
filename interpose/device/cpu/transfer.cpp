#include "device/cpu/transfer.h"

#include <cstring>

namespace fatload::cpu {
namespace {

size_t pieces(size_t bytes) { return std::max<size_t>(1, (bytes + kPieceBytes - 1) / kPieceBytes); }

template <typename T>
void fill_elements(uint8_t* to, uint32_t value, size_t count) {
  T element = static_cast<T>(value);
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof(T), &element, sizeof(T));
}

}  // namespace

void CopyJob::run(uint64_t first, uint64_t count) {
  size_t at = first * kPieceBytes, bytes = std::min<size_t>(count * kPieceBytes, bytes_ - at);
  // A copy within one buffer may overlap only harmlessly (CUDA leaves it undefined), but must not crash.
  std::memmove(static_cast<uint8_t*>(to_) + at, static_cast<const uint8_t*>(from_) + at, bytes);
}

void Copy3DJob::run(uint64_t first, uint64_t count) {
  for (uint64_t unit = first; unit < first + count; ++unit) {
    size_t row = unit % copy_.height, slice = unit / copy_.height;
    std::memmove(copy_.to + slice * copy_.to_slice + row * copy_.to_pitch,
                 copy_.from + slice * copy_.from_slice + row * copy_.from_pitch, copy_.width);
  }
}

FillJob::FillJob(void* to, size_t pitch, uint32_t value, unsigned element_bytes, size_t width, size_t height)
    : Job(height * pieces(width * element_bytes)),
      to_(static_cast<uint8_t*>(to)),
      pitch_(pitch),
      row_bytes_(width * element_bytes),
      pieces_(pieces(width * element_bytes)),
      value_(value),
      element_bytes_(element_bytes) {}

void FillJob::run(uint64_t first, uint64_t count) {
  for (uint64_t unit = first; unit < first + count; ++unit) {
    size_t at = unit % pieces_ * kPieceBytes, bytes = std::min(kPieceBytes, row_bytes_ - at);
    uint8_t* to = to_ + unit / pieces_ * pitch_ + at;
    if (element_bytes_ == 1)
      std::memset(to, static_cast<int>(value_ & 0xff), bytes);
    else if (element_bytes_ == 2)
      fill_elements<uint16_t>(to, value_, bytes / 2);
    else
      fill_elements<uint32_t>(to, value_, bytes / 4);
  }
}

}  // namespace fatload::cpu
