#include "device/cpu/kernel.h"

#include <cstdlib>
#include <cstring>

#include "device/cpu/runtime.h"
#include "device/cpu/state.h"

namespace fatload::cpu {

void KernelCode::measured(uint64_t elapsed, uint64_t ctas) {
  uint64_t sample = std::min<uint64_t>(elapsed / ctas + 1, 1u << 30),
           before = nanoseconds.load(std::memory_order_relaxed);
  uint64_t mean = before ? (3 * before + sample) / 4 : sample;
  nanoseconds.store(static_cast<uint32_t>(mean), std::memory_order_relaxed);
}

KernelJob::KernelJob(State& state, std::shared_ptr<KernelCode> code, std::shared_ptr<uint8_t> module_data,
                     Launch&& launch, uint64_t grid_id, uint32_t live_limit)
    : Job(uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]),
      state_(state),
      code_(std::move(code)),
      module_data_(std::move(module_data)),
      launch_(std::move(launch)),
      params_(nullptr, std::free),
      grid_id_(grid_id),
      live_limit_(live_limit) {
  uint32_t threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
  warps_ = (threads + 31) / 32;
  last_active_ = threads % 32 ? (1u << threads % 32) - 1 : ~0u;
  shared_bytes_ = code_->static_shared + launch_.dynamic_shared;
  // Aligned and padded for vector loads of parameters.
  size_t bytes = (launch_.params.size() + 127) / 64 * 64;
  params_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, bytes)));
  std::memset(params_.get(), 0, bytes);
  if (!launch_.params.empty()) std::memcpy(params_.get(), launch_.params.data(), launch_.params.size());
  if (launch_.cooperative) workspace_ = std::make_unique<uint64_t[]>(8);
}

void KernelJob::fill(Warp* warp) const {
  warp->params = params_.get();
  warp->module = module_data_.get();
  warp->runtime = runtime_table();
  for (int i = 0; i < 3; ++i) {
    warp->nctaid[i] = launch_.grid[i];
    warp->ntid[i] = launch_.block[i];
  }
  warp->nwarps = warps_;
  warp->local_stride = code_->local_stride;
  warp->shared_bytes = shared_bytes_;
  warp->dynamic_shared_bytes = launch_.dynamic_shared;
  warp->gridid = grid_id_;
  uint64_t workspace = reinterpret_cast<uint64_t>(workspace_.get());
  warp->envreg1 = static_cast<uint32_t>(workspace >> 32);
  warp->envreg2 = static_cast<uint32_t>(workspace);
}

void KernelJob::place(uint64_t index, uint32_t ctaid[3]) const {
  // Most grids have one dimension, and a 64-bit division is slow.
  if (index < launch_.grid[0]) {
    ctaid[0] = static_cast<uint32_t>(index);
    ctaid[1] = ctaid[2] = 0;
    return;
  }
  uint64_t row = index / launch_.grid[0];
  ctaid[0] = static_cast<uint32_t>(index % launch_.grid[0]);
  ctaid[1] = static_cast<uint32_t>(row % launch_.grid[1]);
  ctaid[2] = static_cast<uint32_t>(row / launch_.grid[1]);
}

void KernelJob::fail(CUresult code, const std::string& message) {
  int none = 0;
  if (!failure_.compare_exchange_strong(none, static_cast<int>(code))) return;
  if (!message.empty()) write_error(message);
  state_.stick(code);
  cancel();
}

std::string describe(const KernelJob& job, const Warp& warp) {
  return "kernel " + job.code().name + ": CTA (" + std::to_string(warp.ctaid[0]) + "," + std::to_string(warp.ctaid[1]) +
         "," + std::to_string(warp.ctaid[2]) + ")";
}

}  // namespace fatload::cpu
