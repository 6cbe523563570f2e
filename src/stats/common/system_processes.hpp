// Which captures are of one process: several, where it began a new one again and again.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::stats {

/// Processes as the system had them. The timeline must outlive this.
class SystemProcesses {
 public:
  explicit SystemProcesses(const Timeline& timeline) {
    std::map<std::tuple<std::string_view, std::string_view, std::uint64_t, std::string_view>, ProcessId> known;
    for (const TimelineProcess& process : timeline.processes()) {
      const ProcessDeclaration& declared = process.declaration;
      // Of one that was imported no more may be known than a number that others have as well.
      first_.push_back(
          declared.boot_id.empty()
              ? declared.id
              : known.try_emplace({declared.host, declared.boot_id, declared.pid, declared.command_line}, declared.id)
                    .first->second);
    }
  }

  /// The timeline's first process that is the same one.
  [[nodiscard]] ProcessId of(ProcessId id) const { return id.index() < first_.size() ? first_[id.index()] : id; }

 private:
  std::vector<ProcessId> first_;  // by index
};

}  // namespace kymo::stats
