// The statistics tab: a table of sites, and the distribution of the chosen one.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

using stats::SiteFigures;

enum Column : int {
  site_column,
  count_column,
  total_column,
  self_column,
  mean_column,
  p50_column,
  p95_column,
  p99_column,
  max_column
};
constexpr int column_count = 9;
constexpr const char* titles[column_count] = {"site", "count", "total", "self", "mean", "p50", "p95", "p99", "longest"};

double number_of(const SiteFigures& figures, int column) {
  switch (column) {
    case count_column:
      return static_cast<double>(figures.count);
    case total_column:
      return static_cast<double>(figures.total_ns);
    case self_column:
      return static_cast<double>(figures.self_ns);
    case mean_column:
      return figures.mean_ns;
    case p50_column:
      return static_cast<double>(figures.p50_ns);
    case p95_column:
      return static_cast<double>(figures.p95_ns);
    case p99_column:
      return static_cast<double>(figures.p99_ns);
    default:
      return static_cast<double>(figures.max_ns);
  }
}

}  // namespace

void SiteTable::update(const std::vector<SiteFigures>& figures, std::uint64_t version, const char* filter,
                       const BlockProvider& provider) {
  if (version == version_ && filter == filter_ && !is_unsorted_) {
    return;
  }
  version_ = version;
  filter_ = filter;
  is_unsorted_ = false;
  order_.clear();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (filter_.empty() || contains_text(provider.site(figures[i].site).name, filter_)) {
      order_.push_back(i);
    }
  }
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    if (column_ == site_column) {
      const int order = provider.site(figures[a].site).name.compare(provider.site(figures[b].site).name);
      return is_falling_ ? order > 0 : order < 0;
    }
    const double left = number_of(figures[a], column_);
    const double right = number_of(figures[b], column_);
    return is_falling_ ? left > right : left < right;
  });
}

void SiteTable::sort_by(int column, bool is_falling) {
  is_unsorted_ = is_unsorted_ || column != column_ || is_falling != is_falling_;
  column_ = column;
  is_falling_ = is_falling;
}

void PanelView::draw_statistics() {
  PanelData& data = state_.data();
  data.keep_figures_fresh();
  const std::vector<SiteFigures>& figures = data.figures();
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 16);
  if (focuses_filter_) {
    ImGui::SetKeyboardFocusHere();
    focuses_filter_ = false;
  }
  ImGui::InputText("filter", filter_, sizeof filter_);
  ImGui::SameLine(0, ImGui::GetFontSize());
  say(data.figures_version() == 0 ? "adding up..."
                                  : count_text(sites_.order().size()) + " sites by " + titles[sites_.column()] +
                                        (sites_.is_falling() ? ", falling" : ", rising"));
  const float histogram_height = ImGui::GetTextLineHeightWithSpacing() * 7;
  const float height = std::max(ImGui::GetContentRegionAvail().y - histogram_height, ImGui::GetTextLineHeight() * 3);
  constexpr ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable |
                                    ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_RowBg |
                                    ImGuiTableFlags_BordersInnerV;
  if (ImGui::BeginTable("sites", column_count, flags, ImVec2(0, height))) {
    for (int column = 0; column < column_count; ++column) {
      const ImGuiTableColumnFlags order =
          column == total_column ? ImGuiTableColumnFlags_DefaultSort : ImGuiTableColumnFlags_None;
      ImGui::TableSetupColumn(titles[column], order | ImGuiTableColumnFlags_PreferSortDescending,
                              column == site_column ? 3.0F : 1.0F);
    }
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableHeadersRow();
    if (ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
        specs != nullptr && specs->SpecsDirty && specs->SpecsCount > 0) {
      specs->SpecsDirty = false;
      sites_.sort_by(specs->Specs[0].ColumnIndex, specs->Specs[0].SortDirection == ImGuiSortDirection_Descending);
    }
    if (sort_column_ >= 0) {
      sites_.sort_by(sort_column_, sites_.column() != sort_column_ || !sites_.is_falling());
      sort_column_ = -1;
    }
    sites_.update(figures, data.figures_version(), filter_, data.provider());
    draw_site_rows(figures);
    ImGui::EndTable();
  }
  const auto chosen = std::find_if(figures.begin(), figures.end(),
                                   [this](const SiteFigures& site) { return site.site == state_.marked_site(); });
  if (chosen != figures.end()) {
    draw_histogram(*chosen);
  } else {
    say("click a site to see how its durations are spread");
  }
}

void PanelView::draw_site_rows(const std::vector<SiteFigures>& figures) {
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(sites_.order().size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const SiteFigures& site = figures[sites_.order()[static_cast<std::size_t>(i)]];
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::PushID(static_cast<int>(site.site));
      const ImVec2 at = ImGui::GetCursorScreenPos();
      if (ImGui::Selectable("##site", site.site == state_.marked_site(), ImGuiSelectableFlags_SpanAllColumns)) {
        state_.mark_site(site.site);
      }
      ImGui::PopID();
      ImGui::SetCursorScreenPos(at);
      say(look_of(site.site, false).text);
      const auto cell = [](const std::string& text) {
        ImGui::TableNextColumn();
        say(text);
      };
      const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      cell(count_text(site.count));
      cell(duration_text(static_cast<std::int64_t>(std::min(site.total_ns, most))));
      cell(duration_text(static_cast<std::int64_t>(std::min(site.self_ns, most))));
      cell(duration_text(static_cast<std::int64_t>(site.mean_ns)));
      cell(duration_text(site.p50_ns));
      cell(duration_text(site.p95_ns));
      cell(duration_text(site.p99_ns));
      cell(duration_text(site.max_ns));
    }
  }
}

void PanelView::draw_histogram(const SiteFigures& site) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float line = ImGui::GetTextLineHeight();
  const Area plot{at.x, at.y + line, at.x + room.x, at.y + std::max(room.y - line, line)};
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(plot.left, plot.top, plot.right, plot.bottom, theme_.back);
  canvas.text(at.x, at.y, room.x, theme_.text,
              look_of(site.site, false).text + ": " + count_text(site.count) + " durations from " +
                  duration_text(site.min_ns) + " to " + duration_text(site.max_ns) + ", on a logarithmic scale");
  if (site.bars.empty()) {
    return;
  }
  const auto most = static_cast<float>(*std::max_element(site.bars.begin(), site.bars.end()));
  const float width = plot.width() / static_cast<float>(site.bars.size());
  for (std::size_t i = 0; i < site.bars.size(); ++i) {
    const float left = plot.left + static_cast<float>(i) * width;
    const float share = most > 0 ? static_cast<float>(site.bars[i]) / most : 0;
    if (site.bars[i] != 0) {
      canvas.fill(left, plot.bottom - std::max(share * plot.height(), 2.0F), left + std::max(width - 1, 1.0F),
                  plot.bottom, theme_.metric);
    }
    if (i % 8 == 0) {
      canvas.text(left, plot.bottom, width * 8, theme_.faint_text,
                  duration_text(static_cast<std::int64_t>(site.bar_start_ns(i))));
    }
  }
}

}  // namespace kymo::panel
