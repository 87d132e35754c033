#include "device/cpu/worker.h"

#include <xmmintrin.h>

#include <cstdlib>
#include <utility>

#include "device/cpu/faults.h"
#include "device/cpu/state.h"

namespace fatload::cpu {
namespace {

void no_memory(KernelJob& job) {
  job.fail(kOutOfMemory, "fatload: kernel " + job.code().name + ": no memory for its warps\n");
}

}  // namespace

Worker::Worker(uint32_t number, uint32_t count) : number_(number), count_(count) { plain_.worker = this; }
Worker::~Worker() = default;

// The program's thread and kernels do not see each other's rounding modes and floating-point exceptions.
template <typename F>
Stop Worker::outside_of_program(const Execution* execution, uint32_t control, F go) {
  running_ = execution;
  Worker* outer = std::exchange(faults_worker(), this);
  unsigned own = _mm_getcsr();
  if (own != control) _mm_setcsr(control);
  Stop stop = static_cast<Stop>(go());
  if (_mm_getcsr() != own) _mm_setcsr(own);
  faults_worker() = outer;
  running_ = nullptr;
  return stop;
}

Stop Worker::enter(const Execution* execution, void* context, uint32_t control) {
  return outside_of_program(execution, control, [&] { return fatload_fiber_switch(&own_context_, context, 0); });
}

Stop Worker::begin(const Execution* execution, const Stack& stack, Continuation (*entry)(void*), void* argument) {
  return outside_of_program(execution, kDefaultControl,
                            [&] { return fatload_fiber_begin(&own_context_, stack.top(), entry, argument); });
}

void Worker::leave(void** save, Stop why) { fatload_fiber_switch(save, own_context_, static_cast<uintptr_t>(why)); }

void Worker::abandon() {
  running_stack().forget_frames();
  void* lost;
  leave(&lost, Stop::Failed);
  std::abort();  // an abandoned stack is never continued
}

const Warp& Worker::running_warp() const { return running_->cta ? running_->cta->current() : plain_warp_; }
const Stack& Worker::running_stack() const { return running_->cta ? running_->cta->current_stack() : plain_stack_; }

bool Worker::prepare_plain(KernelJob& job) {
  size_t local = size_t{32} * job.code().local_stride;
  if (!shared_.reserve(job.shared_bytes()) || !local_.reserve(local) || !plain_stack_.ready(number_)) return false;
  plain_.job = &job;
  job.fill(&plain_warp_);
  plain_warp_.shared = shared_.data();
  plain_warp_.local = local_.data();
  plain_warp_.scheduler = &plain_;
  plain_warp_.smid = number_;
  plain_warp_.nsmid = count_;
  return true;
}

// Warps that never wait run one after the other, all CTAs of a chunk on one stack.
Continuation Worker::run_plain(void* argument) {
  Worker& worker = *static_cast<Worker*>(argument);
  KernelJob& job = *worker.plain_.job;
  Warp& warp = worker.plain_warp_;
  auto entry = job.code().entry;
  const uint32_t warps = job.warps();
  for (uint64_t i = 0; i < worker.plain_count_ && !job.failed(); ++i) {
    job.place(worker.plain_first_ + i, warp.ctaid);
    for (uint32_t w = 0; w < warps; ++w) {
      warp.warp = w;
      warp.live = warp.active = job.active(w);
      entry(&warp);
    }
  }
  return worker.ended();
}

std::unique_ptr<Cta> Worker::take_cta() {
  if (spare_.empty()) return std::make_unique<Cta>(this);
  std::unique_ptr<Cta> cta = std::move(spare_.back());
  spare_.pop_back();
  return cta;
}

void Worker::run_fibers(KernelJob& job, uint64_t first, uint64_t count) {
  std::unique_ptr<Cta> cta = take_cta();
  for (uint64_t i = 0; i < count && !job.failed(); ++i) {
    if (!cta->start(job, first + i)) {
      no_memory(job);
      break;
    }
    bool progress;
    while (cta->resume(&progress) == Stop::Spinning) {
    }
  }
  spare_.push_back(std::move(cta));
}

void Worker::run(Job& job, uint64_t first, uint64_t count) {
  KernelJob* kernel = job.kernel();
  if (!kernel) {
    job.run(first, count);
  } else if (!kernel->failed()) {
    uint64_t start = now();
    if (kernel->fibers()) {
      run_fibers(*kernel, first, count);
    } else if (prepare_plain(*kernel)) {
      plain_first_ = first;
      plain_count_ = count;
      begin(&plain_, plain_stack_, run_plain, this);
    } else {
      no_memory(*kernel);
    }
    kernel->code().measured(now() - start, count);
  }
  job.finish(count);
}

void Worker::adopt(const std::shared_ptr<Job>& job, uint64_t index) {
  KernelJob& kernel = *job->kernel();
  std::unique_ptr<Cta> cta = take_cta();
  if (kernel.failed() || !cta->start(kernel, index)) {
    if (!kernel.failed()) no_memory(kernel);
    spare_.push_back(std::move(cta));
    job->finish(1);
    return;
  }
  kernel.live.fetch_add(1, std::memory_order_relaxed);
  live_.push_back({job, std::move(cta)});
}

bool Worker::step() {
  bool any = false;
  for (size_t i = 0; i < live_.size();) {
    KernelJob& kernel = live_[i].cta->job();
    bool progress = false;
    Stop stop = kernel.failed() ? Stop::Failed : live_[i].cta->resume(&progress);
    any |= progress || stop != Stop::Spinning;
    if (stop == Stop::Spinning) {
      ++i;
      continue;
    }
    kernel.live.fetch_sub(1, std::memory_order_relaxed);
    Live ended = std::move(live_[i]);
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(i));
    spare_.push_back(std::move(ended.cta));
    ended.job->finish(1);
  }
  return any;
}

}  // namespace fatload::cpu
