#include "launcher/paths.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace fatload::launcher {
namespace {

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string parent(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The pythonX.Y folders below a lib folder, the latest version first.
std::vector<std::string> versions(const std::string& lib) {
  std::vector<std::string> out;
  DIR* folder = opendir(lib.c_str());
  if (!folder) return out;
  while (dirent* entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name.starts_with("python3")) out.push_back(name);
  }
  closedir(folder);
  // python3.9 comes before python3.10.
  std::sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  });
  return out;
}

std::string below_prefix(const std::string& prefix) {
  for (const char* lib : {"/lib", "/lib64", "/local/lib"})
    for (const std::string& version : versions(prefix + lib))
      for (const char* packages : {"/site-packages", "/dist-packages"}) {
        std::string native = prefix + lib + "/" + version + packages + "/fatload/native";
        if (is_file(native + "/libcuda.so.1")) return native;
      }
  // Debian's pip puts packages of all versions in one folder.
  std::string shared = prefix + "/lib/python3/dist-packages/fatload/native";
  return is_file(shared + "/libcuda.so.1") ? shared : "";
}

}  // namespace

std::string find_native(const std::string& executable) {
  const char* home = std::getenv("FATLOAD_HOME");
  if (home && *home) {
    std::string base = real_path(home);
    for (const char* below : {"", "/native", "/fatload/native"})
      if (!base.empty() && is_file(base + below + "/libcuda.so.1")) return base + below;
    return base.empty() ? "" : below_prefix(base);
  }
  std::string folder = parent(executable);
  // A build folder, or a copy next to the library.
  if (is_file(folder + "/libcuda.so.1")) return real_path(folder);
  return real_path(below_prefix(parent(folder)));
}

std::string invoked_path(const char* argument0) {
  std::string name = argument0 ? argument0 : "";
  if (name.find('/') != std::string::npos) {
    if (name[0] == '/') return name;
    char here[PATH_MAX];
    return getcwd(here, sizeof here) ? std::string(here) + "/" + name : "";
  }
  bool found_only;
  return name.empty() ? "" : find_command(name, &found_only);
}

std::string real_path(const std::string& path) {
  char real[PATH_MAX];
  return !path.empty() && realpath(path.c_str(), real) ? real : "";
}

std::string find_command(const std::string& name, bool* found_only) {
  *found_only = false;
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), F_OK) != 0) return "";
    struct stat status;
    bool runs = stat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(name.c_str(), X_OK) == 0;
    *found_only = !runs;
    return runs ? name : "";
  }
  const char* path = std::getenv("PATH");
  std::string rest = path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    size_t colon = rest.find(':');
    std::string folder = rest.substr(0, colon), file = (folder.empty() ? "." : folder) + "/" + name;
    if (is_file(file)) {
      if (access(file.c_str(), X_OK) == 0) {
        *found_only = false;
        return file;
      }
      *found_only = true;
    }
    if (colon == std::string::npos) return "";
    rest = rest.substr(colon + 1);
  }
}

}  // namespace fatload::launcher
