// A table with look-up by a small integer id in about a nanosecond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/ids.hpp>

namespace kymo::capture {

/// Entries by their member `id`, in order of creation. A recorder's ids are dense. Ids of damaged captures may be
/// anything and cost no more memory than an entry.
template <typename Entry>
class KeyedTable {
 public:
  using Key = decltype(Entry::id);

  /// The entry of an id, created if there is none. References are valid until the next entry is created.
  Entry& operator[](Key key) {
    const std::uint32_t id = key.value();
    if (id < positions_count_) [[likely]] {
      if (const std::uint32_t position = positions_[id]; position != 0) [[likely]] {
        return entries_[position - 1];
      }
    }
    return find_or_add(key);
  }

  [[nodiscard]] const Entry* find(Key key) const {
    const std::uint32_t id = key.value();
    if (id < dense_ids) {
      return id < positions_.size() && positions_[id] != 0 ? &entries_[positions_[id] - 1] : nullptr;
    }
    const auto found = far_positions_.find(id);
    return found == far_positions_.end() ? nullptr : &entries_[found->second - 1];
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] auto begin() { return entries_.begin(); }
  [[nodiscard]] auto end() { return entries_.end(); }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }

  /// Removes the entries for which `is_gone` is true; the others keep their order.
  template <typename IsGone>
  void drop(IsGone is_gone) {
    std::vector<Entry> entries = std::move(entries_);
    clear();
    for (Entry& entry : entries) {
      if (!is_gone(entry)) {
        (*this)[entry.id] = std::move(entry);
      }
    }
  }

  void clear() {
    entries_.clear();
    positions_.clear();
    positions_count_ = 0;
    far_positions_.clear();
  }

 private:
  // Ids below this limit are looked up in a vector of at most 256 KiB; recorders with more sites are unusual.
  static constexpr std::uint32_t dense_ids = 65536;

  [[gnu::noinline]] Entry& find_or_add(Key key) {
    const std::uint32_t id = key.value();
    if (id < dense_ids && id >= positions_.size()) {
      positions_.resize(std::size_t{id} + 1);
      positions_count_ = id + 1;
    }
    std::uint32_t& position = id < dense_ids ? positions_[id] : far_positions_[id];
    if (position == 0) {
      entries_.emplace_back();
      entries_.back().id = key;
      position = static_cast<std::uint32_t>(entries_.size());
    }
    return entries_[position - 1];
  }

  std::vector<Entry> entries_;
  std::uint32_t positions_count_ = 0;     // positions_.size(), without the subtraction
  std::vector<std::uint32_t> positions_;  // by id: 1 + its place in entries_, or 0
  std::unordered_map<std::uint32_t, std::uint32_t> far_positions_;
};

}  // namespace kymo::capture
