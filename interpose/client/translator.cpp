#include "client/translator.h"

#include "client/ids.h"

namespace fatload::client {
namespace {

constexpr CUresult kUnknown = static_cast<CUresult>(999);

const char* compression_name(Image::Compression compression) {
  return compression == Image::Lz4 ? "lz4" : compression == Image::Zstd ? "zstd" : "none";
}

// The fields that hand images over; `texts` owns what the views point to.
void append_images(const std::vector<Image>& images, std::vector<std::string>* texts,
                   std::vector<std::string_view>* fields) {
  texts->reserve(images.size());
  for (const Image& image : images) {
    texts->push_back(std::to_string(image.kind) + " " + std::to_string(image.sm) + " " + std::to_string(image.flags) +
                     " " + compression_name(image.compression) + " " + std::to_string(image.raw_bytes));
    fields->push_back(texts->back());
    fields->push_back(image.bytes);
  }
}

}  // namespace

Translator::Translator() : cache_(cache_directory()), service_(cache_) {}

CUresult Translator::manifest(const std::string& module, const std::vector<Image>& images, bool check, Manifest* out,
                              std::string* log) {
  std::string error;
  auto cached = [&](Manifest* to) {
    auto file = read_cache(cache_, module, FileKind::Manifest);
    return file && Manifest::parse(std::move(file), to, &error);
  };
  bool have = cached(out);
  if (have && (!check || out->checked)) return CUresult{};
  std::vector<std::string> texts;
  std::vector<std::string_view> fields{module, check ? "check" : ""};
  append_images(images, &texts, &fields);
  Reply reply;
  if (!service_.request(Operation::Manifest, fields, &reply, &error)) {
    // A filled cache must do without the service: declarations were read, only the check of the bodies is missing.
    if (have) return CUresult{};
    *log = error;
    return kUnknown;
  }
  *log = reply.fields.size() > 1 && !reply.fields[1].empty() ? reply.fields[1] : reply.message();
  if (reply.result != 0) return static_cast<CUresult>(reply.result);
  if (cached(out)) return CUresult{};
  *log = "the translation service left no usable manifest in " + cache_ + (error.empty() ? "" : ": " + error);
  return kUnknown;
}

bool Translator::cached_object(const std::string& module, const std::string& kernel,
                               const std::vector<std::string>& targets, const std::string& shape, Object* out) const {
  std::string error;
  for (const std::string& target : targets) {
    auto file = read_cache(cache_, object_id(module, kernel, target, shape, ""), FileKind::Object);
    if (file && Object::parse(std::move(file), out, &error) && out->kernel == kernel && out->target == target &&
        (out->shape == shape || out->shape == "any"))
      return true;
  }
  return false;
}

CUresult Translator::object(const std::string& module, const std::vector<Image>& images, const std::string& kernel,
                            const std::vector<std::string>& targets, const std::string& shape, Object* out,
                            std::string* error) {
  if (cached_object(module, kernel, targets, shape, out)) return CUresult{};
  std::vector<std::string_view> fields{module, kernel, targets[0], shape, ""};
  Reply reply;
  bool answered = service_.request(Operation::Object, fields, &reply, error);
  if (answered && reply.result == kImagesWanted) {
    std::vector<std::string> texts;
    append_images(images, &texts, &fields);
    answered = service_.request(Operation::Object, fields, &reply, error);
  }
  if (!answered) {
    // Without a service the general object is better than none.
    return cached_object(module, kernel, targets, "any", out) ? CUresult{} : kUnknown;
  }
  *error = reply.message();
  if (reply.result == kImagesWanted) return kUnknown;
  if (reply.result != 0) return static_cast<CUresult>(reply.result);
  if (cached_object(module, kernel, targets, shape, out)) return CUresult{};
  *error = "the translation service left no usable object for " + kernel + " in " + cache_;
  return kUnknown;
}

}  // namespace fatload::client
