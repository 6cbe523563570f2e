// Tables with aligned columns.
#include "apps/kymo/shared/table.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

void Table::print(std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  const auto print_row = [&](const auto& cell_of) {
    std::string line(indent, ' ');
    bool is_first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) {
        continue;
      }
      const std::string& cell = cell_of(i);
      const std::string padding(std::max(widths[i], width_of(columns_[i].title)) - width_of(cell), ' ');
      line += is_first ? "" : "  ";
      line += columns_[i].align == Align::left ? cell + padding : padding + cell;
      is_first = false;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  };
  static const std::string empty;
  print_row([this](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    print_row([&row](std::size_t i) -> const std::string& { return i < row.size() ? row[i] : empty; });
  }
}

}  // namespace kymo::command
