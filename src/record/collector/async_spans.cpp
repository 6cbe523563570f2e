#include "record/collector/async_spans.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "record/collector/track_decoder.hpp"
#include "record/pool/event_words.hpp"

namespace kymo::record {

namespace {

/// Limits the memory of a program that begins async spans and never ends them.
constexpr std::size_t most_spans = 65'536;

}  // namespace

AsyncSpans::Span* AsyncSpans::find_or_add(std::uint64_t id, std::int64_t time_ns) {
  const auto found = spans_.find(id);
  if (found != spans_.end()) {
    return &found->second;
  }
  if (spans_.size() >= most_spans) {
    return nullptr;
  }
  Span& added = spans_[id];
  added.start_ns = time_ns;
  return &added;
}

void AsyncSpans::begin(const AsyncBegin& begin, EventBatch& batch) {
  if (find_or_add(begin.async_id, begin.time_ns) == nullptr) {
    ++lost_;  // a begin alone would say that it never ended
    return;
  }
  batch.async_begins.push_back(begin);
  restore(begin);
}

void AsyncSpans::restore(const AsyncBegin& begin) {
  if (Span* const span = find_or_add(begin.async_id, begin.time_ns)) {
    span->has_begun = true;
    span->track = begin.track;
    span->name = begin.name;
    span->start_ns = begin.time_ns;
  }
}

void AsyncSpans::add_argument(std::uint64_t id, std::int64_t time_ns, ArgumentValue value, std::string_view text) {
  Span* const span = find_or_add(id, time_ns);
  if (span == nullptr || span->arguments.size() >= most_span_arguments) {
    ++lost_;
    return;
  }
  if (value.type == ArgumentType::string) {
    value.bits = span->text.size();
    span->text.append(text);
  }
  span->arguments.push_back(value);
  list_without_begin(id, *span);
}

void AsyncSpans::end(std::uint64_t id, std::int64_t time_ns) {
  Span* const span = find_or_add(id, time_ns);
  lost_ += span == nullptr ? 1U : 0U;
  if (span != nullptr && !span->end_ns) {
    span->end_ns = time_ns;
    ended_.push_back(id);
    list_without_begin(id, *span);
  }
}

void AsyncSpans::list_without_begin(std::uint64_t id, Span& span) {
  if (!span.has_begun && !std::exchange(span.is_listed, true)) {
    without_begin_.push_back(id);
  }
}

void AsyncSpans::put_ended(EventBatch& batch) {
  std::erase_if(ended_, [&](std::uint64_t id) {
    const auto found = spans_.find(id);
    if (found != spans_.end() && !found->second.has_begun) {
      return false;
    }
    if (found != spans_.end()) {
      put(id, found->second, batch);
      spans_.erase(found);
    }
    return true;
  });
}

bool AsyncSpans::has_end_without_begin() {
  std::erase_if(without_begin_, [this](std::uint64_t id) {
    const auto found = spans_.find(id);
    return found == spans_.end() || found->second.has_begun;
  });
  return !without_begin_.empty();
}

void AsyncSpans::forget_without_begin(std::int64_t until_ns) {
  std::erase_if(without_begin_, [&](std::uint64_t id) {
    const auto found = spans_.find(id);
    if (found == spans_.end() || found->second.has_begun) {
      return true;
    }
    const bool is_in_vain = found->second.start_ns <= until_ns;
    if (is_in_vain) {
      spans_.erase(found);
    }
    return is_in_vain;
  });
}

void AsyncSpans::put_begins(EventBatch& batch) const {
  for (const auto& [id, span] : spans_) {
    if (span.has_begun) {
      batch.async_begins.push_back({span.track, span.name, span.start_ns, id});
      cover(batch, span.start_ns);
    }
  }
}

void AsyncSpans::put(std::uint64_t id, const Span& span, EventBatch& batch) {
  SpanEvent event;
  event.track = span.track;
  event.name = span.name;
  event.argument_count = static_cast<std::uint32_t>(span.arguments.size());
  event.first_argument = static_cast<std::uint32_t>(batch.span_arguments.size());
  event.start_ns = span.start_ns;
  // Unsigned: the begin may come from a damaged capture.
  const std::uint64_t elapsed = static_cast<std::uint64_t>(*span.end_ns) - static_cast<std::uint64_t>(span.start_ns);
  constexpr std::uint64_t longest = std::numeric_limits<std::int64_t>::max();
  event.duration_ns = *span.end_ns > span.start_ns ? static_cast<std::int64_t>(std::min(elapsed, longest)) : 0;
  event.async_id = id;
  for (ArgumentValue value : span.arguments) {
    if (value.type == ArgumentType::string) {
      const std::uint64_t offset = batch.text.size();
      batch.text.append(span.text, static_cast<std::size_t>(value.bits), value.text_size);
      value.bits = offset;
    }
    batch.span_arguments.push_back(value);
  }
  batch.spans.push_back(event);
  cover(batch, event.start_ns);
  cover(batch, std::max(event.start_ns, *span.end_ns));
}

}  // namespace kymo::record
