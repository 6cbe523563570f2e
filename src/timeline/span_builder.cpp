// Builds the spans of one track, with their arguments, from its runs.
#include "timeline/span_builder.hpp"

#include <algorithm>

namespace kymo::timeline {

namespace {

std::uint16_t flags_of(unsigned scope_flags) {
  static_assert(capture::ScopeSpan::unbalanced == Span::unbalanced &&
                capture::ScopeSpan::self_is_bound == Span::self_is_bound);
  return static_cast<std::uint16_t>(scope_flags & (Span::unbalanced | Span::self_is_bound));
}

/// b - a; 0 if negative.
std::int64_t elapsed(std::int64_t a, std::int64_t b) {
  const auto difference = static_cast<std::int64_t>(static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a));
  return b < a || difference < 0 ? 0 : difference;
}

/// Appends an argument of a batch whose text is `text` to other arguments and their text.
void append_argument(const ArgumentValue& value, std::string_view text, std::vector<ArgumentValue>& to,
                     std::string& to_text) {
  ArgumentValue copy = value;
  if (value.type == ArgumentType::string) {
    const std::string_view content = text_of(value, text);
    copy.bits = to_text.size();
    copy.text_size = static_cast<std::uint32_t>(content.size());
    to_text += content;
  }
  to.push_back(copy);
}

}  // namespace

void append_span_events(const EventBatch& batch, TrackId track, SpanList& out) {
  for (const SpanEvent& event : batch.spans) {
    if (track && event.track != track) {
      continue;
    }
    Span span;
    span.start_ns = event.start_ns;
    span.duration_ns = std::max<std::int64_t>(event.duration_ns, 0);
    span.self_ns = span.duration_ns;
    span.async_id = event.async_id;
    span.track = event.track;
    span.name = event.name;
    span.category = event.category;
    span.first_argument = static_cast<std::uint32_t>(out.arguments.size());
    const std::size_t end =
        std::min(batch.span_arguments.size(), std::size_t{event.first_argument} + std::size_t{event.argument_count});
    for (std::size_t i = event.first_argument; i < end; ++i) {
      append_argument(batch.span_arguments[i], batch.text, out.arguments, out.text);
      ++span.argument_count;
    }
    out.spans.push_back(span);
  }
}

/// Appends the scope open at a level, up to a time, with these flags in addition to its own.
void SpanBuilder::append_span(std::size_t level, std::int64_t end_ns, unsigned flags, SpanList& out) const {
  const capture::ScopeStack::Level open = stack_[level];
  Span span;
  span.start_ns = open.start_ns;
  span.duration_ns = elapsed(open.start_ns, end_ns);
  // Scopes still open inside are not in inner_ns yet.
  std::uint64_t inner_ns = open.inner_ns;
  if (level + 1 < stack_.depth()) {
    inner_ns += static_cast<std::uint64_t>(elapsed(stack_[level + 1].start_ns, end_ns));
  }
  span.self_ns = inner_ns > static_cast<std::uint64_t>(span.duration_ns)
                     ? 0
                     : span.duration_ns - static_cast<std::int64_t>(inner_ns);
  span.track = track_;
  span.site = open.site;
  span.depth = static_cast<std::uint16_t>(level);
  span.flags = static_cast<std::uint16_t>(flags_of(open.flags) | flags);
  const Place place = put(level, out);
  span.first_argument = place.first;
  span.argument_count = place.count;
  out.spans.push_back(span);
}

SpanBuilder::Place SpanBuilder::put(std::size_t level, SpanList& out) const {
  if (level >= pending_.size() || pending_[level].values.empty()) {
    return {};
  }
  const Pending& pending = pending_[level];
  const Place place{static_cast<std::uint32_t>(out.arguments.size()),
                    static_cast<std::uint32_t>(pending.values.size())};
  for (const ArgumentValue& value : pending.values) {
    append_argument(value, pending.text, out.arguments, out.text);
  }
  return place;
}

void SpanBuilder::forget(std::size_t level) {
  if (level < pending_.size()) {
    pending_count_ -= pending_[level].values.size();
    pending_[level].values.clear();
    pending_[level].text.clear();
  }
}

void SpanBuilder::append_open(std::int64_t end_ns, std::uint16_t flags, SpanList& out) const {
  for (std::size_t level = 0; level < stack_.depth(); ++level) {
    append_span(level, end_ns, flags, out);
  }
}

void SpanBuilder::end_lost(const ScopeRun& run, SpanList& out) {
  const std::size_t kept = stack_.count_kept(run);
  for (std::size_t level = stack_.depth(); level > kept; --level) {
    append_span(level - 1, last_ns_, Span::end_unknown | Span::self_is_bound, out);
  }
  for (std::size_t level = kept; level < pending_.size(); ++level) {
    forget(level);
  }
}

void SpanBuilder::attach(std::size_t depth, const ArgumentValue& value, std::string_view text) {
  if (depth == 0) {
    return;  // an argument outside of any scope: only in damaged data
  }
  if (pending_.size() < depth) {
    pending_.resize(depth);
  }
  Pending& pending = pending_[depth - 1];
  append_argument(value, text, pending.values, pending.text);
  ++pending_count_;
}

// Walks the run like the matcher. For each ending scope, in that order, notes the place of its arguments.
void SpanBuilder::assign_arguments(const ScopeRun& run, std::string_view text, SpanList& out) {
  std::size_t depth = std::min(run.open_at_start.size(), capture::deepest_scope);
  std::size_t next = 0;
  const auto end_down_to = [&](std::size_t stays) {
    while (depth > stays) {
      --depth;
      ended_.push_back(put(depth, out));
      forget(depth);
    }
  };
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    while (next < run.arguments.size() && run.arguments[next].position <= i) {
      attach(depth, run.arguments[next++].value, text);
    }
    const ScopeEvent& event = run.events[i];
    end_down_to(event.depth);
    depth += event.is_open() && depth < capture::deepest_scope ? 1U : 0U;
  }
  for (; next < run.arguments.size(); ++next) {
    attach(depth, run.arguments[next].value, text);
  }
}

void SpanBuilder::take(const ScopeRun& run, std::string_view text, SpanList& out) {
  if (stack_.depth() != 0) {
    end_lost(run, out);
  }
  ended_.clear();
  const bool has_arguments = pending_count_ != 0 || !run.arguments.empty();
  if (has_arguments) {
    assign_arguments(run, text, out);
  }
  std::size_t ended = 0;
  capture::match(run, stack_, [&](const capture::ScopeSpan& scope) {
    Span& span = out.spans.emplace_back();
    span.start_ns = scope.start_ns;
    span.duration_ns = scope.duration_ns;
    span.self_ns = scope.self_ns;
    span.track = track_;
    span.site = scope.site;
    span.depth = scope.depth;
    span.flags = flags_of(scope.flags);
    if (has_arguments && ended < ended_.size()) {
      span.first_argument = ended_[ended].first;
      span.argument_count = ended_[ended].count;
      ++ended;
    }
  });
  if (!run.events.empty()) {
    last_ns_ = run.events.back().time_ns;
  } else if (!run.open_at_start.empty()) {
    last_ns_ = std::max(last_ns_, run.open_at_start.back().start_ns);
  }
}

SpanList spans_of_batches(const std::vector<std::shared_ptr<const EventBatch>>& batches, TrackId track) {
  SpanList list;
  SpanBuilder builder(track);
  for (const auto& batch : batches) {
    for (const ScopeRun& run : batch->runs) {
      if (run.track == track) {
        builder.take(run, batch->text, list);
      }
    }
    append_span_events(*batch, track, list);
  }
  if (!batches.empty()) {
    builder.append_open(batches.back()->end_ns, Span::open, list);
  }
  return list;
}

}  // namespace kymo::timeline
