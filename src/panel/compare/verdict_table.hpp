// The verdicts as a table, and the distributions of one thing over each other.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "panel/compare/judged.hpp"
#include "panel/draw/colours.hpp"
#include "panel/draw/filter.hpp"
#include "panel/tabs/table.hpp"
#include "stats/common/value_axis.hpp"

namespace kymo::panel {

/// The colours of the sides, in tables, titles and drawings.
[[nodiscard]] inline ImU32 base_colour(const Theme& theme) {
  return theme.faint_text;
}
[[nodiscard]] inline ImU32 new_colour(const Theme& theme) {
  return theme.metric;
}

/// The things of a comparison. For the drawing thread.
class VerdictTable {
 public:
  /// Fills the rest of the current window. Returns the thing that was clicked. `version` changes with the comparison.
  std::optional<std::size_t> draw(const Judged& judged, std::uint64_t version, const Theme& theme);
  /// Chooses the next thing, or the previous one. Returns it.
  std::optional<std::size_t> choose_next(bool down);
  void choose(std::optional<std::size_t> thing) { chosen_ = thing; }
  [[nodiscard]] std::optional<std::size_t> chosen() const { return chosen_; }
  void sort_by(std::size_t column) { table_.sort_by(column); }
  void focus_filter() { filter_.focus(); }
  /// The shown rows for the clipboard. After draw().
  [[nodiscard]] std::string copied(const Judged& judged, CopyAs as) const;

 private:
  Filter filter_{"filter"};
  Table table_{"verdicts", Table::unsorted};
  std::optional<std::size_t> chosen_;
};

/// The distributions of one thing on both sides.
class DistributionView {
 public:
  static constexpr std::size_t bin_count = 64;
  using Bins = std::array<double, bin_count>;

  explicit DistributionView(const stats::ComparedThing& thing);

  /// Fills the rest of the current window: the base filled, the new side outlined, both with their medians.
  void draw(const Theme& theme) const;
  /// What stands above the drawing, a line each.
  [[nodiscard]] std::string text() const { return title_ + "\n" + base_text_ + "\n" + new_text_; }
  /// The share of the values in each bin; those beyond the axis are in none.
  [[nodiscard]] const Bins& base() const { return base_; }
  [[nodiscard]] const Bins& changed() const { return changed_; }
  [[nodiscard]] const stats::ValueAxis& axis() const { return axis_; }

 private:
  DistributionView(const stats::ComparedThing& thing, const std::vector<double>& base,
                   const std::vector<double>& changed);

  std::string title_;
  std::string base_text_;
  std::string new_text_;
  std::string unit_;
  double base_median_;
  double new_median_;
  stats::ValueAxis axis_;
  Bins base_;
  Bins changed_;
};

/// "(main)" for the main frame stream, a metric's name with its labels; on one line.
[[nodiscard]] std::string title_of(const stats::ThingName& name);

}  // namespace kymo::panel
