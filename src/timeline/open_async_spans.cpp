#include "timeline/open_async_spans.hpp"

#include <algorithm>

namespace kymo::timeline {

namespace {

/// Of those that may have been ends. Events of threads without a track are counted with their scopes.
std::uint64_t drops_of(TrackId track, std::uint64_t scopes, std::uint64_t others) {
  return others + (track ? 0 : scopes);
}

}  // namespace

void OpenAsyncSpans::may_have_ended(std::int64_t since_ns) {
  for (auto& [key, open] : spans_) {
    open.lost_ns = open.lost_ns.value_or(since_ns);
  }
}

void OpenAsyncSpans::take(const EventBatch& batch) {
  constexpr std::size_t most_open = std::size_t{1} << 20U;  // in an intact capture
  if (batch.follows_loss) {
    may_have_ended(last_ns_);
  }
  const std::int64_t before_ns = std::exchange(last_ns_, batch.end_ns);
  for (const AsyncBegin& begin : batch.async_begins) {
    if (spans_.size() == most_open) {
      break;
    }
    spans_.insert_or_assign({begin.track, begin.async_id}, Open{begin, {}});
  }
  for (const SpanEvent& span : batch.spans) {
    if (span.async_id != 0) {
      spans_.erase({span.track, span.async_id});
    }
  }
  for (const ScopeRun& run : batch.runs) {
    const std::uint64_t drops = drops_of(run.track, run.dropped_scopes, run.dropped_others);
    if (std::uint64_t& known = drops_[run.track]; drops > known) {
      known = drops;
      may_have_ended(before_ns);
    }
  }
}

void OpenAsyncSpans::take_end(const std::vector<TrackTotals>& totals) {
  std::uint64_t known = 0;
  for (const auto& [track, drops] : drops_) {
    known += drops;
  }
  std::uint64_t all = 0;
  for (const TrackTotals& track : totals) {
    all += drops_of(track.track, track.dropped_scopes, track.dropped_others);
  }
  if (all > known) {
    may_have_ended(last_ns_);
  }
}

void OpenAsyncSpans::append(const std::function<std::int64_t(TrackId)>& end_ns_of, SpanList& out) const {
  for (const auto& [key, open] : spans_) {
    Span& span = out.spans.emplace_back();
    span.start_ns = open.begin.time_ns;
    const std::int64_t end_ns = open.lost_ns ? *open.lost_ns : end_ns_of(open.begin.track);
    span.duration_ns = std::max<std::int64_t>(end_ns - span.start_ns, 0);
    span.self_ns = span.duration_ns;
    span.async_id = open.begin.async_id;
    span.track = open.begin.track;
    span.name = open.begin.name;
    span.flags = open.lost_ns ? Span::end_unknown : Span::open;
  }
}

}  // namespace kymo::timeline
