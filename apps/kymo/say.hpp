// What the command has to say to a person.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace kymo::command {

/// Writes to stderr. Where that is closed or full the words are lost, and the command goes on: its exit code tells the
/// rest. (fmt::print throws.)
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) noexcept {
  try {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) {
      std::clearerr(stderr);
    }
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace kymo::command
