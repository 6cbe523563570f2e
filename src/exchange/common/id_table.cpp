#include "exchange/common/id_table.hpp"

namespace kymo::exchange {

std::size_t IdIndex::add(std::uint32_t id) {
  const std::size_t place = count_++;
  if (id >= places_.size()) {
    if (id > 4 * count_ + 64) {
      far_places_[id] = place;
      return place;
    }
    places_.resize(std::size_t{id} + 1);
  }
  places_[id] = static_cast<std::uint32_t>(place + 1);
  return place;
}

std::size_t IdIndex::find_far(std::uint32_t id) const {
  if (far_places_.empty()) {
    return none;
  }
  const auto found = far_places_.find(id);
  return found == far_places_.end() ? none : static_cast<std::size_t>(found->second);
}

}  // namespace kymo::exchange
