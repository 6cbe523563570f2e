// Draws verdicts and distributions.
#include "panel/compare/verdict_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "stats/common/value_axis.hpp"

namespace kymo::panel {

namespace {

using stats::ComparedThing;
using stats::Interval;

double share_of(double difference, double base) {
  const double share = difference / std::fabs(base);
  return std::isfinite(share) ? share : 0;
}

std::string percent_text(double share) {
  return (share > 0 ? "+" : "") + stats::value_text(100 * share, "%", {3, false});
}

std::string change_text(double difference, double base) {
  return base == 0 ? "-" : percent_text(share_of(difference, base));
}

std::string interval_text(const std::optional<Interval>& shares) {
  if (!shares || !std::isfinite(shares->low) || !std::isfinite(shares->high)) {
    return {};
  }
  // With the digits of the change, which otherwise seems to be outside.
  const auto signed_text = [](double share, const char* unit) {
    return (share > 0 ? "+" : "") + stats::value_text(100 * share, unit, {3, false});
  };
  return signed_text(shares->low, "") + " to " + signed_text(shares->high, "%");
}

std::string p_text(const std::optional<double>& p_value) {
  return !p_value ? "" : *p_value < 1e-4 ? "<0.0001" : stats::value_text(*p_value, "", {2, false});
}

TableRows verdict_rows(const std::vector<ComparedThing>& things, const char* filter) {
  const auto name = [&things](std::size_t row) {
    const stats::ThingName& thing = things[row].name;
    return (thing.kind == stats::ThingKind::site ? "" : std::string(name_of(thing.kind)) + " ") + title_of(thing);
  };
  const auto verdict = [&things](std::size_t row) { return std::string(name_of(things[row].verdict)); };
  const auto median_column = [&things](const char* title, auto side) {
    const auto median = [&things, side](std::size_t row) { return (things[row].*side).median; };
    const auto text = [&things, median](std::size_t row) { return value_text(median(row), things[row].name.unit); };
    return TableColumn{title, 1.15F, text, median};
  };
  const auto change_column_text = [&things](std::size_t row) {
    return change_text(things[row].median_difference(), things[row].base.median);
  };
  const auto change = [&things](std::size_t row) {
    return share_of(things[row].median_difference(), things[row].base.median);
  };
  const auto p95_text = [&things](std::size_t row) {
    return things[row].p95 ? change_text(things[row].p95_difference(), things[row].base.p95) : "";
  };
  const auto p95 = [&things](std::size_t row) {
    return things[row].p95 ? share_of(things[row].p95_difference(), things[row].base.p95) : 0;
  };
  const auto samples_column = [&things](const char* title, auto side) {
    return count_column(title,
                        [&things, side](std::size_t row) { return static_cast<double>((things[row].*side).count); });
  };
  return {things.size(),
          {{"name", 3, name},
           {"verdict", 1.5F, verdict},
           median_column("base p50", &ComparedThing::base),
           median_column("new p50", &ComparedThing::changed),
           {"change", 1, change_column_text, change},
           {"95 %", 2.3F, [&things](std::size_t row) { return interval_text(things[row].median_share); }},
           {"p95", 1, p95_text, p95},
           samples_column("base n", &ComparedThing::base),
           samples_column("new n", &ComparedThing::changed),
           {"adj. p", 1, [&things](std::size_t row) { return p_text(things[row].adjusted_p_value); },
            [&things](std::size_t row) { return things[row].adjusted_p_value.value_or(1); }}},
          [name, filter](std::size_t row) { return contains_text(name(row), filter); }};
}

using Bins = DistributionView::Bins;
constexpr std::size_t bin_count = DistributionView::bin_count;

Bins bins_of(const std::vector<double>& values, const stats::ValueAxis& axis) {
  Bins bins{};
  for (const double value : values) {
    if (const std::size_t bin = axis.bin_of(value, bin_count); bin < bin_count) {
      bins[bin] += 1 / static_cast<double>(values.size());
    }
  }
  return bins;
}

/// A drawing of two distributions in an area of the screen.
class Drawing {
 public:
  Drawing(ImVec2 least, ImVec2 most, double highest)
      : canvas_(ImGui::GetWindowDrawList()), least_(least), most_(most), highest_(std::max(highest, 1e-12)) {}

  void fill(const Bins& bins, ImU32 colour) {
    for (std::size_t bin = 0; bin < bin_count; ++bin) {
      if (bins[bin] > 0) {
        canvas_.fill(x_of(bin), y_of(bins[bin]), x_of(bin + 1), most_.y, colour);
      }
    }
  }
  void outline(const Bins& bins, ImU32 colour) {
    constexpr float thickness = 2;
    float before = most_.y;
    for (std::size_t bin = 0; bin <= bin_count; ++bin) {
      const float y = bin < bin_count ? y_of(bins[bin]) : most_.y;
      canvas_.fill(x_of(bin) - thickness / 2, std::min(before, y), x_of(bin) + thickness / 2,
                   std::max(before, y) + thickness / 2, colour);
      if (bin < bin_count) {
        canvas_.fill(x_of(bin), y - thickness / 2, x_of(bin + 1), y + thickness / 2, colour);
      }
      before = y;
    }
  }
  /// A line over the whole height.
  void mark(double share, ImU32 colour, bool is_dashed) {
    if (!(share >= 0 && share <= 1)) {
      return;
    }
    const float x = least_.x + static_cast<float>(share) * (most_.x - least_.x);
    const float step = is_dashed ? 8 : most_.y - least_.y;
    for (float y = least_.y; y < most_.y; y += step) {
      canvas_.fill(x, y, x + 2, std::min(y + (is_dashed ? step / 2 : step), most_.y), colour);
    }
  }

 private:
  [[nodiscard]] float x_of(std::size_t bin) const {
    return least_.x + (most_.x - least_.x) * static_cast<float>(bin) / static_cast<float>(bin_count);
  }
  [[nodiscard]] float y_of(double share) const {
    return most_.y - static_cast<float>(share / highest_) * (most_.y - least_.y);
  }

  Canvas canvas_;
  ImVec2 least_;
  ImVec2 most_;
  double highest_;
};

}  // namespace

std::string title_of(const stats::ThingName& name) {
  if (name.name.empty()) {
    return name.kind == stats::ThingKind::frames ? "(main)" : "(no name)";
  }
  return clean_text(name.labels.empty() ? name.name : name.name + ' ' + name.labels);
}

std::optional<std::size_t> VerdictTable::draw(const Judged& judged, std::uint64_t version, const Theme& theme) {
  filter_.draw();
  const TableRows rows = verdict_rows(judged.comparison.things, filter_.text());
  table_.update(rows, filter_.version() + version);
  ImGui::SameLine(0, ImGui::GetFontSize());
  std::array<Area, 2> areas;
  if (const auto as = draw_copy_buttons(areas)) {
    ImGui::SetClipboardText(table_.copied(rows, *as).c_str());
  }
  ImGui::SameLine(0, ImGui::GetFontSize());
  say(verdicts_text(judged.comparison));
  for (const std::string& warning : judged.warnings) {
    say("! " + warning);
  }
  const auto clicked = table_.draw(rows, chosen_, ImGui::GetContentRegionAvail().y, theme);
  chosen_ = clicked ? clicked : chosen_;
  return clicked;
}

std::optional<std::size_t> VerdictTable::choose_next(bool down) {
  chosen_ = table_.neighbour(chosen_, down);
  return chosen_;
}

std::string VerdictTable::copied(const Judged& judged, CopyAs as) const {
  return table_.copied(verdict_rows(judged.comparison.things, filter_.text()), as);
}

DistributionView::DistributionView(const ComparedThing& thing)
    : DistributionView(thing, thing.base_samples->pooled(), thing.changed_samples->pooled()) {}

DistributionView::DistributionView(const ComparedThing& thing, const std::vector<double>& base,
                                   const std::vector<double>& changed)
    : title_(title_of(thing.name) + "   " + change_text(thing.median_difference(), thing.base.median)),
      base_text_("base, filled: median " + value_text(thing.base.median, thing.name.unit)),
      new_text_("new, outlined: median " + value_text(thing.changed.median, thing.name.unit)),
      unit_(thing.name.unit),
      base_median_(thing.base.median),
      new_median_(thing.changed.median),
      axis_(stats::axis_of_both(base, changed)),
      base_(bins_of(base, axis_)),
      changed_(bins_of(changed, axis_)) {
  if (const std::string interval = interval_text(thing.median_share); !interval.empty()) {
    title_ += " (" + interval + ")";
  }
}

void DistributionView::draw(const Theme& theme) const {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float line = ImGui::GetTextLineHeightWithSpacing();
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.text(at.x, at.y, room.x, theme.text, title_);
  canvas.text(at.x, at.y + line, room.x, base_colour(theme), base_text_);
  canvas.text(at.x, at.y + 2 * line, room.x, new_colour(theme), new_text_);
  if (room.y < 5 * line) {
    return;
  }
  const ImVec2 least(at.x, at.y + 3 * line + 2);
  const ImVec2 most(at.x + room.x, at.y + room.y - line);
  canvas.fill(least.x, least.y, most.x, most.y, theme.back);
  const double highest =
      std::max(*std::max_element(base_.begin(), base_.end()), *std::max_element(changed_.begin(), changed_.end()));
  Drawing drawing(least, most, highest * 1.05);
  drawing.fill(base_, fade(base_colour(theme), 0.6F));
  drawing.outline(changed_, new_colour(theme));
  drawing.mark(axis_.share_at(base_median_), base_colour(theme), true);
  drawing.mark(axis_.share_at(new_median_), new_colour(theme), false);
  const auto label = [&](double share, float where) {
    const std::string text = value_text(axis_.value_at(share), unit_);
    const float width = text_width(text) + 1;
    canvas.text(at.x + static_cast<float>(share) * room.x - width * where, most.y, width, theme.faint_text, text);
  };
  label(0, 0);
  label(0.5, 0.5F);
  label(1, 1);
}

}  // namespace kymo::panel
