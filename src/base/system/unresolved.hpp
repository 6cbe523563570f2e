// Marks the submission of GPU work whose times are unknown.
#pragma once

#include <string_view>

namespace kymo::base {

/// Suffix of the name of such a span, which has no duration.
inline constexpr std::string_view unresolved_suffix = " (unresolved)";

[[nodiscard]] constexpr bool is_unresolved(std::string_view name) noexcept {
  return name.size() > unresolved_suffix.size() &&
         name.substr(name.size() - unresolved_suffix.size()) == unresolved_suffix;
}

}  // namespace kymo::base
