// The facts of the selected span or message.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

std::string marks_of(const stats::SpanJoules& joules, std::int64_t duration_ns) {
  std::string text;
  const auto add = [&text](const std::string& mark) { text += (text.empty() ? " (" : "; ") + mark; };
  if (joules.is_whole) {
    add("of the whole machine meanwhile: too long to be shared out here");
  } else if (joules.is_shared) {
    add(joules.by_cpu_time ? "estimated: shared by CPU time" : "estimated: shared equally with what ran meanwhile");
  }
  if (joules.is_estimated) {
    add("the source estimates");
  }
  if (duration_ns < joules.renewal_ns) {
    add("unresolved: the source has a new value every " + duration_text(joules.renewal_ns));
  }
  if (joules.energy.unknown_s > 0) {
    add("not read for " + value_text(joules.energy.unknown_s, "s"));
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

std::string PanelView::standing_text(const Span& span) {
  std::string text;
  if (const auto& frame = state_.pinned(); frame && frame->duration_ns > 0) {
    const std::int64_t start_ns = std::max(frame->start_ns, span.start_ns);
    const std::int64_t end_ns =
        std::min(add_length(frame->start_ns, frame->duration_ns), add_length(span.start_ns, span.duration_ns));
    if (end_ns > start_ns) {
      text += value_text(100 * static_cast<double>(end_ns - start_ns) / static_cast<double>(frame->duration_ns), "%") +
              " of the pinned frame";
    }
  }
  state_.data().keep_figures_fresh();
  for (const stats::SiteFigures& site : state_.data().figures()) {
    if (span.site && site.site == span.site && site.count > 1 && !site.bars.empty()) {
      text += (text.empty() ? "longer than about " : "   longer than about ") +
              value_text(std::round(100 * site.share_of_shorter(span.duration_ns)), "%") + " of the " +
              count_text(site.count) + " calls";
    }
  }
  return text;
}

std::string joules_text(const SpanEnergyFacts& facts, std::int64_t duration_ns) {
  switch (facts.state) {
    case SpanEnergyFacts::State::reading:
      return "joules: reading...";
    case SpanEnergyFacts::State::no_source:
      return "joules: nothing measured its power";
    case SpanEnergyFacts::State::too_long:
      return "joules: too long to be added up here";
    case SpanEnergyFacts::State::known:
      break;
  }
  const Energy& energy = facts.joules.energy;
  if (!energy.is_known()) {
    return "joules: the source was not readable";
  }
  return "joules " + value_text(energy.joules, "J") + " within " + value_text(energy.bound_joules, "J") +
         marks_of(facts.joules, duration_ns);
}

void PanelView::draw_span_buttons() {
  marks_.span_buttons.clear();
  const auto is_pressed = [this](const char* label) {
    ImGui::SameLine(0, ImGui::GetFontSize() * 0.4F);
    const bool pressed = ImGui::SmallButton(label);
    marks_.span_buttons.push_back(last_item());
    return pressed;
  };
  const SpanKey key = *state_.selected();
  if (is_pressed("Measure")) {
    state_.measure_selected();
  }
  if (base::is_name(key.what)) {
    return;
  }
  if (is_pressed("Previous")) {
    state_.jump(false);
  }
  if (is_pressed("Next")) {
    state_.jump(true);
  }
  if (!tabs_.empty() && is_pressed("All of its site")) {
    static_cast<void>(open_tab("spans"));
  }
  const SiteDeclaration& site = state_.data().provider().site(base::site_of(key.what));
  if (site.file.empty() || site.role == SiteRole::wait) {
    return;
  }
  if (options_.read_source && is_pressed(shows_source_ ? "Hide the source" : "Source")) {
    shows_source_ = !shows_source_;
  }
  if (options_.open_source && is_pressed("Edit")) {
    options_.open_source(site.file, site.line);
  }
}

std::string PanelView::source_text(const SiteDeclaration& site) {
  if (source_file_ != site.file) {
    source_file_ = site.file;
    source_ = options_.read_source(site.file);
  }
  if (source_.empty()) {
    return "the source is not on this machine: " + clean_text(site.file, 200);
  }
  constexpr std::uint32_t before = 2;
  constexpr std::uint32_t after = 7;
  std::string text;
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < source_.size() && line <= site.line + after; ++line) {
    const std::size_t end = std::min(source_.find('\n', at), source_.size());
    if (line + before >= site.line) {
      std::string number = std::to_string(line);
      number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
      text += (text.empty() ? "" : "\n") + number + (line == site.line ? " > " : "   ") +
              clean_text(std::string_view(source_).substr(at, end - at), 160);
    }
    at = end + 1;
  }
  return text.empty() ? "the source here has no line " + std::to_string(site.line) : text;
}

std::string PanelView::inner_text(const SpanFacts& facts) {
  const Span& span = facts.span;
  if (!span.site || span.duration_ns <= 0) {
    return {};
  }
  inner_.keep_fresh(state_.data(), ListKey({span.start_ns, add_length(span.start_ns, span.duration_ns)},
                                           facts.key.track.value(), {}, static_cast<std::uint16_t>(span.depth + 1)));
  constexpr std::size_t most_named = 6;
  const std::vector<InnerList::Row>& rows = inner_.list().rows;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), most_named); ++i) {
    text += (i == 0 ? "inside: " : ", ") + look_of(rows[i].site).text +
            (rows[i].count > 1 ? " " + count_text(rows[i].count) + " times " : " ") +
            duration_text(static_cast<std::int64_t>(rows[i].total_ns)) + " (" +
            value_text(100 * static_cast<double>(rows[i].total_ns) / static_cast<double>(span.duration_ns), "%") + ")";
  }
  return text + (rows.size() > most_named ? ", " + count_text(rows.size() - most_named) + " more sites" : "");
}

void PanelView::draw_facts(float height) {
  ImGui::BeginChild("facts", ImVec2(0, height), true);
  ImGui::PushTextWrapPos(0);
  facts_.clear();
  if (ImGui::SmallButton("Copy##facts")) {
    copies_facts_ = true;
  }
  if (state_.selected()) {
    draw_span_buttons();
  } else {
    ImGui::SameLine(0, ImGui::GetFontSize() * 0.5F);
  }
  const auto tell = [this](const std::string& line) {
    say(line);
    facts_ += line + "\n";
  };
  if (state_.selected()) {
    tell_span(tell);
  } else if (const auto& message = state_.message()) {
    const std::int64_t at_ns = length_between(state_.data().range().start_ns, message->time_ns);
    tell("message at " + duration_text(at_ns) + "   on " + title_of(state_.data().provider().track(message->track)) +
         (message->count > 1 ? "   the first of " + count_text(message->count) : ""));
    tell(clean_text(message->text, 2000) + (message->is_cut ? " (cut)" : ""));
  }
  if (copies_facts_) {
    ImGui::SetClipboardText(facts_.c_str());
    copies_facts_ = false;
  }
  ImGui::PopTextWrapPos();
  ImGui::EndChild();
}

void PanelView::tell_span(const std::function<void(const std::string&)>& tell) {
  const SpanKey& key = *state_.selected();
  const BlockProvider& provider = state_.data().provider();
  std::string where = look_of(key.what).text + "   from " +
                      duration_text(length_between(state_.data().range().start_ns, key.start_ns)) + "   on " +
                      title_of(provider.track(key.track));
  if (const auto* const id = std::get_if<SiteId>(&key.what)) {
    const SiteDeclaration& site = provider.site(*id);
    const bool is_wait = site.role == SiteRole::wait;
    where += "   " + (is_wait ? holder_text(site.function) + "   declared at" : clean_text(site.function, 60)) + "   " +
             clean_text(site.file, 80);
    where += site.line != 0 ? ":" + std::to_string(site.line) : "";
  }
  tell(where);
  const auto& facts = state_.data().span_facts();
  if (!facts) {
    tell("reading...");
    return;
  }
  if (!facts->is_found) {
    tell("it could not be read again");
    return;
  }
  const Span& span = facts->span;
  std::string outer;
  for (const SpanKey& around : facts->around) {
    outer += (outer.empty() ? "in " : " > ") + look_of(around.what).text;
  }
  if (!outer.empty()) {
    tell(outer);
  }
  const std::string inner = inner_text(*facts);
  // What is inside may have been read since in more blocks than the span was found in.
  const bool is_bound = (span.flags & Span::self_is_bound) != 0;
  const std::optional<std::int64_t> self_ns = is_bound ? inner_.list().self_ns : std::nullopt;
  std::string times =
      "duration " + duration_text(span.duration_ns) + "   self " + duration_text(self_ns.value_or(span.self_ns));
  times += is_bound && !self_ns ? " at most" : "";
  times += (span.flags & Span::unbalanced) != 0 ? "   did not close itself" : "";
  times += (span.flags & Span::open) != 0 ? "   still open" : "";
  times += (span.flags & Span::end_unknown) != 0 ? "   its end is not known" : "";
  if (provider.track(key.track).kind != TrackKind::async) {
    times += "   " + joules_text(state_.data().span_energy(), span.duration_ns);
  }
  times += "   exactly " + count_text(static_cast<std::uint64_t>(std::max<std::int64_t>(span.duration_ns, 0))) + " ns";
  tell(times);
  if (!inner.empty()) {
    tell(inner);
  }
  if (const std::string standing = standing_text(span); !standing.empty()) {
    tell(standing);
  }
  if (provider.track(key.track).role == TrackRole::lock && span.category) {
    tell("by " + clean_text(provider.name(span.category), 120));
  }
  std::string arguments;
  for (const auto& [name, value] : facts->arguments) {
    arguments += (arguments.empty() ? "" : "   ") + clean_text(name, 40) + "=" + clean_text(value, 300);
  }
  if (!arguments.empty()) {
    tell(arguments);
  }
  if (shows_source_ && !base::is_name(key.what) && options_.read_source) {
    tell(source_text(provider.site(base::site_of(key.what))));
  }
}

}  // namespace kymo::panel
