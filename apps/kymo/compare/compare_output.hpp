// Output of a comparison as text, JSON, CSV or a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/timeline.hpp>

#include "apps/kymo/report/flame_graph.hpp"
#include "base/output/output_file.hpp"
#include "stats/compare/comparison.hpp"
#include "stats/compare/configuration.hpp"

namespace kymo::command {

/// All results of a comparison.
struct ComparisonReport {
  std::vector<std::string> base_paths;
  std::vector<std::string> new_paths;
  std::vector<stats::ComparedFact> facts;
  stats::Comparison comparison;
  FlameGraph flame;  ///< with --functions and --html
  std::vector<std::string> warnings;
  std::uint64_t seed = 1;
  double fail_share = -1;                                ///< negative: never fails
  std::vector<const stats::ComparedThing*> regressions;  ///< of at least fail_share
  /// Durations that may have got slower by fail_share, for all that is known.
  std::vector<const stats::ComparedThing*> not_ruled_out;
  std::optional<Timeline> both;      ///< all captures, where there are reasons
  std::vector<Explanation> reasons;  ///< why the first regressions take longer, as far as that can be said
};

/// "(main)" for the main frame stream, a metric's name with its labels. Not yet printable.
[[nodiscard]] std::string title_of(const stats::ThingName& name);
/// The same for a sentence: printable, and cut in the middle.
[[nodiscard]] std::string short_title_of(const stats::ThingName& name);
/// The site's file and its lines on both sides, "tree.cpp:12" or "tree.cpp:12->14".
[[nodiscard]] std::string place_of(const stats::ComparedThing& thing);
/// A duration or a value with its unit.
[[nodiscard]] std::string format_in_unit(double value, const std::string& unit);
/// "+12.3 %", "-4.5 %", "-" if the base is 0.
[[nodiscard]] std::string format_change(double difference, double base);
/// Both ends of an interval of shares: "-1.2 to +3.4 %". Empty if there is none or an end is infinite.
[[nodiscard]] std::string format_interval(const std::optional<stats::Interval>& shares);
/// The number of runs on each side and its effect on the verdicts.
[[nodiscard]] std::string describe_runs(const ComparisonReport& report);
/// What is unclear, and how many more runs would settle it. Empty if nothing is.
[[nodiscard]] std::string describe_unclear(const ComparisonReport& report);
/// Whether durations got slower by fail_share, and what may have. Empty if that was not asked.
[[nodiscard]] std::string describe_regressions(const ComparisonReport& report);

struct ComparisonTextOptions {
  std::size_t top = 0;  ///< rows per table; 0: no limit
  bool all = false;     ///< also metrics without a noteworthy result
};

void print_comparison(const ComparisonReport& report, const ComparisonTextOptions& options);
void print_comparison_json(const ComparisonReport& report);
void print_comparison_csv(const ComparisonReport& report);
/// Writes one self-contained page.
void write_comparison_page(const ComparisonReport& report, base::OutputFile& file);

}  // namespace kymo::command
