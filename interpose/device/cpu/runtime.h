// The functions that translated code calls (abi.h, RuntimeTable).
#pragma once
#include <cstdint>
#include <string>

#include "api/cuda_api.h"
#include "device/cpu/abi.h"

namespace fatload::cpu {

const RuntimeTable* runtime_table();

// Ends the launch that a warp belongs to: reports `what` with kernel and CTA, makes `code` stick, leaves the kernel's
// stack.
[[noreturn]] void fail_kernel(Warp* warp, CUresult code, const std::string& what);
// The same for a message that says everything itself.
[[noreturn]] void fail_kernel_plainly(Warp* warp, CUresult code, const std::string& message);

}  // namespace fatload::cpu
