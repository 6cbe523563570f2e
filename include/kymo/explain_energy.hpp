// Why some frames or scopes took more joules than the others: which scopes and GPU spans used them, and how sure that
// is.
//
//     const kymo::EnergyExplanation why = kymo::explain_energy(timeline);
//     for (const kymo::EnergyFinding& finding : why.findings) { use(finding.text, finding.share); }
//
// docs/explain.md describes the method for users. Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <kymo/comparison.hpp>
#include <kymo/explain.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// A frame, or a scope of one site, with its joules: those of its machine and its GPUs, measured while it lasted.
struct InstanceJoules {
  Instance instance;
  double joules = 0;
};

/// Part of the difference between the instances that took more joules and the usual ones. Divided as by read_energy():
/// an estimate wherever several threads ran.
struct EnergyFinding {
  Subject subject;     ///< a site's scopes, without those inside them, or a queue's spans; no name: no scope was open
  std::string thread;  ///< the thread or the queue with most of it
  std::string text;    ///< the cause in words; names as recorded, unescaped
  double excess_joules = 0;  ///< mean of the instances that took more minus that of the usual ones
  double share = 0;          ///< of the whole excess
  std::optional<Interval>
      interval;                  ///< 95 % bootstrap interval of the share; none with fewer than three such instances
  double p_value = 1;            ///< of the permutation test, corrected for everything that was tried
  std::size_t in_instances = 0;  ///< of the set, with more of it than 95 % of the usual ones
  std::vector<InstanceJoules> costly;  ///< the set, by descending joules of the finding's
};

/// Why some instances took more joules than the usual ones.
struct EnergyExplanation {
  std::string name;            ///< of the site; empty: frames of the main stream
  bool is_comparison = false;  ///< the set is the new captures' instances, usual ones are those of the base
  bool has_power = false;      ///< otherwise nothing measured power, and all else is empty
  std::size_t instances = 0;   ///< whose joules are known
  std::size_t unknown = 0;     ///< in which no source could be read for half of the time
  std::size_t unresolved = 0;  ///< shorter than the renewal of a source
  std::int64_t renewal_ns = 0;
  std::size_t costly = 0;  ///< in the set that took more
  std::size_t usual = 0;   ///< looked at
  double costly_mean_joules = 0;
  double usual_mean_joules = 0;
  double median_joules = 0;
  double most_joules = 0;
  std::vector<EnergyFinding> findings;    ///< sure ones by descending excess, at most five; empty: nothing stands out
  std::vector<EnergyFinding> less;        ///< what surely took less in these instances: at most three
  double unexplained_joules = 0;          ///< excess minus that of findings and `less`
  std::vector<InstanceJoules> costliest;  ///< at most five
  std::vector<std::string> notes;         ///< what limits the answer

  [[nodiscard]] double excess_joules() const { return costly_mean_joules - usual_mean_joules; }
};

/// Explains the frames of the main stream that took more joules than the others by more than chance, or a site's
/// scopes, or the chosen ones, as explain() does; `over_ns` is not for joules. Scopes of several threads at one time
/// count the same joules. Throws SelectionError if there are no such frames or scopes.
///
/// A pass over the samples, and two over the scopes: about 250 ns a scope with one power source. Memory is bounded by
/// the power samples, two million instances and a million parts of them.
[[nodiscard]] KYMO_API EnergyExplanation explain_energy(const Timeline& timeline, const ExplainOptions& options = {});

/// Says in a sentence which instances took how many joules more, and how much of that is explained. Names as recorded,
/// unescaped.
[[nodiscard]] KYMO_API std::string describe(const EnergyExplanation& why);

}  // namespace kymo
