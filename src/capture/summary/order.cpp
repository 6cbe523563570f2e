#include "capture/summary/order.hpp"

#include <algorithm>

namespace kymo::capture {

void put_in_order(std::vector<Ordered>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Ordered& a, const Ordered& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; });
}

}  // namespace kymo::capture
