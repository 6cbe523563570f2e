// What the subcommands share: exit codes, and how they join the command line.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kymo::command {

/// Exit codes; `kymo --help` lists them. `record` passes on its command's.
enum class ExitCode : int {
  ok = 0,
  failed = 1,            ///< it could not be done
  usage = 2,             ///< the command line makes no sense
  damaged = 3,           ///< done, but with input that is damaged or incomplete
  regressed = 4,         ///< `compare --fail-on-regression`: something got slower
  record_failed = 125,   ///< `record`: kymo itself failed, not the command
  not_executable = 126,  ///< `record`: the command was found but cannot be run
  not_found = 127,       ///< `record`: there is no such command
};

/// It could not be done; what() says what, where, and what to do.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Adds all commands that this system has. `recorded`: the words of the command line behind "--"; `viewed`: those
/// behind "view".
void add_commands(CLI::App& app, const std::vector<std::string>& recorded, const std::vector<std::string>& viewed,
                  int& exit_code);

/// Each adds its subcommand, whose callback leaves its result in `exit_code`.
/// `record`: the words of the command line behind "--".
void add_record_command(CLI::App& app, const std::vector<std::string>& recorded, int& exit_code);
/// `view`: all words behind it, which are the viewer's.
void add_view_command(CLI::App& app, const std::vector<std::string>& words);
void add_bench_command(CLI::App& app, int& exit_code);
void add_info_command(CLI::App& app, int& exit_code);
void add_stats_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_import_command(CLI::App& app, int& exit_code);
void add_merge_command(CLI::App& app, int& exit_code);
void add_recover_command(CLI::App& app, int& exit_code);
void add_trigger_command(CLI::App& app, int& exit_code);
void add_doctor_command(CLI::App& app, int& exit_code);
void add_top_command(CLI::App& app, int& exit_code);
void add_serve_command(CLI::App& app, int& exit_code);
void add_setup_jetson_command(CLI::App& app, int& exit_code);

[[nodiscard]] inline int to_int(ExitCode code) {
  return static_cast<int>(code);
}

}  // namespace kymo::command
