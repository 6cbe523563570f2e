#include "stats/explain/own_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include <kymo/batch_cursor.hpp>
#include <kymo/thread_states.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/permutation_test.hpp"
#include "stats/statistics/statistics.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

namespace {

constexpr double most_p_of_own_cost = 0.01;
/// Of the excess; a lesser cost is not worth a sentence.
constexpr double least_share_of_own_cost = 0.05;

bool is_surely_more(const LookedAt& looked_at, const std::vector<double>& values) {
  const Means means = means_of(looked_at, values);
  return looked_at.has_usual() && means.slow > means.usual &&
         permutation_p_values({&values}, looked_at.is_slow, 1).front() <= most_p_of_own_cost;
}

/// Of each instance, the scopes that were dropped in blocks that overlap it.
std::vector<double> read_drops(const Timeline& timeline, const LookedAt& looked_at) {
  std::vector<double> drops(looked_at.instances.size());
  const auto spread = [&](std::int64_t start_ns, std::int64_t end_ns, std::uint64_t dropped) {
    for (std::size_t i = 0; i < drops.size() && looked_at.instances[i].start_ns < end_ns; ++i) {
      drops[i] += looked_at.instances[i].end_ns() > start_ns ? static_cast<double>(dropped) : 0;
    }
  };
  std::unordered_map<TrackId, std::uint64_t> totals;
  std::unordered_map<std::size_t, std::int64_t> ends;  // by capture
  BatchCursor cursor(timeline, {}, BatchParts::sequences);
  for (EventBatch batch; cursor.next(batch);) {
    std::uint64_t dropped = 0;
    for (const ScopeRun& run : batch.runs) {
      std::uint64_t& total = totals[run.track];
      dropped += run.dropped_scopes > total ? run.dropped_scopes - total : 0;
      total = std::max(total, run.dropped_scopes);
    }
    std::int64_t& end_ns = ends.try_emplace(cursor.capture(), std::numeric_limits<std::int64_t>::min()).first->second;
    if (dropped != 0) {
      spread(std::min(end_ns, batch.start_ns), batch.end_ns, dropped);
    }
    end_ns = std::max(end_ns, batch.end_ns);
  }
  return drops;
}

void describe_drops(const Timeline& timeline, const LookedAt& looked_at, std::vector<std::string>& sentences) {
  DropTotals drops;
  for (const TrackTotals& track : timeline.totals()) {
    drops.add(track);
  }
  if (drops.dropped_scopes == 0) {
    return;
  }
  const std::vector<double> dropped = read_drops(timeline, looked_at);
  const Sides sides = sides_of(looked_at, dropped);
  const auto with_drops = [](const std::vector<double>& values) {
    return std::to_string(std::count_if(values.begin(), values.end(), [](double value) { return value > 0; })) +
           " of " + std::to_string(values.size());
  };
  std::string text = count_text(drops.dropped_scopes) +
                     " scopes were dropped while recording: their time counts for the scopes around them";
  if (is_surely_more(looked_at, dropped)) {
    text += ". That was around " + with_drops(sides.slow) + " slow ones and " + with_drops(sides.usual) +
            " usual ones: there the program opened more scopes than kymo could write, which costs time itself";
  }
  sentences.push_back(std::move(text));
}

/// Of each instance, the time that kymo's own threads ran in it.
std::vector<double> read_own_times(const Timeline& timeline, const LookedAt& looked_at) {
  std::vector<double> times(looked_at.instances.size());
  const ThreadStates states(timeline);
  for (const ThreadDeclaration& thread : timeline.declarations().threads) {
    if (std::string_view(thread.name).substr(0, own_threads.size()) != own_threads) {
      continue;
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Instance& instance = looked_at.instances[i];
      const RunTimes known = states.known(thread.id, {instance.start_ns, instance.end_ns()}).times;
      times[i] += static_cast<double>(known.running_ns);
    }
  }
  return times;
}

void describe_threads(const Timeline& timeline, const LookedAt& looked_at, double excess_ns,
                      std::vector<std::string>& sentences) {
  const std::vector<double> times = read_own_times(timeline, looked_at);
  const auto [slow_ns, usual_ns] = means_of(looked_at, times);
  if (slow_ns - usual_ns >= least_share_of_own_cost * excess_ns && is_surely_more(looked_at, times)) {
    sentences.push_back("goes along: kymo's own threads ran for " + duration_text(slow_ns) + " of a slow one against " +
                        duration_text(usual_ns) + " of a usual one");
  }
}

/// The cost of an empty scope, as captures state it at their end: the greatest; 0: not known.
double empty_scope_ns(const Timeline& timeline) {
  std::uint64_t cost_ps = 0;
  for (const auto& source : timeline::sources_of(timeline)) {
    if (source->reader().is_closed()) {
      for (const auto& [name, value] : source->reader().end().facts) {
        if (name == "empty_scope_ps") {
          cost_ps = std::max(cost_ps, value);
        }
      }
    }
  }
  return static_cast<double>(cost_ps) / 1e3;
}

void describe_scopes(const Timeline& timeline, const LookedAt& looked_at, const CriticalPaths& paths, double excess_ns,
                     std::vector<std::string>& sentences) {
  std::vector<double> calls(paths.paths.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const auto& [owner, part] : paths.paths[i].parts) {
      calls[i] += static_cast<double>(part.calls);
    }
  }
  const Means means = means_of(looked_at, calls);
  const double cost_ns = (means.slow - means.usual) * empty_scope_ns(timeline);
  if (cost_ns >= least_share_of_own_cost * excess_ns && is_surely_more(looked_at, calls)) {
    sentences.push_back("recording the scopes took some " + duration_text(cost_ns) + " of the excess, " +
                        std::to_string(std::llround(100 * cost_ns / excess_ns)) +
                        " %, estimated from their number and the cost of an empty one");
  }
}

}  // namespace

std::vector<std::string> describe_own_cost(const Timeline& timeline, const LookedAt& looked_at,
                                           const CriticalPaths& paths, double excess_ns) {
  std::vector<std::string> sentences;
  describe_drops(timeline, looked_at, sentences);
  if (!paths.paths.empty()) {
    describe_threads(timeline, looked_at, excess_ns, sentences);
    describe_scopes(timeline, looked_at, paths, excess_ns, sentences);
  }
  return sentences;
}

}  // namespace kymo::stats
