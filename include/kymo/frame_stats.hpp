// What frame times amount to, in memory that does not grow with them.
//
//     kymo::FrameStats frames;
//     frames.add(frame_ns);                                  // a program's own, as they come
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

/// Frame times of any number of frames. A histogram of three significant digits: percentiles are at most 1/1024 off
/// and never too low; everything else is exact. Some 100 KB at most. Not thread safe: give each thread its own and
/// merge them.
class KYMO_API FrameStats {
 public:
  FrameStats();
  FrameStats(const FrameStats& other);
  FrameStats(FrameStats&&) noexcept;
  FrameStats& operator=(FrameStats other) noexcept;
  ~FrameStats();

  /// Counts a frame; a negative duration counts as 0. About 5 ns.
  void add(std::int64_t duration_ns);
  /// Adds everything that another one counted: of another thread, capture or machine. About 50 ns a touched page of 64
  /// buckets.
  void merge(const FrameStats& other);

  /// The frames of a stream that overlap a range.
  [[nodiscard]] static FrameStats of(const Timeline& timeline, FrameStreamId stream, TimeRange range = {});

  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::int64_t min_ns() const;  ///< 0 where there are none, as is the greatest
  [[nodiscard]] std::int64_t max_ns() const;
  /// By nearest rank.
  [[nodiscard]] std::int64_t percentile_ns(double percentile) const;
  /// In milliseconds; all zero for no frames.
  [[nodiscard]] LatencyStats stats_ms() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kymo
