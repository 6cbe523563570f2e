// A file that takes the place of another when it is whole.
#pragma once

#include <functional>
#include <string>

#include "exchange/output_file.hpp"

namespace kymo::exchange {

/// Has `write` write a new file beside `path` and renames it when that returns, so that `path` holds either what it
/// held before or all of the new one. A pipe or a device is written directly, and what names an open descriptor
/// (/dev/stdout, /dev/fd/3) from where that stands. OutputError; what `write` throws passes through. `write` must close
/// the file.
void replace_file(const std::string& path, const std::function<void(OutputFile)>& write);

}  // namespace kymo::exchange
