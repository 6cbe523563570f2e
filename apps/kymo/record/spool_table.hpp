// Lists the spools in shared memory, as a table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "apps/kymo/shared/warnings.hpp"
#include "capture/recover/leftovers.hpp"

namespace kymo::command {

/// The state in words.
[[nodiscard]] std::string describe(const capture::Leftover& leftover);

void print_leftovers(const std::vector<capture::Leftover>& leftovers);
[[nodiscard]] nlohmann::ordered_json to_json(const capture::Leftover& leftover);

}  // namespace kymo::command
