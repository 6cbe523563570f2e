// Rows of sites: what the statistics and locks tabs share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "panel/draw/filter.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/kept_figures.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

/// The sites' figures as rows, filtered by name.
class SiteRows : public TableRows {
 public:
  SiteRows(TabContext& context, const KeptFigures& figures, const char* filter)
      : context_(context), figures_(figures.sites(context)), filter_(filter) {}

  [[nodiscard]] std::size_t count() const override { return figures_.size(); }
  [[nodiscard]] bool fits(std::size_t row) const override { return contains_text(declaration(row).name, filter_); }

  [[nodiscard]] const std::vector<stats::SiteFigures>& figures() const { return figures_; }
  [[nodiscard]] const SiteDeclaration& declaration(std::size_t row) const {
    return context_.state.data().provider().site(figures_[row].site);
  }
  [[nodiscard]] std::string name(std::size_t row) const {
    return context_.names.look(figures_[row].site, context_.theme).text;
  }
  /// The row of a site.
  [[nodiscard]] std::optional<std::size_t> find(SiteId site) const {
    for (std::size_t row = 0; row < figures_.size(); ++row) {
      if (figures_[row].site == site) {
        return row;
      }
    }
    return std::nullopt;
  }

 private:
  TabContext& context_;
  const std::vector<stats::SiteFigures>& figures_;
  std::string filter_;
};

}  // namespace kymo::panel
