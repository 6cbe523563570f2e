// A sortable table of a tab.
#include "panel/tabs/table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

// What imgui.h lacks: to move the arrow of a table's header.
#include <imgui_internal.h>

#include "base/text/escapes.hpp"
#include "panel/draw/text.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::panel {

namespace {

/// Nothing if it is not finite; integers without an exponent.
void append_number(std::string& out, double number) {
  constexpr double most_exact = 9007199254740992.0;
  if (std::abs(number) <= most_exact && number == std::floor(number)) {
    out += std::to_string(static_cast<std::int64_t>(number));
  } else if (std::isfinite(number)) {
    out += stats::value_text(number, "", {6, false});
  }
}

}  // namespace

TableColumn number_column(const char* title, std::function<double(std::size_t row)> number,
                          std::string (*text_of)(double number)) {
  return {title, 1, [number, text_of](std::size_t row) { return text_of(number(row)); }, number};
}

TableColumn duration_column(const char* title, std::function<double(std::size_t row)> number) {
  return number_column(title, std::move(number), [](double duration_ns) {
    constexpr double most_ns = 4e18;
    return duration_text(static_cast<std::int64_t>(std::min(duration_ns, most_ns)));
  });
}

TableColumn count_column(const char* title, std::function<double(std::size_t row)> number) {
  return number_column(title, std::move(number),
                       [](double count) { return count_text(static_cast<std::uint64_t>(count)); });
}

TableColumn share_column(const char* title, std::function<double(std::size_t row)> number) {
  TableColumn column =
      number_column(title, std::move(number), [](double share) { return value_text(100 * share, "%"); });
  column.has_bar = true;
  return column;
}

void Table::sort_by(std::size_t column) {
  if (are_numbers_.empty()) {
    wanted_columns_.push_back(column);
  } else if (column < are_numbers_.size()) {
    is_falling_ = column == column_ ? !is_falling_ : are_numbers_[column];
    column_ = column;
    is_unsorted_ = true;
    has_key_sorted_ = true;
  }
}

void Table::update(const TableRows& rows, std::uint64_t version) {
  if (version == version_ && !is_unsorted_) {
    return;
  }
  version_ = version;
  learn_columns(rows);
  is_unsorted_ = false;
  order_.clear();
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!rows.fits || rows.fits(row)) {
      order_.push_back(row);
    }
  }
  sort(rows);
}

void Table::learn_columns(const TableRows& rows) {
  are_numbers_.clear();
  for (const TableColumn& column : rows.columns) {
    are_numbers_.push_back(column.is_number());
  }
  for (const std::size_t column : std::exchange(wanted_columns_, {})) {
    sort_by(column);
  }
}

void Table::sort(const TableRows& rows) {
  if (column_ == unsorted || !sorts_rows_) {
    return;
  }
  if (rows.columns[column_].is_number()) {
    // Unknown numbers come last, whatever the direction.
    const auto place_of = [&](std::size_t row) {
      const double number = rows.number(row, column_);
      const double last = std::numeric_limits<double>::infinity();
      return std::isnan(number) ? last : is_falling_ ? -number : number;
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
    return;
  }
  std::vector<std::string> texts(rows.count);
  for (const std::size_t row : order_) {
    texts[row] = rows.text(row, column_);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return is_falling_ ? texts[a] > texts[b] : texts[a] < texts[b];
  });
}

std::optional<std::size_t> Table::neighbour(std::optional<std::size_t> row, bool down) const {
  if (order_.empty()) {
    return std::nullopt;
  }
  const auto at = row ? std::find(order_.begin(), order_.end(), *row) : order_.end();
  if (at == order_.end()) {
    return order_.front();
  }
  const bool is_last = down ? at + 1 == order_.end() : at == order_.begin();
  return is_last ? *at : down ? *(at + 1) : *(at - 1);
}

void Table::draw_cell(const TableRows& rows, std::size_t row, std::size_t column, const Theme& theme) const {
  const std::string text = rows.text(row, column);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  if (rows.columns[column].has_bar) {
    const auto share = static_cast<float>(std::clamp(rows.number(row, column), 0.0, 1.0));
    Canvas(ImGui::GetWindowDrawList())
        .fill(at.x, at.y, at.x + room * share, at.y + ImGui::GetTextLineHeight(), fade(theme.metric, 0.4F));
  }
  if (rows.columns[column].is_number()) {
    const float width = text_width(text);
    ImGui::SetCursorScreenPos(ImVec2(at.x + std::max(room - width, 0.0F), at.y));
  }
  say(text);
}

std::optional<std::size_t> Table::draw(const TableRows& rows, std::optional<std::size_t> chosen, float height,
                                       const Theme& theme) {
  std::optional<std::size_t> clicked;
  constexpr ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable |
                                    ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_RowBg |
                                    ImGuiTableFlags_BordersInnerV;
  const ImGuiTableFlags may_be_unsorted = column_ == unsorted ? ImGuiTableFlags_SortTristate : ImGuiTableFlags_None;
  // Where columns would be cut, the table scrolls sideways and the first one stays.
  float weights = 0;
  for (const TableColumn& column : rows.columns) {
    weights += column.weight;
  }
  const float least_width = weights * ImGui::GetFontSize() * 3.9F;
  const bool scrolls = least_width > ImGui::GetContentRegionAvail().x;
  if (!ImGui::BeginTable(id_, static_cast<int>(rows.columns.size()),
                         flags | may_be_unsorted | (scrolls ? ImGuiTableFlags_ScrollX : ImGuiTableFlags_None),
                         ImVec2(0, height), scrolls ? least_width : 0)) {
    return clicked;
  }
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    ImGui::TableSetupColumn(rows.columns[column].title,
                            (column == column_ ? ImGuiTableColumnFlags_DefaultSort : ImGuiTableColumnFlags_None) |
                                ((column == column_ ? is_falling_ : rows.columns[column].is_number())
                                     ? ImGuiTableColumnFlags_PreferSortDescending
                                     : ImGuiTableColumnFlags_None),
                            rows.columns[column].weight);
  }
  if (std::exchange(has_key_sorted_, false)) {
    ImGui::TableSetColumnSortDirection(
        static_cast<int>(column_), is_falling_ ? ImGuiSortDirection_Descending : ImGuiSortDirection_Ascending, false);
  }
  ImGui::TableSetupScrollFreeze(scrolls ? 1 : 0, 1);
  ImGui::TableHeadersRow();
  if (ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
      specs != nullptr && specs->SpecsDirty && specs->SpecsCount > 0) {
    specs->SpecsDirty = false;
    column_ = std::min(static_cast<std::size_t>(specs->Specs[0].ColumnIndex), rows.columns.size() - 1);
    is_falling_ = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
    sort(rows);
  }
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(order_.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const std::size_t row = order_[static_cast<std::size_t>(i)];
      ImGui::TableNextRow();
      for (std::size_t column = 0; column < rows.columns.size(); ++column) {
        ImGui::TableNextColumn();
        if (column == 0) {
          const ImVec2 at = ImGui::GetCursorScreenPos();
          ImGui::PushID(static_cast<int>(row));
          if (ImGui::Selectable("##row", row == chosen, ImGuiSelectableFlags_SpanAllColumns)) {
            clicked = row;
          }
          ImGui::PopID();
          ImGui::SetCursorScreenPos(at);
        }
        draw_cell(rows, row, column, theme);
      }
    }
  }
  ImGui::EndTable();
  return clicked;
}

std::optional<CopyAs> draw_copy_buttons(std::array<Area, 2>& areas) {
  std::optional<CopyAs> clicked;
  const auto draw = [&](const char* label, CopyAs as) {
    if (ImGui::SmallButton(label)) {
      clicked = as;
    }
    areas[static_cast<std::size_t>(as)] = last_item();
  };
  draw("Copy", CopyAs::text);
  ImGui::SameLine(0, ImGui::GetFontSize() * 0.4F);
  draw("Copy CSV", CopyAs::csv);
  return clicked;
}

std::string Table::copied(const TableRows& rows, CopyAs as) const {
  return as == CopyAs::csv ? csv(rows) : aligned(rows);
}

std::vector<std::size_t> Table::order_within(const TableRows& rows) const {
  std::vector<std::size_t> left;
  std::copy_if(order_.begin(), order_.end(), std::back_inserter(left),
               [&rows](std::size_t row) { return row < rows.count; });
  return left;
}

std::string Table::aligned(const TableRows& rows) const {
  const auto width_of = [](std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  };
  const std::vector<std::size_t> order = order_within(rows);
  std::vector<std::vector<std::string>> lines(order.size() + 1);
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    lines[0].emplace_back(rows.columns[column].title);
    widths.push_back(width_of(lines[0].back()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      lines[i + 1].push_back(rows.text(order[i], column));
      widths.back() = std::max(widths.back(), width_of(lines[i + 1].back()));
    }
  }
  std::string out;
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t column = 0; column < rows.columns.size(); ++column) {
      const std::string padding(widths[column] - width_of(line[column]), ' ');
      out += column == 0 ? "" : "  ";
      out += rows.columns[column].is_number() ? padding + line[column] : line[column] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string Table::csv(const TableRows& rows) const {
  std::string out;
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    out += column == 0 ? "" : ",";
    base::append_csv_field(out, rows.columns[column].title);
  }
  out += '\n';
  for (const std::size_t row : order_within(rows)) {
    for (std::size_t column = 0; column < rows.columns.size(); ++column) {
      out += column == 0 ? "" : ",";
      if (rows.columns[column].is_number()) {
        append_number(out, rows.number(row, column));
      } else {
        base::append_csv_field(out, rows.text(row, column));
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace kymo::panel
