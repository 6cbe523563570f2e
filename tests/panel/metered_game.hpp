// The game with metrics of the machine.
#pragma once

#include <vector>

#include "game_capture.hpp"

namespace kymo::test {

/// Metrics of the machine, one of which is constant, and one of the program, which was declared last.
[[nodiscard]] std::vector<EventBatch> metered_game();

}  // namespace kymo::test
