// Floating-point numbers as text.
#pragma once

#include <string>

namespace kymo::base {

/// Appends the shortest text that reads back as the same value. The value must be finite.
void append_shortest_number(std::string& out, double value);

}  // namespace kymo::base
