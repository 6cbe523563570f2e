// Draws a histogram in one line of text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/summary/histogram.hpp"

namespace kymo::command {

/// Whether the environment's locale uses UTF-8.
[[nodiscard]] bool speaks_utf8();

/// The durations of a histogram from minimum to maximum on a logarithmic axis, at most 32 columns wide: block
/// characters, or without UTF-8 the characters " .:-=+*#@". Heights are proportional; non-empty bins are always
/// visible.
[[nodiscard]] std::string sketch(const capture::Histogram& histogram, bool in_utf8);

/// A column for each count.
[[nodiscard]] std::string sketch(const std::vector<std::uint64_t>& columns, bool in_utf8);

}  // namespace kymo::command
