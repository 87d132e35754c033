// Conversions to and from 16-bit floats that LLVM calls by name, with its calling convention: a 16-bit value travels in
// the low bits of an XMM register, which is where a float's bits lie.
#pragma once
#include <cstdint>

namespace fatload::cpu {

// Round to nearest even; NaN stays NaN (quiet); overflow gives infinity.
uint16_t half_from_double(double value);
uint16_t half_from_float(float value);
uint16_t bfloat_from_double(double value);
uint16_t bfloat_from_float(float value);
float float_from_half(uint16_t bits);

// The entry points for translated code.
float abi_truncdfhf2(double value);
float abi_truncsfhf2(float value);
float abi_truncdfbf2(double value);
float abi_truncsfbf2(float value);
float abi_extendhfsf2(float bits);

}  // namespace fatload::cpu
