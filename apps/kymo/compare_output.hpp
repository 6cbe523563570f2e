// What a comparison of two sides looks like: as text, JSON, CSV, and as a page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/output_file.hpp"
#include "stats/comparison.hpp"
#include "stats/configuration.hpp"

namespace kymo::command {

/// Everything there is to tell.
struct ComparisonReport {
  std::vector<std::string> base_paths;
  std::vector<std::string> new_paths;
  std::vector<stats::ComparedFact> facts;
  stats::Comparison comparison;
  std::vector<std::string> warnings;
  std::uint64_t seed = 1;
  double fail_share = -1;                                ///< negative: nothing fails
  std::vector<const stats::ComparedThing*> regressions;  ///< that are at least fail_share
};

/// "(main)" for the main frame stream, labels behind a metric's name; not yet printable.
[[nodiscard]] std::string title_of(const stats::ThingName& name);
/// The site's file and its line on both sides, "tree.cpp:12" or "tree.cpp:12->14".
[[nodiscard]] std::string place_of(const stats::ComparedThing& thing);
/// A duration or a value in the unit of the thing.
[[nodiscard]] std::string format_in_unit(double value, const std::string& unit);
/// "+12.3 %", "-4.5 %", "-" where there is nothing to take a share of.
[[nodiscard]] std::string format_change(double difference, double base);
/// Both ends of an interval of shares: "-1.2 to +3.4 %"; empty where there is none, or an end is infinite.
[[nodiscard]] std::string format_interval(const std::optional<stats::Interval>& shares);
/// What runs a side has and what that means for the verdicts.
[[nodiscard]] std::string describe_runs(const ComparisonReport& report);

struct ComparisonTextOptions {
  std::size_t top = 0;  ///< rows a table; 0: no limit
  bool all = false;     ///< also metrics of which there is nothing to tell
};

void print_comparison(const ComparisonReport& report, const ComparisonTextOptions& options);
void print_comparison_json(const ComparisonReport& report);
void print_comparison_csv(const ComparisonReport& report);
/// One page that needs nothing but itself.
void write_comparison_page(const ComparisonReport& report, exchange::OutputFile& file);

}  // namespace kymo::command
