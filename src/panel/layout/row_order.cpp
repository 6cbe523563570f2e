// How the user arranged rows.
#include "panel/layout/row_order.hpp"

#include <algorithm>
#include <utility>

namespace kymo::panel {

void RowOrder::hide(std::uint32_t row) {
  hidden_.insert(row);
  ++version_;
}

void RowOrder::show_all() {
  hidden_.clear();
  ++version_;
}

void RowOrder::toggle_pin(std::uint32_t row) {
  if (pinned_.erase(row) == 0) {
    pinned_.insert(row);
  }
  ++version_;
}

void RowOrder::move(std::uint32_t row, bool down, std::vector<std::uint32_t> shown) {
  const auto at = std::find(shown.begin(), shown.end(), row);
  if (at == shown.end() || (down ? at + 1 == shown.end() : at == shown.begin())) {
    return;
  }
  const auto other = down ? at + 1 : at - 1;
  if (is_pinned(*at) != is_pinned(*other)) {
    return;
  }
  std::iter_swap(at, other);
  // Rows that are not on the screen at present keep their order, behind the others.
  for (const std::uint32_t known : moved_) {
    if (std::find(shown.begin(), shown.end(), known) == shown.end()) {
      shown.push_back(known);
    }
  }
  moved_ = std::move(shown);
  ++version_;
}

std::uint64_t RowOrder::place_of(std::uint32_t row, std::uint64_t usual) const {
  constexpr std::uint64_t not_moved = std::uint64_t{1} << 40U;
  constexpr std::uint64_t not_pinned = std::uint64_t{1} << 41U;
  const auto moved = std::find(moved_.begin(), moved_.end(), row);
  const std::uint64_t place =
      moved != moved_.end() ? static_cast<std::uint64_t>(moved - moved_.begin()) : not_moved | usual;
  return place | (is_pinned(row) ? 0 : not_pinned);
}

int RowOrder::height_of(std::uint32_t row) const {
  const auto height = heights_.find(row);
  return height == heights_.end() ? 0 : height->second;
}

void RowOrder::resize(std::uint32_t row, int by) {
  heights_[row] = std::clamp(height_of(row) + by, least_, most_);
  ++version_;
}

void RowOrder::set_look(std::uint32_t row, const RowLook& look) {
  if (look.is_pinned) {
    pinned_.insert(row);
  }
  if (look.is_hidden) {
    hidden_.insert(row);
  }
  heights_[row] = std::clamp(look.height, least_, most_);
  ++version_;
}

void RowOrder::set_moved(std::vector<std::uint32_t> rows) {
  moved_ = std::move(rows);
  ++version_;
}

void apply(RowAction action, std::uint32_t row, const std::vector<std::uint32_t>& shown, RowOrder& order) {
  switch (action) {
    case RowAction::pin:
      order.toggle_pin(row);
      break;
    case RowAction::hide:
      order.hide(row);
      break;
    case RowAction::up:
    case RowAction::down:
      order.move(row, action == RowAction::down, shown);
      break;
    case RowAction::higher:
    case RowAction::lower:
      order.resize(row, action == RowAction::higher ? 1 : -1);
      break;
  }
}

}  // namespace kymo::panel
