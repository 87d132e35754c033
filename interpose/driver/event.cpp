// Events.
#include "driver/state.h"

using namespace fatload;

namespace {

enum Flags { kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4 };

bool is_event(CUevent event) { return event && State::get().is_handle(event) && event->magic == kEventMagic; }

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
  if (!is_event(start) || !is_event(end) || !start->recorded || !end->recorded ||
      (start->flags | end->flags) & kDisableTiming)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->marker->reached() || !end->marker->reached()) return CUDA_ERROR_NOT_READY;
  auto from = static_cast<int64_t>(start->marker->nanoseconds()), to = static_cast<int64_t>(end->marker->nanoseconds());
  *milliseconds = static_cast<float>(static_cast<double>(to - from) * 1e-6);
  return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuEventCreate(CUevent* out, unsigned flags) {
  Call call("cuEventCreate", Call::Healthy);
  if (!call) return call.result();
  if (!out || flags & ~7u || (flags & kInterprocess && !(flags & kDisableTiming))) return CUDA_ERROR_INVALID_VALUE;
  if (flags & kInterprocess) return refuse("an event for several processes");
  auto event = std::make_unique<CUevent_st>();
  event->magic = kEventMagic;
  event->context = call.context();
  event->flags = flags;
  event->recorded = false;
  State& state = State::get();
  if (CUresult error = state.device->create_marker(&event->marker); error != CUDA_SUCCESS) return error;
  state.add_handle(event.get());
  *out = event.release();
  return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent event) {
  Call call("cuEventDestroy", Call::Init);
  if (!call) return call.result();
  if (!is_event(event) || !State::get().remove_handle(event)) return CUDA_ERROR_INVALID_HANDLE;
  delete event;
  return CUDA_SUCCESS;
}
API_SAME(cuEventDestroy, cuEventDestroy_v2, (CUevent event), (event))

API CUresult cuEventRecord(CUevent event, CUstream handle) {
  Call call("cuEventRecord", Call::Healthy);
  if (!call) return call.result();
  CUstream stream;
  if (CUresult error = call.stream(handle, &stream); error != CUDA_SUCCESS) return error;
  if (!is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = order(stream); error != CUDA_SUCCESS) return error;
  CUresult result = event->marker->record(*stream->queue);
  if (result == CUDA_SUCCESS) event->recorded = true;
  return result;
}

API CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags) {
  if (flags & ~1u) {
    Call call("cuEventRecordWithFlags", Call::Healthy);
    return call ? CUDA_ERROR_INVALID_VALUE : call.result();
  }
  // The mark for the thread's own stream must reach the function that looks the stream up.
  return cuEventRecord(event, handle);
}

API CUresult cuEventQuery(CUevent event) {
  Call call("cuEventQuery", Call::Healthy);
  if (!call) return call.result();
  if (!is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
  return !event->recorded || event->marker->reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

API CUresult cuEventSynchronize(CUevent event) {
  Call call("cuEventSynchronize", Call::Healthy);
  if (!call) return call.result();
  if (!is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
  if (!event->recorded) return CUDA_SUCCESS;
  CUresult result = event->marker->synchronize();
  CUresult sticky = State::get().device->error();
  return sticky != CUDA_SUCCESS ? sticky : result;
}

API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  Call call("cuEventElapsedTime", Call::Healthy);
  return call ? elapsed(milliseconds, start, end) : call.result();
}
API_SAME(cuEventElapsedTime_v2, cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end),
         (milliseconds, start, end))
