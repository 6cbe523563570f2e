#include "stats/compare/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "stats/compare/run_differences.hpp"

namespace kymo::stats {

namespace {

constexpr std::size_t least_for_p95 = 20;

using Thing = std::map<ThingName, ThingSamples>::value_type;

/// Things of both sides, and those without a partner.
struct Matches {
  std::vector<std::pair<const Thing*, const Thing*>> pairs;
  std::vector<const Thing*> only_in_base;
  std::vector<const Thing*> only_in_new;
};

/// The only thing with this kind and name; none if there are several.
using ByName = std::map<std::pair<ThingKind, std::string>, const Thing*>;

ByName by_name(const std::vector<const Thing*>& things) {
  ByName result;
  for (const Thing* const thing : things) {
    const auto [place, is_new] = result.try_emplace({thing->first.kind, thing->first.name}, thing);
    if (!is_new) {
      place->second = nullptr;
    }
  }
  return result;
}

/// Matches sites whose function was renamed or moved to another file.
void match_moved(Matches& matches) {
  const ByName in_base = by_name(matches.only_in_base);
  const ByName in_new = by_name(matches.only_in_new);
  std::set<const Thing*> matched;
  for (const auto& [name, base] : in_base) {
    const auto found = in_new.find(name);
    const bool can_move = name.first == ThingKind::site || name.first == ThingKind::cpu_time;
    if (can_move && base != nullptr && found != in_new.end() && found->second != nullptr) {
      matches.pairs.emplace_back(base, found->second);
      matched.insert({base, found->second});
    }
  }
  for (auto* const side : {&matches.only_in_base, &matches.only_in_new}) {
    std::erase_if(*side, [&](const Thing* thing) { return matched.count(thing) != 0; });
  }
}

Matches match(const SideSamples& base, const SideSamples& changed) {
  Matches matches;
  for (const Thing& thing : base.things()) {
    const auto found = changed.things().find(thing.first);
    if (found != changed.things().end()) {
      matches.pairs.emplace_back(&thing, &*found);
    } else {
      matches.only_in_base.push_back(&thing);
    }
  }
  for (const Thing& thing : changed.things()) {
    if (base.things().count(thing.first) == 0) {
      matches.only_in_new.push_back(&thing);
    }
  }
  match_moved(matches);
  // The scopes are there; only run states are missing on one side.
  for (auto* const side : {&matches.only_in_base, &matches.only_in_new}) {
    std::erase_if(*side, [](const Thing* thing) { return thing->first.kind == ThingKind::cpu_time; });
  }
  return matches;
}

ComparedSide side_of(const ThingSamples& samples) {
  ComparedSide side;
  side.count = samples.count;
  side.kept = samples.kept();
  side.runs = samples.runs.size();
  side.line = samples.line;
  return side;
}

bool is_metric(const ComparedThing& thing) {
  return thing.name.kind == ThingKind::metric;
}

/// A thing with its samples; untested.
ComparedThing begin_thing(const Thing& base, const Thing& changed) {
  ComparedThing thing;
  thing.name = base.first;
  thing.base = side_of(base.second);
  thing.changed = side_of(changed.second);
  thing.base_samples = &base.second;
  thing.changed_samples = &changed.second;
  thing.by_run = thing.base.runs >= least_runs && thing.changed.runs >= least_runs;
  return thing;
}

/// Compares all samples of both sides, whatever run they are of.
void compare_samples(ComparedThing& thing, const ComparisonOptions& options, std::uint64_t stream) {
  const std::vector<double> base = thing.base_samples->pooled();
  const std::vector<double> changed = thing.changed_samples->pooled();
  const std::size_t fewer = std::min(thing.base.kept, thing.changed.kept);
  const bool is_enough = thing.by_run || fewer >= least_samples;
  const QuantileDifferences differences = bootstrap_differences(
      base, changed, is_enough && !thing.by_run ? options.resamples : 0, RandomSource(options.seed, stream));
  thing.base.median = differences.base_median;
  thing.base.p95 = differences.base_p95;
  thing.changed.median = differences.new_median;
  thing.changed.p95 = differences.new_p95;
  if (!is_enough) {
    return;
  }
  const RankTest ranks = mann_whitney(base, changed);
  thing.greater = ranks.greater;
  if (thing.by_run) {
    return;
  }
  thing.p_value = ranks.p_value;
  thing.median = differences.median;
  thing.median_share = differences.median_share;
  if (fewer >= least_for_p95) {
    thing.p95 = differences.p95;
    thing.p95_share = differences.p95_share;
  }
}

bool excludes_zero(const std::optional<Interval>& interval) {
  return interval && (interval->low > 0 || interval->high < 0);
}

/// The verdict on a thing that rose (1), fell (-1), did both (0), or did not differ beyond chance (none).
Verdict verdict_of(const ComparedThing& thing, std::optional<int> way) {
  const auto pick = [&](Verdict across_runs, Verdict here) { return thing.by_run ? across_runs : here; };
  if (!way) {
    return excludes_zero(thing.median) || excludes_zero(thing.p95) ? Verdict::unclear
                                                                   : pick(Verdict::same, Verdict::same_here);
  }
  if (!is_time(thing.name.unit) || *way == 0) {
    return pick(Verdict::differs, Verdict::differs_here);
  }
  return *way > 0 ? pick(Verdict::worse, Verdict::worse_here) : pick(Verdict::better, Verdict::better_here);
}

using Family = std::vector<ComparedThing*>;

/// Whether the median or the 95th percentile moved in the direction of the ranks. If the clock's resolution is as
/// coarse as the durations, ranks can differ without either.
bool is_visible(const ComparedThing& thing) {
  const double way = thing.greater - 0.5;
  return way * thing.median_difference() > 0 || way * thing.p95_difference() > 0;
}

/// Corrects the p-values of things that were compared by samples and sets the verdicts.
void judge_samples(const Family& family, double rate) {
  std::vector<double> p_values;
  Family tested;
  for (ComparedThing* const thing : family) {
    if (thing->p_value) {
      p_values.push_back(*thing->p_value);
      tested.push_back(thing);
    }
  }
  const std::vector<double> corrected = correct_p_values(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    ComparedThing& thing = *tested[i];
    thing.adjusted_p_value = corrected[i];
    const bool differs = corrected[i] <= rate && is_visible(thing);
    thing.verdict = verdict_of(thing, differs ? std::optional<int>(thing.greater > 0.5 ? 1 : -1) : std::nullopt);
  }
}

/// The percentile of each run of a side.
std::vector<std::optional<RunLevel>> levels_of(const ThingSamples& samples, std::size_t runs, unsigned percent) {
  std::vector<std::optional<RunLevel>> levels(runs);
  for (std::size_t i = 0; i < samples.runs.size(); ++i) {
    const std::vector<double>& run = samples.runs[i];
    levels[samples.run_numbers[i]] = {unbiased_percentile_of(run, percent), unbiased_percentile_of(run, percent, -1),
                                      unbiased_percentile_of(run, percent, 1)};
  }
  return levels;
}

bool has_p95(const ThingSamples& samples) {
  return std::all_of(samples.runs.begin(), samples.runs.end(),
                     [](const std::vector<double>& run) { return run.size() >= least_for_p95; });
}

/// Sets the verdict by the differences of the median and, if it was tested, of the 95th percentile.
void judge(ComparedThing& thing, const RunDifference& median, const RunDifference* p95, double level) {
  thing.base.median = median.base;
  thing.changed.median = median.changed;
  thing.median = median.difference;
  thing.median_share = median.share;
  thing.p_value = median.p_value;
  thing.adjusted_p_value = median.adjusted_p_value;
  if (p95 != nullptr) {
    thing.base.p95 = p95->base;
    thing.changed.p95 = p95->changed;
    thing.p95 = p95->difference;
    thing.p95_share = p95->share;
    if (std::pair(p95->adjusted_p_value, p95->p_value) < std::pair(median.adjusted_p_value, median.p_value)) {
      thing.p_value = p95->p_value;
      thing.adjusted_p_value = p95->adjusted_p_value;
    }
  }
  std::optional<int> way;
  for (const RunDifference* const difference : {&median, p95}) {
    if (difference != nullptr && difference->adjusted_p_value <= level) {
      const int its = difference->changed > difference->base ? 1 : -1;
      way = way && *way != its ? 0 : its;
    }
  }
  thing.verdict = verdict_of(thing, way);
  if (thing.verdict != Verdict::unclear) {
    return;
  }
  for (const RunDifference* const difference : {&median, p95}) {
    if (difference != nullptr && difference->more_runs && excludes_zero(difference->difference)) {
      thing.more_runs = std::min(thing.more_runs.value_or(most_runs_advised), *difference->more_runs);
    }
  }
}

/// Tests things that are compared by run, and sets the verdicts.
void judge_runs(const Family& family, std::size_t base_runs, std::size_t new_runs, const RunTestOptions& options) {
  std::vector<RunLevels> levels;
  const auto add = [&](const ComparedThing& thing, unsigned percent) {
    levels.push_back({levels_of(*thing.base_samples, base_runs, percent),
                      levels_of(*thing.changed_samples, new_runs, percent), is_metric(thing) ? 0.0 : 1.0, percent});
  };
  std::vector<bool> has_both;
  for (const ComparedThing* const thing : family) {
    add(*thing, 50);
    has_both.push_back(has_p95(*thing->base_samples) && has_p95(*thing->changed_samples));
    if (has_both.back()) {
      add(*thing, 95);
    }
  }
  const std::vector<RunDifference> differences = test_runs(levels, options);
  std::size_t next = 0;
  for (std::size_t i = 0; i < family.size(); ++i) {
    const RunDifference& median = differences[next++];
    judge(*family[i], median, has_both[i] ? &differences[next++] : nullptr, options.level);
  }
}

void judge(std::vector<ComparedThing>& things, std::size_t base_runs, std::size_t new_runs,
           const ComparisonOptions& options) {
  for (const bool of_metrics : {false, true}) {
    Family by_run;
    Family by_samples;
    for (ComparedThing& thing : things) {
      if (is_metric(thing) == of_metrics) {
        (thing.by_run ? by_run : by_samples).push_back(&thing);
      }
    }
    judge_samples(by_samples, options.false_discovery_rate);
    judge_runs(by_run, base_runs, new_runs,
               {options.seed, options.rotations, of_metrics ? options.level_of_metrics : options.level_of_durations});
  }
}

/// Durations: total time of the difference. Metrics: its share.
double weight_of(const ComparedThing& thing) {
  if (is_metric(thing)) {
    const double share = std::fabs(share_of(thing.median_difference(), thing.base.median));
    return std::isnan(share) ? 0 : share;
  }
  return std::fabs(thing.median_difference()) * static_cast<double>(thing.changed.count);
}

void sort_things(std::vector<ComparedThing>& things) {
  std::stable_sort(things.begin(), things.end(), [](const ComparedThing& a, const ComparedThing& b) {
    if (is_metric(a) != is_metric(b)) {
      return is_metric(b);
    }
    if (a.verdict != b.verdict) {
      return a.verdict < b.verdict;
    }
    return weight_of(a) > weight_of(b);
  });
}

/// Removes metrics that differ only in their unit from those without a partner.
void find_other_units(Matches& matches, Comparison& comparison) {
  const auto without_unit = [](ThingName name) {
    name.unit.clear();
    return name;
  };
  std::map<ThingName, const Thing*> in_new;
  for (const Thing* const thing : matches.only_in_new) {
    in_new.emplace(without_unit(thing->first), thing);
  }
  std::set<const Thing*> told;
  for (const Thing* const thing : matches.only_in_base) {
    const auto found = in_new.find(without_unit(thing->first));
    if (found != in_new.end()) {
      comparison.other_units.push_back({thing->first, found->second->first.unit});
      told.insert({thing, found->second});
    }
  }
  const auto tell_others = [&told](const std::vector<const Thing*>& things, std::vector<ThingName>& names) {
    for (const Thing* const thing : things) {
      if (told.count(thing) == 0) {
        names.push_back(thing->first);
      }
    }
  };
  tell_others(matches.only_in_base, comparison.only_in_base);
  tell_others(matches.only_in_new, comparison.only_in_new);
}

}  // namespace

bool is_time(const std::string& unit) {
  constexpr std::array<const char*, 10> units{"ns", "us",  "\xC2\xB5s", "\xCE\xBCs", "ms",
                                              "s",  "min", "h",         "seconds",   "sec"};
  return std::find(units.begin(), units.end(), unit) != units.end();
}

Comparison compare(const SideSamples& base, const SideSamples& changed, const ComparisonOptions& options) {
  Matches matches = match(base, changed);
  Comparison comparison;
  comparison.things.reserve(matches.pairs.size());
  for (const auto& [in_base, in_new] : matches.pairs) {
    ComparedThing& thing = comparison.things.emplace_back(begin_thing(*in_base, *in_new));
    compare_samples(thing, options, comparison.things.size() - 1);
  }
  judge(comparison.things, base.run_count(), changed.run_count(), options);
  sort_things(comparison.things);
  find_other_units(matches, comparison);
  return comparison;
}

}  // namespace kymo::stats

namespace kymo {

bool ComparedThing::regressed_by(double share) const {
  const auto rose = [share](double difference, double from, const std::optional<Interval>& interval) {
    return interval && interval->low > 0 && stats::share_of(difference, from) >= share;
  };
  return (verdict == Verdict::worse || verdict == Verdict::worse_here) &&
         (rose(median_difference(), base.median, median) || rose(p95_difference(), base.p95, p95));
}

bool ComparedThing::may_have_regressed_by(double share) const {
  const auto reaches = [share](const std::optional<Interval>& interval) { return interval && interval->high >= share; };
  return stats::is_time(name.unit) && !regressed_by(share) &&
         (!median_share || reaches(median_share) || reaches(p95_share));
}

}  // namespace kymo
