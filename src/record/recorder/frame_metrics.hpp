// The metrics that the main frame stream gets by itself: frame_ms and memory_mb.
#pragma once

#include <cstdint>
#include <vector>

#include <kymo/events.hpp>

#include "record/collector/track_decoder.hpp"

namespace kymo::record {

class Recorder;

/// Computes them from the frame marks of each batch. Used on the collector's thread.
class FrameMetrics {
 public:
  explicit FrameMetrics(Recorder& recorder) : recorder_(recorder) {}

  /// Adds the duration of each frame that ends in the batch, and the resident memory if any does. About 1 us per batch
  /// with frames.
  void add(EventBatch& batch, SampleGatherer& samples);
  /// The next mark ends no frame: the events before it were not recorded.
  void forget() noexcept { last_mark_ns_ = 0; }

 private:
  Recorder& recorder_;
  std::int64_t last_mark_ns_ = 0;
  std::vector<std::int64_t> times_ns_;  ///< of the batch's marks
};

}  // namespace kymo::record
