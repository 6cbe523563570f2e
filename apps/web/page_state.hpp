// The state of the view, for tests.
#pragma once

#include <cstdint>
#include <string>

#include "panel/compare/compare_view.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::web {

/// A JSON object. Times are nanoseconds since the first event, positions are pixels of the page:
///
///     {"length_ns": 0, "overview_ns": [from, to], "flame_ns": [from, to], "arrival": "complete", "follows": false,
///      "is_paused": false, "is_busy": false, "frames": 0, "pinned_ns": [start, duration] or null,
///      "selected_site": "name" or null, "marked_site": "name" or null, "is_searching": false,
///      "tab": "", "shows_help": false, "sites": 0, "tracks": 0, "captures": 0, "blocks": 0,
///      "drawn": 0, "bars": [left, top, right, bottom], "rows": [...], "flame": [...]}
///
/// "arrival" is "complete", "recording", "cut_off" or "unreachable": panel::Arrival.
[[nodiscard]] std::string describe_view(panel::PanelView& view, float ratio, std::uint64_t drawn);

/// The same of the new one of two captures, with two members more: "base", of the other one, and "verdicts", their
/// number, or null while the captures are being read.
[[nodiscard]] std::string describe_comparison(panel::CompareView& view, float ratio, std::uint64_t drawn);

}  // namespace kymo::web
