#include "stats/statistics/scope_order.hpp"

#include <algorithm>
#include <limits>

#include "timeline/source.hpp"

namespace kymo::stats {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

bool is_earlier(const OrderedScopeEvent& a, const OrderedScopeEvent& b) {
  return a.time_ns < b.time_ns;
}

}  // namespace

/// The first pass.
void ScopeOrder::survey(const ScopeOrderVisitor& visitor) {
  const auto sources = timeline::sources_of(timeline_);
  blocks_.resize(sources.size());
  std::size_t all = 0;
  for (const auto& source : sources) {
    all += source->block_count();
  }
  EventBatch batch;
  std::size_t done = 0;
  for (std::size_t index = 0; index < sources.size(); ++index) {
    for (std::size_t number = 0; number < sources[index]->block_count(); ++number) {
      if (visitor.on_progress && all != 0) {
        visitor.on_progress(static_cast<double>(done++) / static_cast<double>(2 * all));
      }
      if (!sources[index]->read(number, BatchParts::everything, batch)) {
        continue;
      }
      Block block{number, never, never};
      for (const ScopeRun& run : batch.runs) {
        block.first_scope_ns = std::min(block.first_scope_ns, run.events.empty() ? never : run.events.front().time_ns);
      }
      for (const SpanEvent& span : batch.spans) {
        // A long async span would delay all output by its duration.
        if (timeline_.track(span.track).kind == TrackKind::queue) {
          block.first_span_ns = std::min(block.first_span_ns, span.start_ns);
        }
      }
      blocks_[index].push_back(block);
      ++block_count_;
      visitor.on_batch(batch);
    }
    auto& blocks = blocks_[index];
    for (std::size_t i = blocks.size(); i > 1; --i) {
      blocks[i - 2].first_scope_ns = std::min(blocks[i - 2].first_scope_ns, blocks[i - 1].first_scope_ns);
      blocks[i - 2].first_span_ns = std::min(blocks[i - 2].first_span_ns, blocks[i - 1].first_span_ns);
    }
  }
}

std::uint32_t ScopeOrder::number_of(TrackId track) {
  const auto [place, is_new] = numbers_.try_emplace(track, static_cast<std::uint32_t>(tracks_.size()));
  if (is_new) {
    tracks_.push_back({track, std::numeric_limits<std::int64_t>::min(), {}});
  }
  return place->second;
}

void ScopeOrder::put(Track& track, std::uint32_t number, std::int64_t time_ns, std::int64_t start_ns, SiteId site) {
  // Times of a track descend only in damaged data.
  track.last_ns = std::max(track.last_ns, time_ns);
  pending_.push_back({track.last_ns, std::min(start_ns, track.last_ns), number, site});
}

/// Puts the begins and ends of a track's scopes. No time precedes the run's first event: earlier ones may have been
/// handed out already.
class ScopeOrder::Visitor {
 public:
  Visitor(ScopeOrder& order, std::uint32_t number, std::int64_t first_ns)
      : order_(order), number_(number), first_ns_(first_ns) {}

  void reach(std::size_t /*position*/, const ScopeEvent& /*event*/) {}

  void begin(const OpenScope& scope, std::size_t /*depth*/) {
    put(std::max(scope.start_ns, first_ns_), scope.start_ns, scope.site);
  }
  void end(const OpenScope& /*scope*/, std::size_t /*depth*/, std::int64_t end_ns, capture::ScopeEnding /*how*/) {
    put(std::max(end_ns, first_ns_), end_ns, SiteId{});
  }

 private:
  void put(std::int64_t time_ns, std::int64_t start_ns, SiteId site) {
    order_.put(order_.tracks_[number_], number_, time_ns, start_ns, site);
  }

  ScopeOrder& order_;
  std::uint32_t number_;
  std::int64_t first_ns_;
};

void ScopeOrder::take_run(const ScopeRun& run) {
  if (run.events.empty()) {
    return;  // open scopes stay open
  }
  const std::uint32_t number = number_of(run.track);
  Visitor visitor(*this, number, run.events.front().time_ns);
  tracks_[number].walk.take(run, visitor);
}

/// Merges the ascending sections between the borders into one ascending order; stable.
void ScopeOrder::merge_pending(std::vector<std::size_t> borders) {
  const auto at = [this](std::size_t place) { return pending_.begin() + static_cast<std::ptrdiff_t>(place); };
  while (borders.size() > 2) {
    std::vector<std::size_t> merged;
    for (std::size_t i = 0; i < borders.size(); i += 2) {
      merged.push_back(borders[i]);
      if (i + 2 < borders.size()) {
        std::inplace_merge(at(borders[i]), at(borders[i + 1]), at(borders[i + 2]), is_earlier);
      }
    }
    if (merged.back() != borders.back()) {
      merged.push_back(borders.back());
    }
    borders = std::move(merged);
  }
}

void ScopeOrder::hand_out(const ScopeOrderVisitor& visitor, std::int64_t scopes_until_ns, std::int64_t spans_until_ns) {
  std::size_t handed = 0;
  for (; handed < pending_.size() && (pending_[handed].time_ns < scopes_until_ns || scopes_until_ns == never);
       ++handed) {
    visitor.on_scope(pending_[handed]);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(handed));
  const auto starts_earlier = [](const QueueSpan& a, const QueueSpan& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(spans_.begin(), spans_.end(), starts_earlier)) {
    std::stable_sort(spans_.begin(), spans_.end(), starts_earlier);
  }
  handed = 0;
  for (; handed < spans_.size() && (spans_[handed].start_ns < spans_until_ns || spans_until_ns == never); ++handed) {
    visitor.on_span(spans_[handed]);
  }
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(handed));
}

void ScopeOrder::run(const ScopeOrderVisitor& visitor) {
  survey(visitor);
  const auto sources = timeline::sources_of(timeline_);
  std::vector<std::size_t> next(sources.size(), 0);
  EventBatch batch;
  for (std::size_t done = 0; done < block_count_; ++done) {
    // Continues reading the capture that is farthest behind.
    std::size_t chosen = sources.size();
    const auto lag = [&](std::size_t source) {
      const Block& block = blocks_[source][next[source]];
      return std::min(block.first_scope_ns, block.first_span_ns);
    };
    for (std::size_t source = 0; source < sources.size(); ++source) {
      if (next[source] < blocks_[source].size() && (chosen == sources.size() || lag(source) < lag(chosen))) {
        chosen = source;
      }
    }
    const Block& block = blocks_[chosen][next[chosen]++];
    if (!sources[chosen]->read(block.number, BatchParts::everything, batch)) {
      continue;
    }
    std::vector<std::size_t> borders{0, pending_.size()};
    for (const ScopeRun& run : batch.runs) {
      take_run(run);
      borders.push_back(pending_.size());
    }
    merge_pending(std::move(borders));
    for (const SpanEvent& span : batch.spans) {
      if (timeline_.track(span.track).kind == TrackKind::queue) {
        spans_.push_back({span.track, span.name, span.start_ns, std::max<std::int64_t>(span.duration_ns, 0)});
      }
    }
    std::int64_t scopes_until_ns = never;
    std::int64_t spans_until_ns = never;
    for (std::size_t source = 0; source < sources.size(); ++source) {
      if (next[source] < blocks_[source].size()) {
        scopes_until_ns = std::min(scopes_until_ns, blocks_[source][next[source]].first_scope_ns);
        spans_until_ns = std::min(spans_until_ns, blocks_[source][next[source]].first_span_ns);
      }
    }
    hand_out(visitor, scopes_until_ns, spans_until_ns);
    if (visitor.on_progress) {
      visitor.on_progress(0.5 + static_cast<double>(done + 1) / static_cast<double>(2 * block_count_));
    }
  }
  hand_out(visitor, never, never);
}

}  // namespace kymo::stats
