#include "device/cpu/runtime.h"

#include <sched.h>
#include <time.h>

#include <bit>
#include <cstdlib>

#include "device/cpu/cta.h"
#include "device/cpu/print.h"
#include "device/cpu/state.h"
#include "device/cpu/worker.h"

namespace fatload::cpu {
namespace {

Execution& execution(Warp* warp) { return *static_cast<Execution*>(warp->scheduler); }

// Calls `act` with each lane of a set, the lowest first.
template <typename F>
void for_lanes(uint32_t mask, F act) {
  for (; mask; mask &= mask - 1) act(static_cast<uint32_t>(std::countr_zero(mask)));
}

// A CTA of one warp runs without fibers: its arrival is all that a barrier can wait for.
[[gnu::noinline]] uint32_t barrier_alone(Warp* warp, uint32_t id, uint32_t threads, uint32_t mask, uint32_t operation,
                                         uint32_t predicates) {
  if (id >= kBarriers || threads > 32 || warp->nwarps > 1)
    fail_kernel(
        warp, kLaunchFailed,
        "barrier " + std::to_string(id) + " waits for " + std::to_string(threads) + " threads that do not exist");
  predicates &= mask;
  if (operation == 2) return static_cast<uint32_t>(std::popcount(predicates));
  return operation == 3 ? predicates == mask : operation == 4 ? predicates != 0 : 0;
}

uint32_t barrier(Warp* warp, uint32_t id, uint32_t threads, uint32_t mask, uint32_t operation, uint32_t predicates) {
  // Both are tail calls.
  if (execution(warp).cta) return Cta::barrier(warp, id, threads, mask, operation, predicates);
  return barrier_alone(warp, id, threads, mask, operation, predicates);
}

void yield(Warp* warp) {
  if (Cta* cta = execution(warp).cta)
    cta->yield(warp);
  else
    sched_yield();
}

void trap(Warp* warp, uint32_t, uint32_t reason, uint32_t line) {
  const char* what = "a trap instruction";
  if (reason == kTrapBadFunction) what = "a call through a bad function pointer";
  if (reason == kTrapDeadlock) what = "lanes of a warp wait for each other for ever";
  if (reason == kTrapBreakpoint) what = "a breakpoint";
  if (reason == kTrapStackOverflow) what = "the local memory of its lanes is exhausted (calls too deep)";
  CUresult code = reason == kTrapBadFunction ? kInvalidPc : kLaunchFailed;
  fail_kernel(warp, code, what + (line ? " (line " + std::to_string(line) + " of the PTX)" : std::string()));
}

void device_printf(Warp* warp, uint32_t mask, const uint64_t* format, const uint64_t* arguments, uint32_t* result) {
  std::string text;
  for_lanes(mask, [&](uint32_t lane) {
    result[lane] = static_cast<uint32_t>(format_device(reinterpret_cast<const char*>(format[lane]),
                                                       reinterpret_cast<const uint8_t*>(arguments[lane]), &text));
  });
  execution(warp).job->state().output.append(text);
}

// Where a lane is, as CUDA's assertion message has it.
std::string position(const Warp& warp, uint32_t lane) {
  uint32_t thread = warp.warp * 32 + lane;
  uint32_t x = thread % warp.ntid[0], y = thread / warp.ntid[0] % warp.ntid[1],
           z = thread / warp.ntid[0] / warp.ntid[1];
  return "block: [" + std::to_string(warp.ctaid[0]) + "," + std::to_string(warp.ctaid[1]) + "," +
         std::to_string(warp.ctaid[2]) + "], thread: [" + std::to_string(x) + "," + std::to_string(y) + "," +
         std::to_string(z) + "]";
}

void assertfail(Warp* warp, uint32_t mask, const uint64_t* message, const uint64_t* file, const uint32_t* line,
                const uint64_t* function, const uint64_t*) {
  auto text = [](uint64_t at) { return at ? std::string(reinterpret_cast<const char*>(at)) : std::string("?"); };
  std::string all;
  for_lanes(mask, [&](uint32_t lane) {
    all += text(file[lane]) + ":" + std::to_string(line[lane]) + ": " + text(function[lane]) + ": " +
           position(*warp, lane) + " Assertion `" + text(message[lane]) + "` failed.\n";
  });
  fail_kernel_plainly(warp, kAssert, all);
}

void device_malloc(Warp*, uint32_t mask, const uint64_t* bytes, uint64_t* result) {
  for_lanes(mask, [&](uint32_t lane) {
    result[lane] = bytes[lane] ? reinterpret_cast<uint64_t>(std::malloc(bytes[lane])) : 0;
  });
}

void device_free(Warp*, uint32_t mask, const uint64_t* pointers) {
  for_lanes(mask, [&](uint32_t lane) { std::free(reinterpret_cast<void*>(pointers[lane])); });
}

uint64_t globaltimer(Warp*) {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// PTX lets a warp sleep for any time from zero to twice what it asked for.
void nanosleep(Warp* warp, uint32_t) { yield(warp); }

constexpr RuntimeTable kTable = {barrier,       yield,       trap,        device_printf, assertfail,
                                 device_malloc, device_free, globaltimer, nanosleep};

}  // namespace

const RuntimeTable* runtime_table() { return &kTable; }

void fail_kernel(Warp* warp, CUresult code, const std::string& what) {
  fail_kernel_plainly(warp, code,
                      "fatload: " + describe(*execution(warp).job, *warp) + ", warp " + std::to_string(warp->warp) +
                          ": " + what + "\n");
}

void fail_kernel_plainly(Warp* warp, CUresult code, const std::string& message) {
  Execution& e = execution(warp);
  e.job->fail(code, message);
  e.worker->abandon();
}

}  // namespace fatload::cpu
