// Spans on the timeline of a browser's DevTools, by User Timing. For programs compiled to WebAssembly; elsewhere
// this header is empty.
//
//     kymo::BrowserSink timeline;
//     kymo::SinkGuard shown = timeline.install();      // until the guard goes
//
// Each scope, async span, emitted span and frame becomes a performance.measure() of its name, start and end. Chromium's
// Performance panel shows them in a group "kymo" with a track for each of kymo's, with their arguments; Firefox's
// profiler as markers; performance.getEntriesByType("measure") has the latest. Their times are those of
// performance.now(), to the clock's step.
#pragma once

#if defined(__EMSCRIPTEN__)

#include <cstddef>
#include <cstdint>
#include <memory>

#include <kymo/export.hpp>
#include <kymo/sink_guard.hpp>

namespace kymo {

/// What keeps the page light: a measure costs it some microseconds, and memory until it is cleared.
struct BrowserSinkOptions {
  /// Measures made in a second, on average; up to as many at once. Of more, the longest are made and the others
  /// dropped and counted.
  std::uint32_t most_per_second = 2000;
  /// Measures that the page keeps: before there are more, all of the sink's are cleared, by their names. What
  /// DevTools has recorded stays.
  std::size_t most_entries = 10'000;
};

/// What became of the spans that a BrowserSink was given.
struct BrowserSinkCounts {
  std::uint64_t measured = 0;
  std::uint64_t dropped = 0;  ///< over most_per_second, or refused by the browser
};

/// Shows spans on the browser's timeline while it is installed. They come with the collector's batches, up to 100 ms
/// after they ended. Where spans were dropped, a measure "spans left out" says so and how many.
class KYMO_API BrowserSink {
 public:
  explicit BrowserSink(const BrowserSinkOptions& options = {});

  /// Begins to record for it. One installation at a time: a second one, while the first guard lives, is refused with a
  /// message, and its guard holds nothing.
  [[nodiscard]] SinkGuard install() const noexcept;

  /// What became of the spans so far.
  [[nodiscard]] BrowserSinkCounts counts() const noexcept;

 private:
  class Implementation;
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace kymo

#endif
