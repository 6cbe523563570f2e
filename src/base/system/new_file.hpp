// Creates files: under a free name, readable by their owner only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/system/file.hpp"

namespace kymo::base {

struct NewFile {
  FileDescriptor file;  ///< none, with errno set, if the file could not be created
  std::string path;     ///< its name, or the last one tried
};

/// The descriptor of this process that a path names: /dev/stdout, /dev/stderr, /dev/fd/3, /proc/self/fd/3.
[[nodiscard]] std::optional<int> descriptor_of(std::string_view path);

/// Creates `path`. If the name is taken, uses the first free one of "stem-1.ext", "stem-2.ext", ...; existing files are
/// never touched. A device such as /dev/null is opened itself. Refuses (ENOTSUP) what is no file and takes none: pipes,
/// terminals, open descriptors. The file is open for reading and writing, with new_file_mode().
[[nodiscard]] NewFile create_new_file(const std::string& path);

/// 0600, since a recording contains its host, command line and the user's paths. KYMO_FILE_MODE (octal) widens it; the
/// umask applies as usual.
[[nodiscard]] unsigned new_file_mode();

}  // namespace kymo::base
