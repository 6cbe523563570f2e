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
constexpr std::size_t least_sentence = 40;

/// The width of a line with these columns; a column of width 0 is left out.
std::size_t line_width(const std::vector<std::size_t>& widths) {
  std::size_t width = 0;
  for (const std::size_t column : widths) {
    width += column == 0 ? 0 : column + (width == 0 ? 0 : gap);
  }
  return width;
}

}  // namespace

Table::Column sentences(std::string title) {
  return {std::move(title), Align::left, -1, Style::plain, false, true};
}

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
      const std::size_t least_left = i == 0 ? least_name : columns_[i].is_wrapped ? least_sentence : least_text;
      least[i] = is_text ? std::min(least[i], least_left) : least[i];
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

void Table::print_line(const std::vector<std::size_t>& widths, const std::vector<std::string_view>& cells,
                       std::size_t indent, bool is_title) const {
  std::string line(indent, ' ');
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) {
      continue;
    }
    const std::string cell = i < cells.size() ? cut_middle(cells[i], widths[i]) : std::string();
    const std::string padding(widths[i] - width_of(cell), ' ');
    const std::string shown = styled(cell, is_title ? Style::heading : columns_[i].style);
    line += (columns_[i].align == Align::left ? shown + padding : padding + shown) + std::string(gap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}

void Table::print(std::size_t indent) const {
  std::vector<std::size_t> widths = content_widths();
  fit(widths, screen().width - std::min(indent, screen().width));
  std::vector<std::string_view> titles;
  for (const Column& column : columns_) {
    titles.emplace_back(column.title);
  }
  print_line(widths, titles, indent, true);
  const auto wraps =
      std::find_if(columns_.begin(), columns_.end(), [](const Column& column) { return column.is_wrapped; });
  const auto text = static_cast<std::size_t>(wraps - columns_.begin());
  for (const auto& row : rows_) {
    std::vector<std::string_view> cells(row.begin(), row.end());
    if (text >= std::min(cells.size(), widths.size()) || widths[text] == 0) {
      print_line(widths, cells, indent, false);
      continue;
    }
    for (const std::string_view line : wrapped(row[text], widths[text])) {
      cells[text] = line;
      print_line(widths, cells, indent, false);
      std::fill(cells.begin(), cells.end(), std::string_view());
    }
  }
}

}  // namespace kymo::command
