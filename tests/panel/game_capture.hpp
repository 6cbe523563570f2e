// A made-up game: frames of 10 ms with one slow one, scopes on two threads, a queue, a metric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kymo/events.hpp>

#include "capture/capture_fixture.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::test {

/// Frame i begins at start_ns + i * frame_ns, those after the slow one later by what it took longer. In each, the main
/// thread runs "frame" with "update" (argument objects = i) in its first and "render" in its second half; a worker runs
/// "job" through the first quarter; the queue "gpu" has a span "draw" in the last. "load" has a sample of i at the
/// frame's start, stale in every second frame.
struct Game {
  static constexpr std::int64_t start_ns = 1'000'000'000;
  static constexpr std::int64_t frame_ns = 10'000'000;
  static constexpr std::int64_t slow_ns = 45'000'000;
  static constexpr unsigned slow_frame = 37;
  static constexpr SiteId frame_site{1};
  static constexpr SiteId update_site{2};
  static constexpr SiteId render_site{3};
  static constexpr SiteId job_site{4};
  static constexpr TrackId main_track{1};
  static constexpr TrackId worker_track{2};
  static constexpr TrackId gpu_track{3};

  unsigned frames = 100;
  unsigned frames_in_block = 10;
  std::vector<std::string> site_names = {"frame", "update", "render", "job"};

  [[nodiscard]] static std::int64_t start_of(unsigned frame) {
    return start_ns + std::int64_t{frame} * frame_ns + (frame > slow_frame ? slow_ns - frame_ns : 0);
  }
  [[nodiscard]] std::vector<EventBatch> batches() const;
  [[nodiscard]] Bytes write(bool finish = true) const { return write_capture(batches(), finish); }
};

/// A capture in memory as the panel's data.
[[nodiscard]] std::shared_ptr<panel::BlockProvider> provide(const Bytes& bytes);

/// Data without a thread: everything that is asked for is there in the next frame.
[[nodiscard]] panel::DataOptions immediate_data();

}  // namespace kymo::test
