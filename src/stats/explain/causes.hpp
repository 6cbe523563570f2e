// Which owners differ between slow and usual instances, by how much, and how surely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/explain.hpp>

#include "stats/paths/critical_path.hpp"
#include "stats/paths/instances.hpp"
#include "stats/paths/owners.hpp"

namespace kymo::stats {

/// The instances that are looked at, by ascending start.
struct LookedAt {
  std::vector<Instance> instances;
  std::vector<double> amounts;  ///< what is explained of each: its nanoseconds, or its joules
  std::vector<bool> is_slow;    ///< of each; the others are usual
  std::size_t slow = 0;         ///< their number

  /// Nothing is compared.
  [[nodiscard]] bool has_usual() const { return slow < instances.size(); }
};

/// Those of a set. `amounts`: of all instances.
[[nodiscard]] LookedAt look_at(const Instances& instances, const std::vector<double>& amounts, const SlowSet& set);

struct Sides {
  std::vector<double> slow;
  std::vector<double> usual;
};
/// Values of the slow and of the usual instances, each ascending. NaN: the instance has none.
[[nodiscard]] Sides sides_of(const LookedAt& looked_at, const std::vector<double>& values);

struct Means {
  double slow = 0;
  double usual = 0;
};
/// NaN: the instance has none. 0 for a side without values.
[[nodiscard]] Means means_of(const LookedAt& looked_at, const std::vector<double>& values);
/// Of the values of some instances.
[[nodiscard]] double mean_of_set(const std::vector<double>& values, const std::vector<std::size_t>& set);
/// Puts the mean in place of NaN, which says nothing to a permutation test, and returns it. NaN if all are.
double fill_missing(std::vector<double>& values);

/// Whether the amounts of slow and usual ones differ: by a rank test, or in their mean by a permutation test, which
/// sees that few take much longer. Each has half of `most_p`.
[[nodiscard]] bool amounts_differ(const LookedAt& looked_at, double most_p, std::uint64_t seed);

/// Owners that count as one cause: on the instance's own thread those of one scope, or all times in which it was pushed
/// off; behind waits, those of one kind behind the same ones. Threads without scopes are apart from others, by name.
struct Cause {
  std::vector<OwnerId> owners;
  std::vector<double> owned;  ///< of each instance's amount
  double excess = 0;          ///< mean of the slow ones minus mean of the usual ones
  double p_value = 1;         ///< corrected for all causes that were tried
};

/// Where a finding's words come from.
struct FindingFacts {
  const Timeline& timeline;
  const LookedAt& looked_at;
  const CriticalPaths& paths;
  const OwnerTable& owners;
  std::uint64_t seed = 1;
};

/// The slow instances in which the cause takes more than in 95 % of the usual ones, by ascending start.
[[nodiscard]] std::vector<std::size_t> instances_with(const LookedAt& looked_at, const Cause& cause);

/// A machine disturbs a program by itself: it wakes threads late, or its host takes a processor away. Such a
/// disturbance hits whatever runs then, and the instances of one occasion share it. So a cause of the program's own
/// comes on three at least.
constexpr std::size_t least_occasions = 3;
constexpr std::int64_t occasion_ns = 10'000'000;
/// Disturbances rarely last longer.
constexpr double most_disturbance_ns = 10e6;
/// How many times apart by more than `occasion_ns` the cause came.
[[nodiscard]] std::size_t count_occasions(const LookedAt& looked_at, const Cause& cause);

/// More causes than this are not tried: those that vary least between instances are left out.
constexpr std::size_t most_causes = 256;

/// The causes of all owners, untested, by descending excess. Where no instance is usual, that is what they own of an
/// instance on average.
[[nodiscard]] std::vector<Cause> all_causes(const LookedAt& looked_at, const CriticalPaths& paths,
                                            const OwnerTable& owners);

/// Sets excess and p-value of causes whose owned amounts are known, and orders them by descending excess. The p-value
/// is that of a permutation test over instances: how often the largest of all causes' differences is as large as the
/// cause's own when slow and usual are dealt out at random (Westfall and Young's maxT). Differences are standardised
/// from three slow instances on. About 0.1 s for 500 slow and 2,000 usual instances.
void test_causes(const LookedAt& looked_at, std::vector<Cause>& causes, std::uint64_t seed);

/// All causes that were tried, tested.
[[nodiscard]] std::vector<Cause> find_causes(const LookedAt& looked_at, const CriticalPaths& paths,
                                             const OwnerTable& owners, std::uint64_t seed);

/// Of tested causes the sure ones, whose p-value is at most `most_p`, that make `least` of the excess or more; the
/// greatest come first. They stay where they are.
[[nodiscard]] std::vector<const Cause*> lengthening(const std::vector<Cause>& causes, double least, double most_p);
/// Likewise those that the slow instances have less of.
[[nodiscard]] std::vector<const Cause*> shortening(const std::vector<Cause>& causes, double least, double most_p);

/// 95 % bootstrap interval of a cause's share of the excess: instances are drawn again from the slow and from the usual
/// ones.
[[nodiscard]] Interval bootstrap_share(const LookedAt& looked_at, const Cause& cause, std::uint64_t seed);

}  // namespace kymo::stats
