#include "driver/state.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// Set by entry points of the per-thread default stream (driver/exports.h), taken by the next Call.
__attribute__((tls_model("initial-exec"), visibility("hidden"))) thread_local bool fatload_per_thread_mark = false;
}

namespace fatload {
namespace {

bool tracing() {
  static const bool on = [] {
    const char* trace = std::getenv("FATLOAD_TRACE");
    return trace && *trace && std::strcmp(trace, "0") != 0;
  }();
  return on;
}

void after_fork_in_child() {
  State& state = State::get();
  if (state.device) state.device->after_fork();
}

std::unordered_set<std::string>& named() {
  static auto* set = new std::unordered_set<std::string>;
  return *set;
}

bool first_time(const std::string& what) {
  static auto* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  return named().insert(what).second;
}

}  // namespace

State& State::get() {
  static State* state = new State;
  return *state;
}

CUresult State::initialize(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(mutex_);
  if (initialized) return CUDA_SUCCESS;
  device = open_cpu_device();
  if (!device) return CUDA_ERROR_NO_DEVICE;
  primary = make_context(0, 0, true);
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  initialized = true;
  return CUDA_SUCCESS;
}

void State::add_handle(const void* handle) {
  std::unique_lock lock(handles_mutex);
  handles.insert(handle);
}

bool State::remove_handle(const void* handle) {
  std::unique_lock lock(handles_mutex);
  return handles.erase(handle) != 0;
}

bool State::is_handle(const void* handle) {
  std::shared_lock lock(handles_mutex);
  return handles.count(handle) != 0;
}

void State::add_allocation(uintptr_t start, size_t bytes, Allocation::Kind kind, unsigned flags, CUcontext context) {
  std::unique_lock lock(memory_mutex);
  allocations[start] = {start, bytes, kind, flags, next_id++, context};
}

bool State::find_allocation(uintptr_t address, Allocation* out) {
  std::shared_lock lock(memory_mutex);
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin()) return false;
  --it;
  if (address - it->second.start >= std::max<size_t>(it->second.bytes, 1)) return false;
  *out = it->second;
  return true;
}

bool State::overlaps(uintptr_t address, size_t bytes) {
  std::shared_lock lock(memory_mutex);
  auto after = allocations.lower_bound(address + bytes);
  if (after == allocations.begin()) return false;
  const Allocation& last = std::prev(after)->second;
  return last.start >= address || address - last.start < last.bytes;
}

bool State::take_allocation(uintptr_t start, Allocation* out) {
  std::unique_lock lock(memory_mutex);
  auto it = allocations.find(start);
  if (it == allocations.end()) return false;
  *out = it->second;
  allocations.erase(it);
  return true;
}

bool State::covers(uintptr_t address, size_t bytes, Allocation* out) {
  Allocation found;
  if (!find_allocation(address, &found)) return false;
  if (bytes > found.bytes - (address - found.start)) return false;
  if (out) *out = found;
  return true;
}

ContextStack& context_stack() {
  // Leaked on purpose: calls may come from other thread-local destructors.
  static thread_local ContextStack* stack = nullptr;
  if (!stack) stack = new ContextStack;
  return *stack;
}

CUcontext current_context() {
  ContextStack& stack = context_stack();
  return stack.items.empty() ? nullptr : stack.items.back();
}

static thread_local bool in_host_function = false;

HostFunctionScope::HostFunctionScope() { in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { in_host_function = false; }

Call::Call(const char* name, Need need) : result_(CUDA_SUCCESS), per_thread_(fatload_per_thread_mark) {
  fatload_per_thread_mark = false;
  if (tracing()) std::fprintf(stderr, "fatload: %s\n", name);
  if (need == Nothing) return;
  State& state = State::get();
  if (!state.initialized) {
    result_ = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (need == Init) return;
  context_ = current_context();
  if (need == Healthy && state.lost) {
    result_ = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return;
  }
  if (!context_) {
    result_ = CUDA_ERROR_INVALID_CONTEXT;
    return;
  }
  if (!is_context(context_)) {
    result_ = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return;
  }
  if (context_->primary && !context_->active) {
    // The runtime makes the primary context current before it retains it; nothing else may use it until then.
    context_->active = true;
  }
  if (need == Healthy) result_ = in_host_function ? CUDA_ERROR_NOT_PERMITTED : state.device->error();
}

CUresult Call::stream(CUstream handle, CUstream* out) const {
  auto value = reinterpret_cast<uintptr_t>(handle);
  if (value == 2 || (value == 0 && per_thread_)) {
    CUstream& own = context_stack().streams[context_];
    if (!own || !State::get().is_handle(own)) {
      if (CUresult error = create_stream(context_, 0, 0, &own); error != CUDA_SUCCESS) return error;
    }
    *out = own;
    return CUDA_SUCCESS;
  }
  if (value <= 1) {
    *out = context_->legacy.get();
    return CUDA_SUCCESS;
  }
  if (!State::get().is_handle(handle) || handle->magic != kStreamMagic) return CUDA_ERROR_INVALID_HANDLE;
  *out = handle;
  return CUDA_SUCCESS;
}

bool is_context(CUcontext context) {
  return context && State::get().is_handle(context) && context->magic == kContextMagic;
}

CUfunc_st* as_function(const void* handle) {
  if (!handle || !State::get().is_handle(handle)) return nullptr;
  auto* function = static_cast<CUfunc_st*>(const_cast<void*>(handle));
  return function->magic == kFunctionMagic ? function : nullptr;
}

int unsupported(const char* function) {
  fatload_per_thread_mark = false;
  if (first_time(function)) std::fprintf(stderr, "fatload: %s is not implemented\n", function);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult refuse(const char* what) {
  if (first_time(what)) std::fprintf(stderr, "fatload: %s is not supported\n", what);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace fatload

const fatload::KernelInfo& CUfunc_st::info() const { return module->code->kernels[index]; }
