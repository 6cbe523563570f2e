// The tree of nested scopes that the tree and flame graph tabs show: all of it, or what lies inside one site.
#pragma once

#include <cstdint>

#include "panel/lists/lists.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

/// The part of a tree that lies inside scopes of a site, whatever they lie in. The site's outermost scopes are at the
/// top.
[[nodiscard]] TreeList inside_of(const TreeList& whole, SiteId site);

class FocusedTree {
 public:
  /// Call in each frame that shows the tree.
  void keep_fresh(TabContext& context);
  /// Stays the same until the next keep_fresh(), so that what a tab made of it fits meanwhile. What is read arrives
  /// earlier, before keys and clicks are used.
  [[nodiscard]] const TreeList& list() const { return list_; }
  /// Increases with each change.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] bool is_reading() const { return whole_.is_reading(); }

 private:
  KeptList<TreeList> whole_;
  TreeList list_;
  SiteId focus_;
  std::uint64_t whole_version_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace kymo::panel
