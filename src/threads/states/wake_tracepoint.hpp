// Finds the kernel's tracepoint of wakes, sched_waking.
#pragma once

#include <optional>
#include <string_view>

#include "threads/states/kernel_records.hpp"
#include "threads/states/source.hpp"

namespace kymo::threads {

/// The tracepoint by the text of its `format` file; none if that says something else.
[[nodiscard]] std::optional<WakeTracepoint> parse_wake_format(std::string_view text);

/// The tracepoint as tracefs describes it; if there is none, `refusal` says why, and what would help. Whether the
/// kernel permits its use is known when it is opened.
[[nodiscard]] std::optional<WakeTracepoint> find_wake_tracepoint(Refusal& refusal);

}  // namespace kymo::threads
