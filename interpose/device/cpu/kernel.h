// A translated kernel in memory, and one launch of it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "device/cpu/abi.h"
#include "device/cpu/job.h"
#include "device/cpu/object.h"
#include "device/device.h"

namespace fatload::cpu {

struct State;

// What a launch needs of a kernel's object, for one shape class.
struct KernelCode {
  std::string name;
  std::unique_ptr<LoadedObject> object;
  void (*entry)(Warp*) = nullptr;
  uint32_t static_shared = 0, local_stride = 0;
  bool barrier = false, yields = false;
  // A running mean of the time of a CTA, for the size of chunks and for running small launches in place; 0: unknown.
  std::atomic<uint32_t> nanoseconds{0};

  void measured(uint64_t elapsed, uint64_t ctas);
};

class KernelJob : public Job {
 public:
  // `live_limit`: how many CTAs may wait for each other (the reported occupancy of the device).
  KernelJob(State& state, std::shared_ptr<KernelCode> code, std::shared_ptr<uint8_t> module_data, Launch&& launch,
            uint64_t grid_id, uint32_t live_limit);

  void run(uint64_t, uint64_t) override {}
  KernelJob* kernel() override { return this; }
  bool admits() const override { return live.load(std::memory_order_relaxed) < live_limit_; }

  // Fills what is the same for all CTAs; ctaid, warp, live, shared, local and scheduler are the worker's.
  void fill(Warp* warp) const;
  void place(uint64_t index, uint32_t ctaid[3]) const;
  uint64_t grid_id() const { return grid_id_; }  // unique in the process, from 1
  uint32_t warps() const { return warps_; }
  uint32_t active(uint32_t warp) const { return warp + 1 == warps_ ? last_active_ : ~0u; }
  uint32_t shared_bytes() const { return shared_bytes_; }
  const KernelCode& code() const { return *code_; }
  KernelCode& code() { return *code_; }
  State& state() { return state_; }
  // Whether warps need stacks of their own.
  bool fibers() const { return code_->yields || (code_->barrier && warps_ > 1); }

  bool failed() const { return failure_.load(std::memory_order_relaxed) != 0; }
  // The first failure of a launch is reported on stderr and sticks to the device; the CTAs not yet started are given
  // up.
  void fail(CUresult code, const std::string& message);

  std::atomic<uint32_t> live{0};

 private:
  State& state_;
  std::shared_ptr<KernelCode> code_;
  std::shared_ptr<uint8_t> module_data_;
  Launch launch_;
  std::unique_ptr<uint8_t, void (*)(void*)> params_;
  // What grid-wide barriers count in (cooperative groups): a word at offset 4, zero at the start.
  std::unique_ptr<uint64_t[]> workspace_;
  uint64_t grid_id_;
  uint32_t live_limit_, warps_, last_active_, shared_bytes_;
  std::atomic<int> failure_{0};
};

// "kernel NAME: CTA (x,y,z)", for messages.
std::string describe(const KernelJob& job, const Warp& warp);

}  // namespace fatload::cpu
