// A sortable table of a tab.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/colours.hpp"

namespace kymo::panel {

/// How a table is put on the clipboard.
enum class CopyAs {
  text,  ///< as it is shown, in aligned columns
  csv,   ///< columns of numbers hold plain numbers, durations in nanoseconds
};

/// Draws "Copy" and "Copy CSV". Returns what was clicked; `areas` are the two on the screen.
[[nodiscard]] std::optional<CopyAs> draw_copy_buttons(std::array<Area, 2>& areas);

struct TableColumn {
  const char* title;
  float weight = 1;       ///< its share of the width
  bool is_number = true;  ///< right-aligned, and falling when it is sorted by first; else text
  bool has_bar = false;   ///< its numbers are shares, drawn as bars too
};

/// The rows of a table. Text must be safe to show on one line (clean_text).
class TableRows {
 public:
  TableRows() = default;
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;
  virtual ~TableRows() = default;

  [[nodiscard]] virtual std::size_t count() const = 0;
  [[nodiscard]] virtual std::string text(std::size_t row, std::size_t column) const = 0;
  /// By which a column of numbers is sorted. Durations are nanoseconds.
  [[nodiscard]] virtual double number(std::size_t row, std::size_t column) const = 0;
  /// Whether a row is to be shown.
  [[nodiscard]] virtual bool fits(std::size_t /*row*/) const { return true; }
};

/// What was done with a table.
struct TableUse {
  std::optional<std::size_t> clicked;  ///< a row
};

/// Orders and draws rows. The order is computed only when an input changes.
class Table {
 public:
  /// For sorted_by: the rows' own order.
  static constexpr std::size_t unsorted = ~std::size_t{0};

  /// Sorted by a column at first.
  Table(const char* id, std::vector<TableColumn> columns, std::size_t sorted_by, bool is_falling = true);

  /// For rows that order themselves, by column() and is_falling().
  void keep_order_of_rows() { sorts_rows_ = false; }
  /// Sorts by a column, counted from 0, at the next update; if it is that already, the other way.
  void sort_by(std::size_t column);
  /// Takes rows. `version` changes with any row or filter.
  void update(const TableRows& rows, std::uint64_t version);
  /// Draws the rows of the last update().
  TableUse draw(const TableRows& rows, std::optional<std::size_t> chosen, float height, const Theme& theme);
  /// The row after (or before) a row on the screen; the first one if it is not shown.
  [[nodiscard]] std::optional<std::size_t> neighbour(std::optional<std::size_t> row, bool down) const;

  /// Rows from top to bottom.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }
  [[nodiscard]] std::size_t column() const { return column_; }
  [[nodiscard]] bool is_falling() const { return is_falling_; }
  /// The shown rows with a header line.
  [[nodiscard]] std::string copied(const TableRows& rows, CopyAs as) const;

 private:
  void sort(const TableRows& rows);
  [[nodiscard]] std::string csv(const TableRows& rows) const;
  [[nodiscard]] std::string aligned(const TableRows& rows) const;
  void draw_cell(const TableRows& rows, std::size_t row, std::size_t column, const Theme& theme) const;

  const char* id_;
  std::vector<TableColumn> columns_;
  std::size_t column_;
  bool is_falling_;
  bool is_unsorted_ = true;
  bool sorts_rows_ = true;
  std::uint64_t version_ = 0;
  std::vector<std::size_t> order_;
};

}  // namespace kymo::panel
