// What all parts of the CPU device share: the sticky error and the output of kernels.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "api/cuda_api.h"

namespace fatload::cpu {

// Numbers of CUresult that this device gives.
constexpr CUresult kSuccess = static_cast<CUresult>(0), kInvalidValue = static_cast<CUresult>(1),
                   kOutOfMemory = static_cast<CUresult>(2), kInvalidImage = static_cast<CUresult>(200),
                   kNotFound = static_cast<CUresult>(500), kIllegalAddress = static_cast<CUresult>(700),
                   kOutOfResources = static_cast<CUresult>(701), kAssert = static_cast<CUresult>(710),
                   kIllegalInstruction = static_cast<CUresult>(715), kInvalidPc = static_cast<CUresult>(718),
                   kLaunchFailed = static_cast<CUresult>(719), kTooManyCooperative = static_cast<CUresult>(720),
                   kUnknown = static_cast<CUresult>(999);

// Text on stderr, in one write; `complain` makes it a line of ours.
void write_error(const std::string& text);
void complain(const std::string& message);

// Nanoseconds of the monotonic clock.
uint64_t now();

// What kernels print, kept until somebody synchronises, as CUDA has it.
class Output {
 public:
  void append(const std::string& text);
  void flush();  // to stdout
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork();

 private:
  std::mutex mutex_;
  std::string text_;
};

struct State {
  std::atomic<int> error{0};  // sticky
  Output output;

  void stick(CUresult code) {
    int none = 0;
    error.compare_exchange_strong(none, static_cast<int>(code));
  }
  CUresult sticky() const { return static_cast<CUresult>(error.load(std::memory_order_acquire)); }
};

}  // namespace fatload::cpu
