#include "device/cpu/object.h"

#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "device/cpu/halves.h"

namespace fatload::cpu {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kLargest = uint64_t{1} << 30;  // keeps every 32-bit displacement in range
constexpr size_t kStub = 16;

// The closed list of outside symbols (docs/architecture.md, "The CPU device").
void* outside(std::string_view name) {
  struct Entry {
    const char* name;
    void* address;
  };
  static const Entry kList[] = {
      {"memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
      {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(std::memset))},
      {"memmove", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(std::fma))},
      {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(std::fma))},
      {"__truncdfhf2", reinterpret_cast<void*>(abi_truncdfhf2)},
      {"__truncsfhf2", reinterpret_cast<void*>(abi_truncsfhf2)},
      {"__truncdfbf2", reinterpret_cast<void*>(abi_truncdfbf2)},
      {"__truncsfbf2", reinterpret_cast<void*>(abi_truncsfbf2)},
      {"__extendhfsf2", reinterpret_cast<void*>(abi_extendhfsf2)},
  };
  for (const Entry& entry : kList)
    if (name == entry.name) return entry.address;
  return nullptr;
}

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

enum Region { kText, kConstants, kData, kRegions };

// One object being loaded. Every offset is checked before it is followed.
class Loading {
 public:
  Loading(std::string_view bytes, std::string* error) : file_(bytes), error_(error) {}
  ~Loading() {
    if (base_) munmap(base_, total_);
  }

  bool run() { return read_headers() && read_symbols() && place() && map() && relocate() && protect(); }
  bool find(const std::string& name, void** out);
  uint8_t* release() { return std::exchange(base_, nullptr); }
  size_t total() const { return total_; }

 private:
  bool fail(const std::string& reason) {
    *error_ = "translated object: " + reason;
    return false;
  }
  bool inside(uint64_t offset, uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }
  std::string_view name(const Elf64_Shdr& strings, uint64_t at) const;
  bool read_headers();
  bool read_symbols();
  bool place();
  bool map();
  bool relocate();
  bool relocate_section(const Elf64_Shdr& table);
  bool apply(const Elf64_Rela& r, uint8_t* section, uint64_t section_bytes);
  bool address(uint32_t symbol, uint8_t** out, bool* outside_symbol);
  uint8_t* stub(uint32_t symbol, uint8_t* target);
  uint64_t* slot(uint32_t symbol, uint8_t* target);
  bool protect();

  std::string_view file_;
  std::string* error_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<uint8_t*> placed_;   // where section i lies, null: not loaded
  std::vector<uint64_t> offsets_;  // relative to its region
  std::vector<Region> regions_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view section_names_, symbol_names_;
  size_t region_bytes_[kRegions] = {}, region_at_[kRegions] = {};
  uint8_t* base_ = nullptr;
  size_t total_ = 0;
  std::map<uint32_t, uint8_t*> stubs_;
  std::map<uint32_t, uint64_t*> slots_;
  uint8_t* next_stub_ = nullptr;
  uint64_t* next_slot_ = nullptr;
};

std::string_view text_at(std::string_view table, uint64_t at) {
  if (at >= table.size()) return "";
  std::string_view rest = table.substr(at);
  size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

bool Loading::read_headers() {
  Elf64_Ehdr header;
  if (file_.size() < sizeof header) return fail("truncated");
  std::memcpy(&header, file_.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return fail("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64 || header.e_type != ET_REL || header.e_shentsize != sizeof(Elf64_Shdr))
    return fail("not an x86-64 relocatable");
  uint64_t count = header.e_shnum;
  if (count == 0 || !inside(header.e_shoff, count * sizeof(Elf64_Shdr))) return fail("section headers lie outside");
  sections_.resize(count);
  std::memcpy(sections_.data(), file_.data() + header.e_shoff, count * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& s : sections_)
    if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL && !inside(s.sh_offset, s.sh_size))
      return fail("a section lies outside of the file");
  if (header.e_shstrndx < count && sections_[header.e_shstrndx].sh_type == SHT_STRTAB)
    section_names_ = file_.substr(sections_[header.e_shstrndx].sh_offset, sections_[header.e_shstrndx].sh_size);
  return true;
}

bool Loading::read_symbols() {
  for (const Elf64_Shdr& s : sections_) {
    if (s.sh_type != SHT_SYMTAB) continue;
    if (!symbols_.empty()) return fail("two symbol tables");
    if (s.sh_entsize != sizeof(Elf64_Sym) || s.sh_link >= sections_.size() ||
        sections_[s.sh_link].sh_type != SHT_STRTAB)
      return fail("a malformed symbol table");
    symbols_.resize(s.sh_size / sizeof(Elf64_Sym));
    if (symbols_.empty()) return fail("an empty symbol table");
    std::memcpy(symbols_.data(), file_.data() + s.sh_offset, symbols_.size() * sizeof(Elf64_Sym));
    symbol_names_ = file_.substr(sections_[s.sh_link].sh_offset, sections_[s.sh_link].sh_size);
  }
  return true;
}

bool Loading::place() {
  offsets_.resize(sections_.size());
  regions_.resize(sections_.size());
  placed_.resize(sections_.size());
  for (size_t i = 0; i < sections_.size(); ++i) {
    const Elf64_Shdr& s = sections_[i];
    std::string_view named = text_at(section_names_, s.sh_name);
    if (!(s.sh_flags & SHF_ALLOC) || named == ".eh_frame") continue;
    if (s.sh_flags & SHF_TLS) return fail("thread-local data");
    if (s.sh_type != SHT_PROGBITS && s.sh_type != SHT_NOBITS && s.sh_type != SHT_X86_64_UNWIND)
      return fail("section " + std::string(named) + " of a kind that is not loaded");
    if (named.starts_with(".ctors") || named.starts_with(".dtors")) return fail("constructors, which are not run");
    bool writable = s.sh_flags & SHF_WRITE, code = s.sh_flags & SHF_EXECINSTR;
    if (writable && code) return fail("a section both writable and executable");
    uint64_t align = s.sh_addralign ? s.sh_addralign : 1;
    if ((align & (align - 1)) != 0 || align > kPage) return fail("an impossible alignment");
    if (s.sh_size > kLargest) return fail("too large");
    regions_[i] = code ? kText : writable ? kData : kConstants;
    size_t& used = region_bytes_[regions_[i]];
    offsets_[i] = used = round_up(used, align);
    used += s.sh_size;
    if (used > kLargest) return fail("too large");
  }
  return true;
}

bool Loading::map() {
  // Room for one stub and one slot a symbol; only outside functions and table-addressed symbols take them.
  size_t stubs_at = round_up(region_bytes_[kText], kStub);
  region_bytes_[kText] = stubs_at + kStub * symbols_.size();
  size_t slots_at = round_up(region_bytes_[kConstants], 8);
  region_bytes_[kConstants] = slots_at + 8 * symbols_.size();
  for (int region = 0; region < kRegions; ++region) {
    region_at_[region] = total_;
    total_ += round_up(region_bytes_[region], kPage);
  }
  if (total_ == 0 || total_ > 2 * kLargest - kPage) return fail("of an impossible size");
  void* memory = mmap(nullptr, total_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(std::string("no memory: ") + std::strerror(errno));
  base_ = static_cast<uint8_t*>(memory);
  next_stub_ = base_ + region_at_[kText] + stubs_at;
  next_slot_ = reinterpret_cast<uint64_t*>(base_ + region_at_[kConstants] + slots_at);
  for (size_t i = 0; i < sections_.size(); ++i) {
    const Elf64_Shdr& s = sections_[i];
    if (!(s.sh_flags & SHF_ALLOC) || text_at(section_names_, s.sh_name) == ".eh_frame") continue;
    placed_[i] = base_ + region_at_[regions_[i]] + offsets_[i];
    if (s.sh_type != SHT_NOBITS && s.sh_size) std::memcpy(placed_[i], file_.data() + s.sh_offset, s.sh_size);
  }
  return true;
}

bool Loading::address(uint32_t symbol, uint8_t** out, bool* outside_symbol) {
  *outside_symbol = false;
  if (symbol >= symbols_.size()) return fail("a relocation names no symbol");
  const Elf64_Sym& s = symbols_[symbol];
  std::string named(text_at(symbol_names_, s.st_name));
  int type = ELF64_ST_TYPE(s.st_info);
  if (s.st_shndx == SHN_UNDEF) {
    *out = static_cast<uint8_t*>(outside(named));
    *outside_symbol = true;
    return *out ? true : fail("needs the outside symbol '" + named + "'");
  }
  if (s.st_shndx >= placed_.size() || !placed_[s.st_shndx] || type == STT_TLS || type == STT_GNU_IFUNC)
    return fail("symbol '" + named + "' lies in no loaded section");
  if (s.st_value > sections_[s.st_shndx].sh_size) return fail("symbol '" + named + "' lies outside of its section");
  *out = placed_[s.st_shndx] + s.st_value;
  return true;
}

// Outside functions are further away than a 32-bit displacement reaches: `jmp *[rip]` and the address behind it.
uint8_t* Loading::stub(uint32_t symbol, uint8_t* target) {
  uint8_t*& made = stubs_[symbol];
  if (!made) {
    made = std::exchange(next_stub_, next_stub_ + kStub);
    static constexpr uint8_t kJump[6] = {0xff, 0x25, 0x02, 0, 0, 0};
    std::memcpy(made, kJump, sizeof kJump);
    std::memcpy(made + 8, &target, sizeof target);
  }
  return made;
}

uint64_t* Loading::slot(uint32_t symbol, uint8_t* target) {
  uint64_t*& made = slots_[symbol];
  if (!made) {
    made = next_slot_++;
    *made = reinterpret_cast<uint64_t>(target);
  }
  return made;
}

bool Loading::apply(const Elf64_Rela& r, uint8_t* section, uint64_t section_bytes) {
  uint32_t type = ELF64_R_TYPE(r.r_info), symbol = ELF64_R_SYM(r.r_info);
  if (type == R_X86_64_NONE) return true;
  uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
  if (r.r_offset > section_bytes || width > section_bytes - r.r_offset) return fail("a relocation lies outside");
  uint8_t* place = section + r.r_offset;
  uint8_t* target;
  bool external;
  if (!address(symbol, &target, &external)) return false;
  int64_t where = reinterpret_cast<int64_t>(place);
  int64_t value;
  switch (type) {
    case R_X86_64_64:
      value = reinterpret_cast<int64_t>(target) + r.r_addend;
      break;
    case R_X86_64_PC64:
      value = reinterpret_cast<int64_t>(target) + r.r_addend - where;
      break;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      value = reinterpret_cast<int64_t>(external ? stub(symbol, target) : target) + r.r_addend - where;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = reinterpret_cast<int64_t>(slot(symbol, target)) + r.r_addend - where;
      break;
    case R_X86_64_32:
    case R_X86_64_32S:
      value = reinterpret_cast<int64_t>(external ? stub(symbol, target) : target) + r.r_addend;
      if (type == R_X86_64_32 ? value != static_cast<int64_t>(static_cast<uint32_t>(value))
                              : value != static_cast<int32_t>(value))
        return fail("a 32-bit absolute address (the code must be position-independent)");
      break;
    default:
      return fail("relocation type " + std::to_string(type));
  }
  if (width == 4 && type != R_X86_64_32 && value != static_cast<int32_t>(value))
    return fail("a displacement overflows");
  std::memcpy(place, &value, width);
  return true;
}

bool Loading::relocate_section(const Elf64_Shdr& table) {
  if (table.sh_info >= sections_.size()) return fail("a relocation table for no section");
  uint8_t* section = placed_[table.sh_info];
  if (!section) return true;  // debugging information and the like
  if (table.sh_type == SHT_REL || table.sh_entsize != sizeof(Elf64_Rela)) return fail("relocations without addends");
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    std::memcpy(&relocation, file_.data() + table.sh_offset + at, sizeof relocation);
    if (!apply(relocation, section, sections_[table.sh_info].sh_size)) return false;
  }
  return true;
}

bool Loading::relocate() {
  for (const Elf64_Shdr& s : sections_)
    if ((s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && !relocate_section(s)) return false;
  return true;
}

bool Loading::protect() {
  static constexpr int kProtection[kRegions] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
  for (int region = 0; region < kRegions; ++region) {
    size_t bytes = round_up(region_bytes_[region], kPage);
    if (bytes && mprotect(base_ + region_at_[region], bytes, kProtection[region]) != 0)
      return fail(std::string("cannot be made executable: ") + std::strerror(errno));
  }
  return true;
}

bool Loading::find(const std::string& name, void** out) {
  for (const Elf64_Sym& s : symbols_) {
    if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || text_at(symbol_names_, s.st_name) != name)
      continue;
    if (s.st_shndx >= placed_.size() || !placed_[s.st_shndx] || regions_[s.st_shndx] != kText ||
        s.st_value >= sections_[s.st_shndx].sh_size)
      break;
    *out = placed_[s.st_shndx] + s.st_value;
    return true;
  }
  return fail("has no function '" + name + "'");
}

}  // namespace

std::unique_ptr<LoadedObject> LoadedObject::load(std::string_view bytes, const std::string& entry, std::string* error) {
  Loading loading(bytes, error);
  void* address;
  if (!loading.run() || !loading.find(entry, &address)) return nullptr;
  size_t total = loading.total();
  std::unique_ptr<LoadedObject> object(new LoadedObject(loading.release(), total));
  object->entry_ = address;
  return object;
}

LoadedObject::~LoadedObject() { munmap(base_, bytes_); }

}  // namespace fatload::cpu
