// The sites' figures that the statistics and locks tabs show.
#pragma once

#include <cstdint>
#include <vector>

#include "panel/lists/lists.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

/// Of everything from the captures' summaries; of a range or the focused site read block by block, growing meanwhile.
class KeptFigures {
 public:
  /// Call in each frame that shows them.
  void keep_fresh(TabContext& context);
  [[nodiscard]] const std::vector<stats::SiteFigures>& sites(const TabContext& context) const;
  /// Increases with each change.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// To be said behind them.
  [[nodiscard]] const char* state_text() const { return is_reading_ ? "   adding up..." : ""; }

 private:
  KeptList<SiteList> of_part_;
  bool is_part_ = false;
  bool is_reading_ = false;
  std::uint64_t known_ = 0;  // the version of what is shown
  std::uint64_t version_ = 0;
};

}  // namespace kymo::panel
