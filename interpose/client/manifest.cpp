#include "client/manifest.h"

#include <charconv>
#include <limits>

namespace fatload::client {
namespace {

constexpr uint64_t kLargestData = uint64_t{1} << 40;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <typename T>
bool number(std::string_view text, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// Unsigned, or negative in two's complement.
bool addend(std::string_view text, uint64_t* out) {
  if (!text.starts_with('-')) return number(text, out);
  int64_t value;
  if (!number(text, &value)) return false;
  *out = static_cast<uint64_t>(value);
  return true;
}

bool parse_params(std::string_view text, uint32_t bytes, std::vector<ParameterInfo>* out) {
  if (text == "-") return true;
  for (std::string_view item : split(text, ',')) {
    size_t colon = item.find(':');
    ParameterInfo parameter;
    if (colon == std::string_view::npos || !number(item.substr(0, colon), &parameter.offset) ||
        !number(item.substr(colon + 1), &parameter.size))
      return false;
    if (uint64_t{parameter.offset} + parameter.size > bytes) return false;
    out->push_back(parameter);
  }
  return true;
}

bool parse_kernel(const std::vector<std::string_view>& fields, Manifest* out) {
  if (fields.size() < 8) return false;
  KernelInfo kernel;
  kernel.name = fields[1];
  auto required = split(fields[7], ',');
  bool good = !kernel.name.empty() && number(fields[2], &kernel.param_bytes) && kernel.param_bytes <= 1 << 20 &&
              parse_params(fields[3], kernel.param_bytes, &kernel.params) && number(fields[4], &kernel.static_shared) &&
              number(fields[5], &kernel.local_bytes) && number(fields[6], &kernel.max_threads) && required.size() == 3;
  for (int i = 0; good && i < 3; ++i) good = number(required[i], &kernel.required[i]);
  if (good) out->kernels.push_back(std::move(kernel));
  return good;
}

bool parse_variable(const std::vector<std::string_view>& fields, Manifest* out) {
  if (fields.size() < 6) return false;
  VariableInfo variable;
  variable.name = fields[1];
  variable.managed = fields[2] == "managed";
  variable.constant = fields[2] == "const";
  if (!variable.managed && !variable.constant && fields[2] != "global") return false;
  if (!number(fields[3], &variable.offset) || !number(fields[4], &variable.size)) return false;
  out->variables.push_back(std::move(variable));
  return true;
}

bool parse_relocation(const std::vector<std::string_view>& fields, Manifest* out) {
  if (fields.size() < 5 || fields[2] != "8") return false;
  Relocation relocation;
  relocation.function = fields[3] == "function";
  if (!relocation.function && fields[3] != "data") return false;
  if (!number(fields[1], &relocation.offset) || !addend(fields[4], &relocation.addend)) return false;
  out->relocations.push_back(relocation);
  return true;
}

// Everything that lies in the data block must lie inside of it.
bool fits(const Manifest& m) {
  if (m.data_bytes > kLargestData || m.initial.size() > m.data_bytes) return false;
  if (m.data_align == 0 || (m.data_align & (m.data_align - 1)) != 0 || m.data_align > 1 << 20) return false;
  for (const VariableInfo& v : m.variables)
    if (v.offset > m.data_bytes || v.size > m.data_bytes - v.offset) return false;
  for (const Relocation& r : m.relocations)
    if (r.offset > m.data_bytes || 8 > m.data_bytes - r.offset) return false;
  return true;
}

}  // namespace

bool Manifest::parse(std::shared_ptr<const CacheFile> file, Manifest* out, std::string* error) {
  *out = Manifest();
  out->file = std::move(file);
  out->initial = out->file->payload();
  bool module = false;
  int line_number = 0;
  for (std::string_view line : split(out->file->text(), '\n')) {
    ++line_number;
    auto fields = split(line, '\t');
    bool good = true;
    if (fields[0] == "module") {
      good = fields.size() >= 5 && number(fields[1], &out->ptx_version) && number(fields[2], &out->sm) &&
             number(fields[3], &out->data_bytes) && number(fields[4], &out->data_align);
      module = true;
    } else if (fields[0] == "kernel") {
      good = parse_kernel(fields, out);
    } else if (fields[0] == "variable") {
      good = parse_variable(fields, out);
    } else if (fields[0] == "relocation") {
      good = parse_relocation(fields, out);
    } else if (fields[0] == "checked") {
      out->checked = true;
    }
    if (!good) {
      *error = "line " + std::to_string(line_number) + " of a module's manifest is malformed";
      return false;
    }
  }
  if (!module || !fits(*out)) {
    *error = "a module's manifest is inconsistent";
    return false;
  }
  return true;
}

bool Object::parse(std::shared_ptr<const CacheFile> file, Object* out, std::string* error) {
  *out = Object();
  out->file = std::move(file);
  out->code = out->file->payload();
  bool object = false, kernel = false, resources = false;
  for (std::string_view line : split(out->file->text(), '\n')) {
    auto fields = split(line, '\t');
    if (fields[0] == "object" && fields.size() >= 3) {
      out->target = fields[1];
      out->shape = fields[2];
      object = true;
    } else if (fields[0] == "kernel" && fields.size() >= 3) {
      out->kernel = fields[1];
      out->entry = fields[2];
      kernel = true;
    } else if (fields[0] == "resources" && fields.size() >= 4) {
      resources = number(fields[1], &out->static_shared) && number(fields[2], &out->local_bytes);
      for (std::string_view flag : split(fields[3], ',')) {
        if (flag == "barrier") out->barrier = true;
        if (flag == "yield") out->yields = true;
        if (flag == "dynamic-shared") out->dynamic_shared = true;
      }
    }
  }
  if (object && kernel && resources && out->local_bytes <= 1 << 24) return true;
  *error = "the text of a translated object is malformed";
  return false;
}

}  // namespace fatload::client
