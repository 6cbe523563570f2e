// A table of sites with what is needed to draw their distributions: plain numbers, for user interfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo::capture {
class Histogram;
}  // namespace kymo::capture

namespace kymo::stats {

/// The scopes of one site that ended. Percentiles as in DurationStatistics.
struct SiteFigures {
  SiteId site = 0;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t self_ns = 0;
  double mean_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p95_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
  /// How many durations were in each of these bars, which share the logarithm of the range from min_ns to max_ns
  /// equally; at most most_bars.
  std::vector<std::uint64_t> bars;
  static constexpr std::size_t most_bars = 64;

  /// The least duration of a bar.
  [[nodiscard]] KYMO_API double bar_start_ns(std::size_t bar) const;
};

/// Of all sites of a timeline, by falling total. With summaries for all of its captures about a millisecond, else about
/// 20 ns a scope.
[[nodiscard]] KYMO_API std::vector<SiteFigures> figures_of_sites(const Timeline& timeline);

/// Of all scopes that ended in consecutive batches, by falling total. About 15 ns a scope.
[[nodiscard]] KYMO_API std::vector<SiteFigures> figures_of_sites(
    const std::vector<std::shared_ptr<const EventBatch>>& batches);

/// How many durations of a histogram are in each of at most so many bars, which share the logarithm of its range
/// equally; none where it is empty.
[[nodiscard]] std::vector<std::uint64_t> logarithmic_bars(const capture::Histogram& histogram, std::size_t most);

}  // namespace kymo::stats
