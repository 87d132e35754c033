#include "client/python.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace fatload::client {
namespace {

bool executable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

std::string parent(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string last(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Takes PREFIX/lib/python3.X/site-packages/fatload/native apart.
std::string from_layout(const std::string& native) {
  std::string packages = parent(parent(native)), versioned = parent(packages), lib = parent(versioned);
  std::string version = last(versioned);
  if (last(native) != "native" || last(packages).find("-packages") == std::string::npos) return "";
  if (!version.starts_with("python") || !last(lib).starts_with("lib")) return "";
  std::string bin = parent(lib) + "/bin/";
  for (const std::string& name : {version, std::string("python3"), std::string("python")})
    if (executable(bin + name)) return bin + name;
  // pip's --user layout has no interpreter of its own: the version's name on the PATH is the one that pip ran under.
  return search_path(version);
}

std::string from_record(const std::string& native) {
  std::ifstream file(native + "/python.path");
  std::string path;
  if (!std::getline(file, path) || path.empty() || path[0] != '/') return "";
  return executable(path) ? path : "";
}

}  // namespace

std::string own_path() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&own_path), &info) == 0 || !info.dli_fname) return "";
  char real[PATH_MAX];
  return realpath(info.dli_fname, real) ? real : "";
}

std::string own_directory() { return parent(own_path()); }

std::string search_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return executable(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::string rest = path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    size_t colon = rest.find(':');
    std::string directory = rest.substr(0, colon);
    std::string file = (directory.empty() ? "." : directory) + "/" + name;
    if (executable(file)) return file;
    if (colon == std::string::npos) return "";
    rest = rest.substr(colon + 1);
  }
}

Interpreter find_interpreter(const std::string& native_directory) {
  const char* named = std::getenv("FATLOAD_PYTHON");
  if (named && *named) return {named, true};
  for (const std::string& path : {from_layout(native_directory), from_record(native_directory)})
    if (!path.empty()) return {path, false};
  std::string path = search_path("python3");
  return {path.empty() ? "python3" : path, false};
}

}  // namespace fatload::client
