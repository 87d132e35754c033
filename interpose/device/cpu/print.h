// printf of device code: CUDA's format language over a block of arguments, each at a multiple of its own size.
#pragma once
#include <cstdint>
#include <string>

namespace fatload::cpu {

// Formats one call. `arguments` holds 4-byte and 8-byte items (characters and shorts widened to int, float to double).
// Answers the number of arguments the format takes; null format: -1.
int format_device(const char* format, const uint8_t* arguments, std::string* out);

}  // namespace fatload::cpu
