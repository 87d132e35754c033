#include "driver/image.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

namespace fatload {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1, kContainerMagic = 0xBA55ED50;
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000, kArchSpecific = 0x100000, kFamilySpecific = 0x200000;
constexpr uint16_t kPtx = 1, kElf = 2, kLto = 8;
constexpr uint64_t kLargestContainer = uint64_t{1} << 40;

template <typename T>
T read(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

struct Entry {
  uint16_t kind;
  uint32_t sm;
  uint64_t flags, raw_bytes;
  std::string_view bytes;  // as stored, without padding
};

// Entries of a container; false when it is damaged.
bool read_container(const uint8_t* p, std::vector<Entry>* entries) {
  if (read<uint32_t>(p) != kContainerMagic || read<uint16_t>(p + 4) != 1) return false;
  uint64_t header = read<uint16_t>(p + 6), left = read<uint64_t>(p + 8);
  if (header < 16 || left > kLargestContainer) return false;
  p += header;
  while (left >= 64) {
    uint64_t head = read<uint32_t>(p + 4), stored = read<uint64_t>(p + 8), exact = read<uint32_t>(p + 16);
    if (head < 64 || head > left || stored > left - head) return false;
    Entry e{read<uint16_t>(p), read<uint32_t>(p + 28), read<uint64_t>(p + 40), read<uint64_t>(p + 56), {}};
    bool compressed = (e.flags & (kLz4 | kZstd)) != 0;
    if (compressed && exact > stored) return false;
    uint64_t size = compressed && exact ? exact : stored;
    e.bytes = {reinterpret_cast<const char*>(p + head), size};
    if (!compressed) e.raw_bytes = size;
    entries->push_back(e);
    p += head + stored;
    left -= head + stored;
    uint64_t padding = std::min<uint64_t>(left, (8 - (head + stored) % 8) % 8);
    p += padding;
    left -= padding;
  }
  return true;
}

// The newest PTX that the capability allows, else the oldest of the newer; architecture-specific PTX only as the last
// resort.
const Entry* choose(const std::vector<Entry>& entries, int capability) {
  const Entry* best = nullptr;
  auto rank = [capability](const Entry& e) {
    int sm = static_cast<int>(e.sm);
    bool specific = (e.flags & (kArchSpecific | kFamilySpecific)) != 0;
    int base = specific ? 0 : 1000000;
    return sm <= capability ? base + 100000 + sm : base + 50000 - sm;
  };
  for (const Entry& e : entries)
    if (e.kind == kPtx && e.sm < 10000 && (!best || rank(e) > rank(*best))) best = &e;
  return best;
}

void describe(const std::vector<Entry>& entries, std::set<std::string>* found) {
  for (const Entry& e : entries) {
    const char* suffix = e.flags & kArchSpecific ? "a" : e.flags & kFamilySpecific ? "f" : "";
    if (e.kind == kElf) found->insert("SASS for sm_" + std::to_string(e.sm) + suffix);
    if (e.kind == kLto) found->insert("LTO IR for sm_" + std::to_string(e.sm) + suffix);
  }
}

std::string join(const std::set<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all.empty() ? "nothing" : all;
}

Image image_of(const Entry& e) {
  Image image{};
  image.kind = 1;
  image.sm = e.sm;
  image.flags = static_cast<uint32_t>(e.flags);
  image.compression = e.flags & kZstd ? Image::Zstd : e.flags & kLz4 ? Image::Lz4 : Image::None;
  image.raw_bytes = e.raw_bytes;
  image.bytes = e.bytes;
  if (image.compression == Image::None) {  // plain text is padded with zeros
    while (!image.bytes.empty() && image.bytes.back() == '\0') image.bytes.remove_suffix(1);
    image.raw_bytes = image.bytes.size();
  }
  return image;
}

// Adds the container's best PTX. 209 if it has none.
CUresult add_container(const void* container, int capability, std::vector<Image>* images,
                       std::set<std::string>* found) {
  std::vector<Entry> entries;
  if (!container || !read_container(static_cast<const uint8_t*>(container), &entries)) return CUDA_ERROR_INVALID_IMAGE;
  describe(entries, found);
  const Entry* best = choose(entries, capability);
  if (!best) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  images->push_back(image_of(*best));
  return CUDA_SUCCESS;
}

// Whether text begins, behind white space and comments, as PTX does.
bool looks_like_ptx(const char* p) {
  for (;;) {
    while (std::isspace(static_cast<unsigned char>(*p))) p++;
    if (p[0] == '/' && p[1] == '/') {
      while (*p && *p != '\n') p++;
    } else if (p[0] == '/' && p[1] == '*') {
      const char* end = std::strstr(p + 2, "*/");
      if (!end) return false;
      p = end + 2;
    } else {
      return std::strncmp(p, ".version", 8) == 0;
    }
  }
}

unsigned target_of(std::string_view text) {
  size_t at = text.find(".target");
  if (at == std::string_view::npos) return 0;
  at = text.find("sm_", at);
  unsigned sm = 0;
  for (size_t i = at == std::string_view::npos ? text.size() : at + 3;
       i < text.size() && text[i] >= '0' && text[i] <= '9' && sm < 1000; i++)
    sm = sm * 10 + static_cast<unsigned>(text[i] - '0');
  return sm;
}

}  // namespace

CUresult choose_images(const void* data, int capability, std::vector<Image>* images, bool* text, std::string* found) {
  *text = false;
  if (!data) return CUDA_ERROR_INVALID_VALUE;
  auto* bytes = static_cast<const uint8_t*>(data);
  std::set<std::string> names;
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  // Byte by byte: text may be shorter than a magic number.
  bool elf = bytes[0] == 0x7f && bytes[1] == 'E' && bytes[2] == 'L' && bytes[3] == 'F';
  bool wrapper = bytes[0] == 0xb1 && bytes[1] == 0x43 && read<uint32_t>(bytes) == kWrapperMagic;
  bool container = bytes[0] == 0x50 && bytes[1] == 0xed && read<uint32_t>(bytes) == kContainerMagic;
  if (wrapper) {
    uint32_t version = read<uint32_t>(bytes + 4);
    auto* const* prelinked = read<const void* const*>(bytes + 16);
    if (version == 2 && prelinked && *prelinked) {
      // Separate compilation: the inputs of the device link hold the PTX, the wrapper's own container only the result.
      result = CUDA_SUCCESS;
      for (; *prelinked && result == CUDA_SUCCESS; prelinked++)
        result = add_container(*prelinked, capability, images, &names);
    } else {
      result = add_container(read<const void*>(bytes + 8), capability, images, &names);
    }
  } else if (container) {
    result = add_container(data, capability, images, &names);
  } else if (elf) {
    constexpr uint16_t kCuda = 190;
    if (bytes[4] == 2 && read<uint16_t>(bytes + 18) == kCuda) {
      uint32_t flags = read<uint32_t>(bytes + 48);
      uint32_t sm = bytes[7] == 0x41 ? flags >> 8 & 0xff : flags & 0xff;  // ABI 8 of CUDA 13 moved the number
      names.insert("SASS for sm_" + std::to_string(sm));
      result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
  } else if (looks_like_ptx(static_cast<const char*>(data))) {
    std::string_view all(static_cast<const char*>(data));
    Image image{};
    image.kind = 1;
    image.sm = target_of(all);
    image.compression = Image::None;
    image.raw_bytes = all.size();
    image.bytes = all;
    images->push_back(image);
    *text = true;
    result = CUDA_SUCCESS;
  }
  *found = join(names);
  return result;
}

}  // namespace fatload
