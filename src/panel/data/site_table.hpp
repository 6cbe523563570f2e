// Selects and orders the rows of a table of sites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "panel/data/block_provider.hpp"

namespace kymo::panel {

/// The rows of a table of sites. Recomputed only when an input changes.
class SiteTable {
 public:
  /// Orders by a column, counted from 0.
  void sort_by(int column, bool is_falling);
  [[nodiscard]] int column() const { return column_; }
  [[nodiscard]] bool is_falling() const { return is_falling_; }
  /// Takes figures with their version number, which increases, and the text to search for in names.
  void update(const std::vector<stats::SiteFigures>& figures, std::uint64_t version, const char* filter,
              const BlockProvider& provider);
  /// Indices of the figures, from the first row to the last.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

 private:
  std::vector<std::size_t> order_;
  std::uint64_t version_ = 0;
  std::string filter_;
  int column_ = 2;
  bool is_falling_ = true;
  bool is_unsorted_ = true;
};

}  // namespace kymo::panel
