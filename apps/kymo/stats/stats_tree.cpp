// kymo stats --tree: the nesting of scopes.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/statistics/call_tree.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::CallTree;
using stats::CallTreeRow;

std::string name_of(const Timeline& timeline, SiteId site) {
  return !site ? "(other paths)" : site_name(timeline.site(site));
}

double share_of(std::uint64_t part_ns, std::uint64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

Json name_to_json(const Timeline& timeline, SiteId site) {
  return !site ? Json{{"name", nullptr}} : site_to_json(timeline.site(site));
}

Json to_json(const Timeline& timeline, const CallTree& tree) {
  Json rows = Json::array();
  for (const CallTreeRow& row : tree.rows) {
    Json json = {{"depth", row.depth}, {"parent", row.depth == 0 ? Json() : Json(row.parent)}};
    json.update(name_to_json(timeline, row.site));
    json.update({{"count", row.count},
                 {"open", row.open},
                 {"total_ns", row.total_ns},
                 {"self_ns", row.self_ns},
                 {"share", share_of(row.total_ns, tree.total_ns)},
                 {"self_share", share_of(row.self_ns, tree.total_ns)}});
    rows.push_back(std::move(json));
  }
  Json sites = Json::array();
  for (const stats::CallTreeSite& site : tree.sites) {
    Json json = name_to_json(timeline, site.site);
    json.update({{"count", site.count},
                 {"inclusive_ns", site.inclusive_ns},
                 {"self_ns", site.self_ns},
                 {"share", share_of(site.inclusive_ns, tree.total_ns)},
                 {"self_share", share_of(site.self_ns, tree.total_ns)}});
    sites.push_back(std::move(json));
  }
  return {{"total_ns", tree.total_ns},
          {"tree", std::move(rows)},
          {"sites", std::move(sites)},
          {"folded_scopes", tree.folded_scopes},
          {"blocks_damaged", tree.blocks_damaged}};
}

/// Selects rows. Omitting a row omits the rows inside it.
class TreeTable {
 public:
  TreeTable(const Timeline& timeline, const CallTree& tree, const StatsOptions& options)
      : timeline_(timeline), tree_(tree), options_(options) {}

  void print() {
    const double least_ns = options_.least_share / 100 * static_cast<double>(tree_.total_ns);
    std::vector<std::size_t> shown_inside;  // by depth
    std::uint32_t hidden_below = no_depth;
    for (const CallTreeRow& row : tree_.rows) {
      if (row.depth > hidden_below) {
        ++hidden_;
        continue;
      }
      hidden_below = no_depth;
      shown_inside.resize(std::max<std::size_t>(shown_inside.size(), row.depth + std::size_t{2}));
      const bool is_small = static_cast<double>(row.total_ns) < least_ns;
      if (row.depth >= options_.depth || is_small || (options_.top != 0 && shown_inside[row.depth] >= options_.top)) {
        hidden_below = row.depth;
        ++hidden_;
        continue;
      }
      ++shown_inside[row.depth];
      shown_inside[row.depth + std::size_t{1}] = 0;
      add(row);
    }
    table_.print();
    if (hidden_ != 0) {
      fmt::print("... and {} more; --min-share, --depth and --top show them\n", format_plural(hidden_, "row"));
    }
  }

 private:
  static constexpr std::uint32_t no_depth = 0xFFFFFFFFU;

  void add(const CallTreeRow& row) {
    const std::string open = row.open == 0 ? "" : fmt::format(" ({} open)", format_count(row.open));
    const auto whole = static_cast<double>(tree_.total_ns);
    table_.add(
        {std::string(2 * std::size_t{row.depth}, ' ') + name_of(timeline_, row.site) + open, format_count(row.count),
         format_duration(static_cast<double>(row.total_ns)), format_share(static_cast<double>(row.total_ns), whole),
         format_duration(static_cast<double>(row.self_ns)), format_share(static_cast<double>(row.self_ns), whole)});
  }

  const Timeline& timeline_;
  const CallTree& tree_;
  const StatsOptions& options_;
  Table table_{{{"scope", Align::left}, {"count", Align::right, 1}, {"total"}, {"share"}, {"self"}, {"share"}}};
  std::uint64_t hidden_ = 0;
};

}  // namespace

int show_tree(const Timeline& timeline, const StatsOptions& options) {
  stats::CallTreeOptions how;
  how.by_process = options.by_process;
  how.selection = stats::Selection(timeline, selection_of(timeline, options));
  CallTree tree;
  {
    Progress progress("reading");
    how.on_progress = progress.callback();
    tree = stats::gather_call_tree(timeline, how);
  }
  Warnings warnings = find_all_warnings(timeline);
  if (tree.folded_scopes != 0) {
    warnings.texts.push_back(
        fmt::format("there are more than {} paths: {} are counted as (other paths) under the path that they left",
                    format_count(how.most_paths), format_plural(tree.folded_scopes, "scope")));
  }
  if (options.is_json) {
    Json json = to_json(timeline, tree);
    json["warnings"] = warnings.texts;
    print_json(json);
    return warnings.exit_code();
  }
  warnings.print();
  if (tree.rows.empty()) {
    fmt::print("No scope was open in this part of the recording.\n");
    return warnings.exit_code();
  }
  TreeTable(timeline, tree, options).print();
  return warnings.exit_code();
}

}  // namespace kymo::command
