// Small things that sensors ask of the files that describe devices. Slow: for finding devices, never for sampling.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::sense {

/// The names in a directory, those with numbers in the order of the numbers ("card2" before "card10"); empty where it
/// cannot be read.
[[nodiscard]] std::vector<std::string> list_directory(const std::string& path);

/// A root as it stands before a path that begins with a slash: "" for "/".
[[nodiscard]] std::string without_end_slash(std::string_view root);

/// Where a path really leads; the path itself where that cannot be told.
[[nodiscard]] std::string resolve_path(const std::string& path);

/// The last name of a path: "0000:01:00.0" of ".../0000:01:00.0".
[[nodiscard]] std::string_view last_name(std::string_view path);

/// A small file's text without the blanks around it; empty where it cannot be read.
[[nodiscard]] std::string read_trimmed(const std::string& path);

/// Whether there is a file.
[[nodiscard]] bool is_there(const std::string& path);

/// The number of "temp12_input" with the prefix "temp" and the suffix "_input": 12. Nothing for other names.
[[nodiscard]] std::optional<unsigned> number_between(std::string_view name, std::string_view prefix,
                                                     std::string_view suffix);

/// A GPU that the kernel drives.
struct GpuCard {
  std::size_t index = 0;  ///< among the cards of its vendor
  std::string card;       ///< "/sys/class/drm/card0", with the root before it
  std::string device;     ///< its PCI device, resolved
  std::string address;    ///< "0000:03:00.0"
};

/// The cards of a PCI vendor ("0x1002") below a root.
[[nodiscard]] std::vector<GpuCard> find_gpu_cards(const std::string& root, std::string_view vendor);

}  // namespace kymo::sense
