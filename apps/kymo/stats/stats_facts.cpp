// Facts about a recorded run.
#include "apps/kymo/stats/stats_facts.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"
#include "stats/common/system_processes.hpp"

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

namespace {

/// Threads that recorded scopes. One that several captures name by its id counts once.
std::size_t count_recording_threads(const Timeline& timeline) {
  const stats::SystemProcesses processes(timeline);
  std::set<std::pair<ProcessId, std::uint64_t>> threads;
  std::size_t others = 0;
  for (const TrackTotals& total : timeline.totals()) {
    const TrackDeclaration& track = timeline.track(total.track);
    if (total.recorded_scopes == 0 || track.role != TrackRole::plain) {
      continue;
    }
    if (track.os_thread_id == 0) {
      ++others;
    } else {
      threads.emplace(processes.of(track.process), track.os_thread_id);
    }
  }
  return threads.size() + others;
}

}  // namespace

std::size_t count_recording_processes(const Timeline& timeline) {
  const stats::SystemProcesses processes(timeline);
  std::set<ProcessId> recording;
  for (const SiteDeclaration& site : timeline.declarations().sites) {
    recording.insert(processes.of(site.process));
  }
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    recording.insert(processes.of(stream.process));
  }
  return recording.size();
}

std::string describe_scopes(const Timeline& timeline, const stats::Statistics& statistics) {
  std::uint64_t scopes = 0;
  for (const stats::SiteStatistics& site : statistics.sites) {
    scopes += site.durations.count;
  }
  const std::size_t threads = count_recording_threads(timeline);
  if (scopes == 0 && threads == 0) {
    return "no scopes";
  }
  const std::size_t processes = count_recording_processes(timeline);
  return fmt::format("{} on {}{}", format_plural(scopes, "scope"), format_plural(threads, "thread"),
                     processes > 1 ? " in " + format_plural(processes, "process") : "");
}

bool is_own(const MetricDeclaration& metric) {
  return metric.source.empty();
}

}  // namespace kymo::command
