// The machine that the CPU device is: threads, memory, instruction set, names.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace fatload::cpu {

// Threads to compute with: FATLOAD_CPU_THREADS, else what affinity and the control group's quota leave.
unsigned host_threads();

// Bytes of memory: the machine's, or the control group's limit where it is lower.
size_t host_memory();
// Bytes that could be allocated now.
size_t host_free_memory();

// Targets that this processor runs, best first: x86-64-v4, x86-64-v3. FATLOAD_CPU_TARGET names the best to use. Empty,
// with a line in `error`, when the processor is below x86-64-v3 or the setting is not a target.
std::vector<std::string> host_targets(std::string* error);

std::string host_processor();  // "AMD EPYC 7763 64-Core Processor"
int host_clock_khz();
size_t host_cache_bytes();

}  // namespace fatload::cpu
