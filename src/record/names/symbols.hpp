// Function names: finds the module of an address and the symbol in the module's ELF file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace kymo::record {

/// The linker's mark that tells a module's builds apart. At most 64 bytes of it are kept.
struct BuildId {
  std::array<unsigned char, 64> bytes{};
  std::size_t size = 0;  ///< 0: the module has none

  [[nodiscard]] bool operator==(const BuildId& other) const noexcept = default;
  /// Lower-case hex, written into `text`.
  [[nodiscard]] std::string_view hex(std::span<char, 128> text) const noexcept;
  /// Inverse of hex(); without bytes if the text is invalid.
  [[nodiscard]] static BuildId from_hex(std::string_view text) noexcept;
};

/// An executable or shared library as currently mapped.
struct LoadedModule {
  std::uintptr_t load_base = 0;  ///< offset of the addresses in its file
  std::uintptr_t begin = 0;      ///< its lowest mapped address
  std::uintptr_t end = 0;        ///< one past its highest mapped address
  const char* path = "";         ///< the dynamic linker's path, valid while the module is loaded; empty: the executable
  BuildId build_id;
};

/// Finds the module that contains an address; false if there is none. Sets `unloads` to the number of modules unloaded
/// so far. Allocates nothing but takes the dynamic linker's lock: about a microsecond.
[[nodiscard]] bool find_loaded_module(std::uintptr_t address, LoadedModule& module, std::uint64_t& unloads) noexcept;

/// The functions of one ELF file by their addresses in it, from .symtab or, in a stripped file, from .dynsym. Trusts
/// nothing in the file. Holds 16 bytes per function; names are read from the file on request.
class SymbolIndex {
 public:
  /// Reads a file's symbols. About 0.1 us per symbol. The index is empty if the file
  ///
  /// - has no symbols,
  /// - is not a 64-bit ELF file of this machine's byte order,
  /// - has an unexpected build id (it was replaced after the program loaded it).
  [[nodiscard]] static SymbolIndex read(const std::string& path, const BuildId& expected);

  [[nodiscard]] std::size_t size() const { return functions_.size(); }
  [[nodiscard]] const BuildId& build_id() const { return build_id_; }
  /// Whether all functions have names: not only exported ones, as in a stripped file.
  [[nodiscard]] bool has_symtab() const { return has_symtab_; }

  /// The linker's name (mangled, without a symbol version) of the function at an offset from the load base. Empty if
  /// none is known or the file has changed. About 3 us.
  [[nodiscard]] std::string name_at(std::uint64_t offset) const;
  /// Offset of the first byte of the function at an offset, from the load base; nothing if none is known. 0.1 us.
  [[nodiscard]] std::optional<std::uint64_t> begin_of(std::uint64_t offset) const;

 private:
  struct Function {
    std::uint64_t address;
    std::uint32_t name;  ///< offset in the string table
    std::uint32_t size : 30;
    std::uint32_t rank : 2;  ///< among several names of an address the lowest wins: global, local, weak, without size
  };
  struct Sections;

  [[nodiscard]] const Function* find(std::uint64_t offset) const;
  [[nodiscard]] std::string read_name(int file, const Function& function) const;
  void read_functions(int file, const Sections& sections);

  std::string path_;
  struct stat identity_ {};
  std::uint64_t names_offset_ = 0;
  std::uint64_t names_size_ = 0;
  BuildId build_id_;
  bool has_symtab_ = false;
  std::vector<Function> functions_;  // by ascending address, then rank
};

/// A function's short and long name.
struct FunctionName {
  std::string qualified;  ///< "Renderer::draw", "scale<float>"
  std::string full;       ///< "Renderer::draw(int) const", "float scale<float>(float)"
};

/// Demangles a name; a name that is not mangled is returned unchanged. A microsecond or two; for the longest names
/// (1,024 bytes; longer ones stay mangled) 80 KiB of stack.
[[nodiscard]] FunctionName demangle(const std::string& symbol);

/// The name within a demangled function: without return type, parameters, qualifiers and clone suffixes.
[[nodiscard]] std::string_view qualified_name(std::string_view demangled) noexcept;

}  // namespace kymo::record
