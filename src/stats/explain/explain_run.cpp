#include <kymo/explain_run.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <kymo/statistics.hpp>
#include <kymo/thread_states.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/causes.hpp"
#include "stats/explain/finding_text.hpp"
#include "stats/explain/scheduling.hpp"
#include "stats/paths/critical_path.hpp"
#include "stats/paths/instances.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo {

namespace stats {

namespace {

constexpr std::size_t most_run_parts = 10;
constexpr double least_share_of_run = 0.01;
/// Bounds what is decoded of a thread's states at one time.
constexpr std::int64_t least_stretch_ns = 10'000'000'000;
/// Of stretches: times of a capture may lie 73 years apart.
constexpr std::int64_t most_run_stretches = 10'000;

struct Runner {
  Actor actor;
  std::string name;
  std::uint64_t pid = 0;
  TimeRange range;

  [[nodiscard]] std::int64_t length_ns() const { return range.end_ns - range.start_ns; }
};

std::vector<TimeRange> stretches_of(TimeRange range) {
  const std::int64_t length_ns = std::max(least_stretch_ns, (range.end_ns - range.start_ns) / most_run_stretches + 1);
  std::vector<TimeRange> stretches;
  for (std::int64_t start_ns = range.start_ns; start_ns < range.end_ns; start_ns = stretches.back().end_ns) {
    stretches.push_back({start_ns, start_ns + std::min(length_ns, range.end_ns - start_ns)});
  }
  return stretches;
}

/// From the first to the last state of a thread; empty where it has none.
TimeRange known_range(const ThreadStates& states, ThreadId thread, TimeRange whole) {
  const std::vector<TimeRange> stretches = stretches_of(whole);
  const auto has_states = [&](const TimeRange& stretch) { return !states.states(thread, stretch).empty(); };
  const auto first = std::find_if(stretches.begin(), stretches.end(), has_states);
  if (first == stretches.end()) {
    return {whole.start_ns, whole.start_ns};
  }
  const auto last = std::find_if(stretches.rbegin(), stretches.rend(), has_states);
  return {std::max(whole.start_ns, states.states(thread, *first).front().start_ns),
          std::min(whole.end_ns, states.states(thread, *last).back().end_ns())};
}

/// Whether records of what threads did were lost. When a thread began and ended is not known then.
bool has_losses(const Timeline& timeline) {
  const auto& infos = timeline.declarations().infos;
  bool is_any = std::any_of(infos.begin(), infos.end(), [](const InfoDeclaration& info) {
    return info.key == "record.threads_lost_records" && info.value != "0";
  });
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    const auto& facts = timeline.capture(i).end().facts;
    is_any = is_any || std::any_of(facts.begin(), facts.end(), [](const auto& fact) {
               return fact.first == "threads_lost_records" && fact.second != 0;
             });
  }
  return is_any;
}

/// The main thread that is known longest; nothing where none was observed.
std::optional<Runner> observed_main_thread(const Timeline& timeline, TimeRange whole) {
  const ThreadStates states(timeline);
  std::unordered_map<ThreadId, TrackId> tracks;
  for (const auto& [track, threads] : timeline::threads_of_tracks(timeline.declarations())) {
    for (const ThreadId thread : threads) {
      tracks.emplace(thread, track);
    }
  }
  const ThreadDeclaration* longest = nullptr;
  std::int64_t longest_ns = 0;
  for (const ThreadDeclaration& thread : timeline.declarations().threads) {
    const RunTimes times = states.known(thread.id, whole).times;
    const std::int64_t known_ns = times.running_ns + times.runnable_ns + times.blocked_ns;
    if (thread.os_thread_id == thread.pid && known_ns > longest_ns) {
      longest = &thread;
      longest_ns = known_ns;
    }
  }
  if (longest == nullptr) {
    return std::nullopt;
  }
  const auto track = tracks.find(longest->id);
  const Actor actor = track != tracks.end() ? Actor{track->second, {}} : Actor{{}, longest->id};
  const TimeRange range = has_losses(timeline) ? whole : known_range(states, longest->id, whole);
  return Runner{actor, longest->name, longest->pid, range};
}

/// The track of a process's main thread, else of the first thread that there is.
std::optional<Runner> main_track(const Timeline& timeline, TimeRange whole) {
  std::optional<Runner> first;
  for (const TrackDeclaration& track : timeline.tracks()) {
    if (track.kind != TrackKind::thread || track.role != TrackRole::plain) {
      continue;
    }
    const std::uint64_t pid = timeline.process(track.process).declaration.pid;
    if (!first || track.os_thread_id == pid) {
      first = Runner{{track.id, {}}, track.name, pid, whole};
    }
    if (track.os_thread_id == pid) {
      break;
    }
  }
  return first;
}

Runner find_runner(const Timeline& timeline) {
  TimeRange whole = timeline.range();
  whole.start_ns = std::max(whole.start_ns, -farthest_ns + 1);
  whole.end_ns = std::clamp(whole.end_ns, whole.start_ns, farthest_ns - 1);
  std::optional<Runner> runner = observed_main_thread(timeline, whole);
  if (!runner) {
    runner = main_track(timeline, whole);
  }
  if (!runner || runner->length_ns() <= 0) {
    throw SelectionError(std::string("nothing to explain: neither scopes nor run states were recorded") +
                         (timeline.declarations().stacks.empty()
                              ? ""
                              : "; `kymo stats --functions` tells what the threads did by their stacks"));
  }
  return *runner;
}

RunPart run_part_of(const FindingFacts& facts, const Cause& cause, double run_ns) {
  Finding finding = describe_finding(facts, cause);
  const auto stretches = static_cast<double>(facts.looked_at.instances.size());
  for (FindingPart& part : finding.parts) {
    part.excess_ns *= stretches;
  }
  const double duration_ns = cause.excess * stretches;
  return {finding.kind,
          std::move(finding.waits),
          std::move(finding.parts),
          std::move(finding.functions),
          std::move(finding.text),
          duration_ns,
          duration_ns / run_ns};
}

bool names_anonymous_code(const RunPart& part) {
  return std::any_of(part.functions.begin(), part.functions.end(),
                     [](const FindingFunction& function) { return function.name == "[anonymous]"; });
}

void add_run_notes(const Timeline& timeline, const CriticalPaths& paths, RunExplanation& run) {
  if (paths.is_cut) {
    run.notes.emplace_back("there are more waits, holds, flows or stacks than are kept: some were not followed");
  }
  if (ThreadStates(timeline).empty()) {
    run.notes.emplace_back("run states were not recorded: what is not known to wait counts as computing");
  } else if (!has_wakes(timeline)) {
    run.notes.emplace_back("which threads ended the waits was not recorded; `kymo doctor` says what that needs");
  }
  if (timeline.declarations().stacks.empty()) {
    run.notes.emplace_back("`kymo record --stacks` also tells in which functions");
  }
  if (std::any_of(run.parts.begin(), run.parts.end(), names_anonymous_code)) {
    run.notes.emplace_back(
        "[anonymous] is code that was compiled at run time; `node --perf-basic-prof`, `python3 -X perf` and perf map agents "
        "for Java name its functions");
  }
}

}  // namespace

}  // namespace stats

std::string describe(const RunExplanation& run) {
  const std::string who = run.thread.empty() ? "the main thread" : run.thread;
  return who + " (process " + std::to_string(run.pid) + ") took " +
         stats::duration_text(run.duration_ns(), {3, false}) + "; its time, and that of whoever it waited for, went to";
}

RunExplanation explain_run(const Timeline& timeline, const std::function<void(double)>& on_progress) {
  const stats::Runner runner = stats::find_runner(timeline);
  stats::LookedAt looked_at;
  for (const TimeRange& stretch : stats::stretches_of(runner.range)) {
    const std::int64_t length_ns = stretch.end_ns - stretch.start_ns;
    looked_at.instances.push_back(
        {stretch.start_ns, length_ns, runner.actor.track, looked_at.instances.size() + 1, runner.actor.thread});
    looked_at.amounts.push_back(static_cast<double>(length_ns));
    looked_at.is_slow.push_back(true);
    ++looked_at.slow;
  }
  stats::OwnerTable owners(timeline);
  const stats::CriticalPaths paths = stats::find_critical_paths(timeline, looked_at.instances, owners, on_progress);
  RunExplanation run;
  run.thread = runner.name;
  run.pid = runner.pid;
  run.range = runner.range;
  run.other_ns = run.duration_ns();
  const stats::FindingFacts facts{timeline, looked_at, paths, owners};
  for (const stats::Cause& cause : stats::all_causes(looked_at, paths, owners)) {
    const double share = cause.excess * static_cast<double>(looked_at.slow) / run.duration_ns();
    if (run.parts.size() == stats::most_run_parts || share < stats::least_share_of_run) {
      break;
    }
    run.parts.push_back(stats::run_part_of(facts, cause, run.duration_ns()));
    run.other_ns -= run.parts.back().duration_ns;
  }
  run.other_ns = std::max(run.other_ns, 0.0);
  stats::add_run_notes(timeline, paths, run);
  return run;
}

}  // namespace kymo
