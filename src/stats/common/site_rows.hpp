// Rows of sites: equal sites of several processes share a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/summary/keyed_table.hpp"
#include "stats/common/system_processes.hpp"

namespace kymo::stats {

/// Gives each site of a timeline a row, counted from 0. Not thread-safe.
class SiteRows {
 public:
  struct Row {
    SiteId site;  ///< the first one
    std::set<ProcessId> processes;
  };

  /// Sites of different processes are joined if name, function, file and line are equal, unless processes are kept
  /// apart.
  SiteRows(const Timeline& timeline, bool by_process)
      : timeline_(timeline), processes_(timeline), by_process_(by_process) {}

  std::uint32_t row_of(SiteId site) {
    Known& known = known_[site];
    if (known.row == no_row) {
      known.row = join(site);
    }
    return known.row;
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  using Key = std::tuple<ProcessId, std::string, std::string, std::string, std::uint32_t>;
  static constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();
  struct Known {
    SiteId id;
    std::uint32_t row = no_row;
  };

  std::uint32_t join(SiteId site) {
    const SiteDeclaration& declared = timeline_.site(site);
    // Undeclared sites have no name; their ids distinguish them.
    const Key key = !declared.process ? Key(ProcessId{}, declared.name, "", "", site.value())
                                      : Key(by_process_ ? declared.process : ProcessId{}, declared.name,
                                            declared.function, declared.file, declared.line);
    const auto [place, is_new] = places_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
    if (is_new) {
      rows_.push_back({site, {}});
    }
    rows_[place->second].processes.insert(processes_.of(declared.process));
    return place->second;
  }

  const Timeline& timeline_;
  SystemProcesses processes_;
  bool by_process_;
  capture::KeyedTable<Known> known_;
  std::map<Key, std::uint32_t> places_;
  std::vector<Row> rows_;
};

}  // namespace kymo::stats
