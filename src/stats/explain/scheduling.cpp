#include "stats/explain/scheduling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/thread_states.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/explanation_text.hpp"
#include "stats/explain/own_cost.hpp"
#include "stats/explain/permutation_test.hpp"

namespace kymo::stats {

namespace {

constexpr double most_p_of_migrations = 0.01;
constexpr std::size_t least_instances_known = 3;
constexpr std::size_t most_looked_at = 2'000;
constexpr std::size_t most_runners = 64;
constexpr double least_share_of_runner = 0.25;

/// The migrations in an instance; NaN where its states are not known throughout.
double moves_in(const ThreadStates& states, const Instance& instance) {
  const TimeRange range{instance.start_ns, instance.end_ns()};
  if (!states.times(instance.track, range)) {
    return std::nan("");
  }
  double moves = 0;
  for (const ThreadId thread : states.threads_of(instance.track)) {
    moves += static_cast<double>(states.known(thread, range).migrations);
  }
  return moves;
}

std::int64_t length_of(const Delay& delay) {
  return delay.range.end_ns - delay.range.start_ns;
}

/// The longest of a cause's stretches in slow instances, by ascending start.
std::vector<Delay> longest_of(const FindingFacts& facts, const Cause& cause, const std::vector<Delay>& all) {
  std::vector<Delay> longest;
  for (const Delay& one : all) {
    const bool is_of_cause = std::find(cause.owners.begin(), cause.owners.end(), one.owner) != cause.owners.end();
    if (is_of_cause && facts.looked_at.is_slow[one.instance]) {
      longest.push_back(one);
    }
  }
  std::sort(longest.begin(), longest.end(), [](const Delay& a, const Delay& b) { return length_of(a) > length_of(b); });
  longest.resize(std::min(longest.size(), most_looked_at));
  std::sort(longest.begin(), longest.end(),
            [](const Delay& a, const Delay& b) { return a.range.start_ns < b.range.start_ns; });
  return longest;
}

/// The CPU on which the thread goes on after a delay.
std::optional<std::uint32_t> cpu_after(const ThreadStates& states, const Delay& delay) {
  for (const ThreadId thread : threads_of(states, delay.actor)) {
    const std::vector<ThreadState> after = states.states(thread, {delay.range.end_ns, delay.range.end_ns + 1});
    if (!after.empty() && after.back().state == RunState::running) {
      return after.back().cpu;
    }
  }
  return std::nullopt;
}

bool is_own(const ThreadDeclaration& thread) {
  return std::string_view(thread.name).substr(0, own_threads.size()) == own_threads;
}

std::string text_of_thread(const OwnerTable& owners, const ThreadDeclaration& thread) {
  const std::string whose = is_own(thread) ? "kymo's own " : "";
  const std::string& name = owners.name_of(thread.id);
  return whose + (name.empty() ? "thread" : name) + " (thread " + std::to_string(thread.os_thread_id) + " of process " +
         std::to_string(thread.pid) + ")";
}

/// The threads that ran longest in a range, at most `most_runners`.
std::vector<ThreadDeclaration> busiest_in(const FindingFacts& facts, const ThreadStates& states, TimeRange range) {
  std::vector<std::pair<std::int64_t, ThreadDeclaration>> busiest;
  for (const ThreadDeclaration& thread : facts.timeline.declarations().threads) {
    const std::int64_t ran_ns = states.known(thread.id, range).times.running_ns;
    if (ran_ns > 0 && !is_own(thread)) {
      busiest.emplace_back(ran_ns, thread);
    }
  }
  std::stable_sort(busiest.begin(), busiest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  busiest.resize(std::min(busiest.size(), most_runners));
  std::vector<ThreadDeclaration> threads;
  threads.reserve(busiest.size());
  for (auto& [ran_ns, thread] : busiest) {
    threads.push_back(std::move(thread));
  }
  return threads;
}

std::int64_t total_of(const std::vector<TimeRange>& ranges) {
  std::int64_t total_ns = 0;
  for (const TimeRange& range : ranges) {
    total_ns += range.end_ns - range.start_ns;
  }
  return total_ns;
}

}  // namespace

std::string describe_migrations(const FindingFacts& facts) {
  const LookedAt& looked_at = facts.looked_at;
  const ThreadStates states(facts.timeline);
  std::vector<double> moves;
  for (const Instance& instance : looked_at.instances) {
    moves.push_back(moves_in(states, instance));
  }
  const Sides known = sides_of(looked_at, moves);
  const Means means = means_of(looked_at, moves);
  if (known.slow.size() < least_instances_known || known.usual.size() < least_instances_known ||
      means.slow <= means.usual) {
    return {};
  }
  fill_missing(moves);
  if (permutation_p_values({&moves}, looked_at.is_slow, facts.seed).front() > most_p_of_migrations) {
    return {};
  }
  constexpr NumberForm form{3, false};
  return ", moved to another CPU " + value_text(means.slow, "", form) + " times against " +
         value_text(means.usual, "", form);
}

std::string find_pusher(const FindingFacts& facts, const Cause& cause) {
  std::vector<Delay> delays = longest_of(facts, cause, facts.paths.delays);
  const ThreadStates states(facts.timeline);
  std::int64_t all_ns = 0;
  for (Delay& delay : delays) {
    all_ns += length_of(delay);
    delay.cpu = delay.cpu ? delay.cpu : cpu_after(states, delay);
  }
  std::int64_t others_ns = all_ns;
  std::string most;
  std::int64_t most_ns = 0;
  for (const ThreadDeclaration& thread : facts.timeline.declarations().threads) {
    std::int64_t ran_ns = 0;
    for (const Delay& delay : delays) {
      for (const ThreadState& state : states.states(thread.id, delay.range)) {
        if (state.state == RunState::running && state.cpu == delay.cpu) {
          ran_ns += std::min(state.end_ns(), delay.range.end_ns) - std::max(state.start_ns, delay.range.start_ns);
        }
      }
    }
    others_ns -= ran_ns;
    if (ran_ns > most_ns) {
      most_ns = ran_ns;
      most = text_of_thread(facts.owners, thread);
    }
  }
  if (all_ns == 0) {
    return {};
  }
  if (2 * most_ns > all_ns) {
    return most;
  }
  // A CPU may be idle while a thread wakes up.
  const bool is_pushed = facts.owners.owner(cause.owners.front()).kind == OwnerKind::pushed_off;
  return is_pushed && 2 * others_ns > all_ns ? "threads that were not recorded" : "";
}

bool has_wakes(const Timeline& timeline) {
  const std::vector<InfoDeclaration>& infos = timeline.declarations().infos;
  return std::any_of(infos.begin(), infos.end(), [](const InfoDeclaration& info) {
    return info.key == "threads.wakes" && info.value == "recorded";
  });
}

std::string describe_meanwhile(const FindingFacts& facts, const Cause& cause) {
  std::vector<TimeRange> waits;
  for (const Delay& wait : longest_of(facts, cause, facts.paths.waits)) {
    waits.push_back(wait.range);
  }
  if (waits.empty() || has_wakes(facts.timeline)) {
    return {};
  }
  waits = union_of(std::move(waits));
  const ThreadStates states(facts.timeline);
  const Instance& one = facts.looked_at.instances.front();
  const std::uint64_t own_pid = pid_of(facts.timeline, {one.track, one.thread});
  std::map<std::string, std::vector<TimeRange>> running;
  for (const ThreadDeclaration& thread : busiest_in(facts, states, {waits.front().start_ns, waits.back().end_ns})) {
    std::vector<TimeRange>& ranges = running[facts.owners.words_for(thread.id, own_pid)];
    for (const TimeRange& wait : waits) {
      for (const ThreadState& state : states.states(thread.id, wait)) {
        if (state.state == RunState::running) {
          ranges.push_back({std::max(state.start_ns, wait.start_ns), std::min(state.end_ns(), wait.end_ns)});
        }
      }
    }
  }
  const std::string* most = nullptr;
  double most_share = least_share_of_runner;
  for (auto& [words, ranges] : running) {
    const double share =
        static_cast<double>(total_of(union_of(std::move(ranges)))) / static_cast<double>(total_of(waits));
    if (share >= most_share) {
      most = &words;
      most_share = share;
    }
  }
  return most == nullptr ? std::string()
                         : " while " + *most + " ran " + share_of_excess_text(most_share) + " of the time";
}

}  // namespace kymo::stats
