// A table of sites with data for drawing their distributions: plain numbers, for user interfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

#include "capture/summary/histogram.hpp"
#include "capture/summary/keyed_table.hpp"
#include "capture/summary/summary.hpp"

namespace kymo::stats {

/// The completed scopes of one site: what SiteStatistics says of them, without the histogram, whose place bars take.
struct SiteFigures : DurationStatistics {
  SiteId site;
  std::uint64_t self_ns = 0;
  /// Number of durations in each bar. The bars divide the range from min_ns to max_ns equally on a logarithmic scale;
  /// at most most_bars.
  std::vector<std::uint64_t> bars;
  static constexpr std::size_t most_bars = 64;

  /// The lower bound of a bar.
  [[nodiscard]] KYMO_API double bar_start_ns(std::size_t bar) const;
  /// The least and the greatest duration that a bar counts; the first one is greater if it counts none. Takes up to a
  /// millisecond.
  [[nodiscard]] KYMO_API std::pair<std::int64_t, std::int64_t> bar_lengths_ns(std::size_t bar) const;
  /// About the share of the scopes that are shorter than one of them: interpolated between the nearest bar's edges and
  /// percentiles. NaN without bars.
  [[nodiscard]] KYMO_API double share_of_shorter(std::int64_t duration_ns) const;
};

/// All sites of a timeline, by descending total. About a millisecond if summaries cover all of its captures, otherwise
/// about 20 ns a scope.
[[nodiscard]] KYMO_API std::vector<SiteFigures> figures_of_sites(const Timeline& timeline);

/// Adds up scopes one by one. About 15 ns a scope.
class KYMO_API SiteCounter {
 public:
  void add(const capture::ScopeSpan& scope);
  /// The sites so far, by descending total.
  [[nodiscard]] std::vector<SiteFigures> figures() const;

 private:
  capture::KeyedTable<capture::SiteSummary> sites_;
};

/// Counts durations one by one.
class KYMO_API DurationCounter {
 public:
  /// Negative ones count as 0. A few ns each.
  void add(std::int64_t duration_ns);
  /// The figures of all so far, without a site and self time.
  [[nodiscard]] SiteFigures figures() const;

 private:
  capture::Histogram histogram_;
};

/// The number of a histogram's durations in each of at most this many bars. The bars divide its range equally on a
/// logarithmic scale. None if it is empty.
[[nodiscard]] std::vector<std::uint64_t> logarithmic_bars(const capture::Histogram& histogram, std::size_t most);

}  // namespace kymo::stats
