#include "apps/kymo/stats/function_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_facts.hpp"

namespace kymo::command {

namespace {

std::string last_part_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string format_reach(std::uint64_t hits, std::uint64_t samples) {
  const stats::ShareInterval interval = stats::share_interval(hits, samples);
  return fmt::format("{:.1f}", 50 * (interval.high - interval.low));
}

std::string module_text(const stats::FunctionStatistics& row) {
  return printable(last_part_of(row.module));
}

std::string line_text(const stats::FunctionStatistics& row) {
  return row.line != 0 ? printable(fmt::format("{}:{}", last_part_of(row.file), row.line)) : "-";
}

void warn_of_samples(const Timeline& timeline, const stats::SampledFunctions& found, Warnings& warnings) {
  if (found.unread != 0) {
    warnings.texts.push_back(fmt::format("the stacks of {} could not be read", format_plural(found.unread, "sample")));
  }
  if (fact_of(timeline, "stacks.kernel") == "not permitted") {
    warnings.texts.emplace_back(
        "the kernel did not permit samples of its own work: shares are of the time in the program itself");
  }
}

bool knows_lines(const Timeline& timeline) {
  const auto& stacks = timeline.declarations().stacks;
  return std::any_of(stacks.begin(), stacks.end(), [](const auto& stack) { return stack.line != 0; });
}

}  // namespace kymo::command
