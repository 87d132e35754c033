#include "device/cpu/halves.h"

#include <bit>

namespace fatload::cpu {
namespace {

// Rounds a double to a format with `kMantissa` fraction bits and `kExponent` exponent bits, in one rounding.
template <int kMantissa, int kExponent>
uint16_t narrow(double value) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr uint16_t kInfinity = ((1 << kExponent) - 1) << kMantissa;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) {
    if (fraction == 0) return sign | kInfinity;
    return static_cast<uint16_t>(sign | kInfinity | 1 << (kMantissa - 1) | fraction >> (52 - kMantissa));
  }
  if (exponent == 0) return sign;  // doubles this small are below half of the smallest result
  int to = exponent - 1023 + kBias;
  uint64_t significand = fraction | uint64_t{1} << 52;
  int drop = 52 - kMantissa;
  if (to <= 0) {  // the result is subnormal
    drop += 1 - to;
    if (drop > 63) return sign;
    to = 0;
  } else {
    significand = fraction;
  }
  uint64_t kept = significand >> drop, rest = significand & ((uint64_t{1} << drop) - 1),
           middle = uint64_t{1} << (drop - 1);
  kept += static_cast<uint64_t>(to) << kMantissa;
  // A carry out of the fraction moves into the exponent, which is what rounding up to the next power needs.
  if (rest > middle || (rest == middle && (kept & 1))) ++kept;
  return static_cast<uint16_t>(sign | (kept >= kInfinity ? kInfinity : kept));
}

float low_bits(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits}); }

}  // namespace

uint16_t half_from_double(double value) { return narrow<10, 5>(value); }
uint16_t bfloat_from_double(double value) { return narrow<7, 8>(value); }

// A float widens exactly, but a signalling NaN must not raise anything: work on bits for NaN first.
uint16_t half_from_float(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff));
  return half_from_double(static_cast<double>(value));
}

uint16_t bfloat_from_float(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float float_from_half(uint16_t bits) {
  uint32_t sign = uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
  if (exponent == 0) {
    if (fraction == 0) return std::bit_cast<float>(sign);
    int shift = std::countl_zero(fraction) - 21;  // brings the leading one to bit 10
    return std::bit_cast<float>(sign | static_cast<uint32_t>(113 - shift) << 23 | (fraction << shift & 0x3ff) << 13);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

float abi_truncdfhf2(double value) { return low_bits(half_from_double(value)); }
float abi_truncsfhf2(float value) { return low_bits(half_from_float(value)); }
float abi_truncdfbf2(double value) { return low_bits(bfloat_from_double(value)); }
float abi_truncsfbf2(float value) { return low_bits(bfloat_from_float(value)); }
float abi_extendhfsf2(float bits) { return float_from_half(static_cast<uint16_t>(std::bit_cast<uint32_t>(bits))); }

}  // namespace fatload::cpu
