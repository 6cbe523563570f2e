// Paths of sites: who was open inside whom.
#include "stats/path_table.hpp"

namespace kymo::stats {

PathTable::PathTable(std::size_t most_paths) : most_paths_(most_paths), nodes_(1), slots_(1024), mask_(1023) {}

PathTable::NodeId PathTable::add(NodeId parent, SiteId site, std::size_t at) {
  const auto node = static_cast<NodeId>(nodes_.size());
  if (is_full()) {
    if (nodes_[parent].other == 0) {
      nodes_[parent].other = node;
      nodes_.push_back({0, 0, 0, parent, other_paths, 0});
    }
    return nodes_[parent].other;
  }
  ++paths_;
  slots_[at] = {node, parent, site};
  nodes_.push_back({0, 0, 0, parent, site, 0});
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
