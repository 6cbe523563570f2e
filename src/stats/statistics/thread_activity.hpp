// What each thread did in all: run states, migrations, page faults.
#pragma once

#include <functional>
#include <vector>

#include <kymo/thread_activity.hpp>

#include "stats/common/selection.hpp"

namespace kymo::stats {

/// As read_thread_activity().
[[nodiscard]] std::vector<ThreadActivity> gather_thread_activity(const Timeline& timeline, const Selection& selection,
                                                                 const std::function<void(double)>& on_progress = {});

}  // namespace kymo::stats
