// Launches: geometry checks as a driver makes them, parameters packed at their PTX offsets.
#include <climits>
#include <cstring>

#include "driver/state.h"

using namespace fatload;

namespace {

struct Shape {
  unsigned grid[3], block[3], dynamic_shared;
  bool cooperative;
};

constexpr auto kEnd = static_cast<uintptr_t>(0), kBufferPointer = static_cast<uintptr_t>(1),
               kBufferSize = static_cast<uintptr_t>(2);

// Copies the arguments to their offsets. False when there are parameters and no arguments.
CUresult pack(const KernelInfo& k, void** params, void** extra, std::vector<uint8_t>* out) {
  out->assign(k.param_bytes, 0);
  if (params) {
    if (extra) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < k.params.size(); i++) {
      if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
      std::memcpy(out->data() + k.params[i].offset, params[i], k.params[i].size);
    }
    return CUDA_SUCCESS;
  }
  if (extra) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (size_t i = 0; reinterpret_cast<uintptr_t>(extra[i]) != kEnd; i += 2) {
      auto what = reinterpret_cast<uintptr_t>(extra[i]);
      if (what == kBufferPointer)
        buffer = extra[i + 1];
      else if (what == kBufferSize && extra[i + 1])
        bytes = *static_cast<size_t*>(extra[i + 1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes < k.param_bytes || (k.param_bytes && !buffer)) return CUDA_ERROR_INVALID_VALUE;
    if (k.param_bytes) std::memcpy(out->data(), buffer, k.param_bytes);
    return CUDA_SUCCESS;
  }
  return k.params.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool fits(const Shape& s, const CUfunc_st& f) {
  const KernelInfo& k = f.info();
  const unsigned most_grid[3] = {INT_MAX, 65535, 65535}, most_block[3] = {1024, 1024, 64};
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    if (s.grid[i] == 0 || s.grid[i] > most_grid[i] || s.block[i] == 0 || s.block[i] > most_block[i]) return false;
    threads *= s.block[i];
  }
  if (threads > 1024 || (k.max_threads && threads > k.max_threads)) return false;
  for (int i = 0; i < 3; i++)
    if (k.required[0] && k.required[i] != s.block[i]) return false;
  const DeviceInfo& info = State::get().device->info();
  if (f.max_dynamic_shared >= 0) return s.dynamic_shared <= static_cast<unsigned>(f.max_dynamic_shared);
  return uint64_t{k.static_shared} + s.dynamic_shared <= static_cast<uint64_t>(info.shared_per_cta);
}

CUresult launch(const Call& call, const void* function, const Shape& shape, CUstream handle, void** params,
                void** extra) {
  CUfunc_st* f = as_function(function);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!fits(shape, *f)) return CUDA_ERROR_INVALID_VALUE;
  Launch l;
  l.module = f->module->code.get();
  l.kernel = f->index;
  std::memcpy(l.grid, shape.grid, sizeof l.grid);
  std::memcpy(l.block, shape.block, sizeof l.block);
  l.dynamic_shared = shape.dynamic_shared;
  l.cooperative = shape.cooperative;
  if (CUresult error = pack(f->info(), params, extra, &l.params); error != CUDA_SUCCESS) return error;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  return stream->queue->launch(std::move(l));
}

}  // namespace

API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared, CUstream stream, void** params, void** extra) {
  Call call("cuLaunchKernel", Call::Healthy);
  if (!call) return call.result();
  return launch(call, function, {{gx, gy, gz}, {bx, by, bz}, shared, false}, stream, params, extra);
}

API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                       unsigned by, unsigned bz, unsigned shared, CUstream stream, void** params) {
  Call call("cuLaunchCooperativeKernel", Call::Healthy);
  if (!call) return call.result();
  return launch(call, function, {{gx, gy, gz}, {bx, by, bz}, shared, true}, stream, params, nullptr);
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** params, void** extra) {
  Call call("cuLaunchKernelEx", Call::Healthy);
  if (!call) return call.result();
  if (!c || (c->numAttrs && !c->attrs)) return CUDA_ERROR_INVALID_VALUE;
  bool cooperative = false;
  for (unsigned i = 0; i < c->numAttrs; i++) {
    const CUlaunchAttribute& a = c->attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cooperative = a.value.cooperative != 0;
    // Clusters of one CTA are what every launch is; other attributes (priorities, hints, serialisation) change no
    // result.
    if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
        uint64_t{a.value.cluster.x} * a.value.cluster.y * a.value.cluster.z > 1)
      return refuse("a launch with thread block clusters");
  }
  return launch(call, function,
                {{c->gridDimX, c->gridDimY, c->gridDimZ},
                 {c->blockDimX, c->blockDimY, c->blockDimZ},
                 c->sharedMemBytes,
                 cooperative},
                c->hStream, params, extra);
}
