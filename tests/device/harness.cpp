// A C interface to the client and the CPU device, for the tests next to this file.
#include <cstring>
#include <string>
#include <vector>

#include "client/blake2b.h"
#include "client/cache.h"
#include "client/ids.h"
#include "client/manifest.h"
#include "client/python.h"
#include "client/service.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/halves.h"
#include "device/cpu/object.h"
#include "device/cpu/print.h"
#include "device/device.h"

using namespace fatload;

namespace {

void give(const std::string& text, char* out, size_t room) {
  size_t bytes = std::min(text.size(), room - 1);
  std::memcpy(out, text.data(), bytes);
  out[bytes] = 0;
}

std::vector<Image> images_of(const char* bytes, size_t count) {
  return {Image{1, 75, 0, Image::None, count, std::string_view(bytes, count), nullptr}};
}

struct File {
  std::shared_ptr<const client::CacheFile> file;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void t_blake2b(const char* bytes, size_t count, size_t step, char* out) {
  client::Blake2b hash;
  for (size_t at = 0; at < count; at += step) hash.update(bytes + at, std::min(step, count - at));
  give(client::hex(hash.digest()), out, 65);
}

EXPORT void t_module_id(const char* bytes, size_t count, char* out) {
  give(client::module_id(images_of(bytes, count)), out, 65);
}

EXPORT void t_object_id(const char* module, const char* kernel, const char* target, const char* shape, char* out) {
  give(client::object_id(module, kernel, target, shape, ""), out, 65);
}

EXPORT void t_cache_directory(char* out, size_t room) { give(client::cache_directory(), out, room); }

EXPORT void* t_read_cache(const char* directory, const char* id, uint32_t kind) {
  auto file = client::read_cache(directory, id, static_cast<client::FileKind>(kind));
  return file ? new File{file} : nullptr;
}

EXPORT void* t_parse_cache(const char* bytes, size_t count, uint32_t kind) {
  auto file = client::CacheFile::parse(std::string(bytes, count), static_cast<client::FileKind>(kind));
  return file ? new File{file} : nullptr;
}

EXPORT size_t t_cache_part(void* file, int payload, const char** out) {
  const client::CacheFile& f = *static_cast<File*>(file)->file;
  std::string_view part = payload ? f.payload() : f.text();
  *out = part.data();
  return part.size();
}

EXPORT void t_close_cache(void* file) { delete static_cast<File*>(file); }

// 1: parsed
EXPORT int t_parse_manifest(void* file, char* error, size_t room) {
  client::Manifest manifest;
  std::string reason;
  bool good = client::Manifest::parse(static_cast<File*>(file)->file, &manifest, &reason);
  give(reason, error, room);
  return good;
}

EXPORT int t_parse_object(void* file, char* error, size_t room) {
  client::Object object;
  std::string reason;
  bool good = client::Object::parse(static_cast<File*>(file)->file, &object, &reason);
  give(reason, error, room);
  return good;
}

EXPORT void* t_service(const char* cache) { return new client::Service(cache); }
EXPORT void t_socket_path(void* service, char* out, size_t room) {
  give(static_cast<client::Service*>(service)->socket_path(), out, room);
}
EXPORT int t_request(void* service, uint32_t operation, const char** fields, const size_t* sizes, size_t count,
                     uint32_t* result, char* message, size_t room) {
  std::vector<std::string_view> views;
  for (size_t i = 0; i < count; ++i) views.emplace_back(fields[i], sizes[i]);
  client::Reply reply;
  std::string error;
  bool good =
      static_cast<client::Service*>(service)->request(static_cast<client::Operation>(operation), views, &reply, &error);
  *result = reply.result;
  give(good ? reply.message() : error, message, room);
  return good;
}
EXPORT void t_interpreter(const char* native, char* out, size_t room) {
  give(client::find_interpreter(native).path, out, room);
}

EXPORT uint16_t t_half_from_double(double v) { return cpu::half_from_double(v); }
EXPORT uint16_t t_half_from_float(float v) { return cpu::half_from_float(v); }
EXPORT uint16_t t_bfloat_from_double(double v) { return cpu::bfloat_from_double(v); }
EXPORT uint16_t t_bfloat_from_float(float v) { return cpu::bfloat_from_float(v); }
EXPORT float t_float_from_half(uint16_t v) { return cpu::float_from_half(v); }

EXPORT int t_format(const char* format, const uint8_t* arguments, char* out, size_t room) {
  std::string text;
  int count = cpu::format_device(format, arguments, &text);
  give(text, out, room);
  return count;
}

EXPORT void* t_load_object(const char* bytes, size_t count, const char* entry, char* error, size_t room) {
  std::string reason;
  auto object = cpu::LoadedObject::load(std::string_view(bytes, count), entry, &reason);
  give(reason, error, room);
  return object.release();
}
EXPORT void* t_object_entry(void* object) { return static_cast<cpu::LoadedObject*>(object)->entry(); }
EXPORT void t_unload_object(void* object) { delete static_cast<cpu::LoadedObject*>(object); }

EXPORT void* t_open() { return open_cpu_device().release(); }
EXPORT int t_multiprocessors(void* device) { return static_cast<Device*>(device)->info().multiprocessors; }
EXPORT int t_allocate(void* device, size_t bytes, void** out) {
  return static_cast<Device*>(device)->allocate(bytes, Device::DeviceMemory, out);
}
EXPORT int t_release(void* device, void* pointer) { return static_cast<Device*>(device)->release(pointer); }
EXPORT int t_error(void* device) { return static_cast<Device*>(device)->error(); }
EXPORT void t_after_fork(void* device) { static_cast<Device*>(device)->after_fork(); }

EXPORT int t_load(void* device, const char* bytes, size_t count, int check, void** out, char* log, size_t room) {
  std::unique_ptr<DeviceModule> module;
  std::string text;
  int result = static_cast<Device*>(device)->load(images_of(bytes, count), check, &module, &text);
  give(text, log, room);
  *out = module.release();
  return result;
}
EXPORT void* t_data(void* module) { return static_cast<DeviceModule*>(module)->data; }
EXPORT int t_max_active(void* device, void* module, uint32_t kernel, int threads, size_t shared) {
  return static_cast<Device*>(device)->max_active_ctas(*static_cast<DeviceModule*>(module), kernel, threads, shared);
}

EXPORT void* t_queue(void* device) {
  std::unique_ptr<Queue> queue;
  static_cast<Device*>(device)->create_queue(&queue, 0);
  return queue.release();
}
EXPORT void t_destroy_queue(void* queue) { delete static_cast<Queue*>(queue); }
EXPORT int t_launch(void* queue, void* module, uint32_t kernel, const uint32_t* shape, int cooperative,
                    const uint8_t* params, size_t bytes) {
  Launch launch{};
  launch.module = static_cast<DeviceModule*>(module);
  launch.kernel = kernel;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = shape[i];
    launch.block[i] = shape[3 + i];
  }
  launch.dynamic_shared = shape[6];
  launch.cooperative = cooperative;
  launch.params.assign(params, params + bytes);
  return static_cast<Queue*>(queue)->launch(std::move(launch));
}
EXPORT int t_synchronize(void* queue) { return static_cast<Queue*>(queue)->synchronize(); }
EXPORT int t_idle(void* queue) { return static_cast<Queue*>(queue)->idle(); }
EXPORT int t_copy(void* queue, void* to, const void* from, size_t bytes) {
  return static_cast<Queue*>(queue)->copy(to, from, bytes);
}
EXPORT int t_copy_3d(void* queue, const Queue::Copy3D* copy) { return static_cast<Queue*>(queue)->copy_3d(*copy); }
EXPORT int t_fill(void* queue, void* to, size_t pitch, uint32_t value, unsigned element, size_t width, size_t height) {
  return static_cast<Queue*>(queue)->fill(to, pitch, value, element, width, height);
}
EXPORT int t_host(void* queue, void (*act)(void*), void* argument) {
  return static_cast<Queue*>(queue)->host([act, argument] { act(argument); });
}

EXPORT void* t_marker(void* device) {
  std::unique_ptr<Marker> marker;
  static_cast<Device*>(device)->create_marker(&marker);
  return marker.release();
}
EXPORT void t_record(void* marker, void* queue) { static_cast<Marker*>(marker)->record(*static_cast<Queue*>(queue)); }
EXPORT void t_wait_in(void* marker, void* queue) { static_cast<Marker*>(marker)->wait_in(*static_cast<Queue*>(queue)); }
EXPORT int t_synchronize_marker(void* marker) { return static_cast<Marker*>(marker)->synchronize(); }
EXPORT int t_reached(void* marker) { return static_cast<Marker*>(marker)->reached(); }
EXPORT uint64_t t_nanoseconds(void* marker) { return static_cast<Marker*>(marker)->nanoseconds(); }

// Seconds for `count` launches, each followed by a synchronise if asked.
EXPORT double t_time_launches(void* queue, void* module, const uint32_t* shape, int count, int synchronize) {
  uint64_t start = cpu::now();
  for (int i = 0; i < count; ++i) {
    t_launch(queue, module, 0, shape, 0, nullptr, 0);
    if (synchronize) t_synchronize(queue);
  }
  t_synchronize(queue);
  return static_cast<double>(cpu::now() - start) * 1e-9;
}
EXPORT void t_unload(void* module) { delete static_cast<DeviceModule*>(module); }
