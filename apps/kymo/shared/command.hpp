// Common definitions of the subcommands: exit codes and how they are added to the command line.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "apps/kymo/shared/say.hpp"

namespace CLI {
class App;
}

namespace kymo::command {

/// Exit codes, as listed by `kymo --help`. `record` returns its command's.
enum class ExitCode : int {
  ok = 0,
  failed = 1,            ///< the operation failed
  usage = 2,             ///< the command line is invalid
  damaged = 3,           ///< done, but the input is damaged or incomplete
  regressed = 4,         ///< `compare --fail-on-regression`: something got slower
  record_failed = 125,   ///< `record`: kymo itself failed, not the command
  not_executable = 126,  ///< `record`: the command was found but cannot be run
  not_found = 127,       ///< `record`: there is no such command
};

/// The operation failed. what() says what, where, and what to do.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One invocation of the command.
struct Invocation {
  std::vector<std::string> passed_on;  ///< arguments for another program: after "--" of `record`, after `view`
  int exit_code = 0;
};

/// Adds a subcommand. Its callback stores its result in `exit_code`. The invocation must outlive the app's parsing.
using CommandAdder = void(CLI::App& app, Invocation& invocation);

[[nodiscard]] inline int to_int(ExitCode code) {
  return static_cast<int>(code);
}

/// Runs a subcommand some of whose arguments only the libraries below can check: what they reject is a usage error.
template <typename Run>
[[nodiscard]] int run_checked(const Run& run) {
  try {
    return run();
  } catch (const std::invalid_argument& failure) {
    say("kymo: {}\n", failure.what());
    return to_int(ExitCode::usage);
  }
}

}  // namespace kymo::command
