// The content-addressed cache, read side: docs/architecture.md, "Cache files".
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fatload::client {

enum class FileKind : uint32_t { Manifest = 1, Object = 2, Images = 3 };

// One checked cache file. The bytes stay mapped or allocated as long as the value lives.
class CacheFile {
 public:
  std::string_view text() const { return text_; }
  std::string_view payload() const { return payload_; }

  // Checks the header, the sizes and the digest; null when anything is off.
  static std::shared_ptr<const CacheFile> parse(std::string bytes, FileKind kind);

 private:
  std::string bytes_;
  std::string_view text_, payload_;
};

// FATLOAD_CACHE_DIR, else $XDG_CACHE_HOME/fatload, else ~/.cache/fatload; absolute and without a trailing slash.
std::string cache_directory();

// Made absolute by the current folder, as Python's Path writes it: without empty parts and "." (".." and links stay).
std::string absolute_path(std::string path);

// The path of a file: DIRECTORY/v1/ID[0:2]/ID.{manifest,object,images}.
std::string cache_path(const std::string& directory, const std::string& id, FileKind kind);

// Reads and checks a file; null when it is absent or damaged.
std::shared_ptr<const CacheFile> read_cache(const std::string& directory, const std::string& id, FileKind kind);

}  // namespace fatload::client
