// Tables of proc that have a line for each device.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kymo::sense {

/// The entry of a name (`Entry::name`); nullptr: there is none. Tables list their devices in the same order at each
/// read, so the search begins behind the entry found before: `next`, 0 at the start of a table.
template <typename Entry>
[[nodiscard]] Entry* find_entry(std::vector<Entry>& entries, std::string_view name, std::size_t& next) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t at = next + i < entries.size() ? next + i : next + i - entries.size();
    if (entries[at].name == name) {
      next = at + 1;
      return &entries[at];
    }
  }
  return nullptr;
}

}  // namespace kymo::sense
