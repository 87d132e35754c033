// Work that several threads share: a number of units (CTAs of a launch, pieces of a copy), claimed in order.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

namespace fatload::cpu {

class KernelJob;

class Job {
 public:
  explicit Job(uint64_t total) : total_(total) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;

  // Runs units first … first + count - 1; used for everything but kernels, which a Worker runs itself.
  virtual void run(uint64_t first, uint64_t count) = 0;
  virtual KernelJob* kernel() { return nullptr; }
  // How many units make a worthwhile piece.
  virtual uint64_t piece() const { return 1; }
  // False while no more units may be started for now.
  virtual bool admits() const { return true; }

  uint64_t total() const { return total_; }
  uint64_t left() const {
    uint64_t next = next_.load(std::memory_order_relaxed);
    return next < total_ ? total_ - next : 0;
  }

  // Claims up to `wanted` units; answers how many, from *first on.
  uint64_t claim(uint64_t wanted, uint64_t* first) {
    *first = next_.fetch_add(wanted, std::memory_order_relaxed);
    return *first < total_ ? std::min(wanted, total_ - *first) : 0;
  }

  // Gives up what nobody has claimed.
  void cancel() {
    uint64_t next = next_.exchange(total_, std::memory_order_relaxed);
    if (next < total_) finish(total_ - next);
  }

  // Counts units as done; the last one calls `done`.
  void finish(uint64_t count) {
    if (count && done_.fetch_add(count, std::memory_order_acq_rel) + count == total_ && done) done();
  }

  std::function<void()> done;

 private:
  const uint64_t total_;
  std::atomic<uint64_t> next_{0}, done_{0};
};

}  // namespace fatload::cpu
