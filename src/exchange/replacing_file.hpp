// A file that takes the place of another when it is whole. The one place that decides what a command may overwrite.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/output_file.hpp"

namespace kymo::exchange {

/// What may be overwritten at a path that the user named.
struct Replacing {
  /// Text within the first 512 bytes by which a file of this kind that kymo wrote is told from all others. Empty: such
  /// files hold nothing that tells them from another program's, and none is overwritten unasked.
  std::string_view mark;
  /// Any file may be overwritten: the user said --force.
  bool is_forced = false;
  /// Files that are being read: never overwritten.
  std::vector<std::string> inputs;
};

/// OutputError where `path` must not be overwritten: it is an input, or a block device, or a file with something in it
/// that has not the mark. For commands that work long before they write.
void require_replaceable(const std::string& path, const Replacing& replacing);

/// Has `write` write a new file beside `path` and renames it when that returns, so that `path` holds either what it
/// held before or all of the new one, which keeps the mode of the old one. A pipe or a device is written directly, and
/// what names an open descriptor (/dev/stdout, /dev/fd/3) from where that stands. OutputError, also where
/// require_replaceable() says so; what `write` throws passes through. `write` must close the file.
void replace_file(const std::string& path, const Replacing& replacing, const std::function<void(OutputFile)>& write);

}  // namespace kymo::exchange
