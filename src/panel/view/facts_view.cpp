// The facts of the selected span or message.
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

std::string holder_text(std::string_view holder) {
  return holder.empty() ? std::string("who held the lock is not known")
                        : "the lock was held by " + clean_text(holder, 120);
}

void PanelView::draw_facts() {
  ImGui::BeginChild("facts", ImVec2(0, 0), true);
  ImGui::PushTextWrapPos(0);
  facts_.clear();
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
  ImGui::PopTextWrapPos();
  ImGui::EndChild();
}

void PanelView::tell_span(const std::function<void(const std::string&)>& tell) {
  const SpanKey& key = *state_.selected();
  const BlockProvider& provider = state_.data().provider();
  std::string where = look_of(key.name, key.named).text + "   from " +
                      duration_text(length_between(state_.data().range().start_ns, key.start_ns)) + "   on " +
                      title_of(provider.track(key.track));
  if (!key.named) {
    const SiteDeclaration& site = provider.site(key.name);
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
  std::string times = "duration " + duration_text(span.duration_ns) + "   self " + duration_text(span.self_ns);
  times += (span.flags & Span::self_is_bound) != 0 ? " at most" : "";
  times += (span.flags & Span::unbalanced) != 0 ? "   did not close itself" : "";
  times += (span.flags & Span::open) != 0 ? "   still open" : "";
  times += (span.flags & Span::end_unknown) != 0 ? "   its end is not known" : "";
  if (provider.track(key.track).kind != TrackKind::async) {
    times += "   " + joules_text(state_.data().span_energy(), span.duration_ns);
  }
  tell(times);
  if (provider.track(key.track).role == TrackRole::lock && span.category != 0) {
    tell("by " + clean_text(provider.name(span.category), 120));
  }
  std::string arguments;
  for (const auto& [name, value] : facts->arguments) {
    arguments += (arguments.empty() ? "" : "   ") + clean_text(name, 40) + "=" + clean_text(value, 300);
  }
  if (!arguments.empty()) {
    tell(arguments);
  }
}

}  // namespace kymo::panel
