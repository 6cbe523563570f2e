// Captures of programs compiled to WebAssembly: files in the program's in-memory file system, which the page saves. On
// other platforms this header is empty.
#pragma once

#if defined(__EMSCRIPTEN__)

#include <kymo/export.hpp>
#include <kymo/path.hpp>

namespace kymo {

/// Offers a capture to the user as a download with the file's name. The file may still be written: the download holds a
/// complete capture of what was written by then. Returns false and prints a line on the console if there is no such
/// file. The same happens in workers, which have no downloads: pass the file on with `FS.readFile(path)` there. Copies
/// the file once. Browsers ask the user if a page offers several downloads without a click.
KYMO_API bool download_capture(const Path& path) noexcept;

}  // namespace kymo

#endif
