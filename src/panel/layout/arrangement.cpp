// What the user arranged, by the names of rows.
#include "panel/layout/arrangement.hpp"

#include <algorithm>
#include <utility>

#include "base/text/number_text.hpp"
#include "panel/draw/text.hpp"
#include "panel/layout/metric_heat.hpp"

namespace kymo::panel {

namespace {

/// Takes a word and the blank behind it off a text.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

void KeptRows::add(ArrangedRow row) {
  const auto is_named = [&row](const ArrangedRow& other) { return other.name == row.name; };
  if (!row.name.empty() && rows_.size() < most_rows && std::none_of(rows_.begin(), rows_.end(), is_named)) {
    rows_.push_back(std::move(row));
  }
}

void KeptRows::declare(std::uint32_t id, const std::string& name, RowOrder& order) {
  const std::string plain = clean_text(name, most_name);
  if (plain.empty() || names_.count(id) != 0 || names_.size() >= most_rows) {
    return;
  }
  std::string own = plain;
  for (std::size_t number = 2; ids_.count(own) != 0; ++number) {
    own = plain + " (" + std::to_string(number) + ")";
  }
  names_.emplace(id, own);
  ids_.emplace(own, id);
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&own](const ArrangedRow& one) { return one.name == own; });
  if (row == rows_.end()) {
    return;
  }
  order.set_look(id, row->look);
  if (row->is_moved) {
    place_moved(order);
  }
  version_ = order.version();
}

void KeptRows::place_moved(RowOrder& order) const {
  std::vector<std::uint32_t> moved;
  for (const ArrangedRow& row : rows_) {
    if (const auto id = ids_.find(row.name); row.is_moved && id != ids_.end()) {
      moved.push_back(id->second);
    }
  }
  order.set_moved(std::move(moved));
}

bool KeptRows::take_changes(const RowOrder& order) {
  if (version_ == order.version()) {
    return false;
  }
  version_ = order.version();
  const std::vector<ArrangedRow> before = std::exchange(rows_, {});
  const auto add_row = [&](std::uint32_t id, bool is_moved) {
    const auto name = names_.find(id);
    if (const RowLook look = order.look_of(id); name != names_.end() && (is_moved || !(look == RowLook()))) {
      add({name->second, look, is_moved});
    }
  };
  for (const std::uint32_t id : order.moved()) {
    add_row(id, true);
  }
  // What this capture does not have stays as it was.
  for (const ArrangedRow& row : before) {
    if (const auto id = ids_.find(row.name); id == ids_.end()) {
      add(row);
    } else {
      add_row(id->second, false);
    }
  }
  for (const auto& [id, name] : names_) {
    add_row(id, false);
  }
  return true;
}

bool Arrangement::keep(const Declarations& declarations, RowOrder& metrics, RowOrder& tracks) {
  const bool has_new_metrics = metrics_.take_changes(metrics);
  const bool is_changed = tracks_.take_changes(tracks) || has_new_metrics;
  if (declared_metrics_ != declarations.metrics.size()) {
    declared_metrics_ = declarations.metrics.size();
    for (const MetricDeclaration& metric : declarations.metrics) {
      std::string name = metric.name;
      for (const auto& [key, value] : metric.labels) {
        name += ' ' + value;
      }
      metrics_.declare(metric.id.value(), name, metrics);
    }
    for (const timeline::MetricFamily& family : timeline::metric_families(declarations.metrics)) {
      metrics_.declare(row_of(family), family.name + " of each " + family.label, metrics);
    }
  }
  if (declared_tracks_ != declarations.tracks.size()) {
    declared_tracks_ = declarations.tracks.size();
    for (const TrackDeclaration& track : declarations.tracks) {
      tracks_.declare(track.id.value(), track.name, tracks);
    }
  }
  return is_changed;
}

std::string Arrangement::format() const {
  std::string text = target_ns_ == 0 ? std::string() : "target " + std::to_string(target_ns_) + '\n';
  const auto add = [&text](const char* kind, const KeptRows& kept) {
    for (const ArrangedRow& row : kept.rows()) {
      std::string done = row.look.is_pinned ? "p" : "";
      done += row.look.is_hidden ? "h" : "";
      done += row.is_moved ? "m" : "";
      text += std::string(kind) + ' ' + (done.empty() ? "-" : done) + ' ' + std::to_string(row.look.height) + ' ' +
              row.name + '\n';
    }
  };
  add("metric", metrics_);
  add("track", tracks_);
  return text;
}

Arrangement Arrangement::parse(std::string_view text) {
  Arrangement arrangement;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view kind = take_word(line);
    const std::string_view done = take_word(line);
    if (kind == "target") {
      constexpr std::int64_t least_ns = 10'000;
      constexpr std::int64_t most_ns = 100'000'000'000;
      const std::int64_t target_ns = base::parse_integer<std::int64_t>(done).value_or(0);
      arrangement.target_ns_ = target_ns >= least_ns && target_ns <= most_ns ? target_ns : arrangement.target_ns_;
    } else if (kind == "metric" || kind == "track") {
      const auto height = base::parse_integer<std::int64_t>(take_word(line));
      if (height && done.find_first_not_of("phm-") == std::string_view::npos) {
        const auto has = [done](char what) { return done.find(what) != std::string_view::npos; };
        const auto steps =
            static_cast<int>(std::clamp<std::int64_t>(*height, -RowOrder::most_steps, RowOrder::most_steps));
        (kind == "metric" ? arrangement.metrics_ : arrangement.tracks_)
            .add({clean_text(line, KeptRows::most_name), {has('p'), has('h'), steps}, has('m')});
      }
    }
  }
  return arrangement;
}

}  // namespace kymo::panel
