#include "device/cpu/scheduler.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include <new>

#include "device/cpu/faults.h"
#include "device/cpu/state.h"

namespace fatload::cpu {
namespace {

constexpr uint64_t kChunkNanoseconds = 2000000;
constexpr size_t kThreadStack = 512 << 10;  // kernels run on stacks of their own

// The worker whose thread this is; null on threads of the program.
thread_local const Worker* worker_of_thread = nullptr;

// What a worker does while all its CTAs spin: give the processor away, and sleep once that has gone on for long.
class Backoff {
 public:
  void reset() { rounds_ = 0; }
  void wait() {
    if (rounds_ == 0) since_ = now();
    ++rounds_;
    sched_yield();
    if (rounds_ % 64 != 0) return;
    // A round that takes long does work between its yields; only short ones are pure spinning.
    uint64_t elapsed = now() - since_;
    if (elapsed > 20000000 && elapsed / rounds_ < 20000) {
      timespec pause{0, 50000};
      nanosleep(&pause, nullptr);
    }
  }

 private:
  uint64_t rounds_ = 0, since_ = 0;
};

}  // namespace

bool Scheduler::start_thread(void* (*main)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kThreadStack);
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int failed = pthread_create(&thread, &attributes, main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

bool Scheduler::submit(std::shared_ptr<Job> job) {
  uint64_t units = job->left();
  ready_.push_back(std::move(job));
  ready_count_.store(ready_.size(), std::memory_order_relaxed);
  // A worker that submits the next work of a queue is about to look for work itself.
  uint64_t wanted = units - (worker_of_thread && !worker_of_thread->has_live() ? 1 : 0);
  unsigned woken = static_cast<unsigned>(std::min<uint64_t>(wanted, idle_));
  idle_ -= woken;
  tickets_ += woken;
  if (woken == 1)
    work_.notify_one();
  else if (woken > 1)
    work_.notify_all();
  for (uint64_t served = woken; served < wanted && started_ < threads_; ++served) {
    if (!start_thread(worker_main)) break;
    ++started_;
  }
  if (started_ > 0) return true;
  ready_.pop_back();
  return false;
}

bool Scheduler::submit_host(std::function<void()> act) {
  if (!host_started_ && !start_thread(host_main)) return false;
  host_started_ = true;
  host_.push_back(std::move(act));
  host_work_.notify_one();
  return true;
}

void* Scheduler::worker_main(void* argument) {
  Scheduler& scheduler = *static_cast<Scheduler*>(argument);
  unsigned number;
  {
    std::lock_guard lock(scheduler.mutex_);
    number = scheduler.next_number_++;
  }
  pthread_setname_np(pthread_self(), "fatload-worker");
  scheduler.work(number);
  return nullptr;
}

void* Scheduler::host_main(void* argument) {
  pthread_setname_np(pthread_self(), "fatload-host");
  static_cast<Scheduler*>(argument)->host_work();
  return nullptr;
}

void Scheduler::host_work() {
  for (;;) {
    std::function<void()> act;
    {
      std::unique_lock lock(mutex_);
      host_work_.wait(lock, [this] { return !host_.empty(); });
      act = std::move(host_.front());
      host_.pop_front();
    }
    act();
  }
}

std::shared_ptr<Job> Scheduler::pick() {
  for (size_t tries = ready_.size(); tries > 0; --tries) {
    std::shared_ptr<Job> job = std::move(ready_.front());
    ready_.pop_front();
    if (job->left() == 0) continue;
    // Jobs take turns.
    ready_.push_back(job);
    if (job->admits()) return job;
  }
  ready_count_.store(ready_.size(), std::memory_order_relaxed);
  return nullptr;
}

std::shared_ptr<Job> Scheduler::try_pick() {
  if (ready_count_.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard lock(mutex_);
  return pick();
}

std::shared_ptr<Job> Scheduler::wait_pick() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (std::shared_ptr<Job> job = pick()) return job;
    ++idle_;
    work_.wait(lock, [this] { return tickets_ > 0; });
    --tickets_;
  }
}

uint64_t Scheduler::chunk(Job& job) const {
  KernelJob* kernel = job.kernel();
  if (!kernel) return job.piece();
  uint64_t share = std::max<uint64_t>(1, job.left() / (4 * threads_));
  uint64_t nanoseconds = kernel->code().nanoseconds.load(std::memory_order_relaxed);
  uint64_t limit = nanoseconds ? std::max<uint64_t>(1, kChunkNanoseconds / nanoseconds) : 16;
  return std::min(share, limit);
}

void Scheduler::take(Worker& worker, const std::shared_ptr<Job>& job) {
  KernelJob* kernel = job->kernel();
  uint64_t first;
  if (kernel && kernel->code().yields) {
    if (job->claim(1, &first)) worker.adopt(job, first);
    return;
  }
  for (;;) {
    uint64_t count = job->claim(chunk(*job), &first);
    if (count == 0) return;
    worker.run(*job, first, count);
    if (worker.has_live() || ready_count_.load(std::memory_order_relaxed) > 1) return;
  }
}

void Scheduler::work(unsigned number) {
  prepare_faults();
  Worker worker(number, threads_);
  worker_of_thread = &worker;
  Backoff backoff;
  for (;;) {
    if (!worker.has_live()) {
      backoff.reset();
      take(worker, wait_pick());
    } else if (worker.step()) {
      backoff.reset();
    } else if (std::shared_ptr<Job> job = try_pick()) {
      take(worker, job);
    } else {
      backoff.wait();
    }
  }
}

Worker& Scheduler::worker_here() {
  prepare_faults();
  thread_local Worker worker(0, threads_);
  return worker;
}

void Scheduler::run_here(Job& job) {
  uint64_t first, count = job.claim(job.total(), &first);
  worker_here().run(job, first, count);
}

void Scheduler::help(Job& job) {
  Worker& worker = worker_here();
  uint64_t first;
  while (uint64_t count = job.claim(chunk(job), &first)) worker.run(job, first, count);
}

void Scheduler::after_fork() {
  new (&mutex_) std::mutex;
  new (&work_) std::condition_variable;
  new (&host_work_) std::condition_variable;
  // Leaked on purpose: destroying the work could call back into queues of the parent.
  new (&ready_) std::deque<std::shared_ptr<Job>>;
  new (&host_) std::deque<std::function<void()>>;
  ready_count_ = 0;
  started_ = idle_ = tickets_ = next_number_ = 0;
  host_started_ = false;
}

}  // namespace fatload::cpu
