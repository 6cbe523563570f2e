// Replaces a file once its new content is complete. All rules for what a command may overwrite are here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/output/output_file.hpp"

namespace kymo::base {

/// What may be overwritten at a path given by the user.
struct Replacing {
  /// A text in the first 512 bytes that identifies a file of this kind as kymo's. Empty: such files have no mark that
  /// distinguishes them from other programs' files, so none is overwritten without --force.
  std::string_view mark;
  /// Any file may be overwritten: the user said --force.
  bool is_forced = false;
  /// Input files, which are never overwritten.
  std::vector<std::string> inputs;
};

/// Throws OutputError if `path` must not be overwritten: it is an input, a block device, or a non-empty file without
/// the mark. For commands that work for a long time before they write.
void require_replaceable(const std::string& path, const Replacing& replacing);

/// Calls `write` on a new file next to `path`, which is renamed when `write` returns. `path` therefore holds either its
/// old content or all of the new one, and keeps its mode. A pipe or device is written directly; a path that names an
/// open descriptor (/dev/stdout, /dev/fd/3) is written from its current position. Throws OutputError, also when
/// require_replaceable() does; exceptions from `write` pass through. `write` must close the file.
void replace_file(const std::string& path, const Replacing& replacing, const std::function<void(OutputFile)>& write);

}  // namespace kymo::base
