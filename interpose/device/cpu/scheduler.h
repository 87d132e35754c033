// Threads that run jobs: started at the first work, asleep when there is none. Several jobs are served side by side.
#pragma once
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "device/cpu/job.h"
#include "device/cpu/worker.h"

namespace fatload::cpu {

class Scheduler {
 public:
  explicit Scheduler(unsigned threads) : threads_(threads) {}

  unsigned threads() const { return threads_; }

  // Guards the state of queues as well, so that an end of one piece of work and the start of the next are one step.
  std::mutex& mutex() { return mutex_; }

  // With the mutex held: hands a job to the workers. False: not one thread could be started.
  bool submit(std::shared_ptr<Job> job);
  // With the mutex held: runs a function on the thread for host functions. These may block, so no worker runs them.
  bool submit_host(std::function<void()> act);

  // Runs a whole job on the calling thread.
  void run_here(Job& job);
  // Runs what is left of a submitted job along with the workers. Not for kernels that yield: they may wait for ever.
  static bool can_help(Job& job) { return !job.kernel() || !job.kernel()->code().yields; }
  void help(Job& job);

  // In a forked child, where no other thread is left: forgets the threads and all work.
  void after_fork();

 private:
  static void* worker_main(void* scheduler);
  static void* host_main(void* scheduler);
  bool start_thread(void* (*main)(void*));
  void work(unsigned number);
  void host_work();
  std::shared_ptr<Job> pick();  // with the mutex held
  std::shared_ptr<Job> try_pick();
  std::shared_ptr<Job> wait_pick();
  Worker& worker_here();
  void take(Worker& worker, const std::shared_ptr<Job>& job);
  uint64_t chunk(Job& job) const;

  const unsigned threads_;
  std::mutex mutex_;
  std::condition_variable work_, host_work_;
  std::deque<std::shared_ptr<Job>> ready_;
  std::deque<std::function<void()>> host_;
  std::atomic<size_t> ready_count_{0};
  unsigned started_ = 0, next_number_ = 0;
  // Workers asleep whom nobody has called, and calls not yet heard.
  unsigned idle_ = 0, tickets_ = 0;
  bool host_started_ = false;
};

}  // namespace fatload::cpu
