#include "threads/stacks/source_frames.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/system/file.hpp"

namespace kymo::threads {
namespace {

/// The libraries' functions, found at run time: a copy of the command also runs where they are missing.
struct DebugLibrary {
  decltype(&::elf_version) version = nullptr;
  decltype(&::elf_begin) begin = nullptr;
  decltype(&::elf_end) end = nullptr;
  decltype(&::dwarf_begin_elf) begin_debug = nullptr;
  decltype(&::dwarf_end) end_debug = nullptr;
  decltype(&::dwarf_get_units) next_unit = nullptr;
  decltype(&::dwarf_ranges) next_range = nullptr;
  decltype(&::dwarf_child) child = nullptr;
  decltype(&::dwarf_siblingof) sibling = nullptr;
  decltype(&::dwarf_tag) tag = nullptr;
  decltype(&::dwarf_haspc) has_address = nullptr;
  decltype(&::dwarf_attr_integrate) attribute = nullptr;
  decltype(&::dwarf_formstring) text = nullptr;
  decltype(&::dwarf_diename) name = nullptr;
  decltype(&::dwarf_attr) own_attribute = nullptr;
  decltype(&::dwarf_formudata) number = nullptr;
  decltype(&::dwarf_decl_file) file = nullptr;
  decltype(&::dwarf_getsrcfiles) files = nullptr;
  decltype(&::dwarf_filesrc) file_name = nullptr;
  decltype(&::dwarf_getsrc_die) line = nullptr;
  decltype(&::dwarf_linesrc) file_of_line = nullptr;
  decltype(&::dwarf_lineno) line_number = nullptr;
  bool is_there = false;
};

template <typename Function>
bool load_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

DebugLibrary load_debug_library() {
  DebugLibrary all;
  void* const elf = ::dlopen("libelf.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const dwarf = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  all.is_there =
      elf != nullptr && dwarf != nullptr && load_function(elf, "elf_version", all.version) &&
      load_function(elf, "elf_begin", all.begin) && load_function(elf, "elf_end", all.end) &&
      load_function(dwarf, "dwarf_begin_elf", all.begin_debug) && load_function(dwarf, "dwarf_end", all.end_debug) &&
      load_function(dwarf, "dwarf_get_units", all.next_unit) && load_function(dwarf, "dwarf_ranges", all.next_range) &&
      load_function(dwarf, "dwarf_child", all.child) && load_function(dwarf, "dwarf_siblingof", all.sibling) &&
      load_function(dwarf, "dwarf_tag", all.tag) && load_function(dwarf, "dwarf_haspc", all.has_address) &&
      load_function(dwarf, "dwarf_attr_integrate", all.attribute) &&
      load_function(dwarf, "dwarf_formstring", all.text) && load_function(dwarf, "dwarf_diename", all.name) &&
      load_function(dwarf, "dwarf_attr", all.own_attribute) && load_function(dwarf, "dwarf_formudata", all.number) &&
      load_function(dwarf, "dwarf_decl_file", all.file) && load_function(dwarf, "dwarf_getsrcfiles", all.files) &&
      load_function(dwarf, "dwarf_filesrc", all.file_name) && load_function(dwarf, "dwarf_getsrc_die", all.line) &&
      load_function(dwarf, "dwarf_linesrc", all.file_of_line) &&
      load_function(dwarf, "dwarf_lineno", all.line_number) && all.version(EV_CURRENT) != EV_NONE;
  return all;
}

const DebugLibrary& debug_library() {
  static const DebugLibrary loaded = load_debug_library();
  return loaded;
}

struct EndDebugElf {
  void operator()(Elf* elf) const { debug_library().end(elf); }
};
struct EndDebug {
  void operator()(Dwarf* debug) const { debug_library().end_debug(debug); }
};

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

}  // namespace

struct SourceFrames::State {
  base::FileDescriptor file;
  std::unique_ptr<Elf, EndDebugElf> elf;
  std::unique_ptr<Dwarf, EndDebug> debug;
  std::vector<EntryRange> units;
  std::unordered_map<const void*, std::vector<EntryRange>> functions;  // by unit

  void read_units();
};

void SourceFrames::State::read_units() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry{};
  Dwarf_Die split{};  // in a file of its own, if it is found
  while (debug_library().next_unit(debug.get(), unit, &unit, nullptr, nullptr, &entry, &split) == 0) {
    const std::size_t before = units.size();
    add_ranges(entry, units);
    if (split.addr != nullptr) {
      std::for_each(units.begin() + static_cast<std::ptrdiff_t>(before), units.end(),
                    [&split](EntryRange& range) { range.entry = split; });
    }
  }
  sort_ranges(units);
}

SourceFrames::SourceFrames(std::unique_ptr<State> state) : state_(std::move(state)) {}

SourceFrames::~SourceFrames() = default;

std::unique_ptr<SourceFrames> SourceFrames::open(const std::string& path, std::uint64_t inode) {
  constexpr off_t most_bytes = off_t{1} << 30U;
  if (!debug_library().is_there) {
    return nullptr;
  }
  auto state = std::make_unique<State>();
  struct stat status {};
  // Anything may have the path by now; opening a FIFO must not block.
  state->file = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!state->file || ::fstat(state->file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != inode ||
      status.st_size > most_bytes) {
    return nullptr;
  }
  state->elf.reset(debug_library().begin(state->file.get(), ELF_C_READ_MMAP, nullptr));
  if (state->elf) {
    state->debug.reset(debug_library().begin_debug(state->elf.get(), DWARF_C_READ, nullptr));
  }
  if (!state->debug) {
    return nullptr;
  }
  state->read_units();
  return state->units.empty() ? nullptr : std::unique_ptr<SourceFrames>(new SourceFrames(std::move(state)));
}

std::vector<SourceFrame> SourceFrames::find(std::uint64_t address) {
  std::vector<SourceFrame> frames;
  const EntryRange* const unit = find_range(state_->units, address);
  if (unit == nullptr) {
    return frames;
  }
  const auto [functions, is_new] = state_->functions.try_emplace(unit->entry.addr);
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

}  // namespace kymo::threads
