// What the driver API keeps: the device, contexts, allocations, handles. One leaked object: it must outlive every
// destructor of the process, since runtimes call in from atexit handlers and later.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/cuda_api.h"
#include "device/device.h"
#include "driver/exports.h"

// Definitions of exported functions; the generator finds them by this word at the start of a line.
#define API extern "C" FATLOAD_EXPORT
// API_SAME(name, other, (parameters), (arguments)): another version of a function with the same meaning.
#define API_SAME(name, other, parameters, arguments) \
  API CUresult name parameters { return other arguments; }

namespace fatload {

constexpr int kDriverVersion = 13000;

struct Stream;

struct LocalEntry {  // of the runtime's context-local storage
  void *key, *value;
  void (*destructor)(CUcontext, void*, void*);
};

struct Allocation {
  uintptr_t start;
  size_t bytes;
  enum Kind { DeviceMemory, Managed, Host, Registered, ModuleData } kind;
  unsigned flags;
  uint64_t id;
  CUcontext context;
};

// A queue, and the markers by which streams wait for each other.
struct Stream {
  uint64_t magic;
  CUcontext context;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Marker> marker;
  unsigned flags;  // 1: does not wait for the legacy stream
  int priority;
  uint64_t id;
  std::mutex mutex;
};

}  // namespace fatload

struct CUstream_st : fatload::Stream {};

struct CUevent_st {
  uint64_t magic;
  CUcontext context;
  unsigned flags;
  std::unique_ptr<fatload::Marker> marker;
  std::atomic<bool> recorded;
};

struct CUctx_st {
  uint64_t magic;
  int device;
  uint64_t id;
  bool primary;
  unsigned flags;
  std::atomic<int> references;  // of the primary context
  std::atomic<bool> active;
  std::mutex mutex;
  std::unique_ptr<CUstream_st> legacy;
  std::unordered_set<CUstream> streams;
  std::unordered_set<CUmodule> modules;
  std::vector<fatload::LocalEntry> local;
  std::unordered_map<int, size_t> limits;
  int cache_config, shared_config;
};

struct CUfunc_st {
  uint64_t magic;
  CUmodule module;
  uint32_t index;
  int max_dynamic_shared;  // opted in to, -1: never asked
  int carveout;
  const fatload::KernelInfo& info() const;
};

struct CUmod_st {
  uint64_t magic;
  CUcontext context;
  CUlibrary library;
  std::unique_ptr<fatload::DeviceModule> code;
  std::unordered_map<std::string, uint32_t> kernels;
  std::unordered_map<std::string, uint32_t> variables;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  ~CUmod_st();
};

struct CUlib_st {
  uint64_t magic;
  std::unique_ptr<CUmod_st> module;
};

namespace fatload {

enum Magic : uint64_t {
  kContextMagic = 0x7874636461746166,
  kStreamMagic = 0x6d72747361746166,
  kEventMagic = 0x746e766561746166,
  kFunctionMagic = 0x636e756661746166,
  kModuleMagic = 0x646f6d6161746166,
  kLibraryMagic = 0x62696c6161746166,
};

class State {
 public:
  static State& get();

  std::atomic<bool> initialized{false};
  std::unique_ptr<Device> device;
  CUctx_st* primary = nullptr;
  std::atomic<uint64_t> next_id{1};
  std::atomic<int> lost{0};  // the error that ended the first context after a fault

  CUresult initialize(unsigned flags);

  // -- live handles
  std::shared_mutex handles_mutex;
  std::unordered_set<const void*> handles;
  void add_handle(const void*);
  bool remove_handle(const void*);
  bool is_handle(const void*);

  // -- allocations
  std::shared_mutex memory_mutex;
  std::map<uintptr_t, Allocation> allocations;  // by start
  void add_allocation(uintptr_t start, size_t bytes, Allocation::Kind kind, unsigned flags, CUcontext context);
  bool find_allocation(uintptr_t address, Allocation* out);
  bool take_allocation(uintptr_t start, Allocation* out);
  // Whether [address, address + bytes) lies in one allocation.
  bool covers(uintptr_t address, size_t bytes, Allocation* out = nullptr);
  // Whether any allocation has a byte in [address, address + bytes).
  bool overlaps(uintptr_t address, size_t bytes);

 private:
  std::mutex mutex_;
};

// Counts changes of any context's local storage, so that threads can keep what they looked up last.
inline std::atomic<uint64_t> local_generation{1};

// The calling thread's stack of contexts.
struct ContextStack {
  std::vector<CUcontext> items;
  std::unordered_map<CUcontext, CUstream> streams;  // its own default streams
};
ContextStack& context_stack();
CUcontext current_context();

// Held by every exported function: refuses calls before cuInit and after a fault, and knows whether stream NULL means
// the thread's own stream.
class Call {
 public:
  enum Need { Nothing, Init, Context, Healthy };
  Call(const char* name, Need need);
  explicit operator bool() const { return result_ == CUDA_SUCCESS; }
  CUresult result() const { return result_; }
  CUcontext context() const { return context_; }
  bool per_thread() const { return per_thread_; }
  // The stream a handle stands for in the current context (NULL, 1, 2, or a created stream).
  CUresult stream(CUstream handle, CUstream* out) const;

 private:
  CUresult result_;
  CUcontext context_ = nullptr;
  bool per_thread_;
};

// While one lives, its thread runs a host function of a stream. Calls that use the device are refused there: one
// that waited would wait for the very function that makes it.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

// A new context object (not current, not registered).
CUctx_st* make_context(int device, unsigned flags, bool primary);
// Ends what a context holds: streams, modules, memory, local storage.
void empty_context(CUctx_st& context);

// Puts work behind what the stream must wait for (the legacy stream waits for all blocking streams and they for it).
CUresult order(CUstream stream);
CUresult create_stream(CUcontext context, unsigned flags, int priority, CUstream* out);
CUresult synchronize_context(CUcontext context);

bool is_context(CUcontext);
// CUkernel and CUfunction are the same kind of object here; NULL if it is neither.
CUfunc_st* as_function(const void*);
// Refused function calls of array and texture memory and the like: named on stderr once.
CUresult refuse(const char* what);

}  // namespace fatload
