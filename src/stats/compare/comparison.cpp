#include "stats/compare/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

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
    if (name.first == ThingKind::site && base != nullptr && found != in_new.end() && found->second != nullptr) {
      matches.pairs.emplace_back(base, found->second);
      matched.insert({base, found->second});
    }
  }
  for (auto* const side : {&matches.only_in_base, &matches.only_in_new}) {
    side->erase(
        std::remove_if(side->begin(), side->end(), [&](const Thing* thing) { return matched.count(thing) != 0; }),
        side->end());
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

/// The medians of the runs.
std::vector<double> medians_of(Runs runs) {
  std::vector<double> medians;
  medians.reserve(runs.size());
  for (const std::vector<double>& run : runs) {
    medians.push_back(percentile_of(run, 50));
  }
  return medians;
}

/// All values of a side as one run.
class Pool {
 public:
  explicit Pool(const ThingSamples& samples) : is_one_(samples.runs.size() == 1), samples_(samples) {
    if (!is_one_) {
      pooled_.push_back(samples.pooled());
    }
  }
  [[nodiscard]] Runs runs() const { return is_one_ ? Runs(samples_.runs) : Runs(pooled_); }

 private:
  bool is_one_;
  const ThingSamples& samples_;
  std::vector<std::vector<double>> pooled_;
};

/// Tests the runs for a difference that the rank test found in all values together.
double test_runs(const ThingSamples& base, const ThingSamples& changed, double greater) {
  const std::vector<double> base_medians = medians_of(base.runs);
  const std::vector<double> new_medians = medians_of(changed.runs);
  double difference = 0;
  for (const double median : new_medians) {
    difference += median / static_cast<double>(new_medians.size());
  }
  for (const double median : base_medians) {
    difference -= median / static_cast<double>(base_medians.size());
  }
  // Runs that differ in the opposite direction do not support it.
  return difference * (greater - 0.5) < 0 ? 1.0 : welch_test(base_medians, new_medians);
}

ComparedThing compare_thing(const Thing& base, const Thing& changed, const ComparisonOptions& options,
                            std::uint64_t stream) {
  ComparedThing thing;
  thing.name = base.first;
  thing.base = side_of(base.second);
  thing.changed = side_of(changed.second);
  thing.base_samples = &base.second;
  thing.changed_samples = &changed.second;
  thing.by_run = thing.base.runs >= least_runs && thing.changed.runs >= least_runs;
  const Pool base_pool(base.second);
  const Pool new_pool(changed.second);
  const std::size_t fewer = std::min(thing.base.kept, thing.changed.kept);
  const bool is_enough = fewer >= least_samples;
  const QuantileDifferences differences =
      bootstrap_differences(thing.by_run ? Runs(base.second.runs) : base_pool.runs(),
                            thing.by_run ? Runs(changed.second.runs) : new_pool.runs(),
                            is_enough ? options.resamples : 0, RandomSource(options.seed, stream));
  thing.base.median = differences.base_median;
  thing.base.p95 = differences.base_p95;
  thing.changed.median = differences.new_median;
  thing.changed.p95 = differences.new_p95;
  if (!is_enough) {
    return thing;
  }
  thing.median = differences.median;
  thing.median_share = differences.median_share;
  if (fewer >= least_for_p95) {
    thing.p95 = differences.p95;
    thing.p95_share = differences.p95_share;
  }
  const RankTest ranks = mann_whitney(base_pool.runs()[0], new_pool.runs()[0]);
  thing.greater = ranks.greater;
  thing.rank_test = ranks.p_value;
  thing.p_value = ranks.p_value;
  if (thing.by_run) {
    thing.run_test = test_runs(base.second, changed.second, ranks.greater);
    thing.p_value = std::max(*thing.rank_test, *thing.run_test);
  }
  return thing;
}

/// Whether the median or the 95th percentile moved in the direction of the ranks. If the clock's resolution is as
/// coarse as the durations, ranks can differ without either.
bool is_visible(const ComparedThing& thing) {
  const double way = thing.greater - 0.5;
  return way * thing.median_difference() > 0 || way * thing.p95_difference() > 0;
}

/// Corrects the p-values of one family of things and sets the verdicts.
void judge(const std::vector<ComparedThing*>& family, double rate) {
  std::vector<double> p_values;
  std::vector<ComparedThing*> tested;
  for (ComparedThing* const thing : family) {
    if (thing->p_value) {
      p_values.push_back(*thing->p_value);
      tested.push_back(thing);
    }
  }
  const std::vector<double> corrected = correct_p_values(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    ComparedThing& thing = *tested[i];
    thing.q_value = corrected[i];
    if (corrected[i] > rate || !is_visible(thing)) {
      thing.verdict = Verdict::same;
    } else if (!is_time(thing.name.unit)) {
      thing.verdict = Verdict::differs;
    } else {
      thing.verdict = thing.greater > 0.5 ? Verdict::worse : Verdict::better;
    }
  }
}

void judge(std::vector<ComparedThing>& things, double rate) {
  for (const bool is_metric : {false, true}) {
    std::vector<ComparedThing*> family;
    for (ComparedThing& thing : things) {
      if ((thing.name.kind == ThingKind::metric) == is_metric) {
        family.push_back(&thing);
      }
    }
    judge(family, rate);
  }
}

/// Durations: total time of the difference. Metrics: its share.
double weight_of(const ComparedThing& thing) {
  if (thing.name.kind == ThingKind::metric) {
    const double share = std::fabs(share_of(thing.median_difference(), thing.base.median));
    return std::isnan(share) ? 0 : share;
  }
  return std::fabs(thing.median_difference()) * static_cast<double>(thing.changed.count);
}

void sort_things(std::vector<ComparedThing>& things) {
  std::stable_sort(things.begin(), things.end(), [](const ComparedThing& a, const ComparedThing& b) {
    const bool a_is_metric = a.name.kind == ThingKind::metric;
    const bool b_is_metric = b.name.kind == ThingKind::metric;
    if (a_is_metric != b_is_metric) {
      return b_is_metric;
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
  for (const Thing* const thing : matches.only_in_base) {
    if (told.count(thing) == 0) {
      comparison.only_in_base.push_back(thing->first);
    }
  }
  for (const Thing* const thing : matches.only_in_new) {
    if (told.count(thing) == 0) {
      comparison.only_in_new.push_back(thing->first);
    }
  }
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
    comparison.things.push_back(compare_thing(*in_base, *in_new, options, comparison.things.size()));
  }
  judge(comparison.things, options.false_discovery_rate);
  sort_things(comparison.things);
  find_other_units(matches, comparison);
  return comparison;
}

}  // namespace kymo::stats

namespace kymo {

bool ComparedThing::regressed_by(double share) const {
  if (verdict != Verdict::worse) {
    return false;
  }
  return stats::share_of(median_difference(), base.median) >= share ||
         (p95 && p95->low > 0 && stats::share_of(p95_difference(), base.p95) >= share);
}

}  // namespace kymo
