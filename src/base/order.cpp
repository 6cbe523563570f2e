#include "base/order.hpp"

#include <algorithm>

namespace kymo::base {

namespace {

template <typename Row>
void arrange(const std::vector<Ordered>& order, std::vector<Row>& rows) {
  std::vector<Row> arranged;
  arranged.reserve(order.size());
  for (const Ordered& next : order) {
    arranged.push_back(rows[next.place]);
  }
  rows.swap(arranged);
}

/// The order of rows by time; empty if they are in order.
template <typename Rows, typename TimeOf>
std::vector<Ordered> time_order(const Rows& rows, TimeOf time_of) {
  std::vector<Ordered> order;
  const auto is_earlier = [time_of](const auto& a, const auto& b) { return time_of(a) < time_of(b); };
  if (!std::is_sorted(rows.begin(), rows.end(), is_earlier)) {
    for (const auto& row : rows) {
      order.push_back({order_key(time_of(row)), order.size()});
    }
    put_in_order(order);
  }
  return order;
}

void put_in_time_order(SampleRun& run) {
  const std::vector<Ordered> order = time_order(run.times_ns, [](std::int64_t time_ns) { return time_ns; });
  if (!order.empty()) {
    arrange(order, run.times_ns);
    arrange(order, run.values);
    if (!run.flags.empty()) {
      arrange(order, run.flags);
    }
  }
}

}  // namespace

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

void put_in_time_order(EventBatch& batch) {
  const std::vector<Ordered> order = time_order(batch.frame_marks, [](const FrameMark& mark) { return mark.time_ns; });
  if (!order.empty()) {
    arrange(order, batch.frame_marks);
  }
  for (SampleRun& run : batch.samples) {
    put_in_time_order(run);
  }
}

}  // namespace kymo::base
