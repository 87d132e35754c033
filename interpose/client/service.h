// The connection to `fatload serve` (docs/architecture.md, "The service").
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace fatload::client {

enum class Operation : uint32_t { Manifest = 1, Object = 2, Ping = 3, Stop = 4 };

constexpr uint32_t kImagesWanted = 0x7fffffff;

struct Reply {
  uint32_t result = 0;  // a CUresult, or kImagesWanted
  std::vector<std::string> fields;
  std::string message() const { return fields.empty() ? std::string() : fields[0]; }
};

class Service {
 public:
  explicit Service(std::string cache_directory);
  ~Service();

  // Sends one request and waits for its reply, starting the service when there is none. Safe for many threads: each
  // request in flight has a connection of its own. False, with a line for people in `error`, when there is no reply.
  bool request(Operation operation, const std::vector<std::string_view>& fields, Reply* reply, std::string* error);

  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  // In a forked child: the parent keeps the connections.
  void after_fork();

  const std::string& socket_path() const { return socket_; }

 private:
  int connect_existing(std::string* error);
  int connect_or_start(std::string* error);
  int start(std::string* error);

  std::string cache_, folder_, socket_;
  std::mutex mutex_;
  std::vector<int> idle_;
};

}  // namespace fatload::client
