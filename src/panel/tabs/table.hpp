// A sortable table of a tab.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
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

/// Text must be safe to show on one line (clean_text).
struct TableColumn {
  const char* title;
  float weight = 1;  ///< its share of the width
  std::function<std::string(std::size_t row)> text{};
  /// By which it is sorted, falling at first; drawn at the right. Durations are nanoseconds. None: a column of text.
  std::function<double(std::size_t row)> number{};
  bool has_bar = false;  ///< its numbers are shares, drawn as bars too

  [[nodiscard]] bool is_number() const { return number != nullptr; }
};

/// The kinds of columns of numbers.
[[nodiscard]] TableColumn number_column(const char* title, std::function<double(std::size_t row)> number,
                                        std::string (*text_of)(double number));
[[nodiscard]] TableColumn duration_column(const char* title, std::function<double(std::size_t row)> number);
[[nodiscard]] TableColumn count_column(const char* title, std::function<double(std::size_t row)> number);
/// Shares of one, in percent, with bars.
[[nodiscard]] TableColumn share_column(const char* title, std::function<double(std::size_t row)> number);

/// Makes numbers of the members of rows: `numbers_of(rows)(&Row::member)`. Refers to the rows.
template <typename Row>
[[nodiscard]] auto numbers_of(const std::vector<Row>& rows) {
  return [&rows](auto member) {
    return [&rows, member](std::size_t row) { return static_cast<double>(std::invoke(member, rows[row])); };
  };
}
/// Rows that end with the statement would be read after that.
template <typename Row>
void numbers_of(const std::vector<Row>&& rows) = delete;

/// The rows of a table. Refers to what they are made of.
struct TableRows {
  std::size_t count = 0;
  std::vector<TableColumn> columns{};
  std::function<bool(std::size_t row)> fits{};  ///< whether a row is to be shown; none: all are

  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const { return columns[column].text(row); }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const { return columns[column].number(row); }
};

/// The place of the first of some rows that passes a test.
template <typename Rows, typename Test>
[[nodiscard]] std::optional<std::size_t> place_where(const Rows& rows, const Test& test) {
  const auto found = std::find_if(rows.begin(), rows.end(), test);
  return found != rows.end() ? std::optional(static_cast<std::size_t>(found - rows.begin())) : std::nullopt;
}

/// Orders and draws rows. The order is computed only when an input changes.
class Table {
 public:
  /// For sorted_by: the rows' own order.
  static constexpr std::size_t unsorted = ~std::size_t{0};

  /// Sorted by a column at first.
  Table(const char* id, std::size_t sorted_by, bool is_falling = true)
      : id_(id), column_(sorted_by), is_falling_(is_falling) {}

  /// For rows that order themselves, by column() and is_falling().
  void keep_order_of_rows() { sorts_rows_ = false; }
  /// Sorts by a column, counted from 0, at the next update(); if it is that already, the other way. Columns that the
  /// table does not have are left alone.
  void sort_by(std::size_t column);
  /// Takes rows. `version` changes with any row or filter.
  void update(const TableRows& rows, std::uint64_t version);
  /// Draws the rows of the last update(). Returns the one that was clicked.
  std::optional<std::size_t> draw(const TableRows& rows, std::optional<std::size_t> chosen, float height,
                                  const Theme& theme);
  /// The row after (or before) a row on the screen; the first one if it is not shown.
  [[nodiscard]] std::optional<std::size_t> neighbour(std::optional<std::size_t> row, bool down) const;

  /// Rows from top to bottom.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  [[nodiscard]] std::size_t column() const { return column_; }
  [[nodiscard]] bool is_falling() const { return is_falling_; }
  /// The rows of the last update() with a header line, without those that are gone since: a tab that waits for a new
  /// list does not update.
  [[nodiscard]] std::string copied(const TableRows& rows, CopyAs as) const;

 private:
  void learn_columns(const TableRows& rows);
  void sort(const TableRows& rows);
  /// The shown rows that are still there.
  [[nodiscard]] std::vector<std::size_t> order_within(const TableRows& rows) const;
  [[nodiscard]] std::string csv(const TableRows& rows) const;
  [[nodiscard]] std::string aligned(const TableRows& rows) const;
  void draw_cell(const TableRows& rows, std::size_t row, std::size_t column, const Theme& theme) const;

  const char* id_;
  std::size_t column_;
  bool is_falling_;
  std::vector<bool> are_numbers_;            // by column; empty before the first update()
  std::vector<std::size_t> wanted_columns_;  // to sort by once the columns are known, one after the other
  bool is_unsorted_ = true;
  bool has_key_sorted_ = false;  // since the last draw(): the header's arrow is to follow
  bool sorts_rows_ = true;
  std::uint64_t version_ = 0;
  std::vector<std::size_t> order_;
};

}  // namespace kymo::panel
