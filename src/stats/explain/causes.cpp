#include "stats/explain/causes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "stats/common/random_source.hpp"
#include "stats/common/sample_tests.hpp"
#include "stats/explain/permutation_test.hpp"

namespace kymo::stats {

namespace {

constexpr std::size_t resamples = 999;
/// Of fewer slow instances nothing can be steady.
constexpr std::size_t least_steady = 3;

using CauseKey = std::tuple<ChainId, OwnerKind, SubjectId, bool>;

CauseKey key_of(const Owner& owner) {
  // In which scope a thread loses its CPU is chance.
  const bool is_by_scope = owner.chain == 0 && owner.kind != OwnerKind::pushed_off;
  return {owner.chain, owner.kind, is_by_scope || owner.actor.thread ? owner.subject : SubjectId{0},
          static_cast<bool>(owner.actor.thread)};
}

double difference_of(const LookedAt& looked_at, const std::vector<double>& values) {
  const Means means = means_of(looked_at, values);
  return means.slow - means.usual;
}

/// The causes that vary most between instances, with their owners only.
std::vector<Cause> most_varying(const CriticalPaths& paths, const OwnerTable& owners) {
  struct Sums {
    std::vector<OwnerId> owners;
    double sum = 0;
    double squares = 0;
  };
  std::map<CauseKey, std::size_t> numbers;
  std::vector<Sums> sums;
  std::vector<std::size_t> cause_of;
  for (OwnerId id = 0; id < owners.owner_count(); ++id) {
    const auto [place, is_new] = numbers.try_emplace(key_of(owners.owner(id)), sums.size());
    sums.resize(numbers.size());
    sums[place->second].owners.push_back(id);
    cause_of.push_back(place->second);
  }
  std::unordered_map<std::size_t, double> owned;
  for (const CriticalPath& path : paths.paths) {
    owned.clear();
    for (const auto& [owner, part] : path.parts) {
      owned[cause_of[owner]] += static_cast<double>(part.duration_ns);
    }
    for (const auto& [cause, owned_ns] : owned) {
      sums[cause].sum += owned_ns;
      sums[cause].squares += owned_ns * owned_ns;
    }
  }
  const auto count = static_cast<double>(std::max<std::size_t>(paths.paths.size(), 1));
  std::stable_sort(sums.begin(), sums.end(), [count](const Sums& a, const Sums& b) {
    return a.squares - a.sum * a.sum / count > b.squares - b.sum * b.sum / count;
  });
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < std::min(sums.size(), most_causes); ++i) {
    causes.push_back({std::move(sums[i].owners), {}, 0, 1});
  }
  return causes;
}

/// Adds up what causes own, by their owners.
void add_owned(const CriticalPaths& paths, const OwnerTable& owners, std::vector<Cause>& causes) {
  std::vector<std::size_t> cause_of(owners.owner_count(), causes.size());
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].owned.resize(paths.paths.size());
    for (const OwnerId owner : causes[i].owners) {
      cause_of[owner] = i;
    }
  }
  for (std::size_t i = 0; i < paths.paths.size(); ++i) {
    for (const auto& [owner, part] : paths.paths[i].parts) {
      if (cause_of[owner] != causes.size()) {
        causes[cause_of[owner]].owned[i] += static_cast<double>(part.duration_ns);
      }
    }
  }
}

}  // namespace

LookedAt look_at(const Instances& instances, const std::vector<double>& amounts, const SlowSet& set) {
  std::vector<std::pair<std::size_t, bool>> chosen;
  for (const std::size_t index : set.slow) {
    chosen.emplace_back(index, true);
  }
  for (const std::size_t index : set.usual) {
    chosen.emplace_back(index, false);
  }
  std::sort(chosen.begin(), chosen.end());
  LookedAt looked_at;
  looked_at.slow = set.slow.size();
  for (const auto& [index, is_slow] : chosen) {
    looked_at.instances.push_back(instances.all[index]);
    looked_at.amounts.push_back(amounts[index]);
    looked_at.is_slow.push_back(is_slow);
  }
  return looked_at;
}

Sides sides_of(const LookedAt& looked_at, const std::vector<double>& values) {
  Sides sides;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) {
      (looked_at.is_slow[i] ? sides.slow : sides.usual).push_back(values[i]);
    }
  }
  std::sort(sides.slow.begin(), sides.slow.end());
  std::sort(sides.usual.begin(), sides.usual.end());
  return sides;
}

Means means_of(const LookedAt& looked_at, const std::vector<double>& values) {
  Means sums;
  Means counts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) {
      (looked_at.is_slow[i] ? sums.slow : sums.usual) += values[i];
      ++(looked_at.is_slow[i] ? counts.slow : counts.usual);
    }
  }
  return {sums.slow / std::max(counts.slow, 1.0), sums.usual / std::max(counts.usual, 1.0)};
}

double mean_of_set(const std::vector<double>& values, const std::vector<std::size_t>& set) {
  double sum = 0;
  for (const std::size_t index : set) {
    sum += values[index];
  }
  return set.empty() ? 0 : sum / static_cast<double>(set.size());
}

double fill_missing(std::vector<double>& values) {
  double sum = 0;
  double count = 0;
  for (const double value : values) {
    sum += std::isnan(value) ? 0 : value;
    count += std::isnan(value) ? 0 : 1;
  }
  const double mean = sum / count;
  std::replace_if(
      values.begin(), values.end(), [](double value) { return std::isnan(value); }, mean);
  return mean;
}

bool amounts_differ(const LookedAt& looked_at, double most_p, std::uint64_t seed) {
  const Sides sides = sides_of(looked_at, looked_at.amounts);
  return mann_whitney(sides.usual, sides.slow).p_value <= most_p / 2 ||
         permutation_p_values({&looked_at.amounts}, looked_at.is_slow, seed, ColumnScale::common).front() <= most_p / 2;
}

std::vector<std::size_t> instances_with(const LookedAt& looked_at, const Cause& cause) {
  const std::vector<double> usual = sides_of(looked_at, cause.owned).usual;
  const double much = usual[(usual.size() - 1) * 95 / 100];
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cause.owned.size(); ++i) {
    if (looked_at.is_slow[i] && cause.owned[i] > much) {
      found.push_back(i);
    }
  }
  return found;
}

std::size_t count_occasions(const LookedAt& looked_at, const Cause& cause) {
  std::size_t occasions = 0;
  std::int64_t began_ns = 0;
  for (const std::size_t i : instances_with(looked_at, cause)) {
    const std::int64_t start_ns = looked_at.instances[i].start_ns;
    if (occasions == 0 || start_ns - began_ns > occasion_ns) {
      ++occasions;
      began_ns = start_ns;
    }
  }
  return occasions;
}

void test_causes(const LookedAt& looked_at, std::vector<Cause>& causes, std::uint64_t seed) {
  std::vector<const std::vector<double>*> columns;
  columns.reserve(causes.size());
  for (Cause& cause : causes) {
    cause.excess = difference_of(looked_at, cause.owned);
    columns.push_back(&cause.owned);
  }
  // Each of a few has something odd that no other has. By its own deviation it would be as large as anything.
  const ColumnScale scale = looked_at.slow < least_steady ? ColumnScale::common : ColumnScale::standardised;
  const std::vector<double> p_values = permutation_p_values(columns, looked_at.is_slow, seed, scale);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].p_value = p_values[i];
  }
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) { return a.excess > b.excess; });
}

std::vector<Cause> find_causes(const LookedAt& looked_at, const CriticalPaths& paths, const OwnerTable& owners,
                               std::uint64_t seed) {
  std::vector<Cause> causes = most_varying(paths, owners);
  add_owned(paths, owners, causes);
  test_causes(looked_at, causes, seed);
  return causes;
}

std::vector<Cause> all_causes(const LookedAt& looked_at, const CriticalPaths& paths, const OwnerTable& owners) {
  std::map<CauseKey, std::vector<OwnerId>> by_key;
  for (OwnerId id = 0; id < owners.owner_count(); ++id) {
    by_key[key_of(owners.owner(id))].push_back(id);
  }
  std::vector<Cause> causes;
  causes.reserve(by_key.size());
  for (auto& [key, of_key] : by_key) {
    causes.push_back({std::move(of_key), {}, 0, 1});
  }
  add_owned(paths, owners, causes);
  for (Cause& cause : causes) {
    cause.excess = difference_of(looked_at, cause.owned);
  }
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) { return a.excess > b.excess; });
  return causes;
}

std::vector<const Cause*> lengthening(const std::vector<Cause>& causes, double least, double most_p) {
  std::vector<const Cause*> chosen;
  for (const Cause& cause : causes) {
    if (cause.excess >= least && cause.p_value <= most_p) {
      chosen.push_back(&cause);
    }
  }
  return chosen;
}

std::vector<const Cause*> shortening(const std::vector<Cause>& causes, double least, double most_p) {
  std::vector<const Cause*> chosen;
  for (auto cause = causes.rbegin(); cause != causes.rend(); ++cause) {
    if (cause->excess <= -least && cause->p_value <= most_p) {
      chosen.push_back(&*cause);
    }
  }
  return chosen;
}

Interval bootstrap_share(const LookedAt& looked_at, const Cause& cause, std::uint64_t seed) {
  std::vector<std::size_t> slow;
  std::vector<std::size_t> usual;
  for (std::size_t i = 0; i < looked_at.instances.size(); ++i) {
    (looked_at.is_slow[i] ? slow : usual).push_back(i);
  }
  RandomSource random(seed, 2);
  const auto draw = [&](const std::vector<std::size_t>& from) {
    std::pair<double, double> sums;  // of the cause, of all
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t drawn = from[static_cast<std::size_t>(random.below(from.size()))];
      sums.first += cause.owned[drawn];
      sums.second += looked_at.amounts[drawn];
    }
    return std::pair(sums.first / static_cast<double>(from.size()), sums.second / static_cast<double>(from.size()));
  };
  std::vector<double> shares;
  for (std::size_t round = 0; round < resamples; ++round) {
    const auto [slow_owned, slow_all] = draw(slow);
    const auto [usual_owned, usual_all] = draw(usual);
    const double excess = slow_all - usual_all;
    shares.push_back(excess > 0 ? (slow_owned - usual_owned) / excess : 0);
  }
  std::sort(shares.begin(), shares.end());
  return {shares[resamples / 40], shares[resamples - 1 - resamples / 40]};
}

}  // namespace kymo::stats
