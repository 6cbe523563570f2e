// kymo report: summarises captures on one page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/explain_energy.hpp>
#include <kymo/explain_run.hpp>
#include <kymo/timeline.hpp>

#include "apps/kymo/report/flame_graph.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/output/output_file.hpp"
#include "stats/energy/energy.hpp"
#include "stats/statistics/call_tree.hpp"
#include "stats/statistics/function_statistics.hpp"
#include "stats/statistics/lock_statistics.hpp"
#include "stats/statistics/statistics.hpp"
#include "stats/statistics/stretches.hpp"

namespace kymo::command {

struct ReportOptions {
  std::size_t top = 50;             ///< sites and GPU spans per table
  std::size_t slowest_frames = 10;  ///< 0: none
  bool redacts = false;             ///< omits directories
};

/// All data of the report.
struct Report {
  const Timeline& timeline;
  ReportOptions options;
  std::string title;  ///< the command that ran
  stats::Statistics statistics;
  stats::SlowFrames slow;
  stats::EnergyStatistics energy;
  std::vector<Phase> phases;
  stats::CallTree tree;
  std::vector<stats::LockStatistics> locks;
  std::vector<stats::PhaseStatistics> phase_statistics;  ///< of all phases; empty if there are too many
  std::vector<Explanation> explanations;                 ///< those that say something
  std::optional<EnergyExplanation> energy_explanation;   ///< likewise
  std::optional<RunExplanation> run;                     ///< where nothing can be compared and run states are known
  stats::SampledFunctions functions;
  stats::SampledFunctions lines;  ///< the same by line of the source; empty if no line is known
  FlameGraph flame;               ///< of the functions
  Warnings warnings;
  FlameGraph waits{FlameGraph::Widths::waits};
};

/// Writes the page piece by piece.
void write_report(const Report& report, base::OutputFile& file);

// Its sections, each written if it has content.
void append_report_frames(const Report& report, base::OutputFile& file);
void append_report_sites(const Report& report, base::OutputFile& file);
void append_report_locks(const Report& report, base::OutputFile& file);
void append_report_tree(const Report& report, base::OutputFile& file);
void append_report_functions(const Report& report, base::OutputFile& file);
void append_report_waits(const Report& report, base::OutputFile& file);
/// Reads the samples again to draw them.
void append_report_metrics(const Report& report, base::OutputFile& file);
void append_report_energy(const Report& report, std::string& out);

}  // namespace kymo::command
