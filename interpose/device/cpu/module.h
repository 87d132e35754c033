// A loaded module: its data block, and its kernels, translated at their first use.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/translator.h"
#include "device/cpu/kernel.h"
#include "device/cpu/memory.h"
#include "device/device.h"

namespace fatload::cpu {

// What modules need of the device; outlives them.
struct Services {
  client::Translator translator;
  std::vector<std::string> targets;  // best first
  Memory memory;
};

class CpuModule final : public DeviceModule {
 public:
  explicit CpuModule(Services& services) : services_(services) {}

  // Gets the manifest and makes the data block. `log`: the JIT log, or why it failed.
  CUresult load(std::vector<Image> images, bool check, std::string* log);

  // The data block's memory, for work that may outlive the module.
  const std::shared_ptr<uint8_t>& block() const { return block_; }

  // The code of a kernel for CTAs whose warps lie in one row (`row`) or of any shape. Failures are reported once, on
  // stderr.
  CUresult code(uint32_t kernel, bool row, std::shared_ptr<KernelCode>* out);

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<KernelCode> code[2];  // any, row
    bool reported = false;
  };

  CUresult translate(const std::string& kernel, bool row, std::shared_ptr<KernelCode>* out, std::string* error);

  Services& services_;
  std::vector<Image> images_;
  std::string id_;
  std::unique_ptr<Slot[]> slots_;
  std::shared_ptr<uint8_t> block_;
};

}  // namespace fatload::cpu
