// The captures among files and directories that a user names.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace kymo::capture {

/// The captures of a directory (its files *.kymo), by name. Sets `error` if it cannot be listed.
[[nodiscard]] std::vector<std::string> captures_in(const std::string& directory, std::error_code& error);

/// The same; throws CaptureError.
[[nodiscard]] std::vector<std::string> captures_in(const std::string& directory);

/// Whether it is a capture of a process that has not written its header yet, or was killed before that.
[[nodiscard]] bool is_empty_file(const std::string& path);

}  // namespace kymo::capture
