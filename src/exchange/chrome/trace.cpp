#include "exchange/chrome/trace.hpp"

#include <algorithm>
#include <limits>

#include "base/text/json_text.hpp"
#include "base/time_math.hpp"
#include "capture/summary/scope_matcher.hpp"

namespace kymo::exchange {
namespace {

constexpr std::size_t no_depth = std::numeric_limits<std::size_t>::max();

/// The depth of the innermost scope after the first `position` events; no_depth if none is open.
std::size_t innermost_after(const ScopeRun& run, std::size_t position) {
  position = std::min(position, run.events.size());
  if (position == 0) {
    return run.open_at_start.size() - 1;
  }
  const ScopeEvent& event = run.events[position - 1];
  return std::size_t{event.depth} - (event.is_open() ? 0 : 1);
}

}  // namespace

ChromeTraceWriter::ChromeTraceWriter(base::OutputFile file, TraceContainer container)
    : stream_(std::move(file), container), names_(stream_), last_ns_(std::numeric_limits<std::int64_t>::min()) {}

ChromeTraceWriter::~ChromeTraceWriter() = default;

void ChromeTraceWriter::write(const EventBatch& batch) {
  if (is_finished_) {
    return;
  }
  names_.declare(batch.declarations);
  for (const ScopeRun& run : batch.runs) {
    write_run(run, batch);
  }
  last_ns_ = std::max(last_ns_, batch.end_ns);
  write_spans(batch);
  write_async_begins(batch);
  write_frames(batch);
  write_samples(batch);
  // A viewer binds a flow to the last event it read of those open at that nanosecond, so instants must come later.
  write_flows(batch);
  write_instants(batch);
  stream_.spill();
}

void ChromeTraceWriter::finish(const SpanList& open_spans) {
  if (is_finished_) {
    return;
  }
  is_finished_ = true;
  for (const auto& track : names_.tracks()) {
    for (std::size_t depth = track->stack.depth(); depth > 0; --depth) {
      end_early(*track, {depth - 1, last_ns_, "open"});
    }
    order_equal_scopes();
  }
  for (const auto& thread : names_.threads()) {
    if (const auto last = thread->states.finish()) {
      write_state(*thread, *last);
    }
  }
  for (const Span& span : open_spans.spans) {
    const auto lost =
        (span.flags & Span::end_unknown) != 0 ? open_async_.find({span.track, span.async_id}) : open_async_.end();
    if (lost != open_async_.end()) {
      end_async(*lost, {0, span.end_ns(), "end_lost"});
      open_async_.erase(lost);
    }
  }
  for (const auto& open : open_async_) {
    end_async(open, {0, last_ns_, "open"});
  }
  std::string facts;
  for (const auto& [key, value] : names_.facts()) {
    facts += facts.empty() ? "" : ",";
    base::append_json_string(facts, key);
    facts += ':';
    base::append_json_string(facts, value);
  }
  stream_.finish(facts);
}

void ChromeTraceWriter::end_async(const AsyncSpans::value_type& open, const Ending& ending) {
  append_async(names_.track(open.first.first), 'e', names_.name(open.second.name), {}, open.second.lane_id,
               std::max(ending.end_ns, open.second.start_ns));
  stream_.pending().append(",\"args\":{\"").append(ending.mark).append("\":true}}");
}

void ChromeTraceWriter::write_run(const ScopeRun& run, const EventBatch& batch) {
  ChromeTrack& track = names_.track(run.track);
  write_lost(track, run);
  std::size_t next = 0;
  const auto take_arguments = [&](std::size_t position) {
    for (; next < run.arguments.size() && run.arguments[next].position <= position; ++next) {
      const ScopeArgument& argument = run.arguments[next];
      const std::size_t depth = innermost_after(run, argument.position);
      if (depth != no_depth) {
        track.arguments.add(depth, names_.name(argument.value.name), argument.value, batch.text);
      }
    }
  };
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();
  capture::match(run, track.stack, [&](const capture::ScopeSpan& span) {
    take_arguments(span.close_event);
    const bool is_unbalanced = (span.flags & capture::ScopeSpan::unbalanced) != 0;
    if (is_unbalanced) {
      track.arguments.add_mark(span.depth, "unbalanced");
    }
    const std::int64_t end_ns = run.events[span.close_event].time_ns;
    const std::size_t following = std::size_t{span.close_event} + 1;
    const bool end_is_shared = is_unbalanced || end_ns == last_end_ns || following >= run.events.size() ||
                               run.events[following].time_ns == end_ns;
    last_end_ns = end_ns;
    write_scope(track, span.site, {span.start_ns, span.duration_ns, end_is_shared}, span.depth);
  });
  take_arguments(std::numeric_limits<std::size_t>::max());
  order_equal_scopes();
  track.last_ns = batch.end_ns;
  write_drops(track, run, batch.end_ns);
}

/// Ends the scopes that were open on the track and are not open any more: their ends are in a missing part.
void ChromeTraceWriter::write_lost(ChromeTrack& track, const ScopeRun& run) {
  const std::size_t depth = track.stack.depth();
  const std::size_t kept = track.stack.count_kept(run);
  for (std::size_t lost = depth; lost > kept; --lost) {
    end_early(track, {lost - 1, track.last_ns, "end_lost"});
  }
}

void ChromeTraceWriter::end_early(ChromeTrack& track, const Ending& ending) {
  const capture::ScopeStack::Level open = track.stack[ending.depth];
  track.arguments.add_mark(ending.depth, ending.mark);
  write_scope(track, open.site, {open.start_ns, base::length_between(open.start_ns, ending.end_ns), true},
              ending.depth);
}

void ChromeTraceWriter::write_scope(ChromeTrack& track, SiteId site, const Bar& bar, std::size_t depth) {
  // Scopes end from the inside out. Of two bars with the same start and end, viewers draw the first one around the
  // second.
  if (bar.start_ns != equal_bar_.start_ns || bar.duration_ns != equal_bar_.duration_ns || depth + 1 != equal_depth_) {
    order_equal_scopes();
    stream_.spill();
  }
  equal_bar_ = bar;
  equal_depth_ = depth;
  equal_scopes_.push_back(stream_.position());

  std::string& out = stream_.begin_event();
  const std::size_t event = out.size();
  out += names_.site(site);
  base::append_microseconds(out, bar.start_ns);
  out += ",\"dur\":";
  if (bar.end_is_shared) {
    base::append_duration_until_end(out, bar.start_ns, bar.duration_ns);
  } else {
    base::append_microseconds(out, bar.duration_ns);
  }
  out += track.place;
  if (!track.arguments.empty()) {
    const std::size_t arguments = out.size();
    track.arguments.take(depth, out);
    if (edit_ != nullptr) {
      edit_(out, event, arguments);
    }
  }
  out += '}';
}

void ChromeTraceWriter::order_equal_scopes() {
  stream_.reverse(equal_scopes_);
  equal_scopes_.clear();
  equal_depth_ = 0;
}

void ChromeTraceWriter::write_drops(ChromeTrack& track, const ScopeRun& run, std::int64_t time_ns) {
  if (run.dropped_scopes == track.dropped_scopes && run.dropped_others == track.dropped_others) {
    return;
  }
  track.dropped_scopes = run.dropped_scopes;
  track.dropped_others = run.dropped_others;
  std::string& out = begin_instant("dropped so far", {}, "kymo", time_ns, run.track, false);
  out += ",\"args\":{\"scopes\":";
  base::append_json_integer(out, run.dropped_scopes);
  out += ",\"others\":";
  base::append_json_integer(out, run.dropped_others);
  out += "}}";
}

}  // namespace kymo::exchange
