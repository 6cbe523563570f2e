// Whether the kernel tells what threads do, and whether the user asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kymo::threads {

/// What KYMO_THREADS says.
enum class ThreadsMode : std::uint8_t {
  states,
  stacks,  ///< states, and samples of stacks
  off,
};

/// Parses "states", "stacks" or "off".
[[nodiscard]] std::optional<ThreadsMode> parse_threads_mode(std::string_view text);

/// The value of KYMO_THREADS; none if it is not set. Says on stderr if it is none of the three.
[[nodiscard]] std::optional<ThreadsMode> threads_mode_of_environment();

/// Why the kernel gives no context switches here, and what would make it.
struct Refusal {
  int error = 0;  ///< errno; 0: it gives them
  std::string reason;
  std::string advice;
};

/// Tries it on the calling thread; some ten system calls.
[[nodiscard]] Refusal check_switch_events();

/// Tries whether it also tells who ended whose wait.
[[nodiscard]] Refusal check_wake_events();

}  // namespace kymo::threads
