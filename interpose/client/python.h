// Which Python interpreter runs the translation service, and where this library lies.
#pragma once
#include <string>

namespace fatload::client {

// The real path of the shared object (or program) that this code is part of; empty when it cannot be told.
std::string own_path();
std::string own_directory();

struct Interpreter {
  std::string path;
  bool named = false;  // named by FATLOAD_PYTHON: the user answers for its search path
};

// FATLOAD_PYTHON; else PREFIX/bin/python3.X for a library at PREFIX/lib/python3.X/site-packages/fatload/native/;
// else what the file `python.path` next to the library names; else `python3` of the PATH.
Interpreter find_interpreter(const std::string& native_directory);

// Finds an executable file as a shell does; empty when there is none.
std::string search_path(const std::string& name);

}  // namespace fatload::client
