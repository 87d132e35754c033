// What translated code and the CPU runtime know of each other. The twin of fatload/codegen/cpu/abi.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fatload::cpu {

struct Warp;

// Functions that translated code calls. A kernel starts with SSE's default control word (MXCSR 0x1f80). It may set bits
// for the whole kernel first thing; then they are the same wherever it calls the runtime. A rounding mode set around an
// operation does not span a call. The x87 unit is not used. Masks say which lanes take part; vectors are arrays of 32
// elements, lane by lane.
struct RuntimeTable {
  // bar/barrier: waits for `threads` threads (0: all of the CTA) at barrier `id`; `mask` lanes arrive. Operation 0
  // sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or (`predicates`: the lanes' inputs; answers the count or 0/1).
  uint32_t (*barrier)(Warp*, uint32_t id, uint32_t threads, uint32_t mask, uint32_t operation, uint32_t predicates);
  void (*yield)(Warp*);                                                // another warp or CTA may run
  void (*trap)(Warp*, uint32_t mask, uint32_t reason, uint32_t line);  // does not return; reason: abi::Trap
  void (*vprintf)(Warp*, uint32_t mask, const uint64_t* format, const uint64_t* arguments, uint32_t* result);
  void (*assertfail)(Warp*, uint32_t mask, const uint64_t* message, const uint64_t* file, const uint32_t* line,
                     const uint64_t* function, const uint64_t* char_size);  // does not return
  void (*malloc)(Warp*, uint32_t mask, const uint64_t* bytes, uint64_t* result);
  void (*free)(Warp*, uint32_t mask, const uint64_t* pointers);
  uint64_t (*globaltimer)(Warp*);  // nanoseconds
  void (*nanosleep)(Warp*, uint32_t nanoseconds);
};

enum Trap : uint32_t {
  kTrapInstruction = 0,
  kTrapBadFunction = 1,
  kTrapDeadlock = 2,
  kTrapBreakpoint = 3,
  kTrapStackOverflow = 4
};

// State of one warp. Offsets are part of the contract.
struct Warp {
  const uint8_t* params;          //   0  kernel parameters at their PTX offsets
  uint8_t* shared;                //   8  the CTA's shared memory: static, then dynamic (aligned to 16)
  uint8_t* local;                 //  16  lane i's local memory is at local + i * local_stride
  uint8_t* module;                //  24  the module's data block
  const RuntimeTable* runtime;    //  32
  uint32_t ctaid[3];              //  40
  uint32_t nctaid[3];             //  52
  uint32_t ntid[3];               //  64
  uint32_t warp;                  //  76  index of the warp in its CTA
  uint32_t nwarps;                //  80
  uint32_t active;                //  84  lanes that exist (the last warp of a CTA may be partial)
  uint32_t live;                  //  88  lanes that have not exited; translated code clears bits
  uint32_t local_stride;          //  92
  uint32_t shared_bytes;          //  96  static + dynamic
  uint32_t dynamic_shared_bytes;  // 100
  uint64_t gridid;                // 104
  uint32_t smid;                  // 112
  uint32_t nsmid;                 // 116
  void* scheduler;                // 120  the runtime's own
  uint32_t local_top;             // 128  bytes of each lane's local memory in use; translated code sets and restores it
  uint32_t envreg1, envreg2;      // 132  high and low half of the address of a cooperative launch's workspace, else 0
};

static_assert(offsetof(Warp, runtime) == 32 && offsetof(Warp, ctaid) == 40 && offsetof(Warp, warp) == 76);
static_assert(offsetof(Warp, live) == 88 && offsetof(Warp, gridid) == 104 && offsetof(Warp, scheduler) == 120);
static_assert(offsetof(Warp, local_top) == 128 && offsetof(Warp, envreg1) == 132 && offsetof(Warp, envreg2) == 136);

}  // namespace fatload::cpu
