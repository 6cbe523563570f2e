// Building blocks of pages. A page is a single self-contained file: no scripts and no external resources (its policy
// forbids both), a light and a dark theme by the reader's preference, and a print style.
//
// "Markup" is text that is ready for the page. Everything else goes through escape_html() first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/common/value_axis.hpp"

namespace kymo::command {

using stats::ValueAxis;

/// Text near the beginning of every page, by which kymo recognises its own pages.
inline constexpr std::string_view page_mark = R"(<meta name="generator" content="kymo">)";

/// Converts arbitrary bytes, from a capture or a command line, to markup.
[[nodiscard]] std::string escape_html(std::string_view text);

/// Begins a page. `style` is added to the common style. Both texts must come from kymo.
void begin_page(std::string& out, std::string_view title, std::string_view style);
void end_page(std::string& out);

/// A box with warnings that precede the numbers; nothing if there are none.
void append_warnings(std::string& out, std::string_view heading, const std::vector<std::string>& texts);

/// An exact number behind its readable form, so that programs can read it from the page.
[[nodiscard]] std::string exact(double value, std::string_view text);
[[nodiscard]] std::string exact(std::uint64_t value, std::string_view text);
[[nodiscard]] std::string exact(std::int64_t value, std::string_view text);
[[nodiscard]] std::string exact_count(std::uint64_t count);

struct PageColumn {
  std::string_view title;
  bool is_text = false;  ///< aligned left; else right, for numbers
};

/// A table that scrolls sideways if it is too wide. Its first column names the row. Of many rows the first page is
/// shown and the rest folded.
class PageTable {
 public:
  static constexpr std::size_t rows_of_page = 20;

  /// `rows` is how many will follow, if they may be folded.
  PageTable(std::string& out, std::string_view caption, std::vector<PageColumn> columns, std::size_t rows = 0);

  /// Begins a row with its name. Add cells from left to right.
  void row(std::string_view markup, std::string_view classes = {});
  void cell(std::string_view markup, std::string_view classes = {});
  void end();

 private:
  void begin(std::string_view caption);
  void put_class(bool is_text, std::string_view classes);

  std::string& out_;
  std::vector<PageColumn> columns_;
  std::size_t next_ = 0;  // next column
  std::size_t rows_;
  std::size_t rows_done_ = 0;
  bool is_folded_ = false;
};

/// A drawing of distributions. Call begin, outlines and marks, then end.
class DistributionDrawing {
 public:
  static constexpr std::size_t bin_count = 56;
  using Bins = std::array<double, bin_count>;

  /// `id` must be unique in the page. `description` is markup for readers who cannot see the drawing. `highest` is the
  /// maximum of all bins.
  DistributionDrawing(std::string& out, const ValueAxis& axis, double highest, std::string_view id,
                      std::string_view description);

  /// Draws an outline of a class: filled by one named `area`, stroked by one named `edge`.
  void outline(std::string_view its_class, const Bins& bins);
  /// A short line below the axis.
  void mark(std::string_view its_class, double value);
  /// Draws the axis with its values.
  void end(const std::function<std::string(double)>& text_of);

 private:
  std::string& out_;
  const ValueAxis& axis_;
  double highest_;
};

}  // namespace kymo::command
