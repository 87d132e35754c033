// A CTA whose warps wait for each other: one fiber a warp, all on one thread, and the sixteen barriers between them.
#pragma once
#include <cstdint>
#include <memory>

#include "device/cpu/abi.h"
#include "device/cpu/buffer.h"
#include "device/cpu/fiber.h"
#include "device/cpu/kernel.h"

namespace fatload::cpu {

class Cta;
class Worker;

// What Warp::scheduler points to: who runs the warp. `cta` is null for warps that run as plain calls.
struct Execution {
  Worker* worker = nullptr;
  KernelJob* job = nullptr;
  Cta* cta = nullptr;
};

// Why a thread's own context continues after kernel code ran.
enum class Stop : uintptr_t { Finished, Spinning, Failed };

// SSE's control word as kernels start with it: round to nearest, no traps, subnormals kept.
constexpr uint32_t kDefaultControl = 0x1f80;

constexpr uint32_t kMaxWarps = 32, kBarriers = 16;

class Cta {
 public:
  explicit Cta(Worker* worker);

  // Prepares CTA `index` of a launch. False: no memory.
  bool start(KernelJob& job, uint64_t index);
  // Runs its warps until all have finished, all that can run only spin, or one failed. *progress: whether a warp
  // finished or a barrier completed meanwhile.
  Stop resume(bool* progress);

  // From kernel code of a warp that belongs to a Cta (RuntimeTable::barrier and yield).
  static uint32_t barrier(Warp* warp, uint32_t id, uint32_t threads, uint32_t mask, uint32_t operation,
                          uint32_t predicates);
  void yield(Warp* warp);

  KernelJob& job() const { return *execution_.job; }
  const Warp& current() const { return fibers_[current_].warp; }
  const Stack& current_stack() const { return fibers_[current_].stack; }

 private:
  struct Fiber {
    Warp warp{};
    uint32_t answer = 0;  // of the barrier it waited at
    Stack stack;
  };
  struct Barrier {
    uint32_t expected, arrived;       // threads, a warp counts as 32; expected 0: nobody has arrived
    uint32_t waiting, arrived_warps;  // sets of warps
    uint32_t count, all, any;         // over the predicates
    uint32_t operation;
  };

  bool bind(const KernelJob& job);
  static Continuation run_warp(void* cta);
  Continuation finished(uint32_t warp);
  bool complete(Barrier& barrier);
  void release(Barrier& barrier);
  uint32_t next_runnable(uint32_t after) const;
  void switch_to(uint32_t from, uint32_t to);
  void waits(uint32_t self);
  uint32_t control_for(uint32_t warp) const { return waited_ >> warp & 1 ? control_ : kDefaultControl; }
  [[noreturn]] void deadlock();

  Execution execution_;
  uint32_t warps_ = 0, all_ = 0;
  uint32_t runnable_ = 0, finished_ = 0, current_ = 0, spins_ = 0;
  bool progress_ = false;
  uint32_t used_barriers_ = 0;
  // SSE's control bits. Translated code may set them for a whole kernel, so they are the same wherever its warps wait;
  // what is known after the first wait saves reading and writing them at each.
  uint32_t control_ = kDefaultControl, waited_ = 0;
  bool control_known_ = false;
  void* contexts_[kMaxWarps] = {};  // null: not begun
  Barrier barriers_[kBarriers] = {};
  std::unique_ptr<Fiber[]> fibers_;
  uint64_t bound_grid_ = 0;  // the grid whose constants the warps hold
  Buffer shared_, local_;
};

}  // namespace fatload::cpu
