// What functions are called: the module that an address lies in, and the name that the module's ELF file has for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace kymo::record {

/// What a linker wrote into a module to tell its builds apart. At most 64 bytes of it are kept.
struct BuildId {
  std::array<unsigned char, 64> bytes{};
  std::size_t size = 0;  ///< 0: the module has none

  [[nodiscard]] bool operator==(const BuildId& other) const noexcept = default;
  /// Lower-case hex, written into `text`.
  [[nodiscard]] std::string_view hex(std::span<char, 128> text) const noexcept;
  /// What hex() was made from; one without bytes where the text is none such.
  [[nodiscard]] static BuildId from_hex(std::string_view text) noexcept;
};

/// An executable or shared library as it is mapped now.
struct LoadedModule {
  std::uintptr_t load_base = 0;  ///< what the addresses in its file are moved by
  std::uintptr_t begin = 0;      ///< its lowest mapped address
  std::uintptr_t end = 0;        ///< one past its highest
  const char* path = "";  ///< as the dynamic linker has it, valid while the module is loaded; empty: the executable
  BuildId build_id;
};

/// The module that an address lies in; false when there is none. `unloads` becomes the number of modules unloaded so
/// far. Allocates nothing, but takes the dynamic linker's lock: about a microsecond.
[[nodiscard]] bool find_loaded_module(std::uintptr_t address, LoadedModule& module, std::uint64_t& unloads) noexcept;

/// The functions of one ELF file by their addresses in it: from .symtab, or from .dynsym where it was stripped.
/// Trusts nothing in the file, and holds 16 bytes a function; names are read from the file when they are asked for.
class SymbolIndex {
 public:
  /// Reads a file's symbols; an index without any where it has none, is no 64-bit ELF file of this machine's byte
  /// order, or has another build id than expected (it was replaced after the program loaded it). About 0.1 us a symbol.
  [[nodiscard]] static SymbolIndex read(const std::string& path, const BuildId& expected);

  [[nodiscard]] std::size_t size() const { return functions_.size(); }

  /// The function at an offset from the load base, as the linker knows it (mangled, without a symbol version); empty
  /// when none is known, or the file has changed since. About 3 us.
  [[nodiscard]] std::string name_at(std::uint64_t offset) const;

 private:
  struct Function {
    std::uint64_t address;
    std::uint32_t name;  ///< offset in the string table
    std::uint32_t size : 30;
    std::uint32_t rank : 2;  ///< of several names of one address the lowest is taken: global, weak, local
  };
  struct Sections;

  void read_functions(int file, const Sections& sections);

  std::string path_;
  struct stat identity_ {};
  std::uint64_t names_offset_ = 0;
  std::uint64_t names_size_ = 0;
  std::vector<Function> functions_;  // by ascending address, then rank
};

/// A function's name in two lengths.
struct FunctionName {
  std::string qualified;  ///< "Renderer::draw", "scale<float>"
  std::string full;       ///< "Renderer::draw(int) const", "float scale<float>(float)"
};

/// Demangles a name; one that is not mangled is taken as it is. A microsecond or two, and for the longest names (1,024
/// bytes; longer ones stay mangled) 80 KiB of stack.
[[nodiscard]] FunctionName demangle(const std::string& symbol);

/// The part of a demangled function that names it: without return type, parameters, qualifiers and marks of clones.
[[nodiscard]] std::string_view qualified_name(std::string_view demangled) noexcept;

}  // namespace kymo::record
