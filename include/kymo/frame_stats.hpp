// Frame time statistics in constant memory.
//
//     kymo::FrameStats frames;
//     frames.add(frame_ns);                                  // the program's own frame times
//     kymo::FrameStats::of(timeline, stream).stats_ms().p99  // or those of a capture
//
// Component kymo::analysis.
#pragma once

#include <cstdint>
#include <memory>

#include <kymo/export.hpp>
#include <kymo/latency_stats.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// Statistics of any number of frame times. Uses a histogram with three significant digits: percentiles are at most
/// 1/1024 too high and never too low; everything else is exact. At most about 100 KB. Not thread-safe: use one object
/// per thread and merge them.
class KYMO_API FrameStats {
 public:
  FrameStats();
  FrameStats(const FrameStats& other);
  FrameStats(FrameStats&&) noexcept;
  FrameStats& operator=(FrameStats other) noexcept;
  ~FrameStats();

  /// Adds a frame; a negative duration counts as 0. About 5 ns.
  void add(std::int64_t duration_ns);
  /// Adds the frames of another object, for example of another thread, capture or machine. About 50 ns per used page of
  /// 64 buckets.
  void merge(const FrameStats& other);

  /// Statistics of the frames of a stream that overlap a range.
  [[nodiscard]] static FrameStats of(const Timeline& timeline, FrameStreamId stream, TimeRange range = {});

  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::int64_t min_ns() const;  ///< 0 if there are no frames; likewise max_ns()
  [[nodiscard]] std::int64_t max_ns() const;
  /// By nearest rank.
  [[nodiscard]] std::int64_t percentile_ns(double percentile) const;
  /// In milliseconds; all zero if there are no frames.
  [[nodiscard]] LatencyStats stats_ms() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kymo
