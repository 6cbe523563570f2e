// The main program of the kymo command.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/commands.hpp"
#include "apps/kymo/shared/flush_output.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"

namespace kymo::command {
namespace {

constexpr const char* footer = R"(Examples:
  kymo record -o run.kymo -- ./train --steps 100
  kymo info run.kymo
  kymo stats run.kymo
  kymo explain run.kymo
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
  // The words after "--" are a command with its own options.
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  const bool is_record = argc > 1 && std::string_view(argv[1]) == "record" && dashes != end;
  // The viewer is also a program with its own options.
  const bool is_view = argc > 1 && std::string_view(argv[1]) == "view";
  char** const own_end = is_view ? argv + 2 : is_record ? dashes : end;
  if (char** const bare = find_bare_option(argv, own_end); bare != own_end) {
    say("kymo: {}: needs a value behind the equals sign\n", printable(*bare));
    return to_int(ExitCode::usage);
  }
  Invocation invocation{{is_record ? dashes + 1 : is_view ? argv + 2 : end, end}, to_int(ExitCode::ok)};
  for (CommandAdder* const add : commands()) {
    add(app, invocation);
  }
  refuse_empty_values(app);
  if (argc <= 1) {
    fmt::print("{}", app.help());
    return to_int(ExitCode::ok);
  }
  if (argv[1][0] != '-' && !check_command(app, argv[1])) {
    return to_int(ExitCode::usage);
  }
  try {
    app.parse(static_cast<int>(own_end - argv), argv);
  } catch (const CLI::ParseError& error) {
    return print_usage(app, error) ? to_int(ExitCode::ok) : to_int(ExitCode::usage);
  }
  return invocation.exit_code;
}

/// Whether a failure only says that nobody reads stdout any more, as behind `| head`: all that was wanted has been
/// read.
bool is_reader_gone(const std::exception& failure) {
  const auto* const system = dynamic_cast<const std::system_error*>(&failure);
  const bool is_broken_pipe = (system != nullptr && system->code().value() == EPIPE) ||
                              std::string_view(failure.what()).find(std::strerror(EPIPE)) != std::string_view::npos;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return is_broken_pipe && ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

/// What failed and why. Printing more than a buffer to standard output fails as "cannot write to file".
std::string text_of(const std::exception& failure) {
  const auto* const system = dynamic_cast<const std::system_error*>(&failure);
  return system != nullptr && std::ferror(stdout) != 0 ? "cannot write to standard output: " + system->code().message()
                                                       : failure.what();
}

/// If descriptors 0 to 2 are closed, the next files to be opened would get them, and output would end up in these
/// files. Opens /dev/null in their places with the opposite access mode, so that writing still fails. Commands started
/// by kymo find them closed, as they were.
void occupy_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) == -1) {
      static_cast<void>(::open("/dev/null", (number == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC));
    }
  }
}

/// A write to a closed pipe, or past the limit on a file's size, fails rather than ending the process. Programs that
/// are started inherit what this one did: an exec takes handlers away, and keeps what is ignored.
void let_writes_fail() {
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    if (std::signal(number, [](int /*number*/) {}) == SIG_IGN) {
      std::signal(number, SIG_IGN);
    }
  }
}

}  // namespace
}  // namespace kymo::command

int main(int argc, char** argv) {
  kymo::command::occupy_standard_descriptors();
  kymo::command::let_writes_fail();
  int exit_code = 0;
  try {
    exit_code = kymo::command::run(argc, argv);
  } catch (const std::exception& failure) {
    if (kymo::command::is_reader_gone(failure)) {
      return 0;
    }
    kymo::command::say("kymo: {}\n", kymo::command::text_of(failure));
    return kymo::command::to_int(kymo::command::ExitCode::failed);
  }
  // The last chance to notice a full disk behind `> file`.
  try {
    kymo::command::flush_output();
  } catch (const std::system_error& failure) {
    if (failure.code().value() != EPIPE) {
      kymo::command::say("kymo: {}\n", failure.what());
      exit_code = kymo::command::to_int(kymo::command::ExitCode::failed);
    }
  }
  return exit_code;
}
