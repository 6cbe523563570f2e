// kymo: the command.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "command.hpp"
#include "say.hpp"

namespace kymo::command {
namespace {

constexpr const char* footer = R"(Examples:
  kymo record -o run.kymo -- ./train --steps 100
  kymo info run.kymo
  kymo stats run.kymo
  kymo view run.kymo
  kymo report run.kymo
  kymo compare before.kymo after.kymo
  kymo doctor
  kymo export --to chrome -o trace.json run.kymo

Exit codes:
  0  done
  1  it could not be done; the reason is on stderr
  2  the command line makes no sense
  3  done, but the input is damaged or incomplete; what is missing is on stderr
  4  compare --fail-on-regression: something got slower
`kymo record` ends as its command did: with its status, or 128 and the number of the signal that killed it; 127 where
there is no such command, 126 where it cannot be run, 125 where kymo itself failed.

`kymo COMMAND --help` shows the options of a command and examples.)";

int run(int argc, char** argv) {
  CLI::App app("Records what a program did and what the machine felt meanwhile, and shows it.", "kymo");
  app.footer(footer);
  app.set_version_flag("--version", "kymo " KYMO_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  // What stands behind "--" is a command with options of its own, none of ours.
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  const bool is_record = argc > 1 && std::string_view(argv[1]) == "record" && dashes != end;
  const std::vector<std::string> recorded(is_record ? dashes + 1 : end, end);
  // The viewer is a program with options of its own, too.
  const bool is_view = argc > 1 && std::string_view(argv[1]) == "view";
  const std::vector<std::string> viewed(is_view ? argv + 2 : end, end);
  int exit_code = to_int(ExitCode::ok);
  add_commands(app, recorded, viewed, exit_code);
  try {
    app.parse(is_view ? 2 : is_record ? static_cast<int>(dashes - argv) : argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? to_int(ExitCode::ok) : to_int(ExitCode::usage);
  }
  return exit_code;
}

/// Descriptors 0 to 2 that are closed would be given to the next files that are opened, and what is printed would go
/// into those. /dev/null takes their places, opened the wrong way round, so that writing still fails; commands that are
/// started find them closed, as they were.
void occupy_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) == -1) {
      static_cast<void>(::open("/dev/null", (number == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC));
    }
  }
}

}  // namespace
}  // namespace kymo::command

int main(int argc, char** argv) {
  kymo::command::occupy_standard_descriptors();
  // A reader that closes the pipe is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  int exit_code = 0;
  try {
    exit_code = kymo::command::run(argc, argv);
  } catch (const std::exception& failure) {
    exit_code = kymo::command::to_int(kymo::command::ExitCode::failed);
    kymo::command::say("kymo: {}\n", failure.what());
  }
  // A full disk behind `> file` is noticed here at the latest.
  if (std::fflush(stdout) != 0) {
    exit_code = kymo::command::to_int(kymo::command::ExitCode::failed);
  }
  return exit_code;
}
