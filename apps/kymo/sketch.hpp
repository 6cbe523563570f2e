// A histogram in one line of a terminal.
#pragma once

#include <string>

#include "capture/histogram.hpp"

namespace kymo::command {

/// Whether the locale that the environment asks for is in UTF-8.
[[nodiscard]] bool speaks_utf8();

/// The durations of a histogram from the least to the greatest on a logarithmic axis, at most 32 columns wide: block
/// characters, or without UTF-8 the characters " .:-=+*#@". Heights are in proportion; what is not empty is seen.
[[nodiscard]] std::string sketch(const capture::Histogram& histogram, bool in_utf8);

}  // namespace kymo::command
