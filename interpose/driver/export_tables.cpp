// Undocumented tables that the CUDA runtimes ask for: loading, context-local storage, the integrity check.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iterator>

#include "driver/integrity.h"
#include "driver/module.h"
#include "driver/state.h"

using namespace fatload;

namespace {

// -- cudart_interface: how runtimes load images and find the primary context

CUresult load_wrapper(CUmodule* out, const void* wrapper) {
  Call call("cudart_interface[1]", Call::Healthy);
  if (!call) return call.result();
  return load_module(out, wrapper, call.context());
}

CUresult load_wrapper_6(CUmodule* out, const void* wrapper, void*, void*, unsigned) {
  Call call("cudart_interface[6]", Call::Healthy);
  if (!call) return call.result();
  return load_module(out, wrapper, call.context());
}

CUresult load_container(const void* container, CUmodule* out, void*, void*, unsigned) {
  Call call("cudart_interface[8]", Call::Healthy);
  if (!call) return call.result();
  return load_module(out, container, call.context());
}

CUresult primary_context(CUcontext* out, CUdevice device) {
  Call call("cudart_interface[2]", Call::Init);
  if (!call) return call.result();
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *out = State::get().primary;
  return CUDA_SUCCESS;
}

CUresult unregistered(const void*) { return CUDA_SUCCESS; }  // the image itself is unloaded by cuModuleUnload
CUresult load_compilers() { return CUDA_SUCCESS; }           // the translation service is started when it is needed

// A slot whose purpose is not known: says so, since a runtime that calls it expects something of it.
template <int table, int slot>
CUresult unknown_slot() {
  char name[64];
  std::snprintf(name, sizeof name, "slot %d of export table %d", slot, table);
  return refuse(name);
}

// -- runtime_callback_hooks: flags by which profilers switch callbacks on; none is

uint32_t callback_flags[1024], event_flags[64];

void hook_callbacks(uint32_t** flags, size_t* count) {
  *flags = callback_flags;
  *count = std::size(callback_flags);
}

void hook_events(uint32_t** flags, size_t* count) {
  *flags = event_flags;
  *count = 14;
}

// -- context_local_storage

CUcontext local_context(CUcontext context) { return context ? context : current_context(); }

// What this thread asked last: the runtimes ask in every call.
struct LastLookup {
  CUcontext context;
  void *key, *value;
  uint64_t generation;
};
thread_local LastLookup last_lookup;

CUresult local_put(CUcontext context, void* key, void* value, void (*destructor)(CUcontext, void*, void*)) {
  context = local_context(context);
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard lock(context->mutex);
  context->local.push_back({key, value, destructor});
  local_generation++;
  return CUDA_SUCCESS;
}

CUresult local_delete(CUcontext context, void* key) {
  context = local_context(context);
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard lock(context->mutex);
  std::erase_if(context->local, [key](const LocalEntry& e) { return e.key == key; });
  local_generation++;
  return CUDA_SUCCESS;
}

CUresult local_get(void** value, CUcontext context, void* key) {
  context = local_context(context);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  LastLookup& last = last_lookup;
  if (last.context == context && last.key == key && last.generation == local_generation.load()) {
    *value = last.value;
    return CUDA_SUCCESS;
  }
  if (!is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard lock(context->mutex);
  for (const LocalEntry& e : context->local) {
    if (e.key != key) continue;
    last = {context, key, e.value, local_generation.load()};
    *value = e.value;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

// -- context_checks

CUresult context_check(CUcontext, uint32_t* result, const void**) {
  *result = 0;
  return CUDA_SUCCESS;
}

uint32_t context_check_3() { return 0; }

// -- integrity

CUresult integrity_check(uint32_t version, uint64_t seconds, uint8_t out[16]);

template <typename F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

void* size_of(size_t slots) { return reinterpret_cast<void*>(slots * sizeof(void*)); }

void* cudart_interface[13] = {size_of(13),
                              slot(load_wrapper),
                              slot(primary_context),
                              slot(unknown_slot<0, 3>),
                              slot(unknown_slot<0, 4>),
                              slot(unknown_slot<0, 5>),
                              slot(load_wrapper_6),
                              slot(unregistered),
                              slot(load_container),
                              slot(unknown_slot<0, 9>),
                              slot(unknown_slot<0, 10>),
                              slot(unknown_slot<0, 11>),
                              slot(load_compilers)};
void* runtime_callback_hooks[7] = {size_of(7),
                                   slot(unknown_slot<1, 1>),
                                   slot(hook_callbacks),
                                   slot(unknown_slot<1, 3>),
                                   slot(unknown_slot<1, 4>),
                                   slot(unknown_slot<1, 5>),
                                   slot(hook_events)};
void* tools_tls[4] = {size_of(4), slot(unknown_slot<2, 1>), slot(unknown_slot<2, 2>), slot(unknown_slot<2, 3>)};
void* context_local_storage[4] = {slot(local_put), slot(local_delete), slot(local_get), nullptr};
void* integrity[3] = {size_of(3), slot(integrity_check), slot(unknown_slot<4, 2>)};
void* context_checks[4] = {size_of(4), slot(unknown_slot<5, 1>), slot(context_check), slot(context_check_3)};
void* table_21318c60[1] = {size_of(1)};

struct Table {
  uint8_t id[16];
  void** slots;
};
const Table kTables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
     cudart_interface},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66},
     runtime_callback_hooks},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc}, tools_tls},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93},
     context_local_storage},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2}, integrity},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e}, context_checks},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2}, table_21318c60},
};

constexpr uint8_t kKey[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                              0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

struct __attribute__((packed)) Facts {
  uint32_t driver_version, version, process, thread;
  const void *interface, *integrity, *function;
  uint64_t seconds;
  uint8_t uuid[16];
  int32_t pci_domain, pci_bus, pci_device;
};

CUresult integrity_check(uint32_t version, uint64_t seconds, uint8_t out[16]) {
  uint32_t level = version % 10;
  if (level < 2) {
    const uint64_t fixed[2] = {level == 0 ? 0x3341181C03CB675Cull : 0x1841181C03CB675Cull, 0x8ED383AA1F4CD1E8ull};
    std::memcpy(out, fixed, sizeof fixed);
    return CUDA_SUCCESS;
  }
  const DeviceInfo& info = State::get().device->info();
  Facts facts{kDriverVersion,
              version,
              static_cast<uint32_t>(getpid()),
              static_cast<uint32_t>(reinterpret_cast<uintptr_t>(reinterpret_cast<void*>(pthread_self()))),
              cudart_interface,
              integrity,
              integrity[1],
              seconds,
              {},
              info.pci_domain,
              info.pci_bus,
              info.pci_device};
  std::memcpy(facts.uuid, info.uuid, sizeof facts.uuid);
  static_assert(sizeof(Facts) == 76);
  hmac_md2(kKey, reinterpret_cast<const uint8_t*>(&facts), sizeof facts, out);
  return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  Call call("cuGetExportTable", Call::Nothing);
  if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  for (const Table& t : kTables) {
    if (std::memcmp(t.id, id->bytes, sizeof t.id) != 0) continue;
    *table = t.slots;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
