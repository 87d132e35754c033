// Copies and fills of linear memory, in one, two and three dimensions.
#include <algorithm>

#include "driver/state.h"

using namespace fatload;

namespace {

enum Side { HostSide, DeviceSide, AnySide };

// Whether `bytes` at `address` may be used as this side of a copy; `pinned`: the copy may go on after the call returns.
bool valid(uintptr_t address, size_t bytes, Side side, bool* pinned) {
  State& state = State::get();
  Allocation a;
  if (state.find_allocation(address, &a)) {
    *pinned = true;
    return bytes <= a.bytes - (address - a.start);
  }
  *pinned = false;
  return side != DeviceSide && address != 0 && bytes <= UINTPTR_MAX - address;
}

// Runs a copy in the stream; waits for it unless it is asynchronous and all memory stays where it is.
CUresult finish(CUstream stream, bool wait) {
  if (!wait) return CUDA_SUCCESS;
  CUresult result = stream->queue->synchronize();
  CUresult sticky = State::get().device->error();
  return sticky != CUDA_SUCCESS ? sticky : result;
}

// `contexts`: those that the caller named exist.
CUresult copy(const char* name, uintptr_t to, Side to_side, uintptr_t from, Side from_side, size_t bytes, bool async,
              CUstream handle, bool contexts = true) {
  Call call(name, Call::Healthy);
  if (!call) return call.result();
  if (!contexts) return CUDA_ERROR_INVALID_CONTEXT;
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  bool to_pinned, from_pinned;
  if (!valid(to, bytes, to_side, &to_pinned) || !valid(from, bytes, from_side, &from_pinned))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  CUresult error = stream->queue->copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return error != CUDA_SUCCESS ? error : finish(stream, !async || !to_pinned || !from_pinned);
}

uintptr_t host(const void* p) { return reinterpret_cast<uintptr_t>(p); }

CUresult fill(const char* name, CUdeviceptr to, size_t pitch, uint32_t value, unsigned element, size_t width,
              size_t height, bool async, CUstream handle) {
  Call call(name, Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  if (to % element || width > SIZE_MAX / element || (height > 1 && (pitch < width * element || pitch % element)))
    return CUDA_ERROR_INVALID_VALUE;
  size_t row = width * element;
  if (height > 1 && (height - 1) > (SIZE_MAX - row) / pitch) return CUDA_ERROR_INVALID_VALUE;
  size_t all = (height - 1) * (height > 1 ? pitch : 0) + row;
  bool pinned;
  if (!valid(to, all, DeviceSide, &pinned)) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  CUresult error = stream->queue->fill(reinterpret_cast<void*>(to), pitch, value, element, width, height);
  return error != CUDA_SUCCESS ? error : finish(stream, !async);
}

// One side of a 2D or 3D copy.
struct Place {
  uintptr_t base;
  Side side;
  size_t pitch, slice, extent /* bytes from the first to the last one, with the gaps */;
};

// Arithmetic that remembers whether a result did not fit.
struct Checked {
  bool fits = true;
  size_t add(size_t a, size_t b) {
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) fits = false;
    return sum;
  }
  size_t multiply(size_t a, size_t b) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) fits = false;
    return product;
  }
};

struct Corner {
  size_t x, y, z;
};
struct Extent {
  size_t width, height, depth;
};

// Resolves a side: where it begins, and how far it reaches.
CUresult resolve(CUmemorytype type, const void* host_pointer, CUdeviceptr device_pointer, Corner from, size_t pitch,
                 size_t height, Extent size, Place* out) {
  uintptr_t start;
  Side side;
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      start = host(host_pointer);
      side = HostSide;
      break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      start = static_cast<uintptr_t>(device_pointer);
      side = type == CU_MEMORYTYPE_DEVICE ? DeviceSide : AnySide;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return refuse("copying to or from CUDA arrays");
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  Checked c;
  size_t row = c.add(from.x, size.width), rows = c.add(from.y, size.height);
  if (!pitch) pitch = row;
  if (!height) height = rows;
  if ((pitch < row && size.height > 1) || (height < rows && size.depth > 1)) return CUDA_ERROR_INVALID_VALUE;
  size_t slice = from.z || size.depth > 1 ? c.multiply(pitch, height) : 0;
  size_t offset = c.add(c.add(c.multiply(from.z, slice), c.multiply(from.y, pitch)), from.x);
  size_t extent = c.add(c.add(c.multiply(size.depth - 1, slice), c.multiply(size.height - 1, pitch)), size.width);
  *out = {c.add(start, offset), side, pitch, slice, extent};
  c.add(out->base, extent);
  return c.fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_3d(const char* name, const CUDA_MEMCPY3D* c, bool async, CUstream handle) {
  Call call(name, Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!c) return CUDA_ERROR_INVALID_VALUE;
  if (c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0) return CUDA_SUCCESS;
  const Extent size{c->WidthInBytes, c->Height, c->Depth};
  Place from, to;
  if (CUresult error = resolve(c->srcMemoryType, c->srcHost, c->srcDevice, {c->srcXInBytes, c->srcY, c->srcZ},
                               c->srcPitch, c->srcHeight, size, &from);
      error != CUDA_SUCCESS)
    return error;
  if (CUresult error = resolve(c->dstMemoryType, c->dstHost, c->dstDevice, {c->dstXInBytes, c->dstY, c->dstZ},
                               c->dstPitch, c->dstHeight, size, &to);
      error != CUDA_SUCCESS)
    return error;
  bool from_pinned, to_pinned;
  if (!valid(from.base, from.extent, from.side, &from_pinned) || !valid(to.base, to.extent, to.side, &to_pinned))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  CUresult error =
      stream->queue->copy_3d({reinterpret_cast<uint8_t*>(to.base), reinterpret_cast<const uint8_t*>(from.base),
                              to.pitch, from.pitch, to.slice, from.slice, c->WidthInBytes, c->Height, c->Depth});
  return error != CUDA_SUCCESS ? error : finish(stream, !async || !from_pinned || !to_pinned);
}

CUresult copy_2d(const char* name, const CUDA_MEMCPY2D* c, bool async, CUstream handle) {
  if (!c) return copy_3d(name, nullptr, async, handle);
  CUDA_MEMCPY3D d{};
  d.srcXInBytes = c->srcXInBytes;
  d.srcY = c->srcY;
  d.srcMemoryType = c->srcMemoryType;
  d.srcHost = c->srcHost;
  d.srcDevice = c->srcDevice;
  d.srcArray = c->srcArray;
  d.srcPitch = c->srcPitch;
  d.dstXInBytes = c->dstXInBytes;
  d.dstY = c->dstY;
  d.dstMemoryType = c->dstMemoryType;
  d.dstHost = c->dstHost;
  d.dstDevice = c->dstDevice;
  d.dstArray = c->dstArray;
  d.dstPitch = c->dstPitch;
  d.WidthInBytes = c->WidthInBytes;
  d.Height = c->Height;
  d.Depth = 1;
  return copy_3d(name, &d, async, handle);
}

CUresult copy_3d_peer(const char* name, const CUDA_MEMCPY3D_PEER* c, bool async, CUstream handle) {
  // The two structures differ only where one has a context: with one device there is nothing to choose.
  static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D));
  return copy_3d(name, reinterpret_cast<const CUDA_MEMCPY3D*>(c), async, handle);
}

}  // namespace

API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpy", to, AnySide, from, AnySide, bytes, false, nullptr);
}
API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyAsync", to, AnySide, from, AnySide, bytes, true, stream);
}
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy("cuMemcpyHtoD", to, DeviceSide, host(from), HostSide, bytes, false, nullptr);
}
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyHtoDAsync", to, DeviceSide, host(from), HostSide, bytes, true, stream);
}
API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpyDtoH", host(to), HostSide, from, DeviceSide, bytes, false, nullptr);
}
API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyDtoHAsync", host(to), HostSide, from, DeviceSide, bytes, true, stream);
}
API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpyDtoD", to, DeviceSide, from, DeviceSide, bytes, false, nullptr);
}
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyDtoDAsync", to, DeviceSide, from, DeviceSide, bytes, true, stream);
}
API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                          size_t bytes) {
  return copy("cuMemcpyPeer", to, DeviceSide, from, DeviceSide, bytes, false, nullptr,
              is_context(to_context) && is_context(from_context));
}
API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                               size_t bytes, CUstream stream) {
  return copy("cuMemcpyPeerAsync", to, DeviceSide, from, DeviceSide, bytes, true, stream,
              is_context(to_context) && is_context(from_context));
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* c) { return copy_2d("cuMemcpy2D", c, false, nullptr); }
API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* c) {
  return copy_2d("cuMemcpy2DUnaligned", c, false, nullptr);
}
API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* c, CUstream stream) {
  return copy_2d("cuMemcpy2DAsync", c, true, stream);
}
API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* c) { return copy_3d("cuMemcpy3D", c, false, nullptr); }
API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* c, CUstream stream) {
  return copy_3d("cuMemcpy3DAsync", c, true, stream);
}
API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* c) { return copy_3d_peer("cuMemcpy3DPeer", c, false, nullptr); }
API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* c, CUstream stream) {
  return copy_3d_peer("cuMemcpy3DPeerAsync", c, true, stream);
}

API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return fill("cuMemsetD8", to, 0, value, 1, count, 1, false, nullptr);
}
API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return fill("cuMemsetD16", to, 0, value, 2, count, 1, false, nullptr);
}
API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return fill("cuMemsetD32", to, 0, value, 4, count, 1, false, nullptr);
}
API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill("cuMemsetD8Async", to, 0, value, 1, count, 1, true, stream);
}
API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill("cuMemsetD16Async", to, 0, value, 2, count, 1, true, stream);
}
API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill("cuMemsetD32Async", to, 0, value, 4, count, 1, true, stream);
}
API CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill("cuMemsetD2D8", to, pitch, value, 1, width, height, false, nullptr);
}
API CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill("cuMemsetD2D16", to, pitch, value, 2, width, height, false, nullptr);
}
API CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill("cuMemsetD2D32", to, pitch, value, 4, width, height, false, nullptr);
}
API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                               CUstream stream) {
  return fill("cuMemsetD2D8Async", to, pitch, value, 1, width, height, true, stream);
}
API CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                                CUstream stream) {
  return fill("cuMemsetD2D16Async", to, pitch, value, 2, width, height, true, stream);
}
API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                CUstream stream) {
  return fill("cuMemsetD2D32Async", to, pitch, value, 4, width, height, true, stream);
}
