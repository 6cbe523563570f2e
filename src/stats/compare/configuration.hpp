// The configuration of a run: facts that both sides of a comparison should agree on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <kymo/comparison.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

/// Facts of the processes of one side: command lines, host, executable, build, CPU, power mode, kernel, labels and the
/// programs' own facts. Processes that only sampled are left out if others did more. Leaves out facts that change from
/// run to run (times, process numbers) and measurements of `kymo record`.
class Configuration {
 public:
  void add(const Timeline& timeline);

  /// The values seen for a fact.
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& facts() const { return facts_; }

 private:
  std::map<std::string, std::set<std::string>> facts_;
};

using kymo::ComparedFact;

/// Every fact of either side: software and machine first, then labels and others by name.
[[nodiscard]] std::vector<ComparedFact> compare_configurations(const Configuration& base, const Configuration& changed);

}  // namespace kymo::stats
