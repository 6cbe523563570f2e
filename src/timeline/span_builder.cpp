// Builds the spans of one track, with their arguments, from its runs.
#include "timeline/span_builder.hpp"

#include <algorithm>

namespace kymo::timeline {

namespace {

std::string_view text_of(const ArgumentValue& value, std::string_view text) {
  return value.bits <= text.size() ? text.substr(static_cast<std::size_t>(value.bits), value.text_size)
                                   : std::string_view();
}

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

}  // namespace

void append_argument(const ArgumentValue& value, std::string_view text, SpanList& out) {
  ArgumentValue copy = value;
  if (value.type == ArgumentType::string) {
    const std::string_view content = text_of(value, text);
    copy.bits = out.text.size();
    copy.text_size = static_cast<std::uint32_t>(content.size());
    out.text += content;
  }
  out.arguments.push_back(copy);
}

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
      append_argument(batch.span_arguments[i], batch.text, out);
      ++span.argument_count;
    }
    out.spans.push_back(span);
  }
}

Span SpanBuilder::span_of(std::size_t level, std::int64_t end_ns) const {
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
  span.flags = flags_of(open.flags);
  return span;
}

SpanBuilder::Place SpanBuilder::put(const Pending& pending, SpanList& out) {
  const Place place{static_cast<std::uint32_t>(out.arguments.size()),
                    static_cast<std::uint32_t>(pending.values.size())};
  for (const ArgumentValue& value : pending.values) {
    append_argument(value, pending.text, out);
  }
  return place;
}

void SpanBuilder::append_open(std::int64_t end_ns, std::uint16_t flags, SpanList& out) const {
  for (std::size_t level = 0; level < stack_.depth(); ++level) {
    Span span = span_of(level, end_ns);
    span.flags = static_cast<std::uint16_t>(span.flags | flags);
    if (level < pending_.size()) {
      const Place place = put(pending_[level], out);
      span.first_argument = place.first;
      span.argument_count = place.count;
    }
    out.spans.push_back(span);
  }
}

void SpanBuilder::end_lost(const ScopeRun& run, SpanList& out) {
  const std::size_t kept = capture::count_kept(stack_, stack_.depth(), run);
  for (std::size_t level = stack_.depth(); level > kept; --level) {
    Span span = span_of(level - 1, last_ns_);
    span.flags = static_cast<std::uint16_t>(span.flags | Span::end_unknown | Span::self_is_bound);
    if (level <= pending_.size()) {
      const Place place = put(pending_[level - 1], out);
      span.first_argument = place.first;
      span.argument_count = place.count;
    }
    out.spans.push_back(span);
  }
  for (std::size_t level = kept; level < pending_.size(); ++level) {
    pending_count_ -= pending_[level].values.size();
    pending_[level].values.clear();
    pending_[level].text.clear();
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
  ArgumentValue copy = value;
  if (value.type == ArgumentType::string) {
    const std::string_view content = text_of(value, text);
    copy.bits = pending.text.size();
    copy.text_size = static_cast<std::uint32_t>(content.size());
    pending.text += content;
  }
  pending.values.push_back(copy);
  ++pending_count_;
}

// Walks the run like the matcher. For each ending scope, in that order, notes the place of its arguments.
void SpanBuilder::assign_arguments(const ScopeRun& run, std::string_view text, SpanList& out) {
  std::size_t depth = std::min(run.open_at_start.size(), capture::deepest_scope);
  std::size_t next = 0;
  const auto end_down_to = [&](std::size_t stays) {
    while (depth > stays) {
      --depth;
      Place place;
      if (depth < pending_.size() && !pending_[depth].values.empty()) {
        place = put(pending_[depth], out);
        pending_count_ -= pending_[depth].values.size();
        pending_[depth].values.clear();
        pending_[depth].text.clear();
      }
      ended_.push_back(place);
    }
  };
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    while (next < run.arguments.size() && run.arguments[next].position <= i) {
      attach(depth, run.arguments[next++].value, text);
    }
    const ScopeEvent& event = run.events[i];
    if (event.is_open()) {
      end_down_to(event.depth);
      depth += depth < capture::deepest_scope ? 1 : 0;
    } else {
      end_down_to(event.depth);
    }
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
