// A capture's totals begin with its summaries.
#pragma once

#include <cstddef>

#include <kymo/capture.hpp>

#include "capture/summary/totals.hpp"

namespace kymo::capture {

/// Adds a capture's summaries to its totals, widest first, until the totals cover it. Damaged ones are left out, since
/// their blocks can be decoded instead. Returns how many were added.
std::size_t add_summaries(const CaptureReader& reader, SummaryParts parts, SummaryTotals& totals);

}  // namespace kymo::capture
