// Facts about a recorded run.
#include "apps/kymo/stats/stats_facts.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

const TimelineProcess& main_process(const Timeline& timeline) {
  const auto& sites = timeline.declarations().sites;
  for (const TimelineProcess& process : timeline.processes()) {
    if (std::any_of(sites.begin(), sites.end(),
                    [&process](const SiteDeclaration& site) { return site.process == process.declaration.id; })) {
      return process;
    }
  }
  return timeline.processes().empty() ? timeline.process(ProcessId{}) : timeline.processes().front();
}

std::string_view fact_of(const TimelineProcess& process, std::string_view key) {
  for (const auto& [its_key, value] : process.infos) {
    if (its_key == key) {
      return value;
    }
  }
  return {};
}

std::string_view fact_of(const Timeline& timeline, std::string_view key) {
  for (const InfoDeclaration& info : timeline.declarations().infos) {
    if (info.key == key) {
      return info.value;
    }
  }
  return {};
}

std::string machine_of(const TimelineProcess& process) {
  std::string text = process.declaration.host;
  const auto add = [&text](const std::string& more) { text += (text.empty() || more.empty() ? "" : ", ") + more; };
  add(std::string(fact_of(process, "cpu")));
  if (const std::string_view count = fact_of(process, "cpu_count"); !count.empty()) {
    add(fmt::format("{} CPUs", count));
  }
  add(std::string(fact_of(process, "kernel")));
  add(std::string(fact_of(process, "architecture")));
  return text;
}

std::size_t count_recording_processes(const Timeline& timeline) {
  std::set<ProcessId> recording;
  for (const SiteDeclaration& site : timeline.declarations().sites) {
    recording.insert(site.process);
  }
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    recording.insert(stream.process);
  }
  return recording.size();
}

std::string describe_scopes(const Timeline& timeline, const stats::Statistics& statistics) {
  std::uint64_t scopes = 0;
  for (const stats::SiteStatistics& site : statistics.sites) {
    scopes += site.durations.count;
  }
  const std::vector<TrackTotals> totals = timeline.totals();
  const auto threads = std::count_if(totals.begin(), totals.end(), [&timeline](const TrackTotals& total) {
    return total.recorded_scopes != 0 && timeline.track(total.track).role == TrackRole::plain;
  });
  if (scopes == 0 && threads == 0) {
    return "no scopes";
  }
  const std::size_t processes = count_recording_processes(timeline);
  return fmt::format("{} on {}{}", format_plural(scopes, "scope"),
                     format_plural(static_cast<std::uint64_t>(threads), "thread"),
                     processes > 1 ? " in " + format_plural(processes, "process") : "");
}

bool is_own(const MetricDeclaration& metric) {
  return metric.source.empty();
}

}  // namespace kymo::command
