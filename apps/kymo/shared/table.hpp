// Tables with aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/kymo/shared/screen.hpp"

namespace kymo::command {

enum class Align { left, right };

/// Collects rows and prints them on stdout, each column as wide as its widest cell. On a terminal a table is never
/// wider than that: columns of a rank are left out, the greatest rank first, and texts (left-aligned cells) are cut in
/// the middle.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::right;
    int rank = 0;  ///< 0: stays as long as there is room for anything
    Style style = Style::plain;
    bool is_whole = false;    ///< never cut, as a drawing is
    bool is_wrapped = false;  ///< a text that is broken into lines instead of cut
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells must be printable (units.hpp). Missing cells are empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Prints the titles and the rows, indented by `indent` columns. Omits columns that are empty in all rows.
  void print(std::size_t indent = 0) const;
  /// The same below an empty line; nothing where there are no rows.
  void print_below() const;

 private:
  [[nodiscard]] std::vector<std::size_t> content_widths() const;
  void fit(std::vector<std::size_t>& widths, std::size_t room) const;
  void print_line(const std::vector<std::size_t>& widths, const std::vector<std::string_view>& cells,
                  std::size_t indent, bool is_title) const;
  void drop_columns(std::vector<std::size_t>& widths, std::size_t room) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A column of sentences, which are broken into lines instead of cut, and left out last.
[[nodiscard]] Table::Column sentences(std::string title);

}  // namespace kymo::command
