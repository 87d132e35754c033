// What one thread needs to run kernels: stacks, shared and local memory, the CTAs it keeps live.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/buffer.h"
#include "device/cpu/cta.h"
#include "device/cpu/fiber.h"
#include "device/cpu/kernel.h"

namespace fatload::cpu {

class Worker {
 public:
  // `number` of `count` is what the kernel sees as its multiprocessor.
  Worker(uint32_t number, uint32_t count);
  ~Worker();

  // Runs claimed units of any job that does not yield to their end and counts them as finished.
  void run(Job& job, uint64_t first, uint64_t count);

  // Takes a CTA of a kernel that yields; `step` runs it along with the others that are live here.
  void adopt(const std::shared_ptr<Job>& job, uint64_t index);
  bool has_live() const { return !live_.empty(); }
  // Gives every live CTA a turn. Answers whether any warp ended or any barrier completed.
  bool step();

  uint32_t number() const { return number_; }
  uint32_t count() const { return count_; }

  // For what runs on the fibers: `enter` continues a context, `begin` starts one, until it leaves, ends or is
  // abandoned. `control` is SSE's control word for it.
  Stop enter(const Execution* execution, void* context, uint32_t control);
  Stop begin(const Execution* execution, const Stack& stack, Continuation (*entry)(void*), void* argument);
  Continuation ended() const { return {own_context_, static_cast<uintptr_t>(Stop::Finished)}; }
  void leave(void** save, Stop why);
  [[noreturn]] void abandon();

  // What runs on this thread now; null outside of kernels.
  const Execution* running() const { return running_; }
  const Warp& running_warp() const;
  const Stack& running_stack() const;

 private:
  struct Live {
    std::shared_ptr<Job> job;
    std::unique_ptr<Cta> cta;
  };

  static Continuation run_plain(void* worker);
  template <typename F>
  Stop outside_of_program(const Execution* execution, uint32_t control, F go);
  bool prepare_plain(KernelJob& job);
  std::unique_ptr<Cta> take_cta();
  void run_fibers(KernelJob& job, uint64_t first, uint64_t count);

  const uint32_t number_, count_;
  void* own_context_ = nullptr;
  const Execution* running_ = nullptr;
  Stack plain_stack_;
  Execution plain_;
  Warp plain_warp_{};
  Buffer shared_, local_;
  uint64_t plain_first_ = 0, plain_count_ = 0;
  std::vector<Live> live_;
  std::vector<std::unique_ptr<Cta>> spare_;
};

}  // namespace fatload::cpu
