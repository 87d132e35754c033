// The command `fatload`. `fatload run` prepares the environment and becomes the program; every other command is Python.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "client/python.h"
#include "launcher/paths.h"

namespace {

using namespace fatload::launcher;

constexpr char kHelp[] =
    "Usage: fatload run [--device auto|cpu] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs PROGRAM, a CUDA program as NVIDIA's compiler built it, without an NVIDIA GPU. The exit status is the\n"
    "program's; 127 when there is no such program, 126 when it cannot be executed.\n"
    "\n"
    "  --device DEVICE   what executes the kernels: cpu, or auto (now the same)\n"
    "  --                ends the options; what follows is the program\n"
    "  --help            this text\n"
    "\n"
    "Examples:\n"
    "  fatload run ./vectoradd\n"
    "  fatload run --device cpu -- ./train --epochs 3\n"
    "\n"
    "Environment:\n"
    "  FATLOAD_CACHE_DIR     translated kernels (~/.cache/fatload)\n"
    "  FATLOAD_CPU_THREADS   threads of the CPU device (as many as there are processors)\n"
    "  FATLOAD_CPU_TARGET    x86-64-v3 or x86-64-v4 (what the processor has)\n"
    "  FATLOAD_CPU_STACK     bytes of a warp's stack, e.g. 4M (1M)\n"
    "  FATLOAD_PYTHON        interpreter of the translation service (that of the installation)\n"
    "  FATLOAD_LOG           file for the service's messages\n"
    "\n"
    "`fatload env` prints the same settings for a shell, after which any program runs without `fatload run`.\n";

int fail(int status, const std::string& message) {
  std::fprintf(stderr, "fatload: %s\n", message.c_str());
  return status;
}

// Puts `entry` in front of a list in a variable, once.
void prepend(const char* variable, const std::string& entry, const char* separators) {
  const char* present = std::getenv(variable);
  std::string rest = present ? present : "", value = entry;
  while (!rest.empty()) {
    size_t colon = rest.find_first_of(separators);
    std::string item = rest.substr(0, colon);
    if (!item.empty() && item != entry) value += ":" + item;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  setenv(variable, value.c_str(), 1);
}

// Sets FATLOAD_DEVICE; an empty answer: good.
std::string choose_device(const std::string& device) {
  if (device == "auto" || device == "cpu") {
    setenv("FATLOAD_DEVICE", device.c_str(), 1);
    return "";
  }
  if (device == "hip" || device.starts_with("hip:"))
    return "the device 'hip' (AMD GPUs) does not exist yet; use --device cpu";
  return "unknown device '" + device + "'; known: auto, cpu";
}

// Whether a file begins as text does. Shells look for NUL alone; other control characters tell binary files as well.
bool is_text(const std::string& path) {
  char head[128];
  FILE* file = std::fopen(path.c_str(), "rbe");
  if (!file) return false;
  size_t count = std::fread(head, 1, sizeof head, file);
  std::fclose(file);
  return std::all_of(head, head + count, [](unsigned char c) { return c >= ' ' || std::isspace(c) || c == '\x1b'; });
}

int run_program(std::vector<char*> program, const std::string& native) {
  bool found_only;
  std::string file = find_command(program[0], &found_only);
  if (file.empty())
    return found_only ? fail(126, std::string(program[0]) + ": cannot be executed")
                      : fail(127, std::string(program[0]) + ": not found");
  prepend("LD_LIBRARY_PATH", native, ":;");
  // The loader splits this list at blanks, too; then the folder on the search path has to do.
  prepend("LD_PRELOAD", native.find(' ') == std::string::npos ? native + "/libcuda.so.1" : "libcuda.so.1", ": ");
  program.push_back(nullptr);
  execv(file.c_str(), program.data());
  int error = errno;
  if (error == ENOEXEC && is_text(file)) {
    // A script without an interpreter line: shells run it themselves.
    std::vector<char*> shell = {const_cast<char*>("/bin/sh"), file.data()};
    shell.insert(shell.end(), program.begin() + 1, program.end());
    execv("/bin/sh", shell.data());
  }
  return fail(error == ENOENT ? 127 : 126, file + ": " + std::strerror(error));
}

int run(int count, char** arguments, const std::string& native) {
  std::string device;
  int at = 0;
  for (; at < count && arguments[at][0] == '-'; ++at) {
    std::string option = arguments[at];
    if (option == "--") {
      ++at;
      break;
    }
    if (option == "--help" || option == "-h") return std::fputs(kHelp, stdout) < 0;
    if (option == "--device") {
      if (++at == count) return fail(2, "--device needs a value: auto or cpu");
      device = arguments[at];
    } else if (option.starts_with("--device=")) {
      device = option.substr(std::strlen("--device="));
    } else {
      return fail(2, "unknown option " + option + "; see fatload run --help");
    }
  }
  const char* setting = std::getenv("FATLOAD_DEVICE");
  if (device.empty()) device = setting && *setting ? setting : "auto";
  if (std::string error = choose_device(device); !error.empty()) return fail(2, error);
  if (at == count) return fail(2, "no program given; see fatload run --help");
  if (native.empty())
    return fail(1, "libcuda.so.1 is not where this installation should have it; FATLOAD_HOME names its folder");
  return run_program(std::vector<char*>(arguments + at, arguments + count), native);
}

int hand_over(int count, char** arguments, const std::string& native) {
  fatload::client::Interpreter python = fatload::client::find_interpreter(native);
  std::vector<char*> all = {python.path.data(), const_cast<char*>("-m"), const_cast<char*>("fatload")};
  all.insert(all.end(), arguments, arguments + count);
  all.push_back(nullptr);
  execvp(python.path.c_str(), all.data());
  int error = errno;
  return fail(error == ENOENT ? 127 : 126,
              "cannot run " + python.path + ": " + std::strerror(error) + " (FATLOAD_PYTHON names the interpreter)");
}

}  // namespace

int main(int count, char** arguments) {
  // A link in a virtual environment may lead out of it, so the path as it was typed comes first.
  std::string native = find_native(invoked_path(arguments[0]));
  if (native.empty()) native = find_native(real_path("/proc/self/exe"));
  if (count > 1 && std::strcmp(arguments[1], "run") == 0) return run(count - 2, arguments + 2, native);
  return hand_over(count - 1, arguments + 1, native);
}
