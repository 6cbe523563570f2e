// The made-up game with everything else that a capture can hold.
#pragma once

#include <vector>

#include "game_capture.hpp"

namespace kymo::test {

/// In frame 20: messages after 1 ms and 5 ms and a sync point 3 after 6 ms on the main thread, a flow from "update" to
/// the worker's "job", an async span "request" on a track of its own; a second frame stream "physics" with half as many
/// marks. Power is 20 W throughout, read at every frame.
struct MarkedGame {
  static constexpr unsigned frame = 20;
  static constexpr TrackId async_track{4};
  static constexpr std::uint64_t sync_number = 3;
  [[nodiscard]] static std::vector<EventBatch> batches();
};

}  // namespace kymo::test
