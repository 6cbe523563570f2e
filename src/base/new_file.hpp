// Files that kymo makes: under a name that nothing had before, for their owner's eyes.
#pragma once

#include <string>

#include "base/file.hpp"

namespace kymo::base {

struct NewFile {
  FileDescriptor file;  ///< none, with errno set, where the file could not be created
  std::string path;     ///< its name, or the one that was tried last
};

/// Creates `path`, or where something has that name the first of "stem-1.ext", "stem-2.ext", ... that is free: what is
/// there is never touched. A device such as /dev/null is opened as it is. The file may be read and written, with
/// new_file_mode().
[[nodiscard]] NewFile create_new_file(const std::string& path);

/// 0600, for a recording names its host, its command line and its user's paths. KYMO_FILE_MODE, octal, widens it; the
/// umask narrows it as ever.
[[nodiscard]] unsigned new_file_mode();

}  // namespace kymo::base
