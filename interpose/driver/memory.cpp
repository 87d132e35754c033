// Memory: device, managed and host allocations, registered host memory, what a pointer is.
#include <algorithm>
#include <cstring>

#include "driver/state.h"

using namespace fatload;

namespace {

CUresult allocate(size_t bytes, Allocation::Kind kind, Device::Memory memory, unsigned flags, CUcontext context,
                  void** out) {
  State& state = State::get();
  void* p = nullptr;
  if (CUresult error = state.device->allocate(std::max<size_t>(bytes, 1), memory, &p); error != CUDA_SUCCESS)
    return error;
  state.add_allocation(reinterpret_cast<uintptr_t>(p), bytes, kind, flags, context);
  *out = p;
  return CUDA_SUCCESS;
}

// Frees the allocation that starts at `start` if it is of one of the kinds.
CUresult release(uintptr_t start, std::initializer_list<Allocation::Kind> kinds) {
  State& state = State::get();
  Allocation a;
  if (!state.find_allocation(start, &a) || a.start != start) return CUDA_ERROR_INVALID_VALUE;
  if (std::find(kinds.begin(), kinds.end(), a.kind) == kinds.end()) return CUDA_ERROR_INVALID_VALUE;
  if (!state.take_allocation(start, &a)) return CUDA_ERROR_INVALID_VALUE;
  return state.device->release(reinterpret_cast<void*>(start));
}

bool device_side(Allocation::Kind kind) {
  return kind == Allocation::DeviceMemory || kind == Allocation::Managed || kind == Allocation::ModuleData;
}

}  // namespace

API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  Call call("cuMemGetInfo", Call::Healthy);
  if (!call) return call.result();
  size_t a = 0, b = 0;
  State::get().device->memory_info(&a, &b);
  if (free) *free = a;
  if (total) *total = b;
  return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  Call call("cuMemAlloc", Call::Healthy);
  if (!call) return call.result();
  if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* p;
  CUresult error = allocate(bytes, Allocation::DeviceMemory, Device::DeviceMemory, 0, call.context(), &p);
  if (error == CUDA_SUCCESS) *out = reinterpret_cast<CUdeviceptr>(p);
  return error;
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  Call call("cuMemAllocPitch", Call::Healthy);
  if (!call) return call.result();
  if (!out || !pitch || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16))
    return CUDA_ERROR_INVALID_VALUE;
  if (width > SIZE_MAX - 512) return CUDA_ERROR_INVALID_VALUE;
  size_t row = (width + 511) / 512 * 512;
  if (height > SIZE_MAX / row) return CUDA_ERROR_OUT_OF_MEMORY;
  void* p;
  CUresult error = allocate(row * height, Allocation::DeviceMemory, Device::DeviceMemory, 0, call.context(), &p);
  if (error != CUDA_SUCCESS) return error;
  *out = reinterpret_cast<CUdeviceptr>(p);
  *pitch = row;
  return CUDA_SUCCESS;
}

API CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  Call call("cuMemAllocManaged", Call::Healthy);
  if (!call) return call.result();
  if (!out || bytes == 0 || (flags != 1 && flags != 2)) return CUDA_ERROR_INVALID_VALUE;
  void* p;
  CUresult error = allocate(bytes, Allocation::Managed, Device::Managed, flags, call.context(), &p);
  if (error == CUDA_SUCCESS) *out = reinterpret_cast<CUdeviceptr>(p);
  return error;
}

API CUresult cuMemFree_v2(CUdeviceptr pointer) {
  Call call("cuMemFree", Call::Healthy);
  if (!call) return call.result();
  if (!pointer) return CUDA_SUCCESS;
  Allocation a;
  if (!State::get().find_allocation(pointer, &a) || a.start != pointer || a.kind == Allocation::ModuleData)
    return CUDA_ERROR_INVALID_VALUE;
  synchronize_context(call.context());  // as a driver does: work that uses the memory ends first
  return release(pointer, {Allocation::DeviceMemory, Allocation::Managed});
}

API CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
  Call call("cuMemAllocAsync", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* p;
  CUresult error = allocate(bytes, Allocation::DeviceMemory, Device::DeviceMemory, 0, call.context(), &p);
  if (error == CUDA_SUCCESS) *out = reinterpret_cast<CUdeviceptr>(p);
  return error;
}

API CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  Call call("cuMemFreeAsync", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!pointer) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::get();
  Allocation a;
  if (!state.find_allocation(pointer, &a) || a.start != pointer || a.kind != Allocation::DeviceMemory ||
      !state.take_allocation(pointer, &a))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  return stream->queue->host([pointer] { State::get().device->release(reinterpret_cast<void*>(pointer)); });
}

API CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  Call call("cuMemHostAlloc", Call::Healthy);
  if (!call) return call.result();
  if (!out || flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *out = nullptr;
    return CUDA_SUCCESS;
  }
  return allocate(bytes, Allocation::Host, Device::PinnedHost, flags | 2, call.context(), out);
}

API CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  if (!out || bytes == 0) {
    Call call("cuMemAllocHost", Call::Healthy);
    return call ? CUDA_ERROR_INVALID_VALUE : call.result();
  }
  return cuMemHostAlloc(out, bytes, 0);
}
API_SAME(cuMemAllocHost, cuMemAllocHost_v2, (void** out, unsigned bytes), (out, bytes))

API CUresult cuMemFreeHost(void* pointer) {
  Call call("cuMemFreeHost", Call::Healthy);
  if (!call) return call.result();
  if (!pointer) return CUDA_SUCCESS;
  synchronize_context(call.context());
  return release(reinterpret_cast<uintptr_t>(pointer), {Allocation::Host});
}

API CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  Call call("cuMemHostRegister", Call::Healthy);
  if (!call) return call.result();
  if (!pointer || bytes == 0 || flags & ~15u) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::get();
  auto start = reinterpret_cast<uintptr_t>(pointer);
  if (bytes > UINTPTR_MAX - start) return CUDA_ERROR_INVALID_VALUE;
  if (state.overlaps(start, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  state.add_allocation(start, bytes, Allocation::Registered, flags | 2, call.context());
  return CUDA_SUCCESS;
}
API_SAME(cuMemHostRegister, cuMemHostRegister_v2, (void* pointer, size_t bytes, unsigned flags),
         (pointer, bytes, flags))

API CUresult cuMemHostUnregister(void* pointer) {
  Call call("cuMemHostUnregister", Call::Healthy);
  if (!call) return call.result();
  if (!pointer) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::get();
  Allocation a;
  auto start = reinterpret_cast<uintptr_t>(pointer);
  if (!state.find_allocation(start, &a) || a.start != start || a.kind != Allocation::Registered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  synchronize_context(call.context());
  state.take_allocation(start, &a);
  return CUDA_SUCCESS;
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned flags) {
  Call call("cuMemHostGetDevicePointer", Call::Healthy);
  if (!call) return call.result();
  if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation a;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!State::get().find_allocation(address, &a) || a.kind == Allocation::DeviceMemory) return CUDA_ERROR_INVALID_VALUE;
  *out = address;
  return CUDA_SUCCESS;
}

API CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  Call call("cuMemHostGetFlags", Call::Healthy);
  if (!call) return call.result();
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  Allocation a;
  if (!State::get().find_allocation(reinterpret_cast<uintptr_t>(pointer), &a) ||
      (a.kind != Allocation::Host && a.kind != Allocation::Registered))
    return CUDA_ERROR_INVALID_VALUE;
  *flags = a.flags;
  return CUDA_SUCCESS;
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  Call call("cuMemGetAddressRange", Call::Healthy);
  if (!call) return call.result();
  Allocation a;
  if (!State::get().find_allocation(pointer, &a)) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = a.start;
  if (bytes) *bytes = a.bytes;
  return CUDA_SUCCESS;
}

// Managed memory is host memory here: advice and prefetching have nothing to move.
API CUresult cuMemAdvise(CUdeviceptr pointer, size_t bytes, int, CUdevice) {
  Call call("cuMemAdvise", Call::Healthy);
  if (!call) return call.result();
  return bytes && State::get().covers(pointer, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUdevice, CUstream handle) {
  Call call("cuMemPrefetchAsync", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  return bytes && State::get().covers(pointer, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct CUmemLocation {
  int type, id;
};

API CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t bytes, int advice, CUmemLocation) {
  return cuMemAdvise(pointer, bytes, advice, 0);
}

API CUresult cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t bytes, CUmemLocation, unsigned, CUstream handle) {
  Call call("cuMemPrefetchAsync", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  return bytes && State::get().covers(pointer, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

namespace {

// Writes one attribute of a pointer; `known`: it lies in memory of ours.
CUresult pointer_attribute(void* out, int attribute, CUdeviceptr pointer, bool known, const Allocation& a) {
  auto put = [out](auto value) {
    std::memcpy(out, &value, sizeof value);
    return CUDA_SUCCESS;
  };
  bool host = known && (a.kind == Allocation::Host || a.kind == Allocation::Registered);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(known ? a.context : CUcontext{});
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(known ? (host ? 1u : 2u) : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(known ? pointer : CUdeviceptr{0});
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(known && a.kind != Allocation::DeviceMemory && a.kind != Allocation::ModuleData ? pointer
                                                                                                 : CUdeviceptr{0});
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(int{0});
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(known ? static_cast<unsigned long long>(a.id) : 0ull);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(static_cast<int>(known && a.kind == Allocation::Managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(known ? 0 : -2);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(int{0});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(known ? static_cast<CUdeviceptr>(a.start) : CUdeviceptr{0});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(known ? a.bytes : size_t{0});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(static_cast<int>(known));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(0ull);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(static_cast<void*>(nullptr));
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

API CUresult cuPointerGetAttribute(void* out, int attribute, CUdeviceptr pointer) {
  Call call("cuPointerGetAttribute", Call::Context);
  if (!call) return call.result();
  Allocation a{};
  if (!out || !State::get().find_allocation(pointer, &a)) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
      !(a.kind != Allocation::DeviceMemory && a.kind != Allocation::ModuleData))
    return CUDA_ERROR_INVALID_VALUE;
  return pointer_attribute(out, attribute, pointer, true, a);
}

API CUresult cuPointerGetAttributes(unsigned count, int* attributes, void** out, CUdeviceptr pointer) {
  Call call("cuPointerGetAttributes", Call::Context);
  if (!call) return call.result();
  if (!attributes || !out) return CUDA_ERROR_INVALID_VALUE;
  Allocation a{};
  bool known = State::get().find_allocation(pointer, &a);
  for (unsigned i = 0; i < count; i++)
    if (CUresult error = pointer_attribute(out[i], attributes[i], pointer, known, a); error != CUDA_SUCCESS)
      return error;
  return CUDA_SUCCESS;
}

API CUresult cuPointerSetAttribute(const void* value, int attribute, CUdeviceptr pointer) {
  Call call("cuPointerSetAttribute", Call::Context);
  if (!call) return call.result();
  Allocation a{};
  if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !State::get().find_allocation(pointer, &a) ||
      !device_side(a.kind))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;  // every copy that must be synchronous is
}
