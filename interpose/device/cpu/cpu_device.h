// The CPU as a Device.
#pragma once
#include <memory>

#include "device/cpu/host.h"
#include "device/cpu/module.h"
#include "device/cpu/queue.h"
#include "device/cpu/scheduler.h"
#include "device/cpu/state.h"
#include "device/device.h"

namespace fatload::cpu {

class CpuDevice final : public Device {
 public:
  CpuDevice();

  const DeviceInfo& info() override { return info_; }
  CUresult allocate(size_t bytes, Memory kind, void** out) override;
  CUresult release(void* pointer) override;
  void memory_info(size_t* free, size_t* total) override;
  CUresult load(std::vector<Image> images, bool check, std::unique_ptr<DeviceModule>* out, std::string* log) override;
  CUresult prepare(DeviceModule& module, uint32_t kernel) override;
  CUresult create_queue(std::unique_ptr<Queue>* out, int priority) override;
  CUresult create_marker(std::unique_ptr<Marker>* out) override;
  int max_active_ctas(DeviceModule& module, uint32_t kernel, int threads, size_t dynamic_shared) override;
  CUresult error() override;
  void after_fork() override;

  // Checks a launch, gets the kernel's code and makes the job. Errors: 1 for a bad shape, 720 for a cooperative launch
  // that does not fit, and those of the translation.
  CUresult make_job(Launch&& launch, std::shared_ptr<KernelJob>* out);

 private:
  // What running threads use is never destroyed: the process may end while kernels run.
  struct Parts;
  Parts& parts_;
  DeviceInfo info_;
};

}  // namespace fatload::cpu
