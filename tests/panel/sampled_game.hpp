// A game whose stacks were sampled.
#pragma once

#include <vector>

#include "game_capture.hpp"

namespace kymo::test {

/// In each frame, after these parts of it, a sample finds on the main thread "main > step > simulate" at 0.2 and 0.3
/// (in "update") and "main > step > paint" at 0.7 (in "render"); on the worker "pool > simulate" at 0.15, in "job".
/// There a wait in "pool > sleep" lasts from 0.3 to 0.9. One more sample, of frame 5, could not be read.
struct SampledGame {
  static constexpr ThreadId main_thread{1};
  static constexpr ThreadId worker_thread{2};
  static constexpr StackId simulate{3};
  static constexpr StackId paint{4};
  static constexpr StackId pool_simulate{6};
  static constexpr StackId sleep{7};

  [[nodiscard]] static std::vector<EventBatch> batches();
};

}  // namespace kymo::test
