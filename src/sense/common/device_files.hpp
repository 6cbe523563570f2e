// Helpers for files that describe devices. Slow: for finding devices, never for sampling.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::sense {

/// The names in a directory in natural order ("card2" before "card10"); empty if it cannot be read.
[[nodiscard]] std::vector<std::string> list_directory(const std::string& path);

/// A root in the form for prefixing absolute paths: "" for "/".
[[nodiscard]] std::string without_end_slash(std::string_view root);

/// The target of a path, or the path itself if it cannot be resolved.
[[nodiscard]] std::string resolve_path(const std::string& path);

/// The last component of a path: "0000:01:00.0" of ".../0000:01:00.0".
[[nodiscard]] std::string_view last_name(std::string_view path);

/// A small file's text without surrounding blanks; empty if it cannot be read.
[[nodiscard]] std::string read_trimmed(const std::string& path);

/// Whether the file exists.
[[nodiscard]] bool is_there(const std::string& path);

/// The number in "temp12_input" for the prefix "temp" and the suffix "_input": 12. None for other names.
[[nodiscard]] std::optional<unsigned> number_between(std::string_view name, std::string_view prefix,
                                                     std::string_view suffix);

}  // namespace kymo::sense
