// The parts that pages are made of. A page is one file that needs nothing but itself: no scripts, nothing from
// elsewhere (its policy forbids both), light and dark by what the reader prefers, a style of its own for paper.
//
// "Markup" is text that is ready for the page; everything else goes through escape_html() first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::command {

/// What stands near the beginning of every page: so kymo knows its own.
inline constexpr std::string_view page_mark = R"(<meta name="generator" content="kymo">)";

/// A text of any bytes, from a capture or a command line, as markup.
[[nodiscard]] std::string escape_html(std::string_view text);

/// Begins a page. `style` is added to what all pages have; both must be texts of ours.
void begin_page(std::string& out, std::string_view title, std::string_view style);
void end_page(std::string& out);

/// A box with what must be known before the numbers; nothing where there are none.
void append_warnings(std::string& out, std::string_view heading, const std::vector<std::string>& texts);

/// An exact number behind what people read: the number stands in the page as well, for whoever reads it by a program.
[[nodiscard]] std::string exact(double value, std::string_view text);
[[nodiscard]] std::string exact(std::uint64_t value, std::string_view text);
[[nodiscard]] std::string exact(std::int64_t value, std::string_view text);
[[nodiscard]] std::string exact_count(std::uint64_t count);

struct PageColumn {
  std::string_view title;
  bool is_text = false;  ///< stands left; else it is numbers
};

/// A table that scrolls sideways where it is too wide. Its first column names the row.
class PageTable {
 public:
  PageTable(std::string& out, std::string_view caption, std::vector<PageColumn> columns);

  /// Begins a row with its name; cells follow from left to right.
  void row(std::string_view markup, std::string_view classes = {});
  void cell(std::string_view markup, std::string_view classes = {});
  void end();

 private:
  void put_class(bool is_text, std::string_view classes);

  std::string& out_;
  std::vector<PageColumn> columns_;
  std::size_t next_ = 0;  // column
};

/// The stretch of values that a drawing shows, and where in it a value stands; logarithmic where that is wide.
class ValueAxis {
 public:
  ValueAxis(double low, double high);

  [[nodiscard]] bool is_logarithmic() const { return is_logarithmic_; }
  /// 0 at the low end, 1 at the high one.
  [[nodiscard]] double share_at(double value) const;
  [[nodiscard]] double value_at(double share) const;

 private:
  double low_;
  double high_;
  bool is_logarithmic_;
};

/// A drawing of distributions: begin, outlines and marks, end.
class DistributionDrawing {
 public:
  static constexpr std::size_t bin_count = 56;
  using Bins = std::array<double, bin_count>;

  /// `id` is unique in the page, `description` markup for who does not see it. `highest` is the greatest of all bins.
  DistributionDrawing(std::string& out, const ValueAxis& axis, double highest, std::string_view id,
                      std::string_view description);

  /// The bin of a value; bin_count beyond the axis.
  [[nodiscard]] static std::size_t bin_of(const ValueAxis& axis, double value);
  /// An outline of a class, filled by one called `area` and drawn by one called `edge`.
  void outline(std::string_view its_class, const Bins& bins);
  /// A short line below the axis.
  void mark(std::string_view its_class, double value);
  /// The axis with its values.
  void end(const std::function<std::string(double)>& text_of);

 private:
  std::string& out_;
  const ValueAxis& axis_;
  double highest_;
};

}  // namespace kymo::command
