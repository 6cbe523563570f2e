// Tables of declared things by id. Ids count from 1, so nearly all of them index an array. A bogus id from a damaged
// capture costs one map entry instead of an array as long as the id is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <kymo/ids.hpp>

namespace kymo::exchange {

/// Maps ids to places 0, 1, 2, ... in the order they were added.
class IdIndex {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  /// The place of an id, or none. About 1 ns.
  [[nodiscard]] std::size_t find(std::uint32_t id) const {
    if (id < places_.size() && places_[id] != 0) {
      return places_[id] - 1;
    }
    return find_far(id);
  }
  /// Adds a new id and returns its place.
  std::size_t add(std::uint32_t id);

 private:
  [[nodiscard]] std::size_t find_far(std::uint32_t id) const;

  std::vector<std::uint32_t> places_;  ///< by id: the place plus 1; 0: absent
  std::map<std::uint64_t, std::uint64_t> far_places_;
  std::size_t count_ = 0;
};

/// Things by id. References stay valid while others are added.
template <typename Key, typename Thing>
class IdTable {
 public:
  /// The thing with this id, or nullptr.
  [[nodiscard]] Thing* find(Key id) const {
    const std::size_t place = index_.find(id.value());
    return place == IdIndex::none ? nullptr : things_[place].get();
  }
  /// The thing with this id; adds one if needed.
  Thing& get(Key id) {
    if (Thing* const known = find(id)) {
      return *known;
    }
    things_.push_back(std::make_unique<Thing>());
    index_.add(id.value());
    return *things_.back();
  }
  /// The thing with this id; if there is none, `declare` adds it first.
  template <typename Declare>
  [[nodiscard]] Thing& find_or(Key id, Declare declare) const {
    Thing* known = find(id);
    if (known == nullptr) {
      declare();
      known = find(id);
    }
    return *known;
  }
  /// All things, in the order they were added.
  [[nodiscard]] const std::vector<std::unique_ptr<Thing>>& things() const { return things_; }

 private:
  IdIndex index_;
  std::vector<std::unique_ptr<Thing>> things_;
};

}  // namespace kymo::exchange
