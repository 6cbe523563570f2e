// For those who follow captures by their paths.
#pragma once

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// Whether another capture now lies at the path of one of these, as after a second run of a program.
/// Timeline::refresh() stays with the old one; a new timeline reads what is there now. About 2 us a file.
[[nodiscard]] KYMO_API bool is_replaced(const Timeline& timeline);

}  // namespace kymo::timeline
