#include "stats/statistics/function_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "stats/common/stack_tree.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo::stats {
namespace {

/// A sample that waits to be found inside a scope.
struct WaitingSample {
  std::int64_t time_ns = 0;
  std::uint32_t stack = 0;
  std::uint64_t blocked_ns = 0;
  bool is_inside = false;
  Energy energy;
};

/// Of damaged captures it may be anything.
std::uint64_t blocked_of(const StackSample& sample) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sample.blocked_ns, 0));
}

/// What is selected of a thread.
struct Thread {
  TimeRange range;
  bool is_taken = false;
  bool has_samples = false;
  std::vector<WaitingSample> waiting;
};

class SampleCounter {
 public:
  SampleCounter(const Timeline& timeline, const FunctionOptions& options)
      : timeline_(timeline),
        options_(options),
        tree_(timeline),
        tracks_(timeline::threads_of_tracks(timeline.declarations())),
        self_(tree_.size()),
        blocked_(tree_.size()),
        energy_(options.energy_of ? tree_.size() : std::size_t{0}) {
    select_threads();
  }

  void read_samples();
  void find_scopes();
  [[nodiscard]] SampledFunctions finish();

 private:
  void select_threads();
  void count(Thread& thread, const WaitingSample& sample);
  void mark(const Span& span);
  [[nodiscard]] std::uint32_t row_of(std::uint32_t stack);
  void count_totals();

  const Timeline& timeline_;
  const FunctionOptions& options_;
  StackTree tree_;
  std::unordered_map<TrackId, std::vector<ThreadId>> tracks_;
  std::unordered_map<ThreadId, Thread> threads_;
  std::vector<std::uint32_t> self_;  // samples by stack
  std::vector<std::uint64_t> blocked_;
  std::vector<Energy> energy_;
  SampledFunctions found_;
  std::unordered_map<std::uint64_t, std::uint32_t> rows_;  // by function and line
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> rows_by_name_;
};

/// A thread that recorded scopes belongs to its own process, any other to its observer.
void SampleCounter::select_threads() {
  const auto take = [this](ThreadId thread, const TrackDeclaration& track) {
    Thread& entry = threads_[thread];
    if (options_.selection.takes_track(track)) {
      entry.is_taken = true;
      entry.range = options_.selection.range_of(track.process);
    }
  };
  for (const ThreadDeclaration& thread : timeline_.declarations().threads) {
    TrackDeclaration as_track;
    as_track.process = thread.process;
    as_track.name = thread.name;
    take(thread.id, as_track);
  }
  for (const auto& [track, threads] : tracks_) {
    for (const ThreadId thread : threads) {
      take(thread, timeline_.track(track));
    }
  }
}

void SampleCounter::count(Thread& thread, const WaitingSample& sample) {
  found_.threads += std::exchange(thread.has_samples, true) ? 0U : 1U;
  if (sample.blocked_ns != 0) {
    found_.blocked_ns += sample.blocked_ns;
    blocked_[sample.stack] += sample.blocked_ns;
    return;
  }
  ++found_.samples;
  found_.unread += sample.stack == 0 ? 1U : 0U;
  ++self_[sample.stack];
  if (!energy_.empty()) {
    energy_[sample.stack] += sample.energy;
  }
}

void SampleCounter::read_samples() {
  BatchCursor cursor(timeline_, options_.selection.range(), BatchParts::stacks);
  for (EventBatch batch; cursor.next(batch);) {
    for (const StackSample& sample : batch.stack_samples) {
      const auto thread = threads_.find(sample.thread);
      if (thread == threads_.end() || !thread->second.is_taken || sample.time_ns < thread->second.range.start_ns ||
          sample.time_ns >= thread->second.range.end_ns) {
        continue;
      }
      const std::uint32_t stack = tree_.index_of(sample.stack);
      WaitingSample taken{sample.time_ns, stack, blocked_of(sample), false, {}};
      if (options_.energy_of && !sample.is_wait()) {
        taken.energy = options_.energy_of(sample);
      }
      if (options_.selection.chooses_sites()) {
        thread->second.waiting.push_back(taken);
      } else {
        count(thread->second, taken);
      }
    }
    if (options_.on_progress) {
      options_.on_progress(cursor.share_done());
    }
  }
}

void SampleCounter::mark(const Span& span) {
  const auto threads = tracks_.find(span.track);
  if (threads == tracks_.end() || !options_.selection.takes_site(timeline_.name_of(span))) {
    return;
  }
  for (const ThreadId id : threads->second) {
    std::vector<WaitingSample>& waiting = threads_[id].waiting;
    auto sample =
        std::lower_bound(waiting.begin(), waiting.end(), span.start_ns,
                         [](const WaitingSample& earlier, std::int64_t time_ns) { return earlier.time_ns < time_ns; });
    for (; sample != waiting.end() && sample->time_ns < span.end_ns(); ++sample) {
      sample->is_inside = true;
    }
  }
}

void SampleCounter::find_scopes() {
  for (auto& [id, thread] : threads_) {
    std::sort(thread.waiting.begin(), thread.waiting.end(),
              [](const WaitingSample& a, const WaitingSample& b) { return a.time_ns < b.time_ns; });
  }
  timeline_.visit_spans(
      [this](const SpanList& list) {
        std::for_each(list.spans.begin(), list.spans.end(), [this](const Span& span) { mark(span); });
        return true;
      },
      options_.on_progress);
  for (auto& [id, thread] : threads_) {
    for (const WaitingSample& sample : thread.waiting) {
      if (sample.is_inside) {
        count(thread, sample);
      }
    }
  }
}

std::uint32_t SampleCounter::row_of(std::uint32_t stack) {
  const FunctionId function = tree_.function_of(stack);
  const std::uint32_t line = options_.rows == SampledRows::lines ? tree_.line_of(stack) : 0;
  const auto [place, is_new] = rows_.try_emplace((std::uint64_t{function.value()} << 32U) | line, 0);
  if (is_new) {
    const auto next = static_cast<std::uint32_t>(found_.functions.size());
    auto key = std::make_tuple(tree_.module_of(function), tree_.name_of(function), line);
    place->second = rows_by_name_.try_emplace(std::move(key), next).first->second;
    if (place->second == next) {
      FunctionStatistics& row = found_.functions.emplace_back();
      row.name = tree_.name_of(function);
      row.module = tree_.module_of(function);
      row.file = tree_.source_of(function);
      row.line = line;
    }
  }
  return place->second;
}

/// Walks the tree in depth, so that a function that calls itself counts once on a path.
void SampleCounter::count_totals() {
  const std::uint32_t size = tree_.size();
  std::vector<std::uint64_t> all(self_.begin(), self_.end());
  std::vector<std::uint64_t> all_blocked = blocked_;
  std::vector<Energy> energies = energy_;
  std::vector<std::uint32_t> first(size);  // the first stack that each one called, 0: none
  std::vector<std::uint32_t> next(size);   // the next one with the same caller
  for (std::uint32_t stack = size; --stack > 0;) {
    const std::uint32_t caller = tree_.caller_of(stack);
    all[caller] += all[stack];
    all_blocked[caller] += all_blocked[stack];
    if (!energies.empty()) {
      energies[caller] += energies[stack];
    }
    if (all[stack] != 0 || all_blocked[stack] != 0) {
      next[stack] = std::exchange(first[caller], stack);
    }
  }
  std::vector<std::uint32_t> path;
  std::unordered_map<std::uint32_t, std::uint32_t> on_path;  // rows, how often
  for (std::uint32_t stack = first[0]; stack != 0;) {
    const std::uint32_t row = row_of(stack);
    FunctionStatistics& function = found_.functions[row];
    const bool is_first = on_path[row]++ == 0;
    function.self += self_[stack];
    function.total += is_first ? all[stack] : 0;
    function.self_blocked_ns += blocked_[stack];
    function.total_blocked_ns += is_first ? all_blocked[stack] : 0;
    if (!energies.empty()) {
      function.self_energy += energy_[stack];
      function.total_energy += is_first ? energies[stack] : Energy{};
    }
    path.push_back(stack);
    stack = first[stack];
    while (stack == 0 && !path.empty()) {
      stack = next[path.back()];
      --on_path[row_of(path.back())];
      path.pop_back();
    }
  }
}

SampledFunctions SampleCounter::finish() {
  count_totals();
  found_.by_stack = std::move(self_);
  std::sort(found_.functions.begin(), found_.functions.end(),
            [](const FunctionStatistics& a, const FunctionStatistics& b) {
              return std::tie(b.self, b.total, b.self_blocked_ns, a.name, a.module, a.line) <
                     std::tie(a.self, a.total, a.self_blocked_ns, b.name, b.module, b.line);
            });
  return std::move(found_);
}

}  // namespace

SampledFunctions gather_functions(const Timeline& timeline, const FunctionOptions& options) {
  SampleCounter counter(timeline, options);
  counter.read_samples();
  if (options.selection.chooses_sites()) {
    counter.find_scopes();
  }
  return counter.finish();
}

ShareInterval share_interval(std::uint64_t hits, std::uint64_t samples) {
  if (samples == 0) {
    return {};
  }
  constexpr double z = 1.959964;  // 95 % of a normal distribution
  const auto n = static_cast<double>(samples);
  const double share = static_cast<double>(hits) / n;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double reach = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {std::max(middle - reach, 0.0), std::min(middle + reach, 1.0)};
}

}  // namespace kymo::stats
