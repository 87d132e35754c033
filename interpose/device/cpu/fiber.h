// Stackful fibers: a switch of callee-saved registers, and stacks with guard pages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace fatload::cpu {

// Which saved context to continue, and what the call that saved it returns there.
struct Continuation {
  void* context;
  uintptr_t value;
};

}  // namespace fatload::cpu

// Saves the running context, stores its stack pointer to *save, and continues the context `to`, in which the call that
// saved it returns `value`. The control words of the floating-point units stay as they are: who switches sets them.
extern "C" uintptr_t fatload_fiber_switch(void** save, void* to, uintptr_t value);

// The same, but begins a fiber: calls entry(argument) on a stack that ends at `top` (a multiple of 16). When entry
// returns, what it answers is continued. Calls and returns stay paired this way, as the processor's predictor of
// returns wants them.
extern "C" uintptr_t fatload_fiber_begin(void** save, void* top, fatload::cpu::Continuation (*entry)(void*),
                                         void* argument);

namespace fatload::cpu {

// Bytes of a warp's stack: FATLOAD_CPU_STACK (suffixes K and M allowed) or 1 MiB; whole pages.
size_t stack_bytes();

class Stack {
 public:
  Stack() = default;
  Stack(Stack&& other) noexcept { *this = std::move(other); }
  Stack& operator=(Stack&& other) noexcept;
  ~Stack();

  // Maps the stack if it is not there yet. `colour` shifts the top, so that the tops of many stacks do not compete for
  // the same cache sets. False: no memory.
  bool ready(unsigned colour);

  void* top() const { return top_; }

  // The address to restart from when what lies on the stack is abandoned; aligned as after a call.
  void* restart() const { return top_ - 8; }
  // Before what lies on the stack is abandoned: AddressSanitizer, where it is built in, forgets its marks there.
  void forget_frames() const;
  bool in_guard(uintptr_t address) const {
    uintptr_t low = reinterpret_cast<uintptr_t>(base_);
    return base_ && address >= low && address < low + guard_;
  }

 private:
  uint8_t* base_ = nullptr;
  uint8_t* top_ = nullptr;
  size_t bytes_ = 0, guard_ = 0;
};

}  // namespace fatload::cpu
