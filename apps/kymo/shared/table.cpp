// Tables with aligned columns.
#include "apps/kymo/shared/table.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

namespace {

constexpr std::size_t gap = 2;
// The columns that are left of a text that is cut; the first names the row.
constexpr std::size_t least_name = 24;
constexpr std::size_t least_text = 16;

/// The width of a line with these columns; a column of width 0 is left out.
std::size_t line_width(const std::vector<std::size_t>& widths) {
  std::size_t width = 0;
  for (const std::size_t column : widths) {
    width += column == 0 ? 0 : column + (width == 0 ? 0 : gap);
  }
  return width;
}

}  // namespace

std::vector<std::size_t> Table::content_widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = widths[i] == 0 ? 0 : std::max(widths[i], width_of(columns_[i].title));
  }
  return widths;
}

void Table::drop_columns(std::vector<std::size_t>& widths, std::size_t room) const {
  const auto least_width = [&] {
    std::vector<std::size_t> least = widths;
    for (std::size_t i = 0; i < least.size(); ++i) {
      const bool is_text = columns_[i].align == Align::left && !columns_[i].is_whole;
      least[i] = is_text ? std::min(least[i], i == 0 ? least_name : least_text) : least[i];
    }
    return line_width(least);
  };
  while (least_width() > room) {
    std::size_t next = widths.size();
    for (std::size_t i = 1; i < widths.size(); ++i) {
      if (widths[i] != 0 && (next == widths.size() || columns_[i].rank >= columns_[next].rank)) {
        next = i;
      }
    }
    if (next == widths.size()) {
      return;
    }
    widths[next] = 0;
  }
}

void Table::fit(std::vector<std::size_t>& widths, std::size_t room) const {
  drop_columns(widths, room);
  while (line_width(widths) > room) {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) {
      const bool is_text = columns_[i].align == Align::left && !columns_[i].is_whole;
      widest = is_text && widths[i] > widths[widest] ? i : widest;
    }
    if (widths[widest] <= 1) {
      return;
    }
    --widths[widest];
  }
}

void Table::print_below() const {
  if (!empty()) {
    fmt::print("\n");
    print();
  }
}

void Table::print(std::size_t indent) const {
  std::vector<std::size_t> widths = content_widths();
  fit(widths, screen().width - std::min(indent, screen().width));
  const auto last = static_cast<std::size_t>(
      std::find_if(widths.rbegin(), widths.rend(), [](std::size_t width) { return width != 0; }).base() -
      widths.begin());
  const auto print_row = [&](const auto& cell_of, bool is_title) {
    std::string line(indent, ' ');
    bool is_first = true;
    for (std::size_t i = 0; i < last; ++i) {
      if (widths[i] == 0) {
        continue;
      }
      line += is_first ? "" : std::string(gap, ' ');
      is_first = false;
      const std::string cell = cut_middle(cell_of(i), widths[i]);
      const std::string padding(widths[i] - width_of(cell), ' ');
      const std::string shown = styled(cell, is_title ? Style::heading : columns_[i].style);
      line += columns_[i].align == Align::left ? shown + padding : padding + shown;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  };
  static const std::string empty;
  print_row([this](std::size_t i) -> const std::string& { return columns_[i].title; }, true);
  for (const auto& row : rows_) {
    print_row([&row](std::size_t i) -> const std::string& { return i < row.size() ? row[i] : empty; }, false);
  }
}

}  // namespace kymo::command
