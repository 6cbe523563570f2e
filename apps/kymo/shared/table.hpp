// Tables with aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kymo::command {

enum class Align { left, right };

/// Collects rows and prints them on stdout, each column as wide as its widest cell.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::right;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells must be printable (units.hpp). Missing cells are empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Prints the titles and the rows, indented by `indent` columns. Omits columns that are empty in all rows.
  void print(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kymo::command
