// What was run, on what: the facts that two sides of a comparison should agree on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <kymo/comparison.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

/// The facts of the processes of one side: command lines, host, executable, build, CPU, power mode, kernel, labels and
/// what the programs said of themselves. Of processes that only sampled where others did more, nothing. Neither what
/// changes from run to run (times, process numbers) nor what `kymo record` measured.
class Configuration {
 public:
  void add(const Timeline& timeline);

  /// The values of a fact that were seen.
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& facts() const { return facts_; }

 private:
  std::map<std::string, std::set<std::string>> facts_;
};

using kymo::ComparedFact;

/// Every fact of either side: what was run and on what first, then labels and others by name.
[[nodiscard]] std::vector<ComparedFact> compare_configurations(const Configuration& base, const Configuration& changed);

}  // namespace kymo::stats
