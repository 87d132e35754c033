#include "client/cache.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "client/blake2b.h"

namespace fatload::client {
namespace {

constexpr size_t kHeader = 64;
constexpr char kMagic[] = "FATLOAD\x01";

uint32_t read_u32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t read_u64(const char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string home() {
  const char* value = std::getenv("HOME");
  if (value && *value) return value;
  passwd entry, *found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_dir;
  return "/tmp";
}

// A whole file, read with few system calls; false when it cannot be read.
bool read_file(const std::string& path, std::string* out) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status;
  bool good = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (good) {
    out->resize(static_cast<size_t>(status.st_size));
    size_t have = 0;
    while (have < out->size()) {
      ssize_t got = read(file, out->data() + have, out->size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    out->resize(have);
  }
  close(file);
  return good;
}

}  // namespace

std::string absolute_path(std::string path) {
  if (path.empty() || path[0] != '/') {
    char* here = getcwd(nullptr, 0);
    path = std::string(here ? here : "") + "/" + path;
    std::free(here);
  }
  // The service names its socket by this text too, and Python's paths have no empty and no "." parts.
  std::string out;
  for (size_t at = 0; at < path.size();) {
    size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    if (!part.empty() && part != ".") out += "/" + part;
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

std::shared_ptr<const CacheFile> CacheFile::parse(std::string bytes, FileKind kind) {
  auto file = std::make_shared<CacheFile>();
  file->bytes_ = std::move(bytes);
  const std::string& all = file->bytes_;
  if (all.size() < kHeader || std::memcmp(all.data(), kMagic, 8) != 0) return nullptr;
  if (read_u32(all.data() + 8) != static_cast<uint32_t>(kind) || read_u64(all.data() + 56) != 0) return nullptr;
  uint64_t text = read_u32(all.data() + 12), payload = read_u64(all.data() + 16);
  uint64_t payload_at = (kHeader + text + 63) / 64 * 64;
  if (payload_at > all.size() || payload != all.size() - payload_at) return nullptr;
  file->text_ = std::string_view(all).substr(kHeader, text);
  file->payload_ = std::string_view(all).substr(payload_at, payload);
  Blake2b hash;
  hash.update(file->text_);
  hash.update(file->payload_);
  Digest digest = hash.digest();
  if (std::memcmp(digest.data(), all.data() + 24, digest.size()) != 0) return nullptr;
  return file;
}

std::string cache_directory() {
  const char* value = std::getenv("FATLOAD_CACHE_DIR");
  if (value && *value) return absolute_path(value);
  value = std::getenv("XDG_CACHE_HOME");
  // The XDG specification has relative paths ignored.
  if (value && *value == '/') return absolute_path(std::string(value) + "/fatload");
  return absolute_path(home() + "/.cache/fatload");
}

std::string cache_path(const std::string& directory, const std::string& id, FileKind kind) {
  const char* suffix = kind == FileKind::Manifest ? ".manifest" : kind == FileKind::Object ? ".object" : ".images";
  return directory + "/v1/" + id.substr(0, 2) + "/" + id + suffix;
}

std::shared_ptr<const CacheFile> read_cache(const std::string& directory, const std::string& id, FileKind kind) {
  std::string bytes;
  if (!read_file(cache_path(directory, id, kind), &bytes)) return nullptr;
  return CacheFile::parse(std::move(bytes), kind);
}

}  // namespace fatload::client
