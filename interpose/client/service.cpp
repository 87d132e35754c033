#include "client/service.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include "client/blake2b.h"
#include "client/cache.h"
#include "client/ids.h"
#include "client/python.h"
#include "client/spawn.h"

namespace fatload::client {
namespace {

constexpr int kStartSeconds = 60;
constexpr uint32_t kLargestReply = 64 << 20;

uint64_t milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

// The folder of the sockets must be ours alone, or another user could answer in the service's name.
bool private_folder(const std::string& path, std::string* error) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    *error = "cannot make the folder " + path + ": " + std::strerror(errno);
    return false;
  }
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & 077) != 0) {
    *error = path + " is not a folder that only this user can enter; remove it or set XDG_RUNTIME_DIR";
    return false;
  }
  return true;
}

bool send_all(int socket, const char* bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* bytes, size_t count) {
  while (count > 0) {
    ssize_t got = recv(socket, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool exchange(int socket, Operation operation, const std::vector<std::string_view>& fields, Reply* reply) {
  std::string head("FLQ1");
  auto put = [&head](uint32_t value) { head.append(reinterpret_cast<const char*>(&value), 4); };
  put(static_cast<uint32_t>(operation));
  put(static_cast<uint32_t>(fields.size()));
  for (std::string_view field : fields) {
    put(static_cast<uint32_t>(field.size()));
    if (field.size() < 4096) {
      head += field;
    } else {
      if (!send_all(socket, head.data(), head.size()) || !send_all(socket, field.data(), field.size())) return false;
      head.clear();
    }
  }
  if (!send_all(socket, head.data(), head.size())) return false;

  char start[12];
  if (!receive_all(socket, start, sizeof start) || std::memcmp(start, "FLR1", 4) != 0) return false;
  uint32_t count;
  std::memcpy(&reply->result, start + 4, 4);
  std::memcpy(&count, start + 8, 4);
  if (count > 64) return false;
  reply->fields.clear();
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t bytes;
    if (!receive_all(socket, reinterpret_cast<char*>(&bytes), 4) || bytes > kLargestReply) return false;
    std::string field(bytes, '\0');
    if (!receive_all(socket, field.data(), bytes)) return false;
    reply->fields.push_back(std::move(field));
  }
  return true;
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last.substr(0, 300);
}

}  // namespace

Service::Service(std::string cache_directory) : cache_(std::move(cache_directory)) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  // Containers and sudo leave the variable behind without the folder.
  bool usable = runtime && *runtime == '/' && access(runtime, W_OK | X_OK) == 0;
  folder_ = usable ? std::string(runtime) + "/fatload" : "/tmp/fatload-" + std::to_string(getuid());
  Blake2b hash;
  hash.update(cache_);
  hash.update(std::string_view("\0", 1));
  hash.update(codegen_version());
  socket_ = folder_ + "/" + hex(hash.digest()).substr(0, 16) + ".sock";
}

Service::~Service() {
  for (int socket : idle_) close(socket);
}

void Service::after_fork() {
  new (&mutex_) std::mutex;
  for (int socket : idle_) close(socket);
  idle_.clear();
}

int Service::connect_existing(std::string* error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) {
    *error = "the path of the service's socket is too long: " + socket_;
    return -1;
  }
  std::memcpy(address.sun_path, socket_.c_str(), socket_.size() + 1);
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) {
    *error = std::string("no socket: ") + std::strerror(errno);
    return -1;
  }
  int failed;
  do failed = connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address);
  while (failed != 0 && errno == EINTR);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (failed == 0 && getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid())
    return connection;
  *error = failed ? std::string("no service at ") + socket_ : socket_ + " is served by another user";
  close(connection);
  return -1;
}

int Service::start(std::string* error) {
  Interpreter python = find_interpreter(own_directory());
  const char* named = std::getenv("FATLOAD_LOG");
  bool own_log = !(named && *named);
  std::string log = own_log ? socket_.substr(0, socket_.size() - 5) + ".log" : absolute_path(named);
  if (own_log) unlink(log.c_str());
  Spawned service = spawn_service(python, cache_, log);
  if (service.pid < 0) {
    *error = "cannot run " + python.path + " for the translation service: " + std::strerror(service.error) +
             " (FATLOAD_PYTHON names the interpreter)";
    return -1;
  }
  uint64_t deadline = milliseconds() + kStartSeconds * 1000;
  for (useconds_t wait = 2000;; wait = wait < 20000 ? wait * 2 : wait) {
    bool runs = process_runs(service.pid);
    std::string ignored;
    int connection = connect_existing(&ignored);
    if (connection >= 0) return connection;
    if (!runs || milliseconds() > deadline) {
      std::string reason = last_line(log);
      *error = "the translation service (" + python.path + " -m fatload serve) " +
               (runs ? "did not answer in time" : "ended at once") + (reason.empty() ? "" : ": " + reason);
      return -1;
    }
    usleep(wait);
  }
}

int Service::connect_or_start(std::string* error) {
  if (!private_folder(folder_, error)) return -1;
  int connection = connect_existing(error);
  if (connection >= 0) return connection;
  // One process starts the service, the others wait for its lock and then find it there.
  std::string lock_path = socket_ + ".lock";
  int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) {
    *error = "cannot open " + lock_path + ": " + std::strerror(errno);
    return -1;
  }
  while (flock(lock, LOCK_EX) != 0 && errno == EINTR) {
  }
  connection = connect_existing(error);
  if (connection < 0) connection = start(error);
  close(lock);
  return connection;
}

bool Service::request(Operation operation, const std::vector<std::string_view>& fields, Reply* reply,
                      std::string* error) {
  // A kept connection may belong to a service that has left since: then a new one is tried, once.
  for (int attempt = 0; attempt < 2; ++attempt) {
    int connection = -1;
    bool kept = false;
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        connection = idle_.back();
        idle_.pop_back();
        kept = true;
      }
    }
    if (!kept) connection = connect_or_start(error);
    if (connection < 0) return false;
    if (exchange(connection, operation, fields, reply)) {
      std::lock_guard lock(mutex_);
      idle_.push_back(connection);
      return true;
    }
    close(connection);
    *error = "the translation service ended before it answered";
    if (kept) attempt = -1;  // each failure uses one kept connection up, so this ends
  }
  return false;
}

}  // namespace fatload::client
