// What mouse and keyboard do, as `?` lists it.
#pragma once

#include <vector>

namespace kymo::panel {

struct HelpLine {
  const char* mouse;  ///< empty: nothing
  const char* keys;
  const char* what;
};

[[nodiscard]] const std::vector<HelpLine>& help_lines();

}  // namespace kymo::panel
