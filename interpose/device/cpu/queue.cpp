#include "device/cpu/queue.h"

#include <new>

#include "device/cpu/cpu_device.h"
#include "device/cpu/transfer.h"

namespace fatload::cpu {
namespace {

constexpr uint64_t kInPlaceNanoseconds = 15000;
constexpr size_t kInPlaceBytes = 256 << 10;

template <typename T>
void forget_dead(std::vector<std::weak_ptr<T>>* all) {
  // Amortised: looks through the list only when it has doubled.
  if (all->size() < all->capacity()) return;
  std::erase_if(*all, [](const std::weak_ptr<T>& one) { return one.expired(); });
  all->reserve(2 * all->size() + 16);
}

}  // namespace

std::shared_ptr<QueueState> Queues::create() {
  auto queue = std::make_shared<QueueState>();
  std::lock_guard lock(scheduler_.mutex());
  forget_dead(&all_);
  all_.push_back(queue);
  return queue;
}

std::shared_ptr<MarkerState> Queues::create_marker() {
  auto marker = std::make_shared<MarkerState>();
  std::lock_guard lock(scheduler_.mutex());
  forget_dead(&all_markers_);
  all_markers_.push_back(marker);
  return marker;
}

void Queues::push(const std::shared_ptr<QueueState>& queue, Operation operation) {
  std::lock_guard lock(scheduler_.mutex());
  queue->operations.push_back(std::move(operation));
  advance(queue);
}

bool Queues::run_here(const std::shared_ptr<QueueState>& queue, const std::function<void()>& work) {
  {
    std::lock_guard lock(scheduler_.mutex());
    if (!queue->idle()) return false;
    queue->busy = true;
  }
  work();
  ended(queue);
  return true;
}

void Queues::record(const std::shared_ptr<MarkerState>& marker, const std::shared_ptr<QueueState>& queue) {
  std::lock_guard lock(scheduler_.mutex());
  Operation operation;
  operation.marker = marker;
  operation.record = ++marker->recorded;
  marker->queue = queue;
  queue->operations.push_back(std::move(operation));
  advance(queue);
}

void Queues::wait_in(const std::shared_ptr<MarkerState>& marker, const std::shared_ptr<QueueState>& queue) {
  std::lock_guard lock(scheduler_.mutex());
  if (marker->reached >= marker->recorded) return;
  Operation operation;
  operation.marker = marker;
  operation.record = marker->recorded;
  operation.wait = true;
  queue->operations.push_back(std::move(operation));
  advance(queue);
}

void Queues::reach(MarkerState& marker, uint64_t record) {
  if (record <= marker.reached) return;
  marker.reached = record;
  marker.time = now();
  marker.changed.notify_all();
  std::vector<std::shared_ptr<QueueState>> waiters = std::move(marker.waiters);
  marker.waiters.clear();
  for (const std::shared_ptr<QueueState>& waiter : waiters) {
    waiter->busy = false;
    advance(waiter);
  }
}

// Starts one operation; true if the queue has to wait for it.
bool Queues::start(const std::shared_ptr<QueueState>& queue, Operation& operation) {
  if (operation.marker) {
    if (!operation.wait) {
      reach(*operation.marker, operation.record);
      return false;
    }
    if (operation.marker->reached >= operation.record) return false;
    operation.marker->waiters.push_back(queue);
    // Looked at again when the marker moves: an older record may be what is reached then.
    queue->operations.push_front(std::move(operation));
    return true;
  }
  if (operation.host) {
    auto act = [this, queue, host = std::move(operation.host)] {
      host();
      ended(queue);
    };
    if (scheduler_.submit_host(std::move(act))) return true;
  } else {
    // After an error nothing runs any more: the device is unusable until the program ends.
    if (state_.sticky() != kSuccess) return false;
    operation.job->done = [this, queue] { ended(queue); };
    queue->job = operation.job;
    if (scheduler_.submit(std::move(operation.job))) return true;
    queue->job = nullptr;
  }
  complain("cannot start a thread");
  state_.stick(kOutOfMemory);
  return false;
}

void Queues::advance(const std::shared_ptr<QueueState>& queue) {
  while (!queue->busy && !queue->operations.empty()) {
    Operation operation = std::move(queue->operations.front());
    queue->operations.pop_front();
    // Set first: reaching a marker may come back to this queue.
    queue->busy = true;
    bool waits = start(queue, operation);
    if (waits) return;
    queue->busy = false;
  }
  if (queue->idle()) queue->changed.notify_all();
}

void Queues::ended(const std::shared_ptr<QueueState>& queue) {
  std::lock_guard lock(scheduler_.mutex());
  queue->busy = false;
  queue->job = nullptr;
  advance(queue);
}

void Queues::help_or_wait(QueueState* queue, std::condition_variable& changed, std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<Job> job = queue ? queue->job : nullptr;
  if (!job || !job->left() || !scheduler_.can_help(*job)) {
    job = nullptr;
    changed.wait(lock);
    return;
  }
  // Rather than waiting for a worker to wake up, this thread does a part itself.
  lock.unlock();
  scheduler_.help(*job);
  job = nullptr;
  lock.lock();
}

void Queues::synchronize(QueueState& queue) {
  std::unique_lock lock(scheduler_.mutex());
  while (!queue.idle()) help_or_wait(&queue, queue.changed, lock);
}

void Queues::synchronize(MarkerState& marker) {
  std::unique_lock lock(scheduler_.mutex());
  for (uint64_t record = marker.recorded; marker.reached < record;) {
    std::shared_ptr<QueueState> queue = marker.queue.lock();
    help_or_wait(queue.get(), marker.changed, lock);
  }
}

void Queues::after_fork_in_child() {
  scheduler_.after_fork();
  for (const std::weak_ptr<QueueState>& one : all_) {
    std::shared_ptr<QueueState> queue = one.lock();
    if (!queue) continue;
    new (&queue->changed) std::condition_variable;
    new (&queue->operations) std::deque<Operation>;
    new (&queue->job) std::shared_ptr<Job>;
    queue->busy = false;
  }
  for (const std::weak_ptr<MarkerState>& one : all_markers_) {
    std::shared_ptr<MarkerState> marker = one.lock();
    if (!marker) continue;
    new (&marker->changed) std::condition_variable;
    new (&marker->waiters) std::vector<std::shared_ptr<QueueState>>;
    marker->reached = marker->recorded;
  }
  state_.output.after_fork();
}

CUresult CpuQueue::push(std::shared_ptr<Job> job) {
  if (CUresult error = queues_.state().sticky(); error != kSuccess) return error;
  if (job->total() == 0) return kSuccess;
  Operation operation;
  operation.job = std::move(job);
  queues_.push(state_, std::move(operation));
  return kSuccess;
}

CUresult CpuQueue::launch(Launch&& launch) {
  std::shared_ptr<KernelJob> job;
  if (CUresult error = device_.make_job(std::move(launch), &job); error != kSuccess) return error;
  // Small launches that end by themselves cost less than waking a thread.
  const KernelCode& code = job->code();
  uint64_t nanoseconds = code.nanoseconds.load(std::memory_order_relaxed);
  if (!code.yields && nanoseconds && job->total() < kInPlaceNanoseconds &&
      nanoseconds * job->total() < kInPlaceNanoseconds &&
      queues_.run_here(state_, [&] { queues_.scheduler().run_here(*job); }))
    return kSuccess;
  return push(std::move(job));
}

CUresult CpuQueue::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return kSuccess;
  if (CUresult error = queues_.state().sticky(); error != kSuccess) return error;
  if (bytes <= kInPlaceBytes && queues_.run_here(state_, [&] { CopyJob(to, from, bytes).run(0, 1); })) return kSuccess;
  return push(std::make_shared<CopyJob>(to, from, bytes));
}

CUresult CpuQueue::copy_3d(const Copy3D& copy) {
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return kSuccess;
  return push(std::make_shared<Copy3DJob>(copy));
}

CUresult CpuQueue::fill(void* to, size_t pitch, uint32_t value, unsigned element_bytes, size_t width, size_t height) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) return kInvalidValue;
  if (width == 0 || height == 0) return kSuccess;
  if (CUresult error = queues_.state().sticky(); error != kSuccess) return error;
  auto job = std::make_shared<FillJob>(to, pitch, value, element_bytes, width, height);
  if (width * element_bytes <= kInPlaceBytes / height && queues_.run_here(state_, [&] { job->run(0, job->total()); }))
    return kSuccess;
  return push(std::move(job));
}

CUresult CpuQueue::host(std::function<void()> act) {
  Operation operation;
  operation.host = std::move(act);
  queues_.push(state_, std::move(operation));
  return kSuccess;
}

bool CpuQueue::idle() {
  std::lock_guard lock(queues_.scheduler().mutex());
  return state_->idle();
}

CUresult CpuQueue::synchronize() {
  queues_.synchronize(*state_);
  queues_.state().output.flush();
  return queues_.state().sticky();
}

CUresult CpuMarker::record(Queue& queue) {
  queues_.record(state_, static_cast<CpuQueue&>(queue).state());
  return kSuccess;
}

CUresult CpuMarker::wait_in(Queue& queue) {
  queues_.wait_in(state_, static_cast<CpuQueue&>(queue).state());
  return kSuccess;
}

bool CpuMarker::reached() {
  std::lock_guard lock(queues_.scheduler().mutex());
  return state_->reached >= state_->recorded;
}

CUresult CpuMarker::synchronize() {
  queues_.synchronize(*state_);
  queues_.state().output.flush();
  return queues_.state().sticky();
}

uint64_t CpuMarker::nanoseconds() {
  std::lock_guard lock(queues_.scheduler().mutex());
  return state_->time;
}

}  // namespace fatload::cpu
