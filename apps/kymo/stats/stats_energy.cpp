// kymo stats --energy.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/energy_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/energy/energy.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;

void sort_by_energy(const Timeline& timeline, std::vector<stats::SiteEnergy>& sites, SortKey key) {
  const auto value = [key](const stats::SiteEnergy& site) {
    switch (key) {
      case SortKey::self:
        return site.self.joules;
      case SortKey::count:
        return static_cast<double>(site.count);
      case SortKey::mean:
        return site.count == 0 ? 0.0 : site.inclusive.joules / static_cast<double>(site.count);
      default:
        return site.inclusive.joules;
    }
  };
  std::stable_sort(sites.begin(), sites.end(), [&](const stats::SiteEnergy& a, const stats::SiteEnergy& b) {
    return key == SortKey::name ? timeline.site(a.site).name < timeline.site(b.site).name : value(a) > value(b);
  });
}

/// Explains why there are no joules.
[[noreturn]] void fail_without_power(const stats::EnergyStatistics& statistics, const StatsOptions& options) {
  if (statistics.left_out.empty()) {
    throw Failure(
        "no power was recorded: there is no metric in watts and no energy counter in joules. Record with a sampler where the machine has a "
        "source of power that may be read");
  }
  std::string there;
  for (const auto& [name, reason] : statistics.left_out) {
    there += "\n  " + printable(name);
  }
  throw Failure(fmt::format("no power source fits {}; this recording has:{}",
                            printable(fmt::format("{}", fmt::join(options.power_sources, ", "))), there));
}

}  // namespace

int show_energy(const Timeline& timeline, const StatsOptions& options) {
  stats::EnergyStatistics statistics;
  {
    Progress progress("reading");
    stats::EnergyOptions how;
    how.by_process = options.by_process;
    how.power_sources = options.power_sources;
    how.idle_watts = options.idle_watts;
    how.on_progress = progress.callback();
    statistics = stats::gather_energy(timeline, how);
  }
  if (statistics.sources.empty()) {
    fail_without_power(statistics, options);
  }
  sort_by_energy(timeline, statistics.sites, options.sort_key());
  const Warnings warnings = find_all_warnings(timeline);
  const EnergyTableOptions table{options.by_process, options.top};
  if (options.is_json) {
    Json json = energy_to_json(timeline, statistics, table);
    json["warnings"] = warnings.texts;
    print_json(json);
    return warnings.exit_code();
  }
  warnings.print();
  print_energy(timeline, statistics, table);
  return warnings.exit_code();
}

}  // namespace kymo::command
