#include "device/cpu/cta.h"

#include <xmmintrin.h>

#include <bit>
#include <string>
#include <utility>

#include "device/cpu/runtime.h"
#include "device/cpu/state.h"
#include "device/cpu/worker.h"

namespace fatload::cpu {
namespace {

[[noreturn, gnu::cold]] void bad_barrier(Warp* warp, uint32_t id, uint32_t threads) {
  fail_kernel(warp, kLaunchFailed,
              "barrier " + std::to_string(id) + " with " + std::to_string(threads) + " threads (15 and 1024 at most)");
}

}  // namespace

Cta::Cta(Worker* worker) : fibers_(new Fiber[kMaxWarps]) {
  execution_.worker = worker;
  execution_.cta = this;
}

bool Cta::start(KernelJob& job, uint64_t index) {
  warps_ = job.warps();
  all_ = warps_ == 32 ? ~0u : (1u << warps_) - 1;
  execution_.job = &job;
  // A grid's number is never reused, so what is the same for all CTAs of a grid is filled once.
  if (bound_grid_ != job.grid_id()) {
    if (!bind(job)) return false;
    bound_grid_ = job.grid_id();
  }
  uint32_t ctaid[3];
  job.place(index, ctaid);
  for (uint32_t i = 0; i < warps_; ++i) {
    Fiber& fiber = fibers_[i];
    for (int d = 0; d < 3; ++d) fiber.warp.ctaid[d] = ctaid[d];
    fiber.warp.live = fiber.warp.active;
    contexts_[i] = nullptr;
  }
  runnable_ = all_;
  finished_ = 0;
  current_ = warps_ - 1;
  spins_ = 0;
  for (uint32_t used = used_barriers_; used; used &= used - 1) barriers_[std::countr_zero(used)] = Barrier{};
  used_barriers_ = 0;
  waited_ = 0;
  return true;
}

bool Cta::bind(const KernelJob& job) {
  size_t local = size_t{32} * job.code().local_stride;
  bound_grid_ = 0;
  control_known_ = false;
  control_ = kDefaultControl;
  if (!shared_.reserve(job.shared_bytes()) || !local_.reserve(local * warps_)) return false;
  Warp first{};
  job.fill(&first);
  first.shared = shared_.data();
  first.scheduler = &execution_;
  first.smid = execution_.worker->number();
  first.nsmid = execution_.worker->count();
  for (uint32_t i = 0; i < warps_; ++i) {
    Fiber& fiber = fibers_[i];
    if (!fiber.stack.ready(i)) return false;
    fiber.warp = first;
    fiber.warp.local = local_.data() + i * local;
    fiber.warp.warp = i;
    fiber.warp.active = job.active(i);
  }
  return true;
}

uint32_t Cta::next_runnable(uint32_t after) const {
  uint32_t later = after == 31 ? 0 : runnable_ & (~0u << (after + 1));
  return static_cast<uint32_t>(std::countr_zero(later ? later : runnable_));
}

Stop Cta::resume(bool* progress) {
  progress_ = false;
  current_ = next_runnable(current_);
  Worker& worker = *execution_.worker;
  Stop stop = contexts_[current_] ? worker.enter(&execution_, contexts_[current_], control_for(current_))
                                  : worker.begin(&execution_, fibers_[current_].stack, run_warp, this);
  *progress = progress_;
  return stop;
}

void Cta::switch_to(uint32_t from, uint32_t to) {
  current_ = to;
  if (control_ != kDefaultControl) _mm_setcsr(control_for(to));
  if (contexts_[to])
    fatload_fiber_switch(&contexts_[from], contexts_[to], 0);
  else
    fatload_fiber_begin(&contexts_[from], fibers_[to].stack.top(), run_warp, this);
}

// Before a warp gives its thread away in the middle of the kernel.
void Cta::waits(uint32_t self) {
  waited_ |= self;
  if (control_known_) return;
  control_known_ = true;
  control_ = (_mm_getcsr() & ~0x3fu) | (kDefaultControl & 0x3f);
}

Continuation Cta::run_warp(void* argument) {
  Cta& cta = *static_cast<Cta*>(argument);
  auto entry = cta.job().code().entry;
  for (;;) {
    uint32_t warp = cta.current_;
    entry(&cta.fibers_[warp].warp);
    Continuation next = cta.finished(warp);
    if (next.context) return next;
    // The next warp has not begun: it does so here, on the stack that has become free.
    std::swap(cta.fibers_[warp].stack, cta.fibers_[cta.current_].stack);
  }
}

// What runs after a warp has ended; a null context: the warp current_, from its beginning.
Continuation Cta::finished(uint32_t warp) {
  finished_ |= 1u << warp;
  runnable_ &= ~(1u << warp);
  progress_ = true;
  spins_ = 0;
  if (finished_ == all_) return execution_.worker->ended();
  // Warps that have ended no longer hold up those that wait for the whole CTA.
  for (uint32_t used = used_barriers_; used; used &= used - 1) {
    Barrier& barrier = barriers_[std::countr_zero(used)];
    if (barrier.waiting && complete(barrier)) release(barrier);
  }
  if (!runnable_) deadlock();
  current_ = next_runnable(warp);
  if (control_ != kDefaultControl) _mm_setcsr(control_for(current_));
  return {contexts_[current_], 0};
}

bool Cta::complete(Barrier& barrier) {
  if (barrier.arrived >= barrier.expected) return true;
  return barrier.expected >= 32 * warps_ && (barrier.arrived_warps | finished_) == all_;
}

void Cta::release(Barrier& barrier) {
  if (barrier.operation) {
    uint32_t answer = barrier.operation == 2 ? barrier.count : barrier.operation == 3 ? barrier.all : barrier.any;
    for (uint32_t waiting = barrier.waiting; waiting; waiting &= waiting - 1)
      fibers_[std::countr_zero(waiting)].answer = answer;
  }
  runnable_ |= barrier.waiting;
  progress_ = true;
  spins_ = 0;
  uint32_t id = static_cast<uint32_t>(&barrier - barriers_);
  barrier = Barrier{};
  used_barriers_ &= ~(1u << id);
}

// Lanes are not counted one by one: a warp that waits cannot bring further lanes to the barrier, so its arrival stands
// for all of them (lanes that skipped the barrier, too, as chips before independent lanes had it).
uint32_t Cta::barrier(Warp* warp, uint32_t id, uint32_t threads, uint32_t mask, uint32_t operation,
                      uint32_t predicates) {
  Cta& cta = *static_cast<Execution*>(warp->scheduler)->cta;
  if (id >= kBarriers || threads > 32 * kMaxWarps) bad_barrier(warp, id, threads);
  Barrier& barrier = cta.barriers_[id];
  const uint32_t number = warp->warp, self = 1u << number;
  if (barrier.expected == 0) {
    barrier.expected = threads ? (threads + 31) / 32 * 32 : 32 * cta.warps_;
    barrier.all = 1;
    cta.used_barriers_ |= 1u << id;
  }
  barrier.arrived_warps |= self;
  if (operation == 1) {
    // An arrival that does not wait may come from a part of the warp, the rest of which arrives later.
    barrier.arrived += mask == warp->live ? 32 : static_cast<uint32_t>(std::popcount(mask));
    if (cta.complete(barrier)) cta.release(barrier);
    return 0;
  }
  barrier.arrived += 32;
  barrier.waiting |= self;
  if (operation >= 2) {
    barrier.operation = operation;
    barrier.count += static_cast<uint32_t>(std::popcount(predicates & mask));
    if (mask & ~predicates) barrier.all = 0;
    if (mask & predicates) barrier.any = 1;
  }
  if (cta.complete(barrier)) {
    cta.release(barrier);
  } else {
    cta.runnable_ &= ~self;
    if (!cta.runnable_) cta.deadlock();
    cta.waits(self);
    cta.switch_to(number, cta.next_runnable(number));
  }
  return cta.fibers_[number].answer;
}

void Cta::yield(Warp* warp) {
  uint32_t next = next_runnable(warp->warp);
  waits(1u << warp->warp);
  // After two rounds without a barrier or an end in this CTA, others may be what its warps wait for.
  if (++spins_ > 2 * warps_ || next == warp->warp) {
    spins_ = 0;
    execution_.worker->leave(&contexts_[warp->warp], Stop::Spinning);
    return;
  }
  switch_to(warp->warp, next);
}

void Cta::deadlock() {
  std::string text;
  for (uint32_t used = used_barriers_; used; used &= used - 1) {
    uint32_t id = static_cast<uint32_t>(std::countr_zero(used));
    const Barrier& barrier = barriers_[id];
    if (!barrier.waiting) continue;
    text += (text.empty() ? "" : "; ") + std::string("barrier ") + std::to_string(id) + " waits for " +
            std::to_string(barrier.expected) + " threads, " + std::to_string(barrier.arrived) + " arrived";
  }
  fail_kernel(&fibers_[current_].warp, kLaunchFailed, text + ", and no warp is left that could arrive");
}

}  // namespace fatload::cpu
