#include "command.hpp"

namespace kymo::command {

void add_commands(CLI::App& app, const std::vector<std::string>& recorded, const std::vector<std::string>& viewed,
                  int& exit_code) {
  add_record_command(app, recorded, exit_code);
  add_info_command(app, exit_code);
  add_stats_command(app, exit_code);
  add_compare_command(app, exit_code);
  add_report_command(app, exit_code);
  add_export_command(app, exit_code);
  add_import_command(app, exit_code);
  add_merge_command(app, exit_code);
  add_recover_command(app, exit_code);
  add_trigger_command(app, exit_code);
  add_doctor_command(app, exit_code);
  add_top_command(app, exit_code);
#ifdef KYMO_HAS_SERVER
  add_serve_command(app, exit_code);
#endif
  add_setup_jetson_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_view_command(app, viewed);
}

}  // namespace kymo::command
