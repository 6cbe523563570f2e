#include "threads/stacks/inlined_functions.hpp"

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
      all.version(EV_CURRENT) != EV_NONE;
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

std::string name_of_entry(Dwarf_Die entry) {
  Dwarf_Attribute attribute{};
  const char* name = nullptr;
  if (debug_library().attribute(&entry, DW_AT_linkage_name, &attribute) != nullptr) {
    name = debug_library().text(&attribute);
  }
  if (name == nullptr) {
    name = debug_library().name(&entry);
  }
  return name != nullptr ? name : "";
}

}  // namespace

struct InlinedFunctions::State {
  base::FileDescriptor file;
  std::unique_ptr<Elf, EndDebugElf> elf;
  std::unique_ptr<Dwarf, EndDebug> debug;
  std::vector<EntryRange> units;
  std::unordered_map<const void*, std::vector<EntryRange>> functions;  // by unit

  void read_units();
};

void InlinedFunctions::State::read_units() {
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

InlinedFunctions::InlinedFunctions(std::unique_ptr<State> state) : state_(std::move(state)) {}

InlinedFunctions::~InlinedFunctions() = default;

std::unique_ptr<InlinedFunctions> InlinedFunctions::open(const std::string& path, std::uint64_t inode) {
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
  return state->units.empty() ? nullptr : std::unique_ptr<InlinedFunctions>(new InlinedFunctions(std::move(state)));
}

std::vector<std::string> InlinedFunctions::find(std::uint64_t address) {
  std::vector<std::string> names;
  const EntryRange* const unit = find_range(state_->units, address);
  if (unit == nullptr) {
    return names;
  }
  const auto [functions, is_new] = state_->functions.try_emplace(unit->entry.addr);
  if (is_new) {
    add_functions(unit->entry, functions->second, 0);
    sort_ranges(functions->second);
  }
  const EntryRange* const function = find_range(functions->second, address);
  if (function == nullptr) {
    return names;
  }
  Dwarf_Die entry = function->entry;
  for (std::size_t depth = 0; depth < most && enter(entry, address); ++depth) {
    if (debug_library().tag(&entry) == DW_TAG_inlined_subroutine) {
      if (std::string name = name_of_entry(entry); !name.empty()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

}  // namespace kymo::threads
