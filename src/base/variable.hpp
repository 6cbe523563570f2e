// Environment variables that may be trusted.
#pragma once

namespace kymo::base {

/// A variable's value; null where there is none, and in a program that runs with rights which its caller lacks.
[[nodiscard]] const char* trusted_variable(const char* name) noexcept;

}  // namespace kymo::base
