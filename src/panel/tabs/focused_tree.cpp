// What lies inside one site.
#include "panel/tabs/focused_tree.hpp"

#include <unordered_map>
#include <vector>

namespace kymo::panel {

TreeList inside_of(const TreeList& whole, SiteId site) {
  TreeList list;
  list.nodes.emplace_back();
  std::vector<std::uint32_t> places(whole.nodes.size(), 0);  // in the list; 0: not inside
  std::unordered_map<std::uint64_t, std::uint32_t> known;    // by parent and site
  for (std::size_t i = 1; i < whole.nodes.size(); ++i) {
    const TreeList::Node& node = whole.nodes[i];
    const std::uint32_t parent = places[node.parent];
    if (parent == 0 && node.site != site) {
      continue;
    }
    const auto next = static_cast<std::uint32_t>(list.nodes.size());
    const auto [place, is_new] = known.emplace((std::uint64_t{parent} << 32U) | node.site.value(), next);
    places[i] = place->second;
    if (is_new) {
      const auto depth = static_cast<std::uint16_t>(parent == 0 ? 0 : list.nodes[parent].depth + 1);
      list.nodes.push_back({node.site, parent, depth, 0, 0, 0});
    }
    TreeList::Node& out = list.nodes[place->second];
    out.count += node.count;
    out.total_ns += node.total_ns;
    out.inner_ns += node.inner_ns;
    list.nodes.front().inner_ns += parent == 0 ? node.total_ns : 0;
  }
  return list;
}

void FocusedTree::keep_fresh(TabContext& context) {
  whole_.keep_fresh(context.state.data(), ListKey(context.state.table_range()));
  const SiteId focus = context.state.focused_site();
  if (whole_version_ != whole_.version() || focus_ != focus) {
    whole_version_ = whole_.version();
    focus_ = focus;
    list_ = focus ? inside_of(whole_.list(), focus) : whole_.list();
    ++version_;
  }
}

}  // namespace kymo::panel
