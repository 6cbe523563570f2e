// The commands that need nothing of Linux. Programs record themselves on macOS, with KYMO_RECORD or in their own words.
#include "command.hpp"

namespace kymo::command {

void add_commands(CLI::App& app, const std::vector<std::string>& /*recorded*/,
                  const std::vector<std::string>& /*viewed*/, int& exit_code) {
  add_info_command(app, exit_code);
  add_stats_command(app, exit_code);
  add_compare_command(app, exit_code);
  add_report_command(app, exit_code);
  add_export_command(app, exit_code);
  add_import_command(app, exit_code);
  add_merge_command(app, exit_code);
  add_doctor_command(app, exit_code);
}

}  // namespace kymo::command
