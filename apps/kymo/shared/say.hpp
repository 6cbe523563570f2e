// Messages for the user.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text/plain_text.hpp"

namespace kymo::command {

/// Writes to stderr. Names in it cannot steer the terminal. If that is closed or full, the message is lost and the
/// command continues; its exit code still tells the result. (fmt::print throws.)
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) noexcept {
  try {
    std::string text;
    base::append_plain_text(text, fmt::format(format, std::forward<Values>(values)...), "\n\t");
    if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) {
      std::clearerr(stderr);
    }
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace kymo::command
