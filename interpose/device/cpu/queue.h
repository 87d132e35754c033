// In-order queues and markers of the CPU device.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/scheduler.h"
#include "device/cpu/state.h"
#include "device/device.h"

namespace fatload::cpu {

struct QueueState;

// All fields are guarded by the scheduler's mutex.
struct MarkerState {
  uint64_t recorded = 0, reached = 0;  // numbers of records
  uint64_t time = 0;
  std::weak_ptr<QueueState> queue;  // of the last record
  std::vector<std::shared_ptr<QueueState>> waiters;
  std::condition_variable changed;
};

struct Operation {
  std::shared_ptr<Job> job;    // work for the workers
  std::function<void()> host;  // a host function
  std::shared_ptr<MarkerState> marker;
  uint64_t record = 0;  // the number of the marker's record
  bool wait = false;    // wait for the marker, else record it
};

struct QueueState {
  std::deque<Operation> operations;  // not yet started
  bool busy = false;                 // one has started and not ended
  std::shared_ptr<Job> job;          // the one that has started, if it is a job
  std::condition_variable changed;
  bool idle() const { return !busy && operations.empty(); }
};

// Starts what queues hold, in order. One for the device.
class Queues {
 public:
  Queues(Scheduler& scheduler, State& state) : scheduler_(scheduler), state_(state) {}

  std::shared_ptr<QueueState> create();
  std::shared_ptr<MarkerState> create_marker();

  void push(const std::shared_ptr<QueueState>& queue, Operation operation);
  // Runs work at once on the calling thread if the queue is idle; false: it is not.
  bool run_here(const std::shared_ptr<QueueState>& queue, const std::function<void()>& work);
  void record(const std::shared_ptr<MarkerState>& marker, const std::shared_ptr<QueueState>& queue);
  void wait_in(const std::shared_ptr<MarkerState>& marker, const std::shared_ptr<QueueState>& queue);

  void synchronize(QueueState& queue);
  void synchronize(MarkerState& marker);

  void before_fork() { scheduler_.mutex().lock(); }
  void after_fork_in_parent() { scheduler_.mutex().unlock(); }
  void after_fork_in_child();

  Scheduler& scheduler() { return scheduler_; }
  State& state() { return state_; }

 private:
  // Does a part of the queue's job, or waits for `changed`. `lock` holds the mutex before and after.
  void help_or_wait(QueueState* queue, std::condition_variable& changed, std::unique_lock<std::mutex>& lock);
  // With the mutex held: starts operations until one has to be waited for.
  void advance(const std::shared_ptr<QueueState>& queue);
  void ended(const std::shared_ptr<QueueState>& queue);
  void reach(MarkerState& marker, uint64_t record);
  bool start(const std::shared_ptr<QueueState>& queue, Operation& operation);

  Scheduler& scheduler_;
  State& state_;
  std::vector<std::weak_ptr<QueueState>> all_;
  std::vector<std::weak_ptr<MarkerState>> all_markers_;
};

class CpuDevice;

class CpuQueue final : public Queue {
 public:
  CpuQueue(CpuDevice& device, Queues& queues) : device_(device), queues_(queues), state_(queues.create()) {}

  CUresult launch(Launch&& launch) override;
  CUresult copy(void* to, const void* from, size_t bytes) override;
  CUresult copy_3d(const Copy3D& copy) override;
  CUresult fill(void* to, size_t pitch, uint32_t value, unsigned element_bytes, size_t width, size_t height) override;
  CUresult host(std::function<void()> act) override;
  bool idle() override;
  CUresult synchronize() override;

  const std::shared_ptr<QueueState>& state() const { return state_; }

 private:
  CUresult push(std::shared_ptr<Job> job);

  CpuDevice& device_;
  Queues& queues_;
  std::shared_ptr<QueueState> state_;
};

class CpuMarker final : public Marker {
 public:
  explicit CpuMarker(Queues& queues) : queues_(queues), state_(queues.create_marker()) {}

  CUresult record(Queue& queue) override;
  CUresult wait_in(Queue& queue) override;
  bool reached() override;
  CUresult synchronize() override;
  uint64_t nanoseconds() override;

 private:
  Queues& queues_;
  std::shared_ptr<MarkerState> state_;
};

}  // namespace fatload::cpu
