// Paths of nested sites.
#include "stats/common/path_table.hpp"

#include <utility>

namespace kymo::stats {

PathTable::PathTable(std::size_t most_paths)
    : most_paths_(most_paths), nodes_(1), sums_(1), others_(1), slots_(1024), mask_(1023) {}

PathTable::NodeId PathTable::add_node(NodeId parent, SiteId site) {
  nodes_.push_back({parent, site, 0});
  sums_.emplace_back();
  others_.push_back(0);
  return static_cast<NodeId>(nodes_.size() - 1);
}

PathTable::NodeId PathTable::add(NodeId parent, SiteId site, std::size_t at) {
  if (is_full()) {
    if (others_[parent] == 0) {
      const NodeId node = add_node(parent, other_paths);
      others_[node] = node;
      others_[parent] = node;
    }
    return others_[parent];
  }
  ++paths_;
  const NodeId node = add_node(parent, site);
  slots_[at] = {node, parent, site};
  if (2 * paths_ > slots_.size()) {
    grow();
  }
  return node;
}

void PathTable::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(2 * old.size(), {});
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.node != 0) {
      std::size_t at = place_of(slot.parent, slot.site);
      while (slots_[at].node != 0) {
        at = (at + 1) & mask_;
      }
      slots_[at] = slot;
    }
  }
}

}  // namespace kymo::stats
