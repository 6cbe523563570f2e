// Saves a file of the program's memory. It is read in pieces, which JavaScript collects until the file is complete.
#include <kymo/browser_capture.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <emscripten/emscripten.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/message.hpp"

EM_JS(int, kymo_can_download, (void),
      { return typeof document == 'object' && typeof Blob == 'function' && typeof URL == 'function' ? 1 : 0; });

EM_JS(void, kymo_add_to_download, (const void* bytes, int size), {
  var parts = Module['kymoDownload'] || (Module['kymoDownload'] = []);
  parts.push(HEAPU8.slice(bytes, bytes + size));
});

EM_JS(void, kymo_end_download, (const char* name, int size, int is_whole), {
  var parts = Module['kymoDownload'] || [];
  Module['kymoDownload'] = null;
  if (!is_whole) {
    return;
  }
  var link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, {'type' : 'application/octet-stream'}));
  link.download = new TextDecoder().decode(HEAPU8.slice(name, name + size));
  link.click();
  // The browser reads the URL later.
  setTimeout(
      function() { URL.revokeObjectURL(link.href); }, 60000);
});

namespace kymo {

namespace {

/// Passes on all bytes of a file; false if they cannot be read.
bool add_file(int file) {
  std::vector<unsigned char> piece(std::size_t{1} << 20U);
  for (;;) {
    const ssize_t size = ::read(file, piece.data(), piece.size());
    if (size <= 0) {
      return size == 0;
    }
    kymo_add_to_download(piece.data(), static_cast<int>(size));
  }
}

}  // namespace

bool download_capture(const Path& path) noexcept {
  try {
    if (kymo_can_download() == 0) {
      base::say(std::string(path.c_str()) + " cannot be saved from here: only pages have downloads");
      return false;
    }
    const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const bool is_whole = static_cast<bool>(file) && add_file(file.get());
    if (!is_whole) {
      base::say(base::describe_errno("cannot read", path.c_str(), errno));
    }
    const std::string_view whole = path.c_str();
    const std::string_view name = whole.substr(whole.find_last_of('/') + 1);
    kymo_end_download(name.data(), static_cast<int>(name.size()), is_whole ? 1 : 0);
    return is_whole;
  } catch (...) {
    return false;
  }
}

}  // namespace kymo
