// The game with metrics of the machine.
#pragma once

#include <vector>

#include "game_capture.hpp"

namespace kymo::test {

/// Metrics of the machine, one of which is constant, and one of the program, which was declared last.
[[nodiscard]] std::vector<EventBatch> metered_game();

/// A machine of 64 cores and a GPU, as the sampler names its metrics: the load and the clock of each core, where core 9
/// is busy, the others are nearly idle, and all clocks stand still. "speed" is the program's own and changes.
[[nodiscard]] std::vector<EventBatch> many_cores_game();

}  // namespace kymo::test
