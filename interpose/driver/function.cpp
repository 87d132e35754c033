// Kernels: attributes, parameters, names, occupancy.
#include <algorithm>
#include <climits>

#include "driver/module.h"
#include "driver/state.h"

using namespace fatload;

namespace {

int shared_limit(const CUfunc_st& f) {
  return State::get().device->info().shared_per_cta - static_cast<int>(f.info().static_shared);
}

CUresult get_attribute(int* value, int attribute, const CUfunc_st& f) {
  const KernelInfo& k = f.info();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = k.max_threads ? std::min<int>(k.max_threads, 1024) : 1024;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(k.static_shared);
      break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
      uint64_t bytes = 0;
      for (const VariableInfo& v : f.module->code->variables)
        if (v.constant) bytes += v.size;
      *value = static_cast<int>(std::min<uint64_t>(bytes, INT_MAX));
      break;
    }
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(k.local_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;  // no register file: a number that limits nothing
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = f.module->code->sm;
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: {
      int major, minor;
      compute_capability(&major, &minor);
      *value = major * 10 + minor;
      break;
    }
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = f.max_dynamic_shared >= 0 ? f.max_dynamic_shared : std::max(0, shared_limit(f));
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = f.carveout;
      break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = 0;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(CUfunc_st& f, int attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      int most = State::get().device->info().shared_per_cta_optin - static_cast<int>(f.info().static_shared);
      if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
      f.max_dynamic_shared = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      f.carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return value == 0 ? CUDA_SUCCESS : refuse("thread block clusters");
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult parameter(const CUfunc_st& f, size_t index, size_t* offset, size_t* bytes) {
  const KernelInfo& k = f.info();
  if (!offset || index >= k.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = k.params[index].offset;
  if (bytes) *bytes = k.params[index].size;
  return CUDA_SUCCESS;
}

CUresult active_ctas(int* count, const void* handle, int threads, size_t dynamic_shared) {
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!count || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *count =
      threads > 1024 ? 0 : State::get().device->max_active_ctas(*f->module->code, f->index, threads, dynamic_shared);
  return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
  Call call("cuFuncGetAttribute", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  return value ? get_attribute(value, attribute, *f) : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  Call call("cuFuncSetAttribute", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  return f ? set_attribute(*f, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuKernelGetAttribute(int* value, int attribute, CUkernel handle, CUdevice device) {
  Call call("cuKernelGetAttribute", Call::Init);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  return value ? get_attribute(value, attribute, *f) : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuKernelSetAttribute(int attribute, int value, CUkernel handle, CUdevice device) {
  Call call("cuKernelSetAttribute", Call::Init);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  return set_attribute(*f, attribute, value);
}

API CUresult cuFuncSetCacheConfig(CUfunction handle, int config) {
  Call call("cuFuncSetCacheConfig", Call::Healthy);
  if (!call) return call.result();
  if (!as_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE
                                  : CUDA_SUCCESS;  // a preference; there is nothing to divide
}

API CUresult cuKernelSetCacheConfig(CUkernel handle, int config, CUdevice) {
  return cuFuncSetCacheConfig(reinterpret_cast<CUfunction>(handle), config);
}

API CUresult cuFuncSetSharedMemConfig(CUfunction handle, int config) {
  Call call("cuFuncSetSharedMemConfig", Call::Healthy);
  if (!call) return call.result();
  if (!as_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  return config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
  Call call("cuFuncGetModule", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = f->module;
  return CUDA_SUCCESS;
}

API CUresult cuFuncGetName(const char** name, CUfunction handle) {
  Call call("cuFuncGetName", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = f->info().name.c_str();
  return CUDA_SUCCESS;
}

API CUresult cuKernelGetName(const char** name, CUkernel handle) {
  Call call("cuKernelGetName", Call::Init);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = f->info().name.c_str();
  return CUDA_SUCCESS;
}

API CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  Call call("cuFuncGetParamInfo", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  return f ? parameter(*f, index, offset, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  Call call("cuKernelGetParamInfo", Call::Init);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  return f ? parameter(*f, index, offset, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  Call call("cuKernelGetFunction", Call::Init);
  if (!call) return call.result();
  if (!as_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUfunction>(handle);
  return CUDA_SUCCESS;
}

API CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  Call call("cuKernelGetLibrary", Call::Init);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f || !f->module->library) return CUDA_ERROR_INVALID_HANDLE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = f->module->library;
  return CUDA_SUCCESS;
}

API CUresult cuFuncIsLoaded(int* state, CUfunction handle) {
  Call call("cuFuncIsLoaded", Call::Healthy);
  if (!call) return call.result();
  if (!as_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (!state) return CUDA_ERROR_INVALID_VALUE;
  *state = 1;
  return CUDA_SUCCESS;
}

API CUresult cuFuncLoad(CUfunction handle) {
  Call call("cuFuncLoad", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  return f ? State::get().device->prepare(*f->module->code, f->index) : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, CUfunction handle, int threads,
                                                         size_t dynamic_shared) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Call::Healthy);
  return call ? active_ctas(count, handle, threads, dynamic_shared) : call.result();
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, CUfunction handle, int threads,
                                                                  size_t dynamic_shared, unsigned flags) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Call::Healthy);
  if (!call) return call.result();
  return flags & ~1u ? CUDA_ERROR_INVALID_VALUE : active_ctas(count, handle, threads, dynamic_shared);
}

API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid, int* block, CUfunction handle,
                                                       CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
                                                       unsigned flags) {
  Call call("cuOccupancyMaxPotentialBlockSize", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!min_grid || !block || flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
  int most = 1024;
  if (f->info().max_threads) most = std::min<int>(most, f->info().max_threads);
  if (limit > 0) most = std::min(most, limit);
  int best = 0, best_ctas = 0;
  for (int threads = (most + 31) / 32 * 32; threads > 0; threads -= 32) {
    int size = std::min(threads, most), ctas = 0;
    size_t shared = shared_of ? shared_of(size) : dynamic_shared;
    if (active_ctas(&ctas, f, size, shared) == CUDA_SUCCESS && ctas * size > best_ctas * best) {
      best = size;
      best_ctas = ctas;
    }
  }
  *block = best;
  *min_grid = best_ctas * State::get().device->info().multiprocessors;
  return CUDA_SUCCESS;
}

API CUresult cuOccupancyMaxPotentialBlockSize(int* min_grid, int* block, CUfunction handle,
                                              CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block, handle, shared_of, dynamic_shared, limit, 0);
}

API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int ctas, int threads) {
  Call call("cuOccupancyAvailableDynamicSMemPerBlock", Call::Healthy);
  if (!call) return call.result();
  CUfunc_st* f = as_function(handle);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (!bytes || ctas <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  const DeviceInfo& info = State::get().device->info();
  int64_t each = info.shared_per_multiprocessor / ctas - 1024 - static_cast<int64_t>(f->info().static_shared);
  *bytes = static_cast<size_t>(std::clamp<int64_t>(each, 0, info.shared_per_cta_optin));
  return CUDA_SUCCESS;
}
