// The interface between the driver API (interpose/driver) and what executes: cpu, later hip.
// The driver API owns contexts, the table of allocations, handles, error stickiness, stream and event semantics;
// a device owns memory, loaded code and in-order queues of work. CUresult values throughout.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/cuda_api.h"

namespace fatload {

struct DeviceInfo {
  std::string name;
  unsigned char uuid[16];
  int pci_domain, pci_bus, pci_device;
  size_t total_memory;
  int multiprocessors;
  int max_threads_per_multiprocessor, max_ctas_per_multiprocessor;
  int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
  int shared_per_cta, shared_per_cta_optin, shared_per_multiprocessor;
};

struct ParameterInfo {
  uint32_t offset, size;
};

struct KernelInfo {
  std::string name;
  uint32_t param_bytes = 0;
  std::vector<ParameterInfo> params;
  uint32_t static_shared = 0, local_bytes = 0, max_threads = 0 /* .maxntid, 0: none */, required[3] = {0, 0, 0};
};

struct VariableInfo {
  std::string name;
  uint64_t offset, size;
  bool managed, constant;
};

// One image chosen from what the program handed over; bytes as stored. `owner` keeps them alive when they were copied.
struct Image {
  uint32_t kind, sm, flags;
  enum Compression { None, Lz4, Zstd } compression;
  uint64_t raw_bytes;
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

// A module as the device sees it. Kernels are translated at their first launch (or by `prepare`).
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  int ptx_version = 0, sm = 0;  // of the image chosen: 83, 75
  std::vector<KernelInfo> kernels;
  std::vector<VariableInfo> variables;
  uint8_t* data = nullptr;  // the data block: variable v is at data + v.offset
  uint64_t data_bytes = 0;
};

struct Launch {
  DeviceModule* module;
  uint32_t kernel;  // index in module->kernels
  uint32_t grid[3], block[3], dynamic_shared;
  bool cooperative;
  std::vector<uint8_t> params;  // at PTX offsets
};

// An in-order queue. Errors of asynchronous work stick to the queue's device and are reported by `Device::error`.
class Queue {
 public:
  virtual ~Queue() = default;
  // Translates at the first use of the kernel; its errors (209, 218, 801 …) are returned here, before anything is
  // queued.
  virtual CUresult launch(Launch&&) = 0;
  virtual CUresult copy(void* to, const void* from, size_t bytes) = 0;
  // rows of `width` bytes, `height` of them, in `depth` slices
  struct Copy3D {
    uint8_t* to;
    const uint8_t* from;
    size_t to_pitch, from_pitch, to_slice, from_slice, width, height, depth;
  };
  virtual CUresult copy_3d(const Copy3D&) = 0;
  virtual CUresult fill(void* to, size_t pitch, uint32_t value, unsigned element_bytes, size_t width,
                        size_t height) = 0;
  virtual CUresult host(std::function<void()>) = 0;  // runs in the queue's order on a thread of the device
  virtual bool idle() = 0;
  virtual CUresult synchronize() = 0;
};

// A point in a queue's order.
class Marker {
 public:
  virtual ~Marker() = default;
  virtual CUresult record(Queue&) = 0;   // may be recorded again
  virtual CUresult wait_in(Queue&) = 0;  // later work of that queue waits for the last record
  virtual bool reached() = 0;
  virtual CUresult synchronize() = 0;
  virtual uint64_t nanoseconds() = 0;  // when it was reached
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() = 0;
  enum Memory { DeviceMemory, PinnedHost, Managed };
  virtual CUresult allocate(size_t bytes, Memory kind, void** out) = 0;  // aligned to 512
  virtual CUresult release(void*) = 0;
  virtual void memory_info(size_t* free, size_t* total) = 0;
  // `log` receives the JIT log (for cuModuleLoadDataEx). `check` reads the whole PTX now (text handed over by the
  // program).
  virtual CUresult load(std::vector<Image> images, bool check, std::unique_ptr<DeviceModule>* out,
                        std::string* log) = 0;
  virtual CUresult prepare(DeviceModule&, uint32_t kernel) = 0;
  virtual CUresult create_queue(std::unique_ptr<Queue>* out, int priority) = 0;
  virtual CUresult create_marker(std::unique_ptr<Marker>* out) = 0;
  virtual int max_active_ctas(DeviceModule&, uint32_t kernel, int threads, size_t dynamic_shared) = 0;
  virtual CUresult error() = 0;   // sticky error of asynchronous work: 700, 716, 719, 710 …; 0: none
  virtual void after_fork() = 0;  // in the child: no thread is left
};

// Opens the device named by FATLOAD_DEVICE (cpu for now). Expensive start-up happens at first use, never in
// constructors.
std::unique_ptr<Device> open_cpu_device();

}  // namespace fatload
