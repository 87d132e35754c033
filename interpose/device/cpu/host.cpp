#include "device/cpu/host.h"

#include <cpuid.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace fatload::cpu {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The folders of this process's control group and of its ancestors, for version 2 or for one controller of version 1.
std::vector<std::string> group_folders(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  std::vector<std::string> folders;
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",", path = line.substr(second + 1);
    std::string root;
    if (controllers == ",,")
      root = "/sys/fs/cgroup";
    else if (controllers.find("," + controller + ",") != std::string::npos)
      root = "/sys/fs/cgroup/" + controller;
    else
      continue;
    // Inside of a container the path may not exist: then the root is the container's own group.
    for (;; path.resize(path.rfind('/'))) {
      folders.push_back(root + path);
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return folders;
}

// Bytes of a control group's memory that cache files and that the kernel gives back when asked.
size_t reclaimable(const std::string& folder) {
  std::ifstream file(folder + "/memory.stat");
  size_t sum = 0, value;
  for (std::string key; file >> key >> value;)
    if (key == "inactive_file" || key == "active_file") sum += value;
  return sum;
}

// The quota in processors; 0: none.
double quota() {
  double lowest = 0;
  auto take = [&lowest](double processors) { lowest = lowest == 0 ? processors : std::min(lowest, processors); };
  for (const std::string& folder : group_folders("cpu")) {
    double limit, period;
    if (std::istringstream(first_line(folder + "/cpu.max")) >> limit >> period && period > 0) take(limit / period);
    if (std::istringstream(first_line(folder + "/cpu.cfs_quota_us")) >> limit && limit > 0 &&
        std::istringstream(first_line(folder + "/cpu.cfs_period_us")) >> period && period > 0)
      take(limit / period);
  }
  return lowest;
}

unsigned allowed_processors() {
  // The kernel may know more processors than the fixed-size set holds.
  for (size_t count = 1024; count <= 1 << 20; count *= 4) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (!set) break;
    size_t bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(bytes, set);
    int failed = sched_getaffinity(0, bytes, set), found = failed ? 0 : CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (found > 0) return static_cast<unsigned>(found);
  }
  return static_cast<unsigned>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
}

size_t memory_info(const char* name) {
  std::ifstream file("/proc/meminfo");
  std::string key;
  size_t kibibytes;
  std::string unit;
  while (file >> key >> kibibytes) {
    std::getline(file, unit);
    if (key == name) return kibibytes << 10;
  }
  return 0;
}

bool feature(unsigned leaf, unsigned subleaf, int reg, unsigned bit) {
  unsigned r[4];
  if (!__get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
  return r[reg] >> bit & 1;
}

enum { kEax, kEbx, kEcx, kEdx };

// The operating system must save the registers as well.
bool registers_saved(unsigned mask) {
  if (!feature(1, 0, kEcx, 27)) return false;
  unsigned low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & mask) == mask;
}

bool has_v3() {
  bool basic = feature(1, 0, kEcx, 0) && feature(1, 0, kEcx, 9) && feature(1, 0, kEcx, 12) && feature(1, 0, kEcx, 13) &&
               feature(1, 0, kEcx, 19) && feature(1, 0, kEcx, 20) && feature(1, 0, kEcx, 22) &&
               feature(1, 0, kEcx, 23) && feature(1, 0, kEcx, 28) && feature(1, 0, kEcx, 29);
  return basic && registers_saved(0x6) && feature(7, 0, kEbx, 3) && feature(7, 0, kEbx, 5) && feature(7, 0, kEbx, 8) &&
         feature(0x80000001, 0, kEcx, 5);
}

bool has_v4() {
  // F, DQ, CD, BW, VL
  return has_v3() && registers_saved(0xe6) && feature(7, 0, kEbx, 16) && feature(7, 0, kEbx, 17) &&
         feature(7, 0, kEbx, 28) && feature(7, 0, kEbx, 30) && feature(7, 0, kEbx, 31);
}

}  // namespace

unsigned host_threads() {
  const char* text = std::getenv("FATLOAD_CPU_THREADS");
  if (text) {
    char* end;
    long value = std::strtol(text, &end, 10);
    if (*text && !*end && value > 0) return static_cast<unsigned>(std::min(value, 4096l));
  }
  unsigned threads = allowed_processors();
  double limit = quota();
  if (limit > 0) threads = std::min(threads, static_cast<unsigned>(std::max(1.0, limit + 0.5)));
  return std::max(1u, threads);
}

size_t host_memory() {
  size_t bytes = memory_info("MemTotal:");
  for (const std::string& folder : group_folders("memory")) {
    for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
      size_t limit;
      if (std::istringstream(first_line(folder + name)) >> limit && limit > 0) bytes = std::min(bytes, limit);
    }
  }
  return bytes;
}

size_t host_free_memory() {
  size_t bytes = memory_info("MemAvailable:");
  for (const std::string& folder : group_folders("memory")) {
    const char* names[][2] = {{"/memory.max", "/memory.current"}, {"/memory.limit_in_bytes", "/memory.usage_in_bytes"}};
    for (auto& [limit_name, used_name] : names) {
      size_t limit, used;
      if (!(std::istringstream(first_line(folder + limit_name)) >> limit) ||
          !(std::istringstream(first_line(folder + used_name)) >> used))
        continue;
      used -= std::min(used, reclaimable(folder));
      bytes = std::min(bytes, limit > used ? limit - used : 0);
    }
  }
  return bytes;
}

std::vector<std::string> host_targets(std::string* error) {
  std::vector<std::string> targets;
  if (has_v4()) targets.push_back("x86-64-v4");
  if (has_v3()) targets.push_back("x86-64-v3");
  if (targets.empty()) {
    *error = "this processor lacks AVX2, FMA or another part of x86-64-v3, which the CPU device needs";
    return targets;
  }
  const char* cap = std::getenv("FATLOAD_CPU_TARGET");
  if (!cap || !*cap) return targets;
  auto found = std::find(targets.begin(), targets.end(), cap);
  if (found == targets.end()) {
    *error = "FATLOAD_CPU_TARGET=" + std::string(cap) + " is not a target that this processor runs (x86-64-v3" +
             (targets.size() > 1 ? ", x86-64-v4)" : ")");
    return {};
  }
  targets.erase(targets.begin(), found);
  return targets;
}

std::string host_processor() {
  unsigned r[12] = {};
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004) return "x86-64";
  for (unsigned i = 0; i < 3; ++i) __get_cpuid(0x80000002 + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
  char text[49] = {};
  std::memcpy(text, r, 48);
  std::string name(text);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name.substr(std::min(name.find_first_not_of(' '), name.size()));
}

int host_clock_khz() {
  int khz = std::atoi(first_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").c_str());
  if (khz > 0) return khz;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("cpu MHz"))
      return static_cast<int>(std::strtod(line.substr(line.find(':') + 1).c_str(), nullptr) * 1000);
  return 2000000;
}

size_t host_cache_bytes() {
  for (int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    long bytes = sysconf(name);
    if (bytes > 0) return static_cast<size_t>(std::min<long>(bytes, std::numeric_limits<int>::max()));
  }
  return 1 << 20;
}

}  // namespace fatload::cpu
