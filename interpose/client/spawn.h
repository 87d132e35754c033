// Starts the translation service as a process that belongs to nobody: no child of the program, no terminal, no
// descriptors.
#pragma once
#include <sys/types.h>

#include <string>

#include "client/python.h"

namespace fatload::client {

struct Spawned {
  pid_t pid = -1;
  int error = 0;  // errno when nothing was started
};

// Runs `PYTHON -m fatload serve` with FATLOAD_CACHE_DIR set to `cache`. Its output goes to the file `log`.
Spawned spawn_service(const Interpreter& python, const std::string& cache, const std::string& log);

// Whether a process that is no child of ours still runs.
bool process_runs(pid_t pid);

}  // namespace fatload::client
