// Copies and fills as jobs: pieces that several threads can do.
#pragma once
#include "device/cpu/job.h"
#include "device/device.h"

namespace fatload::cpu {

constexpr size_t kPieceBytes = 1 << 20;

class CopyJob final : public Job {
 public:
  CopyJob(void* to, const void* from, size_t bytes)
      : Job((bytes + kPieceBytes - 1) / kPieceBytes), to_(to), from_(from), bytes_(bytes) {}
  void run(uint64_t first, uint64_t count) override;

 private:
  void* to_;
  const void* from_;
  size_t bytes_;
};

// One unit a row.
class Copy3DJob final : public Job {
 public:
  explicit Copy3DJob(const Queue::Copy3D& copy) : Job(copy.height * copy.depth), copy_(copy) {}
  void run(uint64_t first, uint64_t count) override;
  uint64_t piece() const override { return std::max<uint64_t>(1, kPieceBytes / (copy_.width + 1)); }

 private:
  Queue::Copy3D copy_;
};

// `width` elements of 1, 2 or 4 bytes in each of `height` rows; a row is split into pieces.
class FillJob final : public Job {
 public:
  FillJob(void* to, size_t pitch, uint32_t value, unsigned element_bytes, size_t width, size_t height);
  void run(uint64_t first, uint64_t count) override;
  uint64_t piece() const override { return std::max<uint64_t>(1, kPieceBytes / (row_bytes_ + 1)); }

 private:
  uint8_t* to_;
  size_t pitch_, row_bytes_, pieces_;
  uint32_t value_;
  unsigned element_bytes_;
};

}  // namespace fatload::cpu
