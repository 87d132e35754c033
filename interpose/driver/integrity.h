// The keyed hash by which runtimes make sure of their driver: HMAC (RFC 2104) over MD2 (RFC 1319).
#pragma once
#include <cstddef>
#include <cstdint>

namespace fatload {

void md2(const uint8_t* bytes, size_t count, uint8_t out[16]);
void hmac_md2(const uint8_t key[16], const uint8_t* bytes, size_t count, uint8_t out[16]);

}  // namespace fatload
