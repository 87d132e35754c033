// Where the parts of an installation lie, seen from the launcher.
#pragma once
#include <string>

namespace fatload::launcher {

// The folder that holds libcuda.so.1: FATLOAD_HOME, or fatload/native below the Python packages of the installation
// that `executable` (a real path, or a path in a virtual environment) belongs to. Empty when there is none.
std::string find_native(const std::string& executable);

// The path the launcher was started by, links not followed, and its real path; empty when they cannot be told.
std::string invoked_path(const char* argument0);
std::string real_path(const std::string& path);

// As a shell looks for a command; empty when there is none. *found_only: a file is there but cannot be executed.
std::string find_command(const std::string& name, bool* found_only);

}  // namespace fatload::launcher
