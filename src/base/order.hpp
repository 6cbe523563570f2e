// Sorts by a number. The recorder uses this one sort for everything, as each instantiation would add a kilobyte to
// every program with kymo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/ids.hpp>

namespace kymo::base {

/// An entry to sort: its key, and its position in the original list.
struct Ordered {
  std::uint64_t key = 0;
  std::size_t place = 0;
};

/// Maps signed numbers to keys of the same order.
[[nodiscard]] constexpr std::uint64_t order_key(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63U);
}

/// Sorts by key; equal keys by position.
void put_in_order(std::vector<Ordered>& entries);
void put_in_order(std::vector<TrackId>& ids);

/// Sorts a batch's frame marks and each of its runs of samples by time, equal times by position. The collector takes
/// one thread after another, and several may mark one stream or record one metric.
void put_in_time_order(EventBatch& batch);

}  // namespace kymo::base
