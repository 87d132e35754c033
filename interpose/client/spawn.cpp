#include "client/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace fatload::client {
namespace {

// The list without the entry that is our own folder: the interpreter must not meet this libcuda.
std::string without_entry(const std::string& list, const std::string& entry) {
  std::string out, rest = list;
  for (;;) {
    size_t colon = rest.find(':');
    std::string item = rest.substr(0, colon);
    if (!item.empty() && item != entry && item != entry + "/") out += (out.empty() ? "" : ":") + item;
    if (colon == std::string::npos) return out;
    rest = rest.substr(colon + 1);
  }
}

// The service starts in "/", so relative entries are made absolute.
std::string absolute_entries(const std::string& list) {
  char* here = getcwd(nullptr, 0);
  std::string base = here ? here : "/", out, rest = list;
  std::free(here);
  for (;;) {
    size_t colon = rest.find(':');
    std::string item = rest.substr(0, colon);
    if (!item.empty()) out += (out.empty() ? "" : ":") + (item[0] == '/' ? item : base + "/" + item);
    if (colon == std::string::npos) return out;
    rest = rest.substr(colon + 1);
  }
}

std::vector<std::string> service_environment(const Interpreter& python, const std::string& cache) {
  std::vector<std::string> out;
  for (char** at = environ; at && *at; ++at) {
    std::string item = *at, name = item.substr(0, item.find('='));
    if (name == "LD_PRELOAD" || name == "LD_AUDIT" || name == "PYTHONHOME" || name == "PYTHONSTARTUP" ||
        name == "PYTHONINSPECT" || name == "FATLOAD_CACHE_DIR")
      continue;
    if (name == "PYTHONPATH") {
      // A program's own Python path may hide modules of the service; it counts only with an interpreter chosen by hand.
      if (!python.named) continue;
      item = name + "=" + absolute_entries(item.substr(name.size() + 1));
    }
    if (name == "LD_LIBRARY_PATH") {
      std::string kept = without_entry(item.substr(name.size() + 1), own_directory());
      if (kept.empty()) continue;
      item = name + "=" + kept;
    }
    out.push_back(std::move(item));
  }
  out.push_back("FATLOAD_CACHE_DIR=" + cache);
  return out;
}

struct Request {
  const char* program;
  char** arguments;
  char** environment;
  posix_spawn_file_actions_t* actions;
  posix_spawnattr_t* attributes;
  pid_t pid = -1;
  int error = 0;
};

// Runs in a short-lived process that shares our memory: the service becomes its child, and an orphan when it leaves.
int intermediate(void* argument) {
  Request* request = static_cast<Request*>(argument);
  // Only this process moves: without CLONE_FS the folder is its own.
  if (chdir("/") != 0) request->error = errno;
  request->error = posix_spawn(&request->pid, request->program, request->actions, request->attributes,
                               request->arguments, request->environment);
  _exit(0);
}

void close_descriptors(posix_spawn_file_actions_t* actions) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(actions, 3);
#else
  DIR* directory = opendir("/proc/self/fd");
  if (!directory) return;
  while (dirent* entry = readdir(directory)) {
    int number = std::atoi(entry->d_name);
    if (number > 2 && number != dirfd(directory)) posix_spawn_file_actions_addclose(actions, number);
  }
  closedir(directory);
#endif
}

}  // namespace

Spawned spawn_service(const Interpreter& python, const std::string& cache, const std::string& log) {
  std::string program = search_path(python.path);
  if (program.empty()) return {-1, ENOENT};
  if (program[0] != '/') program = absolute_entries(program);
  std::vector<std::string> environment = service_environment(python, cache);
  std::vector<char*> variables;
  for (std::string& item : environment) variables.push_back(item.data());
  variables.push_back(nullptr);
  std::string module_flag = "-m", module = "fatload", command = "serve";
  char* arguments[] = {program.data(), module_flag.data(), module.data(), command.data(), nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  close_descriptors(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(&attributes, flags);

  Request request{program.c_str(), arguments, variables.data(), &actions, &attributes};
  Spawned result;
  constexpr size_t kStack = 256 << 10;
  void* stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) {
    result.error = errno;
  } else {
    // No exit signal: the program's own wait() calls and SIGCHLD handlers never see this process.
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int child = clone(intermediate, static_cast<char*>(stack) + kStack, CLONE_VM | CLONE_VFORK, &request);
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (child < 0) {
      result.error = failure;
    } else {
      while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
      }
      result.pid = request.error == 0 ? request.pid : -1;
      result.error = request.error;
    }
    munmap(stack, kStack);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

bool process_runs(pid_t pid) {
  char path[64], line[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t got = read(file, line, sizeof line - 1);
  close(file);
  if (got <= 0) return false;
  line[got] = 0;
  // The state follows the name, which is in parentheses and may hold anything.
  const char* state = std::strrchr(line, ')');
  return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

}  // namespace fatload::client
