// cuInit, versions, names and texts of errors, the profiler's switches.
#include <algorithm>
#include <iterator>

#include "driver/state.h"

using namespace fatload;

namespace {
struct ErrorText {
  int code;
  const char *name, *text;
};
const ErrorText kErrors[] = {
#include "errors.inc"
};

const ErrorText* find(CUresult code) {
  auto it = std::find_if(std::begin(kErrors), std::end(kErrors), [code](const ErrorText& e) { return e.code == code; });
  return it == std::end(kErrors) ? nullptr : it;
}
}  // namespace

API CUresult cuInit(unsigned flags) {
  Call call("cuInit", Call::Nothing);
  return State::get().initialize(flags);
}

API CUresult cuDriverGetVersion(int* version) {
  Call call("cuDriverGetVersion", Call::Nothing);
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

API CUresult cuGetErrorName(CUresult code, const char** name) {
  Call call("cuGetErrorName", Call::Nothing);
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* e = find(code);
  *name = e ? e->name : nullptr;
  return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGetErrorString(CUresult code, const char** text) {
  Call call("cuGetErrorString", Call::Nothing);
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* e = find(code);
  *text = e ? e->text : nullptr;
  return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// There is no profiler that these could switch: like a driver without one attached, they have nothing to do.
API CUresult cuProfilerStart() { return Call("cuProfilerStart", Call::Context).result(); }
API CUresult cuProfilerStop() { return Call("cuProfilerStop", Call::Context).result(); }
