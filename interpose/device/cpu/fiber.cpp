#include "device/cpu/fiber.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

asm(R"(
    .text
    .globl fatload_fiber_switch
    .hidden fatload_fiber_switch
    .type fatload_fiber_switch, @function
    .p2align 4
fatload_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    movq %rdx, %rax
    ret
    .size fatload_fiber_switch, .-fatload_fiber_switch

    .globl fatload_fiber_begin
    .hidden fatload_fiber_begin
    .type fatload_fiber_begin, @function
    .p2align 4
fatload_fiber_begin:
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    .cfi_undefined %rip
    xorl %ebp, %ebp
    movq %rcx, %rdi
    callq *%rdx
    movq %rax, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    movq %rdx, %rax
    ret
    .cfi_endproc
    .size fatload_fiber_begin, .-fatload_fiber_begin
)");

namespace fatload::cpu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGuard = 16 * kPage;  // a frame of a warp's vectors can step over one page without touching it

size_t read_stack_bytes() {
  const char* text = std::getenv("FATLOAD_CPU_STACK");
  unsigned long long value = 0;
  if (text) {
    char* end;
    value = std::strtoull(text, &end, 10);
    if (*end == 'k' || *end == 'K') value <<= 10;
    if (*end == 'm' || *end == 'M') value <<= 20;
  }
  if (value == 0) value = 1 << 20;
  value = std::clamp(value, 64ull << 10, 1ull << 30);
  return (value + kPage - 1) / kPage * kPage;
}

}  // namespace

size_t stack_bytes() {
  static const size_t bytes = read_stack_bytes();
  return bytes;
}

Stack& Stack::operator=(Stack&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(top_, other.top_);
  std::swap(bytes_, other.bytes_);
  std::swap(guard_, other.guard_);
  return *this;
}

Stack::~Stack() {
  if (base_) munmap(base_, bytes_);
}

bool Stack::ready(unsigned colour) {
  if (base_) return true;
  constexpr size_t kColours = 4 * kPage;
  size_t bytes = kGuard + stack_bytes() + kColours;
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  uint8_t* base = static_cast<uint8_t*>(memory);
  if (mprotect(base + kGuard, bytes - kGuard, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, bytes);
    return false;
  }
  base_ = base;
  bytes_ = bytes;
  guard_ = kGuard;
  top_ = base + bytes - colour * 1088 % kColours / 64 * 64;
  return true;
}

void Stack::forget_frames() const {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(base_ + guard_, bytes_ - guard_);
#endif
}

}  // namespace fatload::cpu
