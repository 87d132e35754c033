// Modules and libraries: loading, kernels and variables by name.
#include "driver/module.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "driver/image.h"

using namespace fatload;

namespace fatload {

CUresult load_module(CUmodule* out, const void* image, CUcontext context, std::string* log) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::get();
  int major, minor;
  compute_capability(&major, &minor);
  std::vector<Image> images;
  bool text;
  std::string found, messages;
  CUresult result = choose_images(image, major * 10 + minor, &images, &text, &found);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
    std::fprintf(
        stderr,
        "fatload: no PTX in this image, only %s: build it with PTX (-gencode arch=compute_XX,code=compute_XX)\n",
        found.c_str());
  if (result != CUDA_SUCCESS) return result;
  // The bytes may go away after the call: what a later launch needs is kept.
  for (Image& i : images) {
    auto copy = std::make_shared<std::string>(i.bytes);
    i.bytes = *copy;
    i.owner = copy;
  }
  auto module = std::make_unique<CUmod_st>();
  module->magic = kModuleMagic;
  module->context = context;
  result = state.device->load(std::move(images), text, &module->code, &messages);
  if (log) *log = messages;
  if (result != CUDA_SUCCESS) {
    if (!log && !messages.empty()) std::fprintf(stderr, "fatload: %s\n", messages.c_str());
    return result;
  }
  const DeviceModule& code = *module->code;
  for (uint32_t i = 0; i < code.kernels.size(); i++) {
    module->kernels[code.kernels[i].name] = i;
    auto f = std::make_unique<CUfunc_st>();
    *f = {kFunctionMagic, module.get(), i, -1, -1};
    state.add_handle(f.get());
    module->functions.push_back(std::move(f));
  }
  for (uint32_t i = 0; i < code.variables.size(); i++) module->variables[code.variables[i].name] = i;
  if (code.data && code.data_bytes)
    for (const VariableInfo& v : code.variables)
      state.add_allocation(reinterpret_cast<uintptr_t>(code.data) + v.offset, v.size,
                           v.managed ? Allocation::Managed : Allocation::ModuleData, 1,
                           context ? context : state.primary);
  state.add_handle(module.get());
  if (context) {
    std::lock_guard lock(context->mutex);
    context->modules.insert(module.get());
  }
  *out = module.release();
  return CUDA_SUCCESS;
}

bool is_module(CUmodule module) { return module && State::get().is_handle(module) && module->magic == kModuleMagic; }

CUresult find_function(CUmodule module, const char* name, CUfunc_st** out) {
  auto it = module->kernels.find(name);
  if (it == module->kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *out = module->functions[it->second].get();
  return CUDA_SUCCESS;
}

}  // namespace fatload

CUmod_st::~CUmod_st() {
  State& state = State::get();
  Allocation a;
  if (code)
    for (const VariableInfo& v : code->variables)
      state.take_allocation(reinterpret_cast<uintptr_t>(code->data) + v.offset, &a);
}

namespace {

CUresult find_variable(CUmodule module, const char* name, CUdeviceptr* out, size_t* bytes) {
  auto it = module->variables.find(name);
  if (it == module->variables.end())
    return module->kernels.count(name) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
  const VariableInfo& v = module->code->variables[it->second];
  if (out) *out = reinterpret_cast<CUdeviceptr>(module->code->data) + v.offset;
  if (bytes) *bytes = v.size;
  return CUDA_SUCCESS;
}

CUresult read_file(const char* path, std::string* out) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  out->assign(std::istreambuf_iterator<char>(file), {});
  // Text needs an end; a container cut short must not be read past it.
  if (out->size() >= 16 && std::memcmp(out->data(), "\x50\xed\x55\xba", 4) == 0) {
    uint64_t claimed;
    std::memcpy(&claimed, out->data() + 8, 8);
    if (claimed > out->size() - 16) return CUDA_ERROR_INVALID_IMAGE;
  }
  out->append(64, '\0');
  return CUDA_SUCCESS;
}

void destroy(CUmodule module) {
  State& state = State::get();
  for (auto& f : module->functions) state.remove_handle(f.get());
  delete module;
}

// Hands the JIT log to the buffers that the caller named.
void give_log(const std::string& log, CUresult result, unsigned count, const int* options, void** values) {
  auto give = [&](int buffer, int size, const std::string& text) {
    char* to = nullptr;
    size_t room = 0, *room_slot = nullptr;
    for (unsigned i = 0; i < count; i++) {
      if (options[i] == buffer) to = static_cast<char*>(values[i]);
      if (options[i] == size) {
        room = reinterpret_cast<size_t>(values[i]) & 0xffffffff;
        room_slot = reinterpret_cast<size_t*>(&values[i]);
      }
    }
    if (!to || !room) return;
    size_t n = std::min(text.size(), room - 1);
    std::memcpy(to, text.data(), n);
    to[n] = '\0';
    *room_slot = text.empty() ? 0 : n + 1;
  };
  bool bad = result != CUDA_SUCCESS;
  give(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, bad ? "" : log);
  give(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, bad ? log : "");
}

bool is_library(CUlibrary library) {
  return library && State::get().is_handle(library) && library->magic == kLibraryMagic;
}

CUresult load_library(CUlibrary* out, const void* image, unsigned count, const int* options, void** values) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  CUmodule module;
  std::string log;
  CUresult result = load_module(&module, image, nullptr, count ? &log : nullptr);
  if (count && options && values) give_log(log, result, count, options, values);
  if (result != CUDA_SUCCESS) return result;
  auto* library = new CUlib_st{kLibraryMagic, std::unique_ptr<CUmod_st>(module)};
  module->library = library;
  State::get().add_handle(library);
  *out = library;
  return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, int* options, void** values) {
  Call call("cuModuleLoadDataEx", Call::Healthy);
  if (!call) return call.result();
  if (count && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
  std::string log;
  CUresult result = load_module(out, image, call.context(), count ? &log : nullptr);
  if (count) give_log(log, result, count, options, values);
  return result;
}

API CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  Call call("cuModuleLoadData", Call::Healthy);
  if (!call) return call.result();
  return load_module(out, image, call.context());
}

API CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  Call call("cuModuleLoadFatBinary", Call::Healthy);
  if (!call) return call.result();
  return load_module(out, image, call.context());
}

API CUresult cuModuleLoad(CUmodule* out, const char* path) {
  Call call("cuModuleLoad", Call::Healthy);
  if (!call) return call.result();
  std::string bytes;
  if (CUresult error = read_file(path, &bytes); error != CUDA_SUCCESS) return error;
  return load_module(out, bytes.data(), call.context());
}

API CUresult cuModuleUnload(CUmodule module) {
  Call call("cuModuleUnload", Call::Context);
  if (!call) return call.result();
  if (!is_module(module) || module->library) return CUDA_ERROR_INVALID_HANDLE;
  synchronize_context(call.context());
  if (!State::get().remove_handle(module)) return CUDA_ERROR_INVALID_HANDLE;
  if (is_context(module->context)) {
    std::lock_guard lock(module->context->mutex);
    module->context->modules.erase(module);
  }
  destroy(module);
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetLoadingMode(int* mode) {
  Call call("cuModuleGetLoadingMode", Call::Nothing);
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = 2;  // lazy: a kernel is translated when it is first used
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  Call call("cuModuleGetFunction", Call::Healthy);
  if (!call) return call.result();
  if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
  if (!is_module(module)) return CUDA_ERROR_INVALID_HANDLE;
  return find_function(module, name, out);
}

API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  Call call("cuModuleGetFunctionCount", Call::Healthy);
  if (!call) return call.result();
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  if (!is_module(module)) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}

API CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule module) {
  Call call("cuModuleEnumerateFunctions", Call::Healthy);
  if (!call) return call.result();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!is_module(module)) return CUDA_ERROR_INVALID_HANDLE;
  for (unsigned i = 0; i < count && i < module->functions.size(); i++) out[i] = module->functions[i].get();
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr* out, size_t* bytes, CUmodule module, const char* name) {
  Call call("cuModuleGetGlobal", Call::Healthy);
  if (!call) return call.result();
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  if (!is_module(module)) return CUDA_ERROR_INVALID_HANDLE;
  return find_variable(module, name, out, bytes);
}

API CUresult cuLibraryLoadData(CUlibrary* out, const void* image, int* options, void** values, unsigned count, int*,
                               void**, unsigned) {
  Call call("cuLibraryLoadData", Call::Init);
  if (!call) return call.result();
  if (count && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
  return load_library(out, image, count, options, values);
}

API CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, int* options, void** values, unsigned count, int*,
                                   void**, unsigned) {
  Call call("cuLibraryLoadFromFile", Call::Init);
  if (!call) return call.result();
  std::string bytes;
  if (CUresult error = read_file(path, &bytes); error != CUDA_SUCCESS) return error;
  return load_library(out, bytes.data(), count, options, values);
}

API CUresult cuLibraryUnload(CUlibrary library) {
  Call call("cuLibraryUnload", Call::Init);
  if (!call) return call.result();
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  if (CUcontext context = current_context(); is_context(context)) synchronize_context(context);
  State& state = State::get();
  if (!state.remove_handle(library)) return CUDA_ERROR_INVALID_HANDLE;
  CUmod_st* module = library->module.release();
  state.remove_handle(module);
  destroy(module);
  delete library;
  return CUDA_SUCCESS;
}

API CUresult cuLibraryGetModule(CUmodule* out, CUlibrary library) {
  Call call("cuLibraryGetModule", Call::Init);
  if (!call) return call.result();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  *out = library->module.get();
  return CUDA_SUCCESS;
}

API CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary library, const char* name) {
  Call call("cuLibraryGetKernel", Call::Init);
  if (!call) return call.result();
  if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  CUfunc_st* f;
  CUresult result = find_function(library->module.get(), name, &f);
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUkernel>(f);
  return result;
}

API CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  Call call("cuLibraryGetKernelCount", Call::Init);
  if (!call) return call.result();
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(library->module->functions.size());
  return CUDA_SUCCESS;
}

API CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary library) {
  Call call("cuLibraryEnumerateKernels", Call::Init);
  if (!call) return call.result();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  auto& functions = library->module->functions;
  for (unsigned i = 0; i < count && i < functions.size(); i++) out[i] = reinterpret_cast<CUkernel>(functions[i].get());
  return CUDA_SUCCESS;
}

API CUresult cuLibraryGetGlobal(CUdeviceptr* out, size_t* bytes, CUlibrary library, const char* name) {
  Call call("cuLibraryGetGlobal", Call::Init);
  if (!call) return call.result();
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  return find_variable(library->module.get(), name, out, bytes);
}

API CUresult cuLibraryGetManaged(CUdeviceptr* out, size_t* bytes, CUlibrary library, const char* name) {
  Call call("cuLibraryGetManaged", Call::Init);
  if (!call) return call.result();
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  if (!is_library(library)) return CUDA_ERROR_INVALID_HANDLE;
  auto it = library->module->variables.find(name);
  if (it == library->module->variables.end() || !library->module->code->variables[it->second].managed)
    return CUDA_ERROR_NOT_FOUND;
  return find_variable(library->module.get(), name, out, bytes);
}
