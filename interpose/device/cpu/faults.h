// Faults inside of kernels (bad addresses, integer division by zero, exhausted stacks) end the launch, not the process.
#pragma once

namespace fatload::cpu {

class Worker;

// The worker whose kernel code runs on this thread; null outside of kernels.
Worker*& faults_worker();

// Installs the signal handlers, once a process, and gives the calling thread a stack to handle them on.
void prepare_faults();

}  // namespace fatload::cpu
