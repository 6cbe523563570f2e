// A part of a timeline as a timeline of its own. Exports of a part read this, so that no format needs to know about
// parts.
#pragma once

#include <functional>

#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// Copies the selected part of a timeline to a capture without a name in the temporary directory, and opens that. Ids
/// and times stay the same, and frames keep their numbers. Costs a pass over the blocks of the selected time, two if
/// sites are selected, and one over the frame marks before it.
///
/// What extends beyond the selected time is cut there, as for statistics. Of the selected sites' scopes, everything
/// that ran inside them stays too; self times remain exact. Sites and threads do not select frames and metrics, sites
/// not messages and flows either.
///
/// Throws SelectionError, and base::OutputError if the copy cannot be written.
[[nodiscard]] Timeline copy_selected(const Timeline& timeline, const SelectionOptions& options,
                                     const std::function<void(double)>& on_progress);

}  // namespace kymo::exchange
