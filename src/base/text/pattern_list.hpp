// Lists separated by commas. Those of patterns, as in KYMO_SITES and KYMO_FACTS: a leading `-` excludes.
#pragma once

#include <algorithm>
#include <string_view>

namespace kymo::base {

/// Removes the first item of a list separated by commas, and the comma behind it. Returns the item.
[[nodiscard]] constexpr std::string_view take_item(std::string_view& list) noexcept {
  const std::string_view item = list.substr(0, list.find(','));
  list.remove_prefix(std::min(item.size() + 1, list.size()));
  return item;
}

/// Whether a list is valid: it has patterns, and none is empty.
[[nodiscard]] bool is_sound_list(std::string_view patterns) noexcept;

/// Whether no pattern with `-` matches a name and either a pattern without `-` does or there are none. A pattern with a
/// `(` is matched against the signature, if there is one. The list must be valid or empty. About 10 ns a pattern.
[[nodiscard]] bool list_takes(std::string_view patterns, std::string_view name,
                              std::string_view signature = {}) noexcept;

/// Whether KYMO_FACTS selects a fact about the run. The variable holds a list of patterns, or `none`. An invalid value
/// selects none.
[[nodiscard]] bool wants_fact(std::string_view key) noexcept;

}  // namespace kymo::base
