// The functions of a file that a process executes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/names/symbols.hpp"
#include "threads/symbols/file_parts.hpp"

namespace kymo::threads {

/// A function, or as much as is known of one.
struct NamedFunction {
  std::uint64_t address = 0;  ///< its first byte in the file's own addresses; the byte asked for if that is unknown
  std::string name;           ///< demangled, without parameters; empty: unknown
};

/// Names from .symtab, else from .dynsym; of a file without .symtab or debug information from its debug file
/// (debug_file.hpp), if there is one. Where functions without a name begin, from .eh_frame_hdr. Trusts nothing in the
/// files. 24 bytes a function.
class ModuleSymbols {
 public:
  /// Reads the file's symbols if it is still the one with this inode: 0.1 us a symbol. What is no ELF file has none.
  ModuleSymbols(const std::string& path, std::uint64_t inode);

  /// The linker's mark of the file; without bytes if it has none, or is no longer the one with the inode.
  [[nodiscard]] const record::BuildId& build_id() const { return build_id_; }

  /// The function that has the byte at an offset in the file. About 5 us.
  [[nodiscard]] NamedFunction find(std::uint64_t file_offset) const;

  /// The file's own address of the byte at an offset in it.
  [[nodiscard]] std::uint64_t address_of(std::uint64_t file_offset) const;
  /// Where debug information would be: in the file, or in its debug file. Empty if the file was replaced.
  [[nodiscard]] const std::string& debug_path() const { return debug_path_; }
  [[nodiscard]] std::uint64_t debug_inode() const { return debug_inode_; }

 private:
  void read_symbols(int file, const std::string& path);
  void read_headers(int file);
  void read_begins(int file, const FileSegment& index);

  std::vector<FileSegment> segments_;
  std::vector<std::uint64_t> begins_;  // ascending addresses of functions with unwinding information
  record::SymbolIndex symbols_;
  record::BuildId build_id_;
  std::string debug_path_;
  std::uint64_t debug_inode_ = 0;
};

}  // namespace kymo::threads
