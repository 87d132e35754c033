// cuGetProcAddress: of all exports with a base name, the newest that the caller's API version knows.
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "driver/state.h"

using namespace fatload;

namespace {

enum Status { kFound = 0, kUnknown = 1, kTooNew = 2 };
constexpr uint64_t kPerThread = 2;

using Index = std::unordered_map<std::string_view, std::vector<const Export*>>;

const Index& by_base() {
  static const Index* index = [] {
    auto* made = new Index;
    for (size_t i = 0; i < kExportCount; i++) (*made)[kExports[i].base].push_back(&kExports[i]);
    return made;
  }();
  return *index;
}

const Export* newest(const std::vector<const Export*>& all, int version, Export::Kind kind, bool* known) {
  const Export* best = nullptr;
  for (const Export* e : all) {
    if (e->kind != kind) continue;
    *known = true;
    // Among variants of the same age the later name is the current one (cuMemAlloc_v2 before cuMemAlloc).
    if (e->version <= version && (!best || e->version > best->version ||
                                  (e->version == best->version && std::strlen(e->name) > std::strlen(best->name))))
      best = e;
  }
  return best;
}

CUresult look_up(const char* name, void** function, int version, uint64_t flags, int* status) {
  if (!name || !function) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  int outcome = kUnknown;
  auto it = by_base().find(name);
  if (it != by_base().end()) {
    bool known = false;
    const Export* e = flags & kPerThread ? newest(it->second, version, Export::PerThread, &known) : nullptr;
    if (!e) e = newest(it->second, version, Export::Plain, &known);
    if (e) *function = e->address;
    outcome = e ? kFound : known ? kTooNew : kUnknown;
  } else if (std::string_view(name).ends_with("_ptsz") || std::string_view(name).ends_with("_ptds")) {
    // Runtime 12.1 asks for one such name in full.
    for (size_t i = 0; i < kExportCount; i++)
      if (std::strcmp(kExports[i].name, name) == 0) {
        *function = kExports[i].address;
        outcome = kFound;
      }
  }
  if (status) *status = outcome;
  return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  Call call("cuGetProcAddress", Call::Nothing);
  return look_up(name, function, version, flags, status);
}

API CUresult cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  Call call("cuGetProcAddress", Call::Nothing);
  int status;
  CUresult result = look_up(name, function, version, flags, &status);
  return result != CUDA_SUCCESS || status == kFound ? result : CUDA_ERROR_NOT_FOUND;
}
