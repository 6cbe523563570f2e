#include "stats/explain/migrations.hpp"

#include <cstddef>
#include <optional>
#include <vector>

#include <kymo/thread_states.hpp>

#include "stats/common/value_text.hpp"
#include "stats/explain/permutation_test.hpp"

namespace kymo::stats {

namespace {

constexpr double most_p_of_migrations = 0.01;
constexpr std::size_t least_instances_known = 3;

/// Sums over some instances.
struct MoveSums {
  double moves = 0;
  std::size_t instances = 0;

  void add(double of_one) {
    moves += of_one;
    ++instances;
  }
  [[nodiscard]] double mean() const { return moves / static_cast<double>(instances); }
};

/// The migrations in an instance; nothing where its states are not known throughout.
std::optional<double> moves_in(const ThreadStates& states, const Instance& instance) {
  const TimeRange range{instance.start_ns, instance.end_ns()};
  if (!states.times(instance.track, range)) {
    return std::nullopt;
  }
  double moves = 0;
  for (const ThreadId thread : states.threads_of(instance.track)) {
    moves += static_cast<double>(states.known(thread, range).migrations);
  }
  return moves;
}

}  // namespace

std::string describe_migrations(const FindingFacts& facts) {
  const LookedAt& looked_at = facts.looked_at;
  const ThreadStates states(facts.timeline);
  std::vector<std::optional<double>> known;
  MoveSums slow;
  MoveSums usual;
  for (std::size_t i = 0; i < looked_at.instances.size(); ++i) {
    known.push_back(moves_in(states, looked_at.instances[i]));
    if (known.back()) {
      (looked_at.is_slow[i] ? slow : usual).add(*known.back());
    }
  }
  if (slow.instances < least_instances_known || usual.instances < least_instances_known ||
      slow.mean() <= usual.mean()) {
    return {};
  }
  // The mean in place of what is missing says nothing to the test.
  const double mean = (slow.moves + usual.moves) / static_cast<double>(slow.instances + usual.instances);
  std::vector<double> moves;
  moves.reserve(known.size());
  for (const std::optional<double>& one : known) {
    moves.push_back(one.value_or(mean));
  }
  if (permutation_p_values({&moves}, looked_at.is_slow, facts.seed).front() > most_p_of_migrations) {
    return {};
  }
  constexpr NumberForm form{3, false};
  return ", moved to another CPU " + value_text(slow.mean(), "", form) + " times against " +
         value_text(usual.mean(), "", form);
}

}  // namespace kymo::stats
