// What the statistics and locks tabs share: a table of sites.
#pragma once

#include <cstdint>
#include <vector>

#include "panel/lists/lists.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

/// A tab with a row for each site, which is marked when the row is chosen. The figures are of everything from the
/// captures' summaries; those of a range or the focused site are read block by block, growing meanwhile.
class SiteTableTab : public TableTab {
 protected:
  using TableTab::TableTab;

  /// Call in each frame that shows them.
  void keep_fresh(TabContext& context);
  [[nodiscard]] const std::vector<stats::SiteFigures>& sites(const TabContext& context) const {
    return is_part_ ? of_part_.list().sites : context.state.data().figures();
  }
  /// Increases with each change.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// To be said behind them.
  [[nodiscard]] const char* state_text() const { return is_reading_ ? "   adding up..." : ""; }
  [[nodiscard]] const SiteDeclaration& declaration(const TabContext& context, std::size_t row) const {
    return context.state.data().provider().site(sites(context)[row].site);
  }
  /// The names of the sites.
  [[nodiscard]] TableColumn name_column(TabContext& context, const char* title, float weight) const;
  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const final;

 private:
  void choose(TabContext& context, std::size_t row) final { context.state.mark_site(sites(context)[row].site); }

  KeptList<SiteList> of_part_;
  bool is_part_ = false;
  bool is_reading_ = false;
  std::uint64_t known_ = 0;  // the version of what is shown
  std::uint64_t version_ = 0;
};

}  // namespace kymo::panel
