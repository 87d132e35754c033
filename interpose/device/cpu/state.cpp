#include "device/cpu/state.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <new>

namespace fatload::cpu {
namespace {
constexpr size_t kLargestOutput = 1 << 20;
}

void write_error(const std::string& text) {
  ssize_t ignored = write(2, text.data(), text.size());
  static_cast<void>(ignored);
}

void complain(const std::string& message) { write_error("fatload: " + message + "\n"); }

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

void Output::append(const std::string& text) {
  std::lock_guard lock(mutex_);
  text_ += text;
  if (text_.size() < kLargestOutput) return;
  std::fwrite(text_.data(), 1, text_.size(), stdout);
  text_.clear();
}

void Output::flush() {
  std::lock_guard lock(mutex_);
  if (text_.empty()) return;
  std::fwrite(text_.data(), 1, text_.size(), stdout);
  std::fflush(stdout);
  text_.clear();
}

void Output::after_fork() {
  new (&mutex_) std::mutex;
  text_.clear();
}

}  // namespace fatload::cpu
