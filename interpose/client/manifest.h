// The texts of manifests and objects (docs/architecture.md, "Cache files"), read with every number checked.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/cache.h"
#include "device/device.h"

namespace fatload::client {

struct Relocation {
  uint64_t offset;
  bool function;    // the slot gets `addend` itself (a function's number), else the data block's address + addend
  uint64_t addend;  // wraps, so negative addends work
};

struct Manifest {
  int ptx_version = 0, sm = 0;
  uint64_t data_bytes = 0, data_align = 16;
  bool checked = false;  // the whole PTX was read and found right, not only its declarations
  std::vector<KernelInfo> kernels;
  std::vector<VariableInfo> variables;
  std::vector<Relocation> relocations;
  std::string_view initial;  // the first bytes of the data block; the rest is zero
  std::shared_ptr<const CacheFile> file;

  // False, and a reason in `error`, when the text is not a manifest whose parts fit together.
  static bool parse(std::shared_ptr<const CacheFile> file, Manifest* out, std::string* error);
};

struct Object {
  std::string target, shape, kernel, entry;
  uint32_t static_shared = 0, local_bytes = 0;  // local: bytes a lane
  bool barrier = false, yields = false, dynamic_shared = false;
  std::string_view code;
  std::shared_ptr<const CacheFile> file;

  static bool parse(std::shared_ptr<const CacheFile> file, Object* out, std::string* error);
};

}  // namespace fatload::client
