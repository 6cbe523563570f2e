// Captures of programs compiled to WebAssembly: files in the program's own memory, which the page saves. Elsewhere this
// header is empty.
#pragma once

#if defined(__EMSCRIPTEN__)

#include <kymo/export.hpp>
#include <kymo/path.hpp>

namespace kymo {

/// Offers a capture to the user as a download named like the file. It may be read while it is written: what it held
/// then is complete. False, with a line on the console, where there is no such file, and in workers, which have no
/// downloads: hand the file over with `FS.readFile(path)` there. Copies the file once; browsers ask the user where a
/// page offers several without a click.
KYMO_API bool download_capture(const Path& path) noexcept;

}  // namespace kymo

#endif
