// What recording costs, measured.
#pragma once

namespace kymo::control {

/// What a recorded scope costs on this machine now, in nanoseconds: the least of several rounds of empty scopes written
/// into memory of their own. Takes about 2 ms of CPU. Thread safe.
double measure_empty_scope_ns() noexcept;

/// What the last measurement gave; 0 when there was none.
[[nodiscard]] double last_empty_scope_ns() noexcept;

}  // namespace kymo::control
