#include "stats/compare/function_samples.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "stats/common/stack_tree.hpp"

namespace kymo::stats {
namespace {

constexpr std::size_t most_slices = 20;
constexpr std::size_t least_samples_of_slice = 100;

struct Extent {
  TimeRange range;  ///< from the first sample to the last
  std::uint64_t samples = 0;

  [[nodiscard]] std::size_t slices() const {
    return std::clamp<std::size_t>(static_cast<std::size_t>(samples) / least_samples_of_slice, 1, most_slices);
  }
  [[nodiscard]] std::size_t slice_of(std::int64_t time_ns) const {
    const double whole = static_cast<double>(range.end_ns) - static_cast<double>(range.start_ns);
    const double part = static_cast<double>(time_ns) - static_cast<double>(range.start_ns);
    const auto slice = whole <= 0 ? 0.0 : part / whole * static_cast<double>(slices());
    return std::min(static_cast<std::size_t>(slice), slices() - 1);
  }
};

Extent extent_of(const Timeline& timeline) {
  Extent extent;
  TimeRange& range = extent.range;
  range = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  BatchCursor cursor(timeline, {}, BatchParts::stacks);
  for (EventBatch batch; cursor.next(batch);) {
    for (const StackSample& sample : batch.stack_samples) {
      if (sample.is_wait()) {
        continue;
      }
      range.start_ns = std::min(range.start_ns, sample.time_ns);
      range.end_ns = std::max(range.end_ns, sample.time_ns);
      ++extent.samples;
    }
  }
  return extent;
}

ThingName name_of_function(const StackTree& tree, FunctionId function) {
  const std::string module = tree.module_of(function);
  return {ThingKind::function, tree.name_of(function), {}, module.substr(module.rfind('/') + 1), {}, "ns"};
}

double sum_of(const RunValues& values) {
  return std::accumulate(values.kept.begin(), values.kept.end(), 0.0);
}

void find_large(const std::vector<FunctionRun>& runs, std::set<ThingName>& large) {
  for (const FunctionRun& run : runs) {
    double all = 0;
    for (const auto& [name, values] : run) {
      all += sum_of(values);
    }
    for (const auto& [name, values] : run) {
      if (sum_of(values) >= least_function_share * all) {
        large.insert(name);
      }
    }
  }
}

void add_all(SideSamples& side, std::vector<FunctionRun> runs, const std::set<ThingName>& wanted) {
  for (FunctionRun& run : runs) {
    const std::size_t slices = run.empty() ? 0 : run.begin()->second.kept.size();
    FunctionRun kept;
    for (const ThingName& name : wanted) {
      const auto found = run.find(name);
      kept.emplace(name,
                   found != run.end() ? std::move(found->second) : RunValues{std::vector<double>(slices), slices, 0});
    }
    side.add_run(std::move(kept));
  }
}

}  // namespace

FunctionRun read_function_run(const Timeline& timeline, const std::function<void(double)>& on_progress) {
  const std::uint32_t hz = samples_hz(timeline);
  const StackTree tree(timeline);
  if (hz == 0 || tree.size() == 1) {
    return {};
  }
  const Extent extent = extent_of(timeline);
  std::unordered_map<FunctionId, std::array<std::uint32_t, most_slices>> counts;
  BatchCursor cursor(timeline, {}, BatchParts::stacks);
  for (EventBatch batch; cursor.next(batch);) {
    for (const StackSample& sample : batch.stack_samples) {
      if (sample.is_wait()) {
        continue;
      }
      if (const std::uint32_t stack = tree.index_of(sample.stack); stack != 0) {
        ++counts[tree.function_of(stack)][extent.slice_of(sample.time_ns)];
      }
    }
    if (on_progress) {
      on_progress(cursor.share_done());
    }
  }
  const double value_ns = 1e9 / hz * static_cast<double>(extent.slices());
  FunctionRun run;
  for (const auto& [function, slices] : counts) {
    RunValues& values = run[name_of_function(tree, function)];
    values.kept.resize(extent.slices());
    values.count = extent.slices();
    for (std::size_t i = 0; i < extent.slices(); ++i) {
      values.kept[i] += value_ns * slices[i];
    }
  }
  return run;
}

void add_function_runs(SideSamples& base, std::vector<FunctionRun> base_runs, SideSamples& changed,
                       std::vector<FunctionRun> changed_runs) {
  std::set<ThingName> large;
  find_large(base_runs, large);
  find_large(changed_runs, large);
  add_all(base, std::move(base_runs), large);
  add_all(changed, std::move(changed_runs), large);
}

}  // namespace kymo::stats
