// Rows of sites: equal sites of several processes share a row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::stats {

/// Gives each site of a timeline a row, counted from 0. Not thread-safe.
class SiteRows {
 public:
  /// Sites of different processes are joined if name, function, file and line are equal, unless processes are kept
  /// apart.
  SiteRows(const Timeline& timeline, bool by_process) : timeline_(timeline), by_process_(by_process) {}

  std::uint32_t row_of(SiteId site) {
    if (const auto known = row_of_site_.find(site); known != row_of_site_.end()) {
      return known->second;
    }
    const SiteDeclaration& declared = timeline_.site(site);
    // Undeclared sites have no name; their ids distinguish them.
    const Key key = !declared.process ? Key(ProcessId{}, declared.name, "", "", site.value())
                                      : Key(by_process_ ? declared.process : ProcessId{}, declared.name,
                                            declared.function, declared.file, declared.line);
    const auto [place, is_new] = rows_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
    if (is_new) {
      sites_.push_back(site);
    }
    row_of_site_[site] = place->second;
    return place->second;
  }

  /// The first site of each row.
  [[nodiscard]] const std::vector<SiteId>& sites() const { return sites_; }

 private:
  using Key = std::tuple<ProcessId, std::string, std::string, std::string, std::uint32_t>;

  const Timeline& timeline_;
  bool by_process_;
  std::map<Key, std::uint32_t> rows_;
  std::unordered_map<SiteId, std::uint32_t> row_of_site_;
  std::vector<SiteId> sites_;
};

}  // namespace kymo::stats
