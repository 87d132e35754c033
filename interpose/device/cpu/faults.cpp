#include "device/cpu/faults.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "device/cpu/runtime.h"
#include "device/cpu/state.h"
#include "device/cpu/worker.h"

namespace fatload::cpu {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct Fault {
  int signal = 0, code = 0;
  uintptr_t address = 0;
};

// Read by a signal handler, so its access must not allocate: static thread-local storage.
[[gnu::tls_model("initial-exec")]] thread_local Worker* worker_here = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local Fault fault_here;

struct sigaction previous[sizeof kSignals / sizeof kSignals[0]];

// Continues here, on the emptied stack of the warp that failed.
[[noreturn]] void landing(Worker* worker) {
  const Fault fault = fault_here;
  char text[160];
  CUresult code = kLaunchFailed;
  if (fault.signal == SIGFPE) {
    std::snprintf(text, sizeof text, "an integer division failed");
  } else if (fault.signal == SIGILL) {
    std::snprintf(text, sizeof text, "an illegal instruction");
    code = kIllegalInstruction;
  } else if (worker->running_stack().in_guard(fault.address)) {
    std::snprintf(text, sizeof text, "its stack is exhausted (FATLOAD_CPU_STACK, now %zu bytes)", stack_bytes());
  } else {
    code = kIllegalAddress;
    // The processor does not tell addresses that no page can have.
    if (fault.signal == SIGSEGV && fault.code == SI_KERNEL)
      std::snprintf(text, sizeof text, "an access to an impossible address");
    else
      std::snprintf(text, sizeof text, "an illegal access to address 0x%zx", static_cast<size_t>(fault.address));
  }
  fail_kernel(const_cast<Warp*>(&worker->running_warp()), code, text);
}

// What would have happened without us.
void chain(int signal, siginfo_t* info, void* context) {
  size_t i = 0;
  while (kSignals[i] != signal) ++i;
  const struct sigaction& before = previous[i];
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || (before.sa_handler == SIG_IGN && info->si_code > 0)) {
    // The instruction faults again when we return, now with the default action.
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (info->si_code <= 0) raise(signal);
  } else if (before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

void handle(int signal, siginfo_t* info, void* context) {
  Worker* worker = worker_here;
  // Signals that somebody sent (si_code <= 0) are no faults of the kernel.
  if (!worker || !worker->running() || info->si_code <= 0) {
    int kept = errno;
    chain(signal, info, context);
    errno = kept;
    return;
  }
  fault_here = {signal, info->si_code, reinterpret_cast<uintptr_t>(info->si_addr)};
  worker->running_stack().forget_frames();
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RSP] = reinterpret_cast<greg_t>(worker->running_stack().restart());
  registers[REG_RIP] = reinterpret_cast<greg_t>(landing);
  registers[REG_RDI] = reinterpret_cast<greg_t>(worker);
  registers[REG_EFL] &= ~greg_t{0x400};  // the direction flag, as functions expect it
}

void install() {
  for (size_t i = 0; i < sizeof kSignals / sizeof kSignals[0]; ++i) {
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, &previous[i]);
  }
}

// A thread's stack for signal handlers; an exhausted stack cannot be handled on itself.
class SignalStack {
 public:
  SignalStack() {
    stack_t present{};
    if (sigaltstack(nullptr, &present) == 0 && !(present.ss_flags & SS_DISABLE)) return;
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return;
    stack_t own{};
    own.ss_sp = memory_;
    own.ss_size = kBytes;
    sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    if (memory_ == MAP_FAILED) return;
    stack_t present{};
    if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
      present.ss_flags = SS_DISABLE;
      sigaltstack(&present, nullptr);
      munmap(memory_, kBytes);
    }
  }

 private:
  static constexpr size_t kBytes = 64 << 10;
  void* memory_ = MAP_FAILED;
};

}  // namespace

Worker*& faults_worker() { return worker_here; }

void prepare_faults() {
  static std::once_flag once;
  std::call_once(once, install);
  thread_local SignalStack stack;
}

}  // namespace fatload::cpu
