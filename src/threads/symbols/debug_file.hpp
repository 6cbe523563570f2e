// The file with the symbols or the debug information that were stripped off another one.
#pragma once

#include <cstdint>
#include <string>

#include "record/names/symbols.hpp"

namespace kymo::threads {

struct DebugFile {
  record::SymbolIndex symbols;
  std::string path;
  std::uint64_t inode = 0;
};

/// The debug file of `path`; without symbols if there is none. `file` is open on it.
///
/// The debug file of /lib/libm.so, whose .gnu_debuglink says libm.debug, is the first of
///
/// - /usr/lib/debug/.build-id/ab/cdef.debug, where abcdef is the build id,
/// - /lib/libm.debug, /lib/.debug/libm.debug, /usr/lib/debug/lib/libm.debug; of a file that says no name libm.so.debug
///
/// that has the same build id, or if the file has none, the checksum in .gnu_debuglink. Trusts nothing in the files.
/// For a checksum 2.5 ms a MiB, of files up to 1 GiB.
[[nodiscard]] DebugFile read_debug_file(int file, const std::string& path, const record::BuildId& build_id);

}  // namespace kymo::threads
