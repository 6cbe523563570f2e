// elfutils' libelf and libdw, loaded at run time: a copy of the command also runs where they are missing.
#pragma once

#include <memory>

#include <elfutils/libdw.h>
#include <gelf.h>

#include "base/system/library_function.hpp"

namespace kymo::threads {

/// The functions of both libraries that kymo calls; null: it is missing, or its library.
class DebugLibrary {
 private:
  /// Remembers whether all were found.
  base::LibraryFunction find(void* library, const char* symbol) {
    const base::LibraryFunction function(library, symbol);
    has_all_ = has_all_ && function.is_there();
    return function;
  }

  void* elf_;
  void* dwarf_;
  bool has_all_ = true;

 public:
  DebugLibrary();

  decltype(&::elf_version) version = find(elf_, "elf_version");
  decltype(&::elf_begin) begin = find(elf_, "elf_begin");
  decltype(&::elf_memory) memory = find(elf_, "elf_memory");
  decltype(&::elf_end) end = find(elf_, "elf_end");
  decltype(&::elf_getphdrnum) count_segments = find(elf_, "elf_getphdrnum");
  decltype(&::gelf_getphdr) get_segment = find(elf_, "gelf_getphdr");
  decltype(&::gelf_getehdr) get_header = find(elf_, "gelf_getehdr");
  decltype(&::dwarf_getcfi_elf) get_frames = find(dwarf_, "dwarf_getcfi_elf");
  decltype(&::dwarf_cfi_end) end_frames = find(dwarf_, "dwarf_cfi_end");
  decltype(&::dwarf_begin_elf) begin_debug = find(dwarf_, "dwarf_begin_elf");
  decltype(&::dwarf_end) end_debug = find(dwarf_, "dwarf_end");
  decltype(&::dwarf_getcfi) get_debug_frames = find(dwarf_, "dwarf_getcfi");
  decltype(&::dwarf_cfi_addrframe) find_frame = find(dwarf_, "dwarf_cfi_addrframe");
  decltype(&::dwarf_frame_info) get_info = find(dwarf_, "dwarf_frame_info");
  decltype(&::dwarf_frame_cfa) get_frame_address = find(dwarf_, "dwarf_frame_cfa");
  decltype(&::dwarf_frame_register) get_register = find(dwarf_, "dwarf_frame_register");
  /// Whether all above are there, and understand this version of ELF.
  bool has_frames = has_all_ && version(EV_CURRENT) != EV_NONE;

  decltype(&::dwarf_get_units) next_unit = find(dwarf_, "dwarf_get_units");
  decltype(&::dwarf_ranges) next_range = find(dwarf_, "dwarf_ranges");
  decltype(&::dwarf_child) child = find(dwarf_, "dwarf_child");
  decltype(&::dwarf_siblingof) sibling = find(dwarf_, "dwarf_siblingof");
  decltype(&::dwarf_tag) tag = find(dwarf_, "dwarf_tag");
  decltype(&::dwarf_haspc) has_address = find(dwarf_, "dwarf_haspc");
  decltype(&::dwarf_attr_integrate) attribute = find(dwarf_, "dwarf_attr_integrate");
  decltype(&::dwarf_formstring) text = find(dwarf_, "dwarf_formstring");
  decltype(&::dwarf_diename) name = find(dwarf_, "dwarf_diename");
  decltype(&::dwarf_attr) own_attribute = find(dwarf_, "dwarf_attr");
  decltype(&::dwarf_formudata) number = find(dwarf_, "dwarf_formudata");
  decltype(&::dwarf_decl_file) file = find(dwarf_, "dwarf_decl_file");
  decltype(&::dwarf_getsrcfiles) files = find(dwarf_, "dwarf_getsrcfiles");
  decltype(&::dwarf_filesrc) file_name = find(dwarf_, "dwarf_filesrc");
  decltype(&::dwarf_getsrc_die) line = find(dwarf_, "dwarf_getsrc_die");
  decltype(&::dwarf_linesrc) file_of_line = find(dwarf_, "dwarf_linesrc");
  decltype(&::dwarf_lineno) line_number = find(dwarf_, "dwarf_lineno");
  /// Whether these are there too: libdw 0.171 is the first that lists units.
  bool has_source = has_frames && has_all_;
};

/// Loaded by the first call.
[[nodiscard]] const DebugLibrary& debug_library();

/// Deletes an object by one of the functions.
template <auto end>
struct EndBy {
  template <typename Object>
  void operator()(Object* object) const {
    (debug_library().*end)(object);
  }
};
using ElfOwner = std::unique_ptr<Elf, EndBy<&DebugLibrary::end>>;
using DebugOwner = std::unique_ptr<Dwarf, EndBy<&DebugLibrary::end_debug>>;
using FramesOwner = std::unique_ptr<Dwarf_CFI, EndBy<&DebugLibrary::end_frames>>;

}  // namespace kymo::threads
