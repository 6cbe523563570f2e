#include "capture/summary/order.hpp"

#include <algorithm>

namespace kymo::capture {

void put_in_order(std::vector<Ordered>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Ordered& a, const Ordered& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; });
}

void put_in_order(std::vector<TrackId>& ids) {
  std::vector<Ordered> order;
  order.reserve(ids.size());
  for (const TrackId id : ids) {
    order.push_back({id.value(), 0});
  }
  put_in_order(order);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = TrackId(static_cast<std::uint32_t>(order[i].key));
  }
}

}  // namespace kymo::capture
