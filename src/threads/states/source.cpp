#include "threads/states/source.hpp"

#include <string>

#include "base/system/message.hpp"
#include "base/system/system.hpp"

namespace kymo::threads {

std::optional<ThreadsMode> parse_threads_mode(std::string_view text) {
  if (text == "states") {
    return ThreadsMode::states;
  }
  if (text == "stacks") {
    return ThreadsMode::stacks;
  }
  return text == "off" ? std::optional(ThreadsMode::off) : std::nullopt;
}

std::optional<ThreadsMode> threads_mode_of_environment() {
  const char* const value = base::trusted_variable("KYMO_THREADS");
  if (value == nullptr || *value == '\0') {
    return std::nullopt;
  }
  const auto mode = parse_threads_mode(value);
  if (!mode) {
    base::say("KYMO_THREADS=" + std::string(value) + ": needs states, stacks or off; states are recorded");
  }
  return mode.value_or(ThreadsMode::states);
}

}  // namespace kymo::threads
