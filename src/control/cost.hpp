// Measures the cost of recording.
#pragma once

namespace kymo::control {

/// The present cost of a recorded scope on this machine in nanoseconds: the least of several rounds of empty scopes
/// written to separate memory. Takes about 2 ms of CPU. Thread-safe.
double measure_empty_scope_ns() noexcept;

/// The result of the last measurement; 0 if there was none.
[[nodiscard]] double last_empty_scope_ns() noexcept;

}  // namespace kymo::control
