// kymo report: what captures amount to, as one page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/timeline.hpp>

#include "exchange/output_file.hpp"
#include "stats/energy.hpp"
#include "stats/statistics.hpp"
#include "stats/stretches.hpp"
#include "warnings.hpp"

namespace kymo::command {

struct ReportOptions {
  std::size_t top = 50;             ///< sites and GPU spans a table
  std::size_t slowest_frames = 10;  ///< 0: none
  bool redacts = false;             ///< names no directories
};

/// Everything there is to tell.
struct Report {
  const Timeline& timeline;
  ReportOptions options;
  std::string title;  ///< what was run
  stats::Statistics statistics;
  stats::SlowFrames slow;
  stats::EnergyStatistics energy;
  std::vector<Phase> phases;
  std::vector<stats::PhaseStatistics> phase_statistics;  ///< of all phases; none where there are too many
  Warnings warnings;
};

/// Writes the page, piece by piece.
void write_report(const Report& report, exchange::OutputFile& file);

// Its sections, each written where there is anything to tell.
void append_report_frames(const Report& report, exchange::OutputFile& file);
void append_report_sites(const Report& report, exchange::OutputFile& file);
/// Reads the samples once more, to draw them.
void append_report_metrics(const Report& report, exchange::OutputFile& file);
void append_report_energy(const Report& report, std::string& out);

}  // namespace kymo::command
