// Order by a number: one sort for everything that the recorder puts in order, as each one of its own adds a kilobyte to
// the programs that it goes into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kymo::capture {

/// Something to be put in order: what it is ordered by, and where it stands among what it was taken from.
struct Ordered {
  std::uint64_t key = 0;
  std::size_t place = 0;
};

/// A key that puts signed numbers in order.
[[nodiscard]] constexpr std::uint64_t order_key(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63U);
}

/// Puts them in ascending order of their keys, equal ones of their places.
void put_in_order(std::vector<Ordered>& entries);

}  // namespace kymo::capture
