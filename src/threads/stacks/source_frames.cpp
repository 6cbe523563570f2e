#include "threads/stacks/source_frames.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <dwarf.h>

#include "base/system/file.hpp"
#include "threads/stacks/debug_library.hpp"
#include "threads/symbols/file_parts.hpp"

namespace kymo::threads {
namespace {

/// Addresses of what an entry describes.
struct EntryRange {
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  Dwarf_Die entry{};
};

void add_ranges(Dwarf_Die entry, std::vector<EntryRange>& ranges) {
  Dwarf_Addr base = 0;
  EntryRange range;
  range.entry = entry;
  for (std::ptrdiff_t at = 0; (at = debug_library().next_range(&entry, at, &base, &range.begin, &range.end)) > 0;) {
    ranges.push_back(range);
  }
}

void sort_ranges(std::vector<EntryRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const EntryRange& a, const EntryRange& b) { return a.begin < b.begin; });
}

const EntryRange* find_range(const std::vector<EntryRange>& ranges, Dwarf_Addr address) {
  const auto next = std::upper_bound(ranges.begin(), ranges.end(), address,
                                     [](Dwarf_Addr wanted, const EntryRange& range) { return wanted < range.begin; });
  return next != ranges.begin() && address < std::prev(next)->end ? &*std::prev(next) : nullptr;
}

/// The functions of a unit, or of a namespace within it, that have code.
void add_functions(Dwarf_Die within, std::vector<EntryRange>& functions, int depth) {
  constexpr int deepest = 64;
  Dwarf_Die entry{};
  if (depth == deepest || debug_library().child(&within, &entry) != 0) {
    return;
  }
  do {
    switch (debug_library().tag(&entry)) {
      case DW_TAG_subprogram:
        add_ranges(entry, functions);
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
        add_functions(entry, functions, depth + 1);
        break;
      default:
        break;
    }
  } while (debug_library().sibling(&entry, &entry) == 0);
}

/// Makes `entry` the one directly within it that has the address.
bool enter(Dwarf_Die& entry, Dwarf_Addr address) {
  Dwarf_Die inner{};
  if (debug_library().child(&entry, &inner) != 0) {
    return false;
  }
  do {
    const int tag = debug_library().tag(&inner);
    if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
         tag == DW_TAG_catch_block) &&
        debug_library().has_address(&inner, address) == 1) {
      entry = inner;
      return true;
    }
  } while (debug_library().sibling(&inner, &inner) == 0);
  return false;
}

std::string text_or_empty(const char* text) {
  return text != nullptr ? text : "";
}

std::string symbol_of(Dwarf_Die& entry) {
  Dwarf_Attribute attribute{};
  const char* name = nullptr;
  if (debug_library().attribute(&entry, DW_AT_linkage_name, &attribute) != nullptr) {
    name = debug_library().text(&attribute);
  }
  return text_or_empty(name != nullptr ? name : debug_library().name(&entry));
}

/// A function, whose line is not known yet.
SourceFrame frame_of(Dwarf_Die& entry) {
  return {symbol_of(entry), text_or_empty(debug_library().file(&entry)), 0};
}

/// A line is of use only together with its file.
void set_line(SourceFrame& frame, const char* file, Dwarf_Word line) {
  if (file != nullptr && frame.file.empty()) {
    frame.file = file;
  }
  frame.line = file != nullptr && frame.file == file && line <= UINT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

/// An attribute of the entry itself, not of the function that it is a copy of; 0: there is none.
Dwarf_Word number_of(Dwarf_Die& entry, unsigned name) {
  Dwarf_Attribute attribute{};
  Dwarf_Word value = 0;
  const bool is_there = debug_library().own_attribute(&entry, name, &attribute) != nullptr &&
                        debug_library().number(&attribute, &value) == 0;
  return is_there ? value : 0;
}

/// The line where an inlined function is called.
void set_line_of_call(SourceFrame& frame, Dwarf_Die unit, Dwarf_Die& inlined) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  const Dwarf_Word file = number_of(inlined, DW_AT_call_file);
  const bool is_there = debug_library().files(&unit, &files, &count) == 0 && file < count;
  set_line(frame, is_there ? debug_library().file_name(files, file, nullptr, nullptr) : nullptr,
           number_of(inlined, DW_AT_call_line));
}

void set_line_of_address(SourceFrame& frame, Dwarf_Die unit, Dwarf_Addr address) {
  Dwarf_Line* const row = debug_library().line(&unit, address);
  int line = 0;
  // Code of no line has a file nevertheless.
  if (row != nullptr && debug_library().line_number(row, &line) == 0 && line >= 0) {
    set_line(frame, debug_library().file_of_line(row, nullptr, nullptr), static_cast<Dwarf_Word>(line));
  }
}

class SourceByLibdw final : public SourceFrames {
 public:
  /// False if the file is not as open() demands.
  [[nodiscard]] bool read(const std::string& path, std::uint64_t inode);
  [[nodiscard]] std::vector<SourceFrame> find(std::uint64_t address) override;

 private:
  void read_units();

  base::FileDescriptor file_;
  ElfOwner elf_;
  DebugOwner debug_;
  std::vector<EntryRange> units_;
  std::unordered_map<const void*, std::vector<EntryRange>> functions_;  // by unit
};

void SourceByLibdw::read_units() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry{};
  Dwarf_Die split{};  // in a file of its own, if it is found
  while (debug_library().next_unit(debug_.get(), unit, &unit, nullptr, nullptr, &entry, &split) == 0) {
    const std::size_t before = units_.size();
    add_ranges(entry, units_);
    if (split.addr != nullptr) {
      std::for_each(units_.begin() + static_cast<std::ptrdiff_t>(before), units_.end(),
                    [&split](EntryRange& range) { range.entry = split; });
    }
  }
  sort_ranges(units_);
}

bool SourceByLibdw::read(const std::string& path, std::uint64_t inode) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30U;
  file_ = open_known_file(path, inode, most_bytes);
  elf_.reset(file_ ? debug_library().begin(file_.get(), ELF_C_READ_MMAP, nullptr) : nullptr);
  debug_.reset(elf_ ? debug_library().begin_debug(elf_.get(), DWARF_C_READ, nullptr) : nullptr);
  if (debug_) {
    read_units();
  }
  return !units_.empty();
}

std::vector<SourceFrame> SourceByLibdw::find(std::uint64_t address) {
  std::vector<SourceFrame> frames;
  const EntryRange* const unit = find_range(units_, address);
  if (unit == nullptr) {
    return frames;
  }
  const auto [functions, is_new] = functions_.try_emplace(unit->entry.addr);
  if (is_new) {
    add_functions(unit->entry, functions->second, 0);
    sort_ranges(functions->second);
  }
  const EntryRange* const function = find_range(functions->second, address);
  if (function == nullptr) {
    return frames;
  }
  Dwarf_Die entry = function->entry;
  frames.push_back(frame_of(entry));
  for (std::size_t depth = 0; depth < most_inlined && enter(entry, address); ++depth) {
    if (debug_library().tag(&entry) == DW_TAG_inlined_subroutine) {
      set_line_of_call(frames.back(), unit->entry, entry);
      SourceFrame inlined = frame_of(entry);
      if (inlined.symbol.empty()) {
        return frames;
      }
      frames.push_back(std::move(inlined));
    }
  }
  set_line_of_address(frames.back(), unit->entry, address);
  return frames;
}

}  // namespace

std::unique_ptr<SourceFrames> SourceFrames::open(const std::string& path, std::uint64_t inode) {
  auto source = std::make_unique<SourceByLibdw>();
  return debug_library().has_source && source->read(path, inode) ? std::move(source) : nullptr;
}

}  // namespace kymo::threads
