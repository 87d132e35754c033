#include "device/cpu/cpu_device.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <utility>

#include "client/blake2b.h"

namespace fatload::cpu {
namespace {

constexpr int kSharedReserved = 1024;  // bytes that the system takes of each CTA's shared memory, as on capability 8.9

DeviceInfo describe_host(unsigned threads, size_t memory) {
  DeviceInfo info{};
  info.name = "fatload CPU (" + host_processor() + ")";
  // The same for all processes of a machine, different between machines.
  client::Blake2b hash;
  std::string machine;
  std::ifstream("/etc/machine-id") >> machine;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  hash.update("fatload cpu device 1");
  hash.update(machine.empty() ? std::string(host) : machine);
  client::Digest digest = hash.digest();
  std::memcpy(info.uuid, digest.data(), sizeof info.uuid);
  info.total_memory = memory;
  info.multiprocessors = static_cast<int>(threads);
  info.max_threads_per_multiprocessor = 1536;
  info.max_ctas_per_multiprocessor = 24;
  info.clock_khz = host_clock_khz();
  info.memory_clock_khz = 1600000;
  info.memory_bus_bits = 128;
  info.l2_bytes = static_cast<int>(host_cache_bytes());
  info.shared_per_cta = 48 << 10;
  info.shared_per_cta_optin = 99 << 10;
  info.shared_per_multiprocessor = 100 << 10;
  return info;
}

}  // namespace

struct CpuDevice::Parts {
  Parts() : scheduler(host_threads()), queues(scheduler, state) {
    services.targets = host_targets(&target_error);
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); });
    std::lock_guard lock(all_mutex());
    next = std::exchange(all(), this);
  }

  // A fork happens while no thread holds one of our locks, so that the child finds everything consistent.
  static void before_fork() {
    all_mutex().lock();
    for (Parts* p = all(); p; p = p->next) {
      p->services.translator.before_fork();
      p->queues.before_fork();
      p->services.memory.before_fork();
      p->state.output.before_fork();
    }
  }
  static void after_fork_in_parent() {
    for (Parts* p = all(); p; p = p->next) {
      p->state.output.after_fork_in_parent();
      p->services.memory.after_fork_in_parent();
      p->queues.after_fork_in_parent();
      p->services.translator.after_fork_in_parent();
    }
    all_mutex().unlock();
  }
  static void after_fork_in_child() {
    new (&all_mutex()) std::mutex;
    for (Parts* p = all(); p; p = p->next) p->start_again();
  }
  void start_again() {
    queues.after_fork_in_child();
    services.translator.after_fork();
    services.memory.after_fork();
  }

  static Parts*& all() {
    static Parts* first = nullptr;
    return first;
  }
  static std::mutex& all_mutex() {
    static std::mutex mutex;
    return mutex;
  }

  State state;
  Scheduler scheduler;
  Queues queues;
  Services services;
  std::string target_error;
  Parts* next = nullptr;
};

CpuDevice::CpuDevice()
    : parts_(*new Parts), info_(describe_host(parts_.scheduler.threads(), parts_.services.memory.total())) {}

CUresult CpuDevice::allocate(size_t bytes, Memory, void** out) { return parts_.services.memory.allocate(bytes, out); }
CUresult CpuDevice::release(void* pointer) { return parts_.services.memory.release(pointer); }
void CpuDevice::memory_info(size_t* free, size_t* total) { parts_.services.memory.info(free, total); }

CUresult CpuDevice::load(std::vector<Image> images, bool check, std::unique_ptr<DeviceModule>* out, std::string* log) {
  std::string ignored;
  if (!log) log = &ignored;
  if (images.empty()) return kInvalidImage;
  if (parts_.services.targets.empty()) {
    complain(parts_.target_error);
    *log = parts_.target_error;
    return static_cast<CUresult>(209);
  }
  auto module = std::make_unique<CpuModule>(parts_.services);
  CUresult result = module->load(std::move(images), check, log);
  if (result == kSuccess) *out = std::move(module);
  return result;
}

CUresult CpuDevice::prepare(DeviceModule& module, uint32_t kernel) {
  std::shared_ptr<KernelCode> code;
  return static_cast<CpuModule&>(module).code(kernel, true, &code);
}

CUresult CpuDevice::create_queue(std::unique_ptr<Queue>* out, int) {
  *out = std::make_unique<CpuQueue>(*this, parts_.queues);
  return kSuccess;
}

CUresult CpuDevice::create_marker(std::unique_ptr<Marker>* out) {
  *out = std::make_unique<CpuMarker>(parts_.queues);
  return kSuccess;
}

int CpuDevice::max_active_ctas(DeviceModule& module, uint32_t kernel, int threads, size_t dynamic_shared) {
  if (kernel >= module.kernels.size() || threads <= 0 || threads > 1024) return 0;
  const KernelInfo& k = module.kernels[kernel];
  size_t shared = k.static_shared + dynamic_shared;  // .maxntid plays no part: a GPU's driver ignores it here, too
  if (shared > static_cast<size_t>(info_.shared_per_cta_optin)) return 0;
  int whole = (threads + 31) / 32 * 32;
  int by_shared = info_.shared_per_multiprocessor / static_cast<int>(shared + kSharedReserved);
  return std::min({info_.max_threads_per_multiprocessor / whole, info_.max_ctas_per_multiprocessor, by_shared});
}

CUresult CpuDevice::make_job(Launch&& launch, std::shared_ptr<KernelJob>* out) {
  if (CUresult error = parts_.state.sticky(); error != kSuccess) return error;
  CpuModule& module = static_cast<CpuModule&>(*launch.module);
  if (launch.kernel >= module.kernels.size()) return kNotFound;
  const KernelInfo& info = module.kernels[launch.kernel];
  for (int i = 0; i < 3; ++i)
    if (launch.grid[i] == 0 || launch.block[i] == 0 || launch.block[i] > 1024) return kInvalidValue;
  if (launch.grid[0] > 0x7fffffff || launch.grid[1] > 65535 || launch.grid[2] > 65535) return kInvalidValue;
  uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > 1024 || launch.params.size() < info.param_bytes) return kInvalidValue;
  if (info.max_threads && threads > info.max_threads) return kInvalidValue;
  if (info.required[0] && !std::equal(launch.block, launch.block + 3, info.required)) return kInvalidValue;
  if (size_t{info.static_shared} + launch.dynamic_shared > static_cast<size_t>(info_.shared_per_cta_optin))
    return kInvalidValue;

  uint64_t active =
      static_cast<uint64_t>(max_active_ctas(module, launch.kernel, static_cast<int>(threads), launch.dynamic_shared));
  uint64_t fits = std::max<uint64_t>(1, active * static_cast<uint64_t>(info_.multiprocessors));
  uint64_t ctas = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  if (launch.cooperative && ctas > fits) return kTooManyCooperative;

  bool row = (launch.block[1] == 1 && launch.block[2] == 1) || launch.block[0] % 32 == 0;
  std::shared_ptr<KernelCode> code;
  if (CUresult error = module.code(launch.kernel, row, &code); error != kSuccess) return error;
  static std::atomic<uint64_t> next_grid{1};  // workers of a thread may serve several devices
  *out = std::make_shared<KernelJob>(parts_.state, std::move(code), module.block(), std::move(launch),
                                     next_grid.fetch_add(1), static_cast<uint32_t>(fits));
  return kSuccess;
}

CUresult CpuDevice::error() { return parts_.state.sticky(); }

// The device's own fork handlers have run already; again does no harm.
void CpuDevice::after_fork() { parts_.start_again(); }

}  // namespace fatload::cpu

namespace fatload {

std::unique_ptr<Device> open_cpu_device() { return std::make_unique<cpu::CpuDevice>(); }

}  // namespace fatload
