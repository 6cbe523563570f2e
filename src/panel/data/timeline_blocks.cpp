// Provides captures to the panel.
#include "panel/data/timeline_blocks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include <kymo/statistics.hpp>

#include "base/system/clock.hpp"
#include "panel/data/time_math.hpp"
#include "timeline/unwritten.hpp"

namespace kymo::panel {

namespace {

constexpr std::int64_t refresh_period_ns = 20'000'000;
constexpr std::int64_t look_period_ns = 1'000'000'000;
/// After a failed read: a file may have been truncated for good, or a server may be back in a moment.
constexpr std::int64_t pause_after_failure_ns = 1'000'000'000;

}  // namespace

TimelineBlocks::TimelineBlocks(Timeline timeline, LookForMore look_for_more)
    : timeline_(std::move(timeline)), look_for_more_(std::move(look_for_more)) {
  take_over();
  arrival_ = find_arrival();
  last_look_ns_ = base::monotonic_now_ns();
}

Arrival TimelineBlocks::look_for_process(const CaptureReader& capture) {
  return timeline::look_for_writer(capture) == timeline::Writer::gone ? Arrival::cut_off : Arrival::recording;
}

Arrival TimelineBlocks::find_arrival() const {
  bool has[4] = {};
  for (std::size_t i = 0; i < timeline_.capture_count(); ++i) {
    const CaptureReader& capture = timeline_.capture(i);
    has[static_cast<std::size_t>(capture.is_closed() ? Arrival::complete : look_for_more_(capture))] = true;
  }
  for (const Arrival arrival : {Arrival::recording, Arrival::unreachable, Arrival::cut_off}) {
    if (has[static_cast<std::size_t>(arrival)]) {
      return arrival;
    }
  }
  return Arrival::complete;
}

void TimelineBlocks::take_over() {
  blocks_ = timeline::list_blocks(timeline_);
  bool is_complete = true;
  range_ = timeline_.range();
  facts_ = {};
  for (std::size_t i = 0; i < timeline_.capture_count(); ++i) {
    const CaptureReader& capture = timeline_.capture(i);
    is_complete = is_complete && capture.is_closed();
    for (const TrackTotals& track : capture.end().tracks) {
      facts_.dropped_scopes += track.dropped_scopes;
      facts_.dropped_others += track.dropped_others;
    }
    for (const auto& [name, value] : capture.end().facts) {
      facts_.collector_cpu_ns += name == "collector_cpu_ns" ? value : 0;
      facts_.lost_stacks += name == "stacks_lost" || name == "stacks_left_out" ? value : 0;
      if (name == "empty_scope_ps") {
        facts_.empty_scope_ns = std::max(facts_.empty_scope_ns, static_cast<double>(value) / 1e3);
      }
    }
  }
  facts_.knows_drops = is_complete;
  arrival_ = is_complete ? Arrival::complete : arrival_;
  facts_.collector_wall_ns = static_cast<std::uint64_t>(length_between(range_.start_ns, range_.end_ns));
}

bool TimelineBlocks::refresh() {
  const std::int64_t now = base::monotonic_now_ns();
  if (arrival_ == Arrival::complete || now - last_refresh_ns_ < refresh_period_ns) {
    return false;
  }
  const bool looks = now - last_look_ns_ >= look_period_ns;
  if (!looks && !is_live()) {
    return false;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return false;
  }
  last_refresh_ns_ = now;
  // Looked at before reading: what a process writes in its last moments is read too.
  const Arrival before = arrival_;
  if (looks) {
    arrival_ = find_arrival();
    last_look_ns_ = now;
  }
  bool has_grown = false;
  try {
    has_grown = timeline_.refresh();
  } catch (const std::exception&) {
    last_refresh_ns_ = now + pause_after_failure_ns;  // what was read stays on the screen
  }
  if (has_grown) {
    // Something else may write: a file that is being copied grows too.
    arrival_ = before == Arrival::cut_off ? Arrival::recording : arrival_;
    take_over();
  }
  return has_grown || arrival_ != before;
}

std::size_t TimelineBlocks::capture_of(FrameStreamId stream) const {
  const ProcessId process = timeline_.frame_stream(stream).process;
  return process ? timeline_.process(process).capture : 0;
}

std::shared_ptr<const EventBatch> TimelineBlocks::read(std::size_t capture, std::size_t number,
                                                       BatchParts parts) const {
  auto batch = std::make_shared<EventBatch>();
  const std::shared_lock lock(mutex_);
  return timeline::read_block(timeline_, capture, number, parts, *batch) ? batch : nullptr;
}

bool TimelineBlocks::read_summary(std::size_t capture, std::size_t place, Detail& out) const {
  const std::shared_lock lock(mutex_);
  return capture < blocks_.size() && place < blocks_[capture].summaries.size() &&
         timeline::read_summary(timeline_, capture, blocks_[capture].summaries[place], out);
}

std::vector<stats::SiteFigures> TimelineBlocks::figures() const {
  const std::shared_lock lock(mutex_);
  return stats::figures_of_sites(timeline_);
}

std::optional<std::vector<Explanation>> TimelineBlocks::explain(const ExplainOptions& options) const {
  const std::shared_lock lock(mutex_);
  return kymo::explain(timeline_, options);
}

std::optional<EnergyExplanation> TimelineBlocks::explain_energy(const ExplainOptions& options) const {
  const std::shared_lock lock(mutex_);
  try {
    EnergyExplanation why = kymo::explain_energy(timeline_, options);
    return why.instances != 0 ? std::optional(std::move(why)) : std::nullopt;
  } catch (const SelectionError&) {
    return std::nullopt;
  }
}

std::optional<RunExplanation> TimelineBlocks::explain_run(const std::function<void(double)>& on_progress) const {
  const std::shared_lock lock(mutex_);
  return kymo::explain_run(timeline_, on_progress);
}

SpanFacts TimelineBlocks::find_span(const SpanKey& key) const {
  const std::shared_lock lock(mutex_);
  const std::int64_t end_ns =
      key.start_ns == std::numeric_limits<std::int64_t>::max() ? key.start_ns : key.start_ns + 1;
  return pick_span(key, timeline_.spans(key.track, {key.start_ns, end_ns}), *this);
}

SpanFacts pick_span(const SpanKey& key, const SpanList& spans, const BlockProvider& names) {
  SpanFacts facts;
  facts.key = key;
  std::map<std::uint16_t, SpanKey> around;
  for (const Span& span : spans.spans) {
    const std::int64_t end_ns = add_length(span.start_ns, span.duration_ns);
    if (!base::is_name(key.what) && span.site && span.depth < key.depth && span.start_ns <= key.start_ns &&
        end_ns >= std::max(key.end_ns, key.start_ns)) {
      around[span.depth] = {span.track, span.site, span.depth, span.start_ns, end_ns};
    }
    const bool is_meant =
        span.start_ns == key.start_ns && (span.site ? key.what == base::SiteOrName(span.site) && span.depth == key.depth
                                                    : key.what == base::SiteOrName(span.name));
    if (!is_meant) {
      continue;
    }
    facts.is_found = true;
    facts.span = span;
    facts.arguments.clear();
    for (std::uint32_t i = 0; i < span.argument_count; ++i) {
      const ArgumentValue& value = spans.arguments[std::size_t{span.first_argument} + i];
      facts.arguments.emplace_back(
          names.name(value.name),
          text_of_argument(value, value.type == ArgumentType::string ? spans.text_of(value) : std::string_view()));
    }
  }
  for (const auto& [depth, outer] : around) {
    facts.around.push_back(outer);
  }
  return facts;
}

std::string text_of_argument(const ArgumentValue& value, std::string_view text) {
  char number[40];
  switch (value.type) {
    case ArgumentType::int64:
      return std::to_string(static_cast<std::int64_t>(value.bits));
    case ArgumentType::uint64:
      return std::to_string(value.bits);
    case ArgumentType::float64: {
      double as_number = 0;
      std::memcpy(&as_number, &value.bits, sizeof as_number);
      std::snprintf(number, sizeof number, "%.9g", as_number);
      return number;
    }
    case ArgumentType::boolean:
      return value.bits != 0 ? "true" : "false";
    case ArgumentType::string:
      return '"' + std::string(text) + (value.is_cut ? "…\"" : "\"");
  }
  return {};
}

}  // namespace kymo::panel
