#include "client/ids.h"

#include <cstdlib>

#include "client/blake2b.h"

#ifndef FATLOAD_CODEGEN_VERSION
#define FATLOAD_CODEGEN_VERSION "development"
#endif

namespace fatload::client {

std::string codegen_version() {
  const char* value = std::getenv("FATLOAD_CODEGEN_VERSION");
  return value && *value ? value : FATLOAD_CODEGEN_VERSION;
}

std::string module_id(const std::vector<Image>& images) {
  using namespace std::string_view_literals;
  Blake2b hash;
  hash.update("fatload module 1\0"sv);
  hash.update(codegen_version());
  hash.update("\0"sv);
  for (const Image& image : images) {
    hash.update_u32(image.kind);
    hash.update_u32(image.sm);
    hash.update_u64(image.bytes.size());
    hash.update(image.bytes);
  }
  return hex(hash.digest());
}

std::string object_id(std::string_view module, std::string_view kernel, std::string_view target, std::string_view shape,
                      std::string_view options) {
  using namespace std::string_view_literals;
  Blake2b hash;
  hash.update("fatload object 1\0"sv);
  for (std::string_view part : {module, kernel, target, shape, options}) {
    hash.update(part);
    hash.update("\0"sv);
  }
  return hex(hash.digest());
}

}  // namespace fatload::client
