// The site that tabs look inside of, and what they take to do so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "panel/lists/lists.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

/// A button that switches between all and the marked site, with a gap behind it; nothing where there is none to choose.
void draw_focus_button(TabContext& context);

/// The times of the focused site's scopes, for the lists of a tab.
class Focus {
 public:
  /// Call in each frame that shows the list: keeps it fresh with a key that is limited to those times, if a site is
  /// focused. While they are read, the list is empty.
  template <typename List>
  void keep_fresh(TabContext& context, ListKey key, KeptList<List>& list) {
    if (limit(context, key)) {
      list.keep_fresh(context.state.data(), key);
    } else {
      list.forget();
    }
  }
  /// Whether the list waits for the times.
  [[nodiscard]] bool is_reading() const { return is_reading_; }
  /// What the list leaves out, to be said behind it; empty: nothing.
  [[nodiscard]] std::string limit_text() const;

 private:
  [[nodiscard]] bool limit(TabContext& context, ListKey& key);

  KeptList<SiteTimes> kept_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const SiteTimes> times_;  // none without a focused site
  bool is_reading_ = false;
};

}  // namespace kymo::panel
