// Identities of modules and objects (docs/architecture.md, "Names and identities").
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace fatload::client {

// The code generation version: FATLOAD_CODEGEN_VERSION of the environment, else what the build compiled in.
std::string codegen_version();

std::string module_id(const std::vector<Image>& images);
std::string object_id(std::string_view module, std::string_view kernel, std::string_view target, std::string_view shape,
                      std::string_view options);

}  // namespace fatload::client
