#include "stats/statistics/function_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
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
  std::uint64_t waited_ns = 0;
  std::uint64_t unsampled_ns = 0;  // among them
  std::uint32_t sampled_waits = 0;
  bool is_inside = false;
  Energy energy;
};

/// What was shared out at once: waits of a thread, about as long.
struct SharedOut {
  double all_ns = 0;
  std::uint32_t sampled_waits = 0;
  std::unordered_map<std::uint32_t, double> by_stack;
};

constexpr double z_of_95_percent = 1.959964;  // of a normal distribution

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
  void count(ThreadId id, Thread& thread, const WaitingSample& sample);
  void count_wait(ThreadId id, const WaitingSample& sample);
  void bound_waits();
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
  std::map<std::pair<ThreadId, std::int64_t>, SharedOut> shared_out_;  // by time
  std::vector<Energy> energy_;
  SampledFunctions found_;
  std::unordered_map<std::uint64_t, std::uint32_t> rows_;  // by function and line
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> rows_by_name_;
};

/// A thread that recorded scopes belongs to its own process, any other to its observer.
void SampleCounter::select_threads() {
  const auto take = [this](ThreadId thread, ProcessId process, std::string_view name) {
    Thread& entry = threads_[thread];
    if (options_.selection.takes_track(process, name)) {
      entry.is_taken = true;
      entry.range = options_.selection.range_of(process);
    }
  };
  for (const ThreadDeclaration& thread : timeline_.declarations().threads) {
    take(thread.id, thread.process, thread.name);
  }
  for (const auto& [track, threads] : tracks_) {
    for (const ThreadId thread : threads) {
      take(thread, timeline_.track(track).process, timeline_.track(track).name);
    }
  }
}

void SampleCounter::count_wait(ThreadId id, const WaitingSample& sample) {
  found_.blocked_ns += sample.waited_ns;
  found_.unsampled_ns += sample.unsampled_ns;
  blocked_[sample.stack] += sample.waited_ns;
  if (sample.unsampled_ns != 0) {
    SharedOut& shared = shared_out_[{id, sample.time_ns}];
    shared.all_ns += static_cast<double>(sample.unsampled_ns);
    shared.sampled_waits = sample.sampled_waits;
    shared.by_stack[sample.stack] += static_cast<double>(sample.unsampled_ns);
  }
}

void SampleCounter::count(ThreadId id, Thread& thread, const WaitingSample& sample) {
  found_.threads += std::exchange(thread.has_samples, true) ? 0U : 1U;
  if (sample.waited_ns != 0) {
    count_wait(id, sample);
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
      const auto unsampled_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(sample.unsampled_ns, 0));
      WaitingSample taken{sample.time_ns, stack, sample.waited_ns(), unsampled_ns, sample.sampled_waits, false, {}};
      if (options_.energy_of && !sample.is_wait()) {
        taken.energy = options_.energy_of(sample);
      }
      if (options_.selection.chooses_sites()) {
        thread->second.waiting.push_back(taken);
      } else {
        count(thread->first, thread->second, taken);
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
        count(id, thread, sample);
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

/// Of the waits with stacks a function has a share, by chance; what was shared out by it is as far off. Two more of
/// them have the function, and two have not, so that few say less (Agresti, Coull: Approximate is better than "exact",
/// 1998). Shares of one thread often come from the same waits: the bounds add up.
void SampleCounter::bound_waits() {
  std::vector<std::pair<double, double>> bounds(found_.functions.size());  // of self and total, in ns
  for (const auto& [key, shared] : shared_out_) {
    std::unordered_map<std::uint32_t, std::pair<double, double>> parts;  // of self and total, by function
    for (const auto& [innermost, part_ns] : shared.by_stack) {
      std::unordered_set<std::uint32_t> seen;
      for (std::uint32_t stack = innermost; stack != 0; stack = tree_.caller_of(stack)) {
        const std::uint32_t row = row_of(stack);
        parts[row].first += stack == innermost ? part_ns : 0;
        parts[row].second += seen.insert(row).second ? part_ns : 0;
      }
    }
    const double waits = shared.sampled_waits;
    const auto bound_of = [&shared = shared, waits](double part_ns) {
      const double share = (waits * part_ns / shared.all_ns + 2) / (waits + 4);
      return part_ns == 0 ? 0 : z_of_95_percent * shared.all_ns * std::sqrt(share * (1 - share) / (waits + 4));
    };
    for (const auto& [row, part] : parts) {
      bounds[row].first += bound_of(part.first);
      bounds[row].second += bound_of(part.second);
    }
  }
  const auto most_ns = static_cast<double>(found_.blocked_ns);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    FunctionStatistics& function = found_.functions[i];
    function.self_blocked_bound_ns = static_cast<std::uint64_t>(std::min(bounds[i].first, most_ns));
    function.total_blocked_bound_ns = static_cast<std::uint64_t>(std::min(bounds[i].second, most_ns));
  }
}

SampledFunctions SampleCounter::finish() {
  count_totals();
  bound_waits();
  found_.by_stack = std::move(self_);
  found_.blocked_by_stack = std::move(blocked_);
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

std::vector<const FunctionStatistics*> functions_by_waits(const SampledFunctions& found) {
  std::vector<const FunctionStatistics*> rows;
  for (const FunctionStatistics& row : found.functions) {
    if (row.total_blocked_ns != 0) {
      rows.push_back(&row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const FunctionStatistics* a, const FunctionStatistics* b) {
    return std::tie(b->self_blocked_ns, b->total_blocked_ns) < std::tie(a->self_blocked_ns, a->total_blocked_ns);
  });
  return rows;
}

ShareInterval share_interval(std::uint64_t hits, std::uint64_t samples) {
  if (samples == 0) {
    return {};
  }
  constexpr double z = z_of_95_percent;
  const auto n = static_cast<double>(samples);
  const double share = static_cast<double>(hits) / n;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double reach = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {std::max(middle - reach, 0.0), std::min(middle + reach, 1.0)};
}

}  // namespace kymo::stats
