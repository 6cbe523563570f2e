// Keeps a list short while it grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kymo::panel {

/// Keeps the first rows of an order, sorted.
template <typename Row, typename IsBefore>
void keep_first(std::vector<Row>& rows, std::size_t most, IsBefore is_before) {
  const std::size_t kept = std::min(rows.size(), most);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), is_before);
  rows.resize(kept);
}

}  // namespace kymo::panel
