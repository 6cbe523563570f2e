// Patterns for names.
#pragma once

#include <string_view>

namespace kymo::base {

/// Whether a text matches a pattern, in which `*` stands for any text and `?` for one byte. Worst-case time: the
/// product of their lengths.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text) noexcept;

}  // namespace kymo::base
