// The public functions of statistics, energy and comparison.
#include <utility>

#include <kymo/comparison.hpp>
#include <kymo/energy.hpp>
#include <kymo/functions.hpp>
#include <kymo/statistics.hpp>
#include <kymo/thread_activity.hpp>

#include "base/system/unresolved.hpp"
#include "stats/common/selection.hpp"
#include "stats/compare/comparison.hpp"
#include "stats/compare/configuration.hpp"
#include "stats/compare/side_samples.hpp"
#include "stats/energy/energy.hpp"
#include "stats/energy/function_energy.hpp"
#include "stats/statistics/site_run_times.hpp"
#include "stats/statistics/statistics.hpp"
#include "stats/statistics/thread_activity.hpp"

namespace kymo {

SelectionError::~SelectionError() = default;

Statistics read_statistics(const Timeline& timeline, const SelectionOptions& part, bool by_process,
                           bool metric_percentiles) {
  stats::StatisticsOptions how;
  how.metric_percentiles = metric_percentiles;
  how.by_process = by_process;
  how.selection = stats::Selection(timeline, part);
  return stats::gather_statistics(timeline, how);
}

std::vector<SiteRunTimes> read_run_times(const Timeline& timeline, const Statistics& statistics,
                                         const SelectionOptions& part, bool by_process) {
  stats::RunTimesOptions how;
  how.by_process = by_process;
  how.selection = stats::Selection(timeline, part);
  stats::RunTimesOfSites found = stats::gather_run_times(timeline, how);
  std::vector<SiteRunTimes> rows(found.empty() ? 0 : statistics.sites.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SiteRunTimes* const known = found.find(statistics.sites[i].site);
    rows[i] = known != nullptr ? *known : SiteRunTimes();
  }
  return rows;
}

EnergyStatistics read_energy(const Timeline& timeline, bool by_process, const std::vector<std::string>& power_sources,
                             std::optional<double> idle_watts) {
  stats::EnergyOptions how;
  how.by_process = by_process;
  how.power_sources = power_sources;
  how.idle_watts = idle_watts;
  return stats::gather_energy(timeline, how);
}

std::vector<ThreadActivity> read_thread_activity(const Timeline& timeline, const SelectionOptions& part) {
  return stats::gather_thread_activity(timeline, stats::Selection(timeline, part));
}

SampledFunctions read_functions(const Timeline& timeline, const SelectionOptions& part, SampledRows rows) {
  stats::FunctionOptions how;
  how.rows = rows;
  how.selection = stats::Selection(timeline, part);
  return stats::gather_functions_with_energy(timeline, std::move(how), {});
}

CaptureComparison compare_captures(const std::vector<std::string>& base, const std::vector<std::string>& changed,
                                   std::uint64_t seed) {
  stats::SideSamples base_samples(seed, 0, stats::kept_of_each(base.size()));
  stats::SideSamples changed_samples(seed, 1, stats::kept_of_each(changed.size()));
  stats::Configuration base_facts;
  stats::Configuration changed_facts;
  const auto read = [](const std::vector<std::string>& paths, stats::SideSamples& samples,
                       stats::Configuration& facts) {
    for (const std::string& path : paths) {
      const Timeline timeline(path);
      samples.add_run(timeline);
      facts.add(timeline);
    }
  };
  read(base, base_samples, base_facts);
  read(changed, changed_samples, changed_facts);
  stats::ComparisonOptions how;
  how.seed = seed;
  stats::Comparison found = stats::compare(base_samples, changed_samples, how);
  return {{found.things.begin(), found.things.end()},
          std::move(found.only_in_base),
          std::move(found.only_in_new),
          std::move(found.other_units),
          stats::compare_configurations(base_facts, changed_facts)};
}

bool is_unresolved(std::string_view span_name) noexcept {
  return base::is_unresolved(span_name);
}

}  // namespace kymo
