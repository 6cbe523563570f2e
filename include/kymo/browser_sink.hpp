// Spans on the timeline of a browser's DevTools, through User Timing. For programs compiled to WebAssembly; on other
// platforms this header is empty.
//
//     kymo::BrowserSink timeline;
//     kymo::SinkGuard shown = timeline.install();      // until the guard is destroyed
//
// Each scope, async span, emitted span and frame becomes a performance.measure() with its name, start and end.
// Chromium's Performance panel shows them in a group "kymo" with one track per kymo track, with their arguments.
// Firefox's profiler shows them as markers. performance.getEntriesByType("measure") returns the latest ones. Times are
// those of performance.now(), at that clock's resolution.
#pragma once

#if defined(__EMSCRIPTEN__)

#include <cstddef>
#include <cstdint>
#include <memory>

#include <kymo/export.hpp>
#include <kymo/sink_guard.hpp>

namespace kymo {

/// Limits that keep the page responsive: a measure costs it some microseconds, and memory until it is cleared.
struct BrowserSinkOptions {
  /// Average limit of measures per second, with bursts of the same size. Above it, the longest spans are kept; the
  /// others are dropped and counted.
  std::uint32_t most_per_second = 2000;
  /// Limit of measures that the page keeps. Before it is exceeded, all measures of this sink are cleared by name. Data
  /// that DevTools has recorded stays.
  std::size_t most_entries = 10'000;
};

/// Counts of the spans that a BrowserSink received.
struct BrowserSinkCounts {
  std::uint64_t measured = 0;
  std::uint64_t dropped = 0;  ///< over most_per_second, or refused by the browser
};

/// Shows spans on the browser's timeline while installed. They arrive with the collector's batches, up to 100 ms after
/// they ended. If spans were dropped, a measure "spans left out" gives their number.
class KYMO_API BrowserSink {
 public:
  explicit BrowserSink(const BrowserSinkOptions& options = {});

  /// Starts recording into this sink. Only one installation at a time: while the first guard lives, a second call
  /// prints a message and returns an empty guard.
  [[nodiscard]] SinkGuard install() const noexcept;

  /// Counts so far.
  [[nodiscard]] BrowserSinkCounts counts() const noexcept;

 private:
  class Implementation;
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace kymo

#endif
