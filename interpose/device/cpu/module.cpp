#include "device/cpu/module.h"

#include <algorithm>
#include <cstring>

#include "client/ids.h"
#include "device/cpu/state.h"

namespace fatload::cpu {

CUresult CpuModule::load(std::vector<Image> images, bool check, std::string* log) {
  images_ = std::move(images);
  id_ = client::module_id(images_);
  client::Manifest manifest;
  if (CUresult error = services_.translator.manifest(id_, images_, check, &manifest, log); error != kSuccess)
    return error;
  ptx_version = manifest.ptx_version;
  sm = manifest.sm;
  kernels = std::move(manifest.kernels);
  variables = std::move(manifest.variables);
  data_bytes = manifest.data_bytes;
  slots_.reset(new Slot[kernels.size()]);

  // There is always a block: translated code may form its address.
  size_t align = manifest.data_align, bytes = std::max<size_t>(manifest.data_bytes, 1) + 64;
  if (align > 512) {
    *log = "a variable is aligned to " + std::to_string(align) + " bytes; 512 is the most";
    return kInvalidImage;
  }
  void* block;
  if (CUresult error = services_.memory.allocate(bytes, &block); error != kSuccess) return error;
  data = static_cast<uint8_t*>(block);
  block_ = std::shared_ptr<uint8_t>(data, [memory = &services_.memory](uint8_t* bytes) { memory->release(bytes); });
  if (!manifest.initial.empty()) std::memcpy(data, manifest.initial.data(), manifest.initial.size());
  std::memset(data + manifest.initial.size(), 0, bytes - manifest.initial.size());
  for (const client::Relocation& r : manifest.relocations) {
    uint64_t value = r.function ? r.addend : reinterpret_cast<uint64_t>(data) + r.addend;
    std::memcpy(data + r.offset, &value, sizeof value);
  }
  return kSuccess;
}

CUresult CpuModule::translate(const std::string& kernel, bool row, std::shared_ptr<KernelCode>* out,
                              std::string* error) {
  client::Object object;
  CUresult result =
      services_.translator.object(id_, images_, kernel, services_.targets, row ? "row" : "any", &object, error);
  if (result != kSuccess) return result;
  auto code = std::make_shared<KernelCode>();
  code->name = kernel;
  code->object = LoadedObject::load(object.code, object.entry, error);
  if (!code->object) return kInvalidImage;
  code->entry = reinterpret_cast<void (*)(Warp*)>(code->object->entry());
  code->static_shared = object.static_shared;
  // Lanes' local memory starts at multiples of 16, so that vector accesses to it are aligned as PTX promises.
  code->local_stride = (object.local_bytes + 15) / 16 * 16;
  code->barrier = object.barrier;
  code->yields = object.yields;
  *out = std::move(code);
  return kSuccess;
}

CUresult CpuModule::code(uint32_t kernel, bool row, std::shared_ptr<KernelCode>* out) {
  if (kernel >= kernels.size()) return kNotFound;
  Slot& slot = slots_[kernel];
  std::lock_guard lock(slot.mutex);
  if (!slot.code[row]) {
    std::string error;
    CUresult result = translate(kernels[kernel].name, row, &slot.code[row], &error);
    if (result != kSuccess) {
      if (!slot.reported) complain("kernel " + kernels[kernel].name + ": " + error);
      slot.reported = true;
      return result;
    }
  }
  *out = slot.code[row];
  return kSuccess;
}

}  // namespace fatload::cpu
