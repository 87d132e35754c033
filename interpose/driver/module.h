// Loading of modules, shared by the driver API and the runtimes' own entry points.
#pragma once
#include <string>

#include "driver/state.h"

namespace fatload {

void compute_capability(int* major, int* minor);

// Loads an image into a context (NULL: a library's module, which no context owns). `log`: the JIT log.
CUresult load_module(CUmodule* out, const void* image, CUcontext context, std::string* log = nullptr);

bool is_module(CUmodule);
CUresult find_function(CUmodule, const char* name, CUfunc_st** out);

}  // namespace fatload
