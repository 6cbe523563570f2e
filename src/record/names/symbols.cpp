#include "record/names/symbols.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "base/system/file.hpp"
#include "base/text/ascii.hpp"
#include "base/text/escapes.hpp"

namespace kymo::record {

namespace {

/// Finds the build id among ELF notes; an invalid note ends the search.
bool find_build_id(std::span<const std::byte> notes, BuildId& id) noexcept {
  constexpr std::string_view owner("GNU\0", 4);
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header{};
    std::memcpy(&header, notes.data(), sizeof header);
    const std::uint64_t name_size = (std::uint64_t{header.n_namesz} + 3) / 4 * 4;
    const std::uint64_t description_size = (std::uint64_t{header.n_descsz} + 3) / 4 * 4;
    notes = notes.subspan(sizeof header);
    if (name_size > notes.size() || description_size > notes.size() - name_size) {
      return false;
    }
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == owner.size() &&
        std::memcmp(notes.data(), owner.data(), owner.size()) == 0) {
      id.size = std::min<std::size_t>(header.n_descsz, id.bytes.size());
      std::memcpy(id.bytes.data(), notes.data() + name_size, id.size);
      return true;
    }
    notes = notes.subspan(static_cast<std::size_t>(name_size + description_size));
  }
  return false;
}

struct ModuleSearch {
  std::uintptr_t address;
  LoadedModule* module;
  std::uint64_t unloads;
  bool is_found;
};

int visit_module(dl_phdr_info* info, std::size_t /*size*/, void* data) noexcept {
  auto& search = *static_cast<ModuleSearch*>(data);
  search.unloads = info->dlpi_subs;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  bool holds = false;
  const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type == PT_LOAD) {
      const std::uintptr_t from = info->dlpi_addr + header.p_vaddr;
      const std::uintptr_t to = from + header.p_memsz;
      holds = holds || (search.address >= from && search.address < to);
      begin = std::min(begin, from);
      end = std::max(end, to);
    }
  }
  if (!holds) {
    return 0;
  }
  *search.module = {info->dlpi_addr, begin, end, info->dlpi_name != nullptr ? info->dlpi_name : "", {}};
  for (const ElfW(Phdr) & header : headers) {
    // Notes outside every loaded segment exist only in the file.
    const std::uintptr_t from = info->dlpi_addr + header.p_vaddr;
    const bool is_mapped = std::any_of(headers.begin(), headers.end(), [&](const ElfW(Phdr) & load) {
      return load.p_type == PT_LOAD && header.p_vaddr >= load.p_vaddr && header.p_memsz <= load.p_memsz &&
             header.p_vaddr - load.p_vaddr <= load.p_memsz - header.p_memsz;
    });
    if (header.p_type == PT_NOTE && is_mapped &&
        find_build_id({reinterpret_cast<const std::byte*>(from), header.p_memsz}, search.module->build_id)) {
      break;
    }
  }
  search.is_found = true;
  return 1;
}

template <typename T>
bool read_at(int file, std::uint64_t offset, std::span<T> into) noexcept {
  const auto bytes = std::as_writable_bytes(into);
  return offset <= INT64_MAX && base::read_fully_at(file, bytes, offset) == static_cast<std::int64_t>(bytes.size());
}

bool is_inside(std::uint64_t offset, std::uint64_t size, std::uint64_t file_size) noexcept {
  return offset <= file_size && size <= file_size - offset;
}

base::FileDescriptor open_regular(const std::string& path, struct stat& status) {
  // The module's path may name anything by now; opening a FIFO must not block.
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    file.reset();
  }
  return file;
}

/// Fewer underscores before it, else longer, else earlier in the alphabet.
bool is_plainer(const std::string& name, const std::string& other) noexcept {
  const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
  const std::size_t of_other = std::min(other.find_first_not_of('_'), other.size());
  if (underscores != of_other) {
    return !name.empty() && underscores < of_other;
  }
  return name.size() != other.size() ? name.size() > other.size() : name < other;
}

bool is_same_file(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

std::string_view BuildId::hex(std::span<char, 128> text) const noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    text[2 * i] = base::hex_digits[bytes[i] >> 4U];
    text[2 * i + 1] = base::hex_digits[bytes[i] & 15U];
  }
  return {text.data(), 2 * size};
}

BuildId BuildId::from_hex(std::string_view text) noexcept {
  BuildId id;
  for (; text.size() >= 2 && id.size < id.bytes.size(); text.remove_prefix(2)) {
    const std::size_t high = base::hex_digits.find(text[0]);
    const std::size_t low = base::hex_digits.find(text[1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return {};
    }
    id.bytes[id.size++] = static_cast<unsigned char>(high << 4U | low);
  }
  return id;
}

bool find_loaded_module(std::uintptr_t address, LoadedModule& module, std::uint64_t& unloads) noexcept {
  ModuleSearch search{address, &module, 0, false};
  ::dl_iterate_phdr(visit_module, &search);
  unloads = search.unloads;
  return search.is_found;
}

/// Location of the symbols and their names in the file.
struct SymbolIndex::Sections {
  std::uint64_t symbols_offset = 0;
  std::uint64_t symbol_count = 0;
  std::uint64_t names_offset = 0;
  std::uint64_t names_size = 0;
  BuildId build_id;
  bool has_symtab = false;

  static std::optional<Sections> find(int file, std::uint64_t file_size);
};

std::optional<SymbolIndex::Sections> SymbolIndex::Sections::find(int file, std::uint64_t file_size) {
  constexpr unsigned char byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  Elf64_Ehdr head{};
  if (!read_at(file, 0, std::span(&head, 1)) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != byte_order ||
      head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff == 0) {
    return std::nullopt;
  }
  // A file with 65,280 sections or more stores their number in the first section header.
  Elf64_Shdr first{};
  if (!is_inside(head.e_shoff, sizeof first, file_size) || !read_at(file, head.e_shoff, std::span(&first, 1))) {
    return std::nullopt;
  }
  const std::uint64_t count = head.e_shnum != 0 ? head.e_shnum : first.sh_size;
  if (count > file_size / sizeof(Elf64_Shdr) || !is_inside(head.e_shoff, count * sizeof(Elf64_Shdr), file_size)) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> headers(static_cast<std::size_t>(count));
  if (!read_at(file, head.e_shoff, std::span(headers))) {
    return std::nullopt;
  }
  Sections sections;
  for (const Elf64_Shdr& header : headers) {
    if (!is_inside(header.sh_offset, header.sh_size, file_size)) {
      continue;
    }
    if (header.sh_type == SHT_NOTE && sections.build_id.size == 0) {
      std::array<std::byte, 4096> notes{};
      const auto used =
          std::span(notes).first(static_cast<std::size_t>(std::min<std::uint64_t>(header.sh_size, notes.size())));
      if (read_at(file, header.sh_offset, used)) {
        find_build_id(used, sections.build_id);
      }
    }
    const bool is_wanted = header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_DYNSYM && !sections.has_symtab);
    if (!is_wanted || header.sh_entsize != sizeof(Elf64_Sym) || header.sh_link >= headers.size()) {
      continue;
    }
    const Elf64_Shdr& names = headers[header.sh_link];
    if (names.sh_type != SHT_STRTAB || !is_inside(names.sh_offset, names.sh_size, file_size)) {
      continue;
    }
    sections.has_symtab = header.sh_type == SHT_SYMTAB;
    sections.symbols_offset = header.sh_offset;
    sections.symbol_count = header.sh_size / sizeof(Elf64_Sym);
    sections.names_offset = names.sh_offset;
    sections.names_size = names.sh_size;
  }
  return sections;
}

void SymbolIndex::read_functions(int file, const Sections& sections) {
  std::array<Elf64_Sym, 1024> symbols;
  for (std::uint64_t at = 0; at < sections.symbol_count; at += symbols.size()) {
    const auto part = std::span(symbols).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(sections.symbol_count - at, symbols.size())));
    if (!read_at(file, sections.symbols_offset + at * sizeof(Elf64_Sym), part)) {
      break;
    }
    for (const Elf64_Sym& symbol : part) {
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      const unsigned binding = ELF64_ST_BIND(symbol.st_info);
      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
          symbol.st_name < sections.names_size) {
        const auto size = std::min<std::uint64_t>(symbol.st_size, (1U << 30U) - 1);
        const unsigned rank = symbol.st_size == 0 ? 3 : binding == STB_WEAK ? 2 : binding == STB_LOCAL ? 1 : 0;
        functions_.push_back(
            {symbol.st_value, symbol.st_name, static_cast<std::uint32_t>(size) & ((1U << 30U) - 1), rank & 3U});
      }
    }
  }
  functions_.shrink_to_fit();
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    return a.address != b.address ? a.address < b.address : a.rank < b.rank;
  });
}

SymbolIndex SymbolIndex::read(const std::string& path, const BuildId& expected) {
  SymbolIndex index;
  index.path_ = path;
  const base::FileDescriptor file = open_regular(path, index.identity_);
  if (!file) {
    return index;
  }
  const auto sections = Sections::find(file.get(), static_cast<std::uint64_t>(index.identity_.st_size));
  if (sections && (expected.size == 0 || sections->build_id == expected)) {
    index.names_offset_ = sections->names_offset;
    index.names_size_ = sections->names_size;
    index.build_id_ = sections->build_id;
    index.has_symtab_ = sections->has_symtab;
    index.read_functions(file.get(), *sections);
  }
  return index;
}

const SymbolIndex::Function* SymbolIndex::find(std::uint64_t offset) const {
  auto after =
      std::upper_bound(functions_.begin(), functions_.end(), offset,
                       [](std::uint64_t wanted, const Function& function) { return wanted < function.address; });
  if (after == functions_.begin()) {
    return nullptr;
  }
  const std::uint64_t address = (after - 1)->address;
  while (after != functions_.begin() && (after - 1)->address == address) {
    --after;
  }
  return offset == address || offset - address < after->size ? &*after : nullptr;
}

std::optional<std::uint64_t> SymbolIndex::begin_of(std::uint64_t offset) const {
  const Function* const function = find(offset);
  return function != nullptr ? std::optional(function->address) : std::nullopt;
}

std::string SymbolIndex::read_name(int file, const Function& function) const {
  std::array<char, 8192> text;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(names_size_ - function.name, text.size()));
  if (!read_at(file, names_offset_ + function.name, std::span(text).first(size))) {
    return {};
  }
  const std::string_view read(text.data(), size);
  // Cuts the symbol version: "name@VERSION" or "name@@VERSION".
  return std::string(read.substr(0, std::min(read.find('\0'), read.find('@'))));
}

std::string SymbolIndex::name_at(std::uint64_t offset) const {
  const Function* const function = find(offset);
  if (function == nullptr) {
    return {};
  }
  struct stat now {};
  const base::FileDescriptor file = open_regular(path_, now);
  if (!file || !is_same_file(now, identity_)) {
    return {};
  }
  // Of names of one rank the plainest is the usual one: malloc, not __libc_malloc.
  constexpr std::size_t most_names = 64;
  std::string best = read_name(file.get(), *function);
  const Function* const end = functions_.data() + functions_.size();
  for (const Function* other = function + 1; other != end && other < function + most_names &&
                                             other->address == function->address && other->rank == function->rank;
       ++other) {
    if (std::string name = read_name(file.get(), *other); is_plainer(name, best)) {
      best = std::move(name);
    }
  }
  return best;
}

namespace {

/// Walks through a name, skipping brackets with their content and `operator` with its symbol.
class NameScanner {
 public:
  explicit NameScanner(std::string_view text) : text_(text) {}

  /// The last space outside all brackets and before any `operator` outside brackets; npos if there is none.
  [[nodiscard]] std::size_t last_outer_space() noexcept {
    std::size_t space = std::string_view::npos;
    for (std::size_t at = 0; at < text_.size() && depth_ < open_.size(); ++at) {
      if (is_operator_at(at)) {
        if (depth_ == 0) {
          break;
        }
        at = end_of_operator(at) - 1;
      } else if (text_[at] == ' ') {
        space = depth_ == 0 ? at : space;
      } else {
        take_bracket(at);
      }
    }
    return space;
  }

 private:
  static constexpr std::string_view operator_word = "operator";

  static bool is_identifier(char c) noexcept { return base::is_letter_digit_or("_$", c); }

  [[nodiscard]] bool is_operator_at(std::size_t at) const noexcept {
    const std::size_t end = at + operator_word.size();
    return text_.substr(at, operator_word.size()) == operator_word && (at == 0 || !is_identifier(text_[at - 1])) &&
           (end == text_.size() || !is_identifier(text_[end]));
  }

  [[nodiscard]] std::size_t end_of_operator(std::size_t at) const noexcept {
    at += operator_word.size();
    if (text_.substr(at, 2) == "()" || text_.substr(at, 2) == "[]") {
      return at + 2;
    }
    while (at < text_.size() && std::string_view("<>=-!+*/%^&|~,").find(text_[at]) != std::string_view::npos) {
      ++at;
    }
    return at;
  }

  void take_bracket(std::size_t at) noexcept {
    constexpr std::string_view openers = "<([{";
    constexpr std::string_view closers = ">)]}";
    if (openers.find(text_[at]) != std::string_view::npos) {
      open_[depth_++] = text_[at];
      return;
    }
    const std::size_t kind = closers.find(text_[at]);
    if (kind == std::string_view::npos) {
      return;
    }
    // A '>' that closes nothing is a comparison or part of an arrow. A '<' still open when another bracket closes was a
    // comparison.
    std::size_t depth = depth_;
    while (depth > 0 && open_[depth - 1] != openers[kind]) {
      if (text_[at] == '>') {
        return;
      }
      --depth;
    }
    depth_ = depth > 0 ? depth - 1 : depth_;
  }

  std::string_view text_;
  std::array<char, 256> open_{};  // names nested deeper are left unchanged
  std::size_t depth_ = 0;
};

/// Index of the opening bracket of the parentheses at a text's end; npos if it does not end in any.
std::size_t begin_of_last_parenthesis(std::string_view text) noexcept {
  int depth = 0;
  for (std::size_t at = text.size(); at > 0; --at) {
    depth += text[at - 1] == ')' ? 1 : text[at - 1] == '(' ? -1 : 0;
    if (depth == 0) {
      return text[at - 1] == '(' ? at - 1 : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view qualified_name(std::string_view demangled) noexcept {
  std::string_view name = demangled.substr(0, demangled.find(" [clone "));
  for (const std::string_view suffix : {" const", " volatile", " &", " &&", " noexcept", " const", " volatile"}) {
    if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) {
      name.remove_suffix(suffix.size());
    }
  }
  if (const std::size_t parameters = begin_of_last_parenthesis(name);
      parameters != std::string_view::npos && parameters != 0) {
    name = name.substr(0, parameters);
  }
  if (const std::size_t space = NameScanner(name).last_outer_space(); space != std::string_view::npos) {
    name = name.substr(space + 1);
  }
  return name;
}

namespace {

/// Where a C compiler's mark of a function that it derived begins: "parse.constprop.0", "parse.cold". Go's names have
/// dots of their own: "main.parse.func1".
std::size_t begin_of_clone(const std::string& symbol) {
  constexpr std::array<std::string_view, 8> marks{".constprop", ".isra", ".part",  ".cold",
                                                  ".lto_priv",  ".llvm", ".clone", ".localalias"};
  std::size_t begin = symbol.size();
  for (const std::string_view mark : marks) {
    const std::size_t at = symbol.find(mark);
    const std::size_t behind = at + mark.size();
    const bool is_mark = at != std::string::npos &&
                         (behind == symbol.size() ||
                          (behind + 1 < symbol.size() && symbol[behind] == '.' && base::is_digit(symbol[behind + 1])));
    begin = is_mark ? std::min(begin, at) : begin;
  }
  return begin;
}

}  // namespace

FunctionName demangle(const std::string& symbol) {
  if (symbol.compare(0, 2, "_Z") != 0) {
    return {symbol.substr(0, begin_of_clone(symbol)), symbol};
  }
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  if (status != 0 || text == nullptr) {
    return {symbol, symbol};
  }
  return {std::string(qualified_name(text.get())), text.get()};
}

}  // namespace kymo::record
