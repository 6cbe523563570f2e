#include "threads/symbols/module_symbols.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <elf.h>

#include "base/system/file.hpp"
#include "threads/symbols/debug_file.hpp"
#include "threads/symbols/file_parts.hpp"
#include "threads/symbols/symbol_name.hpp"

namespace kymo::threads {

ModuleSymbols::ModuleSymbols(const std::string& path, std::uint64_t inode) {
  if (const base::FileDescriptor file = open_known_file(path, inode)) {
    debug_path_ = path;
    debug_inode_ = inode;
    read_headers(file.get());
    read_symbols(file.get(), path);
  }
}

void ModuleSymbols::read_symbols(int file, const std::string& path) {
  symbols_ = record::SymbolIndex::read(path, {});
  build_id_ = symbols_.build_id();
  // It has the inlined functions and the lines too: a separate file would add nothing.
  if (symbols_.has_symtab() && has_section(file, ".debug_info")) {
    return;
  }
  if (DebugFile debug = read_debug_file(file, path, build_id_); debug.symbols.has_symtab()) {
    symbols_ = std::move(debug.symbols);
    debug_path_ = std::move(debug.path);
    debug_inode_ = debug.inode;
  }
}

void ModuleSymbols::read_headers(int file) {
  Elf64_Ehdr head{};
  if (!read_head(file, head) || head.e_phentsize != sizeof(Elf64_Phdr)) {
    return;
  }
  Elf64_Phdr header{};
  for (std::uint64_t i = 0; i < head.e_phnum && read_record(file, head.e_phoff + i * sizeof header, header); ++i) {
    if (header.p_type == PT_LOAD) {
      segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    } else if (header.p_type == PT_GNU_EH_FRAME && begins_.empty()) {
      read_begins(file, {header.p_offset, header.p_filesz, header.p_vaddr});
    }
  }
}

/// The index of .eh_frame as all linkers write it: offsets of functions and of their entries, relative to itself, by
/// ascending function.
void ModuleSymbols::read_begins(int file, const FileSegment& index) {
  constexpr std::array<unsigned char, 4> usual_forms{1, 0x1b, 0x03, 0x3b};
  constexpr std::uint32_t most_functions = std::uint32_t{1} << 22U;
  struct {
    std::array<unsigned char, 4> forms;
    std::int32_t frames;
    std::uint32_t count;
  } head{};
  struct Entry {
    std::int32_t function;
    std::int32_t frame;
  };
  if (!read_record(file, index.file_offset, head) || head.forms != usual_forms || index.size < sizeof head ||
      head.count > std::min<std::uint64_t>((index.size - sizeof head) / sizeof(Entry), most_functions)) {
    return;
  }
  std::array<Entry, 1024> entries{};
  for (std::uint64_t at = 0; at < head.count; at += entries.size()) {
    const auto part =
        std::span(entries).first(static_cast<std::size_t>(std::min<std::uint64_t>(head.count - at, entries.size())));
    if (!read_all(file, index.file_offset + sizeof head + at * sizeof(Entry), std::as_writable_bytes(part))) {
      break;
    }
    for (const Entry& entry : part) {
      begins_.push_back(index.address + static_cast<std::uint64_t>(std::int64_t{entry.function}));
    }
  }
  std::sort(begins_.begin(), begins_.end());
}

std::uint64_t ModuleSymbols::address_of(std::uint64_t file_offset) const {
  const FileSegment* const segment = segment_at(segments_, file_offset);
  return segment != nullptr ? segment->address_of(file_offset) : file_offset;
}

NamedFunction ModuleSymbols::find(std::uint64_t file_offset) const {
  NamedFunction function{address_of(file_offset), {}};
  if (const auto begin = symbols_.begin_of(function.address)) {
    function.address = *begin;
  } else if (const auto next = std::upper_bound(begins_.begin(), begins_.end(), function.address);
             next != begins_.begin()) {
    function.address = *std::prev(next);
  }
  if (const std::string symbol = symbols_.name_at(function.address); !symbol.empty()) {
    function.name = name_of_symbol(symbol);
  }
  return function;
}

}  // namespace kymo::threads
