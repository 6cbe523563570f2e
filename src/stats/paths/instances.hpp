// The intervals that an explanation is about, and which of them are slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

/// Instances of one kind by ascending start.
struct Instances {
  std::string name;     ///< of the site; empty: frames of the main stream
  std::string process;  ///< whose they are, of split_by_process(); empty: all
  std::vector<Instance> all;
  bool is_cut = false;  ///< there are more than could be kept
};

/// Times of captures are any numbers. What is not within 73 years of the clock's zero is left out, so that sums and
/// differences of the others do not overflow.
constexpr std::int64_t farthest_ns = std::int64_t{1} << 61U;
[[nodiscard]] constexpr bool is_usable_time(std::int64_t time_ns) {
  return time_ns > -farthest_ns && time_ns < farthest_ns;
}

/// The union of intervals, ascending and disjoint.
[[nodiscard]] std::vector<TimeRange> union_of(std::vector<TimeRange> ranges);

/// More instances than this are not kept: 40 bytes each.
constexpr std::size_t most_instances = 2'000'000;
/// The frames of the main streams of all processes whose scopes were recorded; none if the program marked none. A pass
/// over all data but scopes.
[[nodiscard]] Instances frames_of_main_streams(const Timeline& timeline);

/// The frames of each process apart, where the frames of several came at a time: such processes do different work. All
/// of them where processes came one after the other, as the runs of one program do, or are ranks of one job.
[[nodiscard]] std::vector<Instances> split_by_process(const Timeline& timeline, const Instances& frames);

/// The completed scopes of the sites whose name fits a pattern, the outermost where they nest. A pass over all scopes.
[[nodiscard]] Instances scopes_of_sites(const Timeline& timeline, const std::string& pattern,
                                        const std::function<void(double)>& on_progress = nullptr);

/// Names of the sites with the most time in all, with at least `least_instances` scopes. At most `most` names.
[[nodiscard]] std::vector<std::string> costliest_sites(const Timeline& timeline, std::size_t most);

/// Which instances are slow, as indices into the instances by descending amount, and those that are usual.
struct SlowSet {
  std::vector<std::size_t> slow;
  std::vector<std::size_t> usual;
  double threshold = 0;  ///< slow ones take more; 0: chosen by the user
};

/// The nanoseconds of each.
[[nodiscard]] std::vector<double> durations_of(const Instances& instances);

/// Chooses by amounts of the instances: durations, or joules. An instance is in the tail if it takes at least a tenth
/// more than the median and one of these holds:
/// - Its amount's logarithm exceeds the median's by so many deviations that of as many normal numbers one in a hundred
///   sets
///   had such a one. The deviation is the lesser of two that the tail does not move: from the median down to the 16th
///   percentile, and between neighbours in time.
/// - It is above a gap that one in a hundred sets with an exponential tail of logarithms had.
/// Instances in the tail are never usual. Nothing is slow among fewer than `least_instances`.
[[nodiscard]] SlowSet choose_slow(const Instances& instances, const std::vector<double>& amounts,
                                  const SlowSetOptions& options = {});
/// By their durations.
[[nodiscard]] SlowSet choose_slow(const Instances& instances, const SlowSetOptions& options = {});

/// A random sample of the instances of the base captures as the usual ones, one of the others as the slow ones. Throws
/// SelectionError if either has fewer than `least_instances`.
[[nodiscard]] SlowSet choose_sides(const Timeline& timeline, const Instances& instances,
                                   const std::vector<double>& amounts, const std::vector<std::size_t>& base_captures,
                                   std::size_t most_of_each = 2'000);

}  // namespace kymo::stats
