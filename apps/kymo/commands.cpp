#include "apps/kymo/commands.hpp"

namespace kymo::command {

// One row each; the file of that name defines the command. Commands that start programs, draw on terminals or read
// /proc are for Linux only.
CommandAdder add_record_command, add_info_command, add_stats_command, add_explain_command, add_compare_command,
    add_report_command, add_export_command, add_import_command, add_merge_command, add_recover_command,
    add_trigger_command, add_doctor_command, add_top_command, add_serve_command, add_setup_jetson_command,
    add_bench_command, add_view_command, add_completions_command;

namespace {

constexpr CommandAdder* all[] = {
#if defined(__linux__)
    add_record_command,
#endif
    add_info_command,         add_stats_command,   add_explain_command, add_compare_command,
    add_report_command,       add_export_command,  add_import_command,  add_merge_command,
#if defined(__linux__)
    add_recover_command,      add_trigger_command,
#endif
    add_doctor_command,
#if defined(__linux__)
    add_top_command,
#if defined(KYMO_HAS_SERVER)
    add_serve_command,
#endif
    add_setup_jetson_command, add_bench_command,   add_view_command,
#endif
    add_completions_command,
};

}  // namespace

std::span<CommandAdder* const> commands() noexcept {
  return all;
}

}  // namespace kymo::command
