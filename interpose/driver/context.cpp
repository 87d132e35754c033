// Contexts: the primary one, explicit ones, the calling thread's stack, limits.
#include <algorithm>

#include "driver/state.h"

using namespace fatload;

namespace fatload {

CUctx_st* make_context(int device, unsigned flags, bool primary) {
  auto* context = new CUctx_st{};
  State& state = State::get();
  context->magic = kContextMagic;
  context->device = device;
  context->id = state.next_id++;
  context->primary = primary;
  context->flags = flags;
  context->active = !primary;
  context->limits = {{0, 1024}, {1, 8 << 20}, {2, 8 << 20}, {4, 2048}, {5, 64}, {6, 0}, {8, 0}};
  context->limits[7] = static_cast<size_t>(state.device->info().shared_per_cta_optin);
  context->legacy = std::make_unique<CUstream_st>();
  context->legacy->magic = kStreamMagic;
  context->legacy->context = context;
  context->legacy->id = state.next_id++;
  if (state.device->create_queue(&context->legacy->queue, 0) != CUDA_SUCCESS ||
      state.device->create_marker(&context->legacy->marker) != CUDA_SUCCESS) {
    delete context;
    return nullptr;
  }
  state.add_handle(context);
  return context;
}

CUresult synchronize_context(CUcontext context) {
  std::vector<CUstream> all{context->legacy.get()};
  {
    std::lock_guard lock(context->mutex);
    all.insert(all.end(), context->streams.begin(), context->streams.end());
  }
  CUresult result = CUDA_SUCCESS;
  for (CUstream s : all) {
    if (s != context->legacy.get() && !State::get().is_handle(s)) continue;
    if (CUresult error = s->queue->synchronize(); error != CUDA_SUCCESS) result = error;
  }
  CUresult sticky = State::get().device->error();
  return sticky != CUDA_SUCCESS ? sticky : result;
}

void empty_context(CUctx_st& context) {
  State& state = State::get();
  synchronize_context(&context);
  std::vector<LocalEntry> local;
  std::vector<CUstream> streams;
  std::vector<CUmodule> modules;
  {
    std::lock_guard lock(context.mutex);
    local.swap(context.local);
    local_generation++;
    streams.assign(context.streams.begin(), context.streams.end());
    modules.assign(context.modules.begin(), context.modules.end());
    context.streams.clear();
    context.modules.clear();
  }
  for (const LocalEntry& e : local)
    if (e.destructor) e.destructor(&context, e.key, e.value);
  for (CUstream s : streams)
    if (state.remove_handle(s)) delete s;
  for (CUmodule m : modules)
    if (state.remove_handle(m)) {
      for (auto& f : m->functions) state.remove_handle(f.get());
      delete m;
    }
  std::vector<Allocation> memory;
  {
    std::unique_lock lock(state.memory_mutex);
    for (auto it = state.allocations.begin(); it != state.allocations.end();) {
      if (it->second.context == &context && it->second.kind != Allocation::ModuleData) {
        memory.push_back(it->second);
        it = state.allocations.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const Allocation& a : memory)
    if (a.kind != Allocation::Registered) state.device->release(reinterpret_cast<void*>(a.start));
}

}  // namespace fatload

namespace {

// At most one way of waiting (automatic 0, spin 1, yield 2, blocking 4), and flags that exist.
bool good_flags(unsigned flags) {
  unsigned waiting = flags & 7;
  return !(flags & ~0xffu) && (waiting & (waiting - 1)) == 0;
}

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
  State& state = State::get();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!good_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = state.device->error(); error != CUDA_SUCCESS) {
    state.lost = error;
    return error;
  }
  CUctx_st* context = make_context(device, flags, false);
  if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
  context_stack().items.push_back(context);
  *out = context;
  return CUDA_SUCCESS;
}

CUresult destroy(CUcontext context) {
  if (!is_context(context) || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  empty_context(*context);
  State::get().remove_handle(context);
  auto& items = context_stack().items;
  if (!items.empty() && items.back() == context) items.pop_back();
  // The object itself stays: other threads may still hold it, and must find out that it is gone.
  return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  Call call("cuCtxCreate", Call::Init);
  if (!call) return call.result();
  return create(out, flags, device);
}
API_SAME(cuCtxCreate, cuCtxCreate_v2, (CUcontext * out, unsigned flags, CUdevice device), (out, flags, device))

API CUresult cuCtxCreate_v3(CUcontext* out, void* affinity, int count, unsigned flags, CUdevice device) {
  Call call("cuCtxCreate_v3", Call::Init);
  if (!call) return call.result();
  if (affinity && count > 0) return refuse("cuCtxCreate with execution affinity");
  return create(out, flags, device);
}

API CUresult cuCtxCreate_v4(CUcontext* out, void* parameters, unsigned flags, CUdevice device) {
  Call call("cuCtxCreate_v4", Call::Init);
  if (!call) return call.result();
  if (parameters) return refuse("cuCtxCreate with parameters");
  return create(out, flags, device);
}

API CUresult cuCtxDestroy_v2(CUcontext context) {
  Call call("cuCtxDestroy", Call::Init);
  if (!call) return call.result();
  return destroy(context);
}
API_SAME(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext context), (context))

API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  Call call("cuCtxPushCurrent", Call::Init);
  if (!call) return call.result();
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  context_stack().items.push_back(context);
  return CUDA_SUCCESS;
}
API_SAME(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context), (context))

API CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  Call call("cuCtxPopCurrent", Call::Init);
  if (!call) return call.result();
  auto& items = context_stack().items;
  if (items.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (out) *out = items.back();
  items.pop_back();
  return CUDA_SUCCESS;
}
API_SAME(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * out), (out))

API CUresult cuCtxSetCurrent(CUcontext context) {
  Call call("cuCtxSetCurrent", Call::Init);
  if (!call) return call.result();
  auto& items = context_stack().items;
  if (!context) {
    if (!items.empty()) items.pop_back();
    return CUDA_SUCCESS;
  }
  if (items.empty())
    items.push_back(context);
  else
    items.back() = context;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext* out) {
  Call call("cuCtxGetCurrent", Call::Init);
  if (!call) return call.result();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = current_context();
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice(CUdevice* device) {
  Call call("cuCtxGetDevice", Call::Context);
  if (!call) return call.result();
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = call.context()->device;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (!context) return cuCtxGetDevice(device);
  Call call("cuCtxGetDevice_v2", Call::Init);
  if (!call) return call.result();
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize() {
  Call call("cuCtxSynchronize", Call::Healthy);
  if (!call) return call.result();
  return synchronize_context(call.context());
}

API CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (!context) return cuCtxSynchronize();
  Call call("cuCtxSynchronize_v2", Call::Init);
  if (!call) return call.result();
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  return synchronize_context(context);
}

API CUresult cuCtxGetFlags(unsigned* flags) {
  Call call("cuCtxGetFlags", Call::Context);
  if (!call) return call.result();
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  *flags = call.context()->flags;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSetFlags(unsigned flags) {
  Call call("cuCtxSetFlags", Call::Context);
  if (!call) return call.result();
  if (!good_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  call.context()->flags = flags;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  Call call("cuCtxGetId", Call::Init);
  if (!call) return call.result();
  if (!id) return CUDA_ERROR_INVALID_VALUE;
  if (!context) context = current_context();
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *id = context->id;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  Call call("cuCtxGetApiVersion", Call::Init);
  if (!call) return call.result();
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  if (context && !is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *version = 3020;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetLimit(size_t* value, int limit) {
  Call call("cuCtxGetLimit", Call::Context);
  if (!call) return call.result();
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(call.context()->mutex);
  auto it = call.context()->limits.find(limit);
  if (it == call.context()->limits.end()) return limit == 3 ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
  *value = it->second;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSetLimit(int limit, size_t value) {
  Call call("cuCtxSetLimit", Call::Healthy);
  if (!call) return call.result();
  std::lock_guard lock(call.context()->mutex);
  auto it = call.context()->limits.find(limit);
  if (it == call.context()->limits.end()) return limit == 3 ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
  it->second = value;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetCacheConfig(int* config) {
  Call call("cuCtxGetCacheConfig", Call::Context);
  if (!call) return call.result();
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  *config = call.context()->cache_config;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSetCacheConfig(int config) {
  Call call("cuCtxSetCacheConfig", Call::Context);
  if (!call) return call.result();
  if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
  call.context()->cache_config = config;  // a preference; there is nothing to divide
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetSharedMemConfig(int* config) {
  Call call("cuCtxGetSharedMemConfig", Call::Context);
  if (!call) return call.result();
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  *config = call.context()->shared_config ? call.context()->shared_config : 1;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSetSharedMemConfig(int config) {
  Call call("cuCtxSetSharedMemConfig", Call::Context);
  if (!call) return call.result();
  if (config < 0 || config > 2) return CUDA_ERROR_INVALID_VALUE;
  call.context()->shared_config = config;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  Call call("cuCtxGetStreamPriorityRange", Call::Context);
  if (!call) return call.result();
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

API CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  Call call("cuCtxEnablePeerAccess", Call::Context);
  return call ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : call.result();
}

API CUresult cuCtxDisablePeerAccess(CUcontext) {
  Call call("cuCtxDisablePeerAccess", Call::Context);
  return call ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : call.result();
}

API CUresult cuCtxResetPersistingL2Cache() { return Call("cuCtxResetPersistingL2Cache", Call::Context).result(); }

// -- the primary context

API CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  Call call("cuDevicePrimaryCtxRetain", Call::Init);
  if (!call) return call.result();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  CUctx_st* primary = State::get().primary;
  primary->references++;
  primary->active = true;
  *out = primary;
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Call call("cuDevicePrimaryCtxRelease", Call::Init);
  if (!call) return call.result();
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  CUctx_st* primary = State::get().primary;
  int before = primary->references;
  do {
    if (before == 0) return CUDA_ERROR_INVALID_CONTEXT;
  } while (!primary->references.compare_exchange_weak(before, before - 1));
  if (before == 1) {
    empty_context(*primary);
    primary->active = false;
  }
  return CUDA_SUCCESS;
}
API_SAME(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device))

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  Call call("cuDevicePrimaryCtxReset", Call::Init);
  if (!call) return call.result();
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  empty_context(*State::get().primary);
  State::get().primary->active = false;
  return CUDA_SUCCESS;
}
API_SAME(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, (CUdevice device), (device))

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  Call call("cuDevicePrimaryCtxGetState", Call::Init);
  if (!call) return call.result();
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *flags = State::get().primary->flags;
  *active = State::get().primary->active;
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  Call call("cuDevicePrimaryCtxSetFlags", Call::Init);
  if (!call) return call.result();
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!good_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  State::get().primary->flags = flags;
  return CUDA_SUCCESS;
}
API_SAME(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags), (device, flags))
