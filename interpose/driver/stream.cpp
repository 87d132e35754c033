// Streams: creation, the order between the legacy stream and blocking ones, callbacks.
#include "driver/state.h"

using namespace fatload;

namespace fatload {

CUresult create_stream(CUcontext context, unsigned flags, int priority, CUstream* out) {
  State& state = State::get();
  auto stream = std::make_unique<CUstream_st>();
  stream->magic = kStreamMagic;
  stream->context = context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = state.next_id++;
  if (CUresult error = state.device->create_queue(&stream->queue, priority); error != CUDA_SUCCESS) return error;
  if (CUresult error = state.device->create_marker(&stream->marker); error != CUDA_SUCCESS) return error;
  state.add_handle(stream.get());
  std::lock_guard lock(context->mutex);
  context->streams.insert(stream.get());
  *out = stream.release();
  return CUDA_SUCCESS;
}

namespace {
// Lets later work of `waiting` wait for what is in `other` now.
CUresult wait_for(CUstream waiting, CUstream other) {
  if (other->queue->idle()) return CUDA_SUCCESS;
  std::lock_guard lock(other->mutex);
  if (CUresult error = other->marker->record(*other->queue); error != CUDA_SUCCESS) return error;
  return other->marker->wait_in(*waiting->queue);
}
}  // namespace

CUresult order(CUstream stream) {
  CUcontext context = stream->context;
  CUstream legacy = context->legacy.get();
  if (stream != legacy) return stream->flags & 1 ? CUDA_SUCCESS : wait_for(stream, legacy);
  std::lock_guard lock(context->mutex);
  for (CUstream s : context->streams)
    if (!(s->flags & 1))
      if (CUresult error = wait_for(legacy, s); error != CUDA_SUCCESS) return error;
  return CUDA_SUCCESS;
}

}  // namespace fatload

namespace {
bool is_stream(CUstream handle) { return State::get().is_handle(handle) && handle->magic == kStreamMagic; }
}  // namespace

API CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  Call call("cuStreamCreateWithPriority", Call::Healthy);
  if (!call) return call.result();
  if (!out || flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
  int bounded = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  return create_stream(call.context(), flags, bounded, out);
}

API CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  Call call("cuStreamCreate", Call::Healthy);
  if (!call) return call.result();
  if (!out || flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
  return create_stream(call.context(), flags, 0, out);
}

API CUresult cuStreamDestroy_v2(CUstream handle) {
  Call call("cuStreamDestroy", Call::Context);
  if (!call) return call.result();
  if (!is_stream(handle)) return CUDA_ERROR_INVALID_HANDLE;
  {
    std::lock_guard lock(handle->context->mutex);
    handle->context->streams.erase(handle);
  }
  if (!State::get().remove_handle(handle)) return CUDA_ERROR_INVALID_HANDLE;
  handle->queue->synchronize();
  delete handle;
  return CUDA_SUCCESS;
}
API_SAME(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream), (stream))

API CUresult cuStreamSynchronize(CUstream handle) {
  Call call("cuStreamSynchronize", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  CUresult result = stream->queue->synchronize();
  CUresult sticky = State::get().device->error();
  return sticky != CUDA_SUCCESS ? sticky : result;
}

API CUresult cuStreamQuery(CUstream handle) {
  Call call("cuStreamQuery", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (stream == call.context()->legacy.get()) {
    std::lock_guard lock(call.context()->mutex);
    for (CUstream s : call.context()->streams)
      if (!(s->flags & 1) && !s->queue->idle()) return CUDA_ERROR_NOT_READY;
  }
  return stream->queue->idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

API CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  Call call("cuStreamWaitEvent", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!event || !State::get().is_handle(event) || event->magic != kEventMagic) return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
  if (!event->recorded) return CUDA_SUCCESS;
  return event->marker->wait_in(*stream->queue);
}

API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  Call call("cuLaunchHostFunc", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  return stream->queue->host([function, data] {
    HostFunctionScope scope;
    function(data);
  });
}

API CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback function, void* data, unsigned flags) {
  Call call("cuStreamAddCallback", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!function || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  return stream->queue->host([function, handle, data] {
    HostFunctionScope scope;
    function(handle, State::get().device->error(), data);
  });
}

API CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer, size_t, unsigned) {
  Call call("cuStreamAttachMemAsync", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  Allocation a;
  // Managed memory is the host's own: it can be used by everybody at any time.
  return State::get().find_allocation(pointer, &a) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  Call call("cuStreamGetFlags", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

API CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  Call call("cuStreamGetPriority", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!priority) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

API CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  Call call("cuStreamGetId", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!id) return CUDA_ERROR_INVALID_VALUE;
  *id = stream->id;
  return CUDA_SUCCESS;
}

API CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
  Call call("cuStreamGetCtx", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->context;
  return CUDA_SUCCESS;
}

API CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  Call call("cuStreamGetDevice", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = stream->context->device;
  return CUDA_SUCCESS;
}

// Capturing cannot be begun (cuStreamBeginCapture is refused), so no stream is ever capturing.
API CUresult cuStreamIsCapturing(CUstream handle, int* status) {
  Call call("cuStreamIsCapturing", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!status) return CUDA_ERROR_INVALID_VALUE;
  *status = 0;
  return CUDA_SUCCESS;
}

API CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, unsigned long long* id, void** graph,
                                       const void** dependencies, size_t* count) {
  Call call("cuStreamGetCaptureInfo", Call::Context);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!status) return CUDA_ERROR_INVALID_VALUE;
  *status = 0;
  (void)id;
  (void)graph;
  (void)dependencies;
  (void)count;
  return CUDA_SUCCESS;
}

API CUresult cuStreamGetCaptureInfo(CUstream handle, int* status, unsigned long long* id) {
  return cuStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

API CUresult cuStreamGetCaptureInfo_v3(CUstream handle, int* status, unsigned long long* id, void** graph,
                                       const void** dependencies, const void**, size_t* count) {
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count);
}

API CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  Call call("cuThreadExchangeStreamCaptureMode", Call::Nothing);
  static thread_local int current = 0;
  if (!mode || *mode < 0 || *mode > 2) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}
