#include "exchange/vor/slices.hpp"

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"
#include "exchange/common/export_names.hpp"
#include "exchange/common/json_argument.hpp"
#include "exchange/vor/format.hpp"

namespace kymo::exchange {
namespace {

/// Appends strings verbatim and all other values as JSON.
void append_value(std::string& out, const ArgumentValue& value, std::string_view text) {
  if (value.type == ArgumentType::string) {
    if (value.bits <= text.size()) {
      out += text.substr(static_cast<std::size_t>(value.bits), value.text_size);
    }
    out += value.is_cut ? base::cut_mark : std::string_view();
  } else if (!append_json_argument(out, value, text)) {
    out += "not finite";
  }
}

}  // namespace

std::size_t bytes_of(const ScopeSlice& slice) {
  return slice.scopes.size() * sizeof(FlameScope) + slice.texts.size();
}

struct TrackSlicer::Visitor {
  TrackSlicer& slicer;

  void begin(const OpenScope& scope, std::size_t /*depth*/) { slicer.open(scope.site, scope.start_ns); }
  // What ends after a mark that its track was cut at ends no earlier.
  void end(const OpenScope& /*scope*/, std::size_t /*depth*/, std::int64_t end_ns, capture::ScopeEnding /*how*/) {
    slicer.close_innermost(std::max(end_ns, slicer.last_ns_));
  }
};

void TrackSlicer::begin(const ScopeRun& run) {
  Visitor visitor{*this};
  walk_.begin(run, visitor);
}

void TrackSlicer::take(const ScopeEvent& event) {
  budget_.late_events += event.time_ns < last_ns_ ? 1 : 0;
  last_ns_ = std::max(last_ns_, event.time_ns);
  Visitor visitor{*this};
  walk_.take(event, visitor);
}

void TrackSlicer::open(SiteId site, std::int64_t start_ns) {
  if (!has_begun_) {
    has_begun_ = true;
    first_ns_ = start_ns;
    last_ns_ = std::max(last_ns_, start_ns);
  }
  Level& level = levels_.emplace_back();
  level.site = site;
  ++begun_;
  // A scope that began in a missing part begins where the track stands.
  show(level, std::max(start_ns, last_ns_), {});
  if (level.place == nowhere) {
    ++budget_.scopes_left_out;
  }
}

void TrackSlicer::show(Level& level, std::int64_t start_ns, std::string_view text) {
  level.place = nowhere;
  if (budget_.bytes + sizeof(FlameScope) + text.size() > SliceBudget::most_bytes) {
    return;
  }
  level.place = slice_.scopes.size();
  slice_.scopes.push_back({start_ns, start_ns, level.site, shown_, 0, 0});
  budget_.bytes += sizeof(FlameScope);
  ++shown_;
  if (!text.empty()) {
    set_text(slice_.scopes.back(), text);
  }
}

void TrackSlicer::set_text(FlameScope& scope, std::string_view text) {
  if (std::size_t{scope.text_begin} + scope.text_size != slice_.texts.size()) {
    scope.text_begin = static_cast<std::uint32_t>(slice_.texts.size());
  }
  budget_.bytes -= slice_.texts.size();
  slice_.texts.resize(scope.text_begin);
  slice_.texts += text;
  budget_.bytes += slice_.texts.size();
  scope.text_size = static_cast<std::uint32_t>(text.size());
}

void TrackSlicer::take_argument(std::string_view name, const ArgumentValue& value, std::string_view text) {
  if (levels_.empty() || levels_.back().place == nowhere) {
    return;
  }
  FlameScope& scope = slice_.scopes[levels_.back().place];
  const std::string_view before = std::string_view(slice_.texts).substr(scope.text_begin, scope.text_size);
  std::string whole(before);
  if (!before.empty()) {
    whole += before == continued_mark ? " " : ", ";
  }
  if (name != vor_text_argument || value.type != ArgumentType::string) {
    whole += name;
    whole += '=';
  }
  append_value(whole, value, text);
  if (before.empty() && whole.compare(0, continued_mark.size(), continued_mark) == 0) {
    // Otherwise readers would take it for the other half of a scope that ended at the mark.
    whole.insert(0, std::string(vor_text_argument) + '=');
  }
  std::string valid = valid_text(whole);
  if (valid.size() > most_flame_text) {
    ++budget_.arguments_cut;
    valid = base::cut_text(valid, most_flame_text - base::cut_mark.size());
    valid += base::cut_mark;
  }
  if (budget_.bytes + valid.size() <= SliceBudget::most_bytes) {
    set_text(scope, valid);
  } else {
    ++budget_.arguments_cut;
  }
}

void TrackSlicer::close_innermost(std::int64_t time_ns) {
  if (const std::size_t place = levels_.back().place; place != nowhere) {
    slice_.scopes[place].end_ns = std::max(slice_.scopes[place].start_ns, time_ns);
    --shown_;
  }
  levels_.pop_back();
}

ScopeSlice TrackSlicer::cut(std::int64_t mark_ns) {
  last_ns_ = std::max(last_ns_, mark_ns);
  for (const Level& level : levels_) {
    if (level.place != nowhere) {
      slice_.scopes[level.place].end_ns = std::max(slice_.scopes[level.place].start_ns, mark_ns);
    }
  }
  ScopeSlice done = std::move(slice_);
  slice_ = {};
  shown_ = 0;
  begun_ = 0;
  for (Level& level : levels_) {
    show(level, last_ns_, continued_mark);
  }
  return done;
}

}  // namespace kymo::exchange
