#include "device/cpu/print.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace fatload::cpu {
namespace {

constexpr int kLargestWidth = 4096;

class Arguments {
 public:
  explicit Arguments(const uint8_t* at) : at_(at) {}

  template <typename T>
  T take() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (at_) std::memcpy(&value, at_ + offset_, sizeof value);
    offset_ += sizeof(T);
    ++count_;
    return value;
  }
  int count() const { return count_; }

 private:
  const uint8_t* at_;
  size_t offset_ = 0;
  int count_ = 0;
};

// One conversion: %[flags][width][.precision][length]type.
struct Conversion {
  std::string flags;
  int width = -1, precision = -1, length = 0;  // length: bytes of an integer (1, 2, 4, 8)
  char type = 0;
};

int read_number(const char** at, Arguments* arguments) {
  if (**at == '*') {
    ++*at;
    return arguments->take<int32_t>();
  }
  int value = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) value = std::min(value * 10 + (**at - '0'), kLargestWidth);
  return value;
}

// `at` stands behind the percent sign; answers the place behind the conversion.
const char* read_conversion(const char* at, Arguments* arguments, Conversion* out) {
  for (; *at && std::strchr("-+ #0", *at); ++at)
    if (out->flags.find(*at) == std::string::npos) out->flags += *at;
  if (*at == '*' || (*at >= '0' && *at <= '9')) {
    out->width = read_number(&at, arguments);
    if (out->width < 0) {
      out->flags += '-';
      out->width = out->width == INT32_MIN ? kLargestWidth : -out->width;
    }
    out->width = std::min(out->width, kLargestWidth);
  }
  if (*at == '.') {
    ++at;
    out->precision = std::min(read_number(&at, arguments), kLargestWidth);
    if (out->precision < 0) out->precision = -1;
  }
  out->length = 4;
  for (; *at && std::strchr("hljztLqI", *at); ++at) {
    if (*at == 'h') {
      out->length = out->length == 2 ? 1 : 2;
    } else if (*at != 'L') {
      out->length = 8;
    }
  }
  out->type = *at;
  return *at ? at + 1 : at;
}

// Prints with the C library, with the conversion rebuilt for the type that is passed.
template <typename T>
void print(const Conversion& c, const char* length, T value, std::string* out) {
  std::string format = "%" + c.flags;
  if (c.width >= 0) format += std::to_string(c.width);
  if (c.precision >= 0) format += "." + std::to_string(c.precision);
  format += length;
  format += c.type;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  char small[256];
  int bytes = std::snprintf(small, sizeof small, format.c_str(), value);
  if (bytes < 0) return;
  if (static_cast<size_t>(bytes) < sizeof small) {
    out->append(small, static_cast<size_t>(bytes));
    return;
  }
  std::string large(static_cast<size_t>(bytes) + 1, '\0');
  std::snprintf(large.data(), large.size(), format.c_str(), value);
#pragma GCC diagnostic pop
  large.pop_back();
  *out += large;
}

void print_integer(const Conversion& c, Arguments* arguments, std::string* out) {
  bool is_signed = c.type == 'd' || c.type == 'i';
  if (c.length == 8) {
    long long value = arguments->take<int64_t>();
    print(c, "ll", value, out);
    return;
  }
  int32_t value = arguments->take<int32_t>();
  long long narrow = c.length == 4 ? value : c.length == 2 ? static_cast<int16_t>(value) : static_cast<int8_t>(value);
  if (!is_signed) narrow &= c.length == 4 ? 0xffffffffll : c.length == 2 ? 0xffff : 0xff;
  print(c, "ll", narrow, out);
}

}  // namespace

int format_device(const char* format, const uint8_t* block, std::string* out) {
  if (!format) return -1;
  Arguments arguments(block);
  for (const char* at = format; *at;) {
    const char* percent = std::strchr(at, '%');
    if (!percent) {
      *out += at;
      break;
    }
    out->append(at, percent);
    Conversion c;
    at = read_conversion(percent + 1, &arguments, &c);
    switch (c.type) {
      case '%':
        *out += '%';
        break;
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        print_integer(c, &arguments, out);
        break;
      case 'c':
        print(c, "", static_cast<int>(arguments.take<int32_t>()), out);
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        print(c, "", arguments.take<double>(), out);
        break;
      case 'p':
        print(c, "", reinterpret_cast<const void*>(arguments.take<uint64_t>()), out);
        break;
      case 's': {
        const char* text = reinterpret_cast<const char*>(arguments.take<uint64_t>());
        print(c, "", text ? text : "(null)", out);
        break;
      }
      default:  // no conversion: shown as it stands
        out->append(percent, at);
    }
  }
  return arguments.count();
}

}  // namespace fatload::cpu
