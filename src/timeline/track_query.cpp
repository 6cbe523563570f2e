// The spans of one track in a time range.
#include "timeline/track_query.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/span_builder.hpp"

namespace kymo::timeline {

namespace {

const ScopeRun* find_run(const EventBatch& batch, TrackId track) {
  for (const ScopeRun& run : batch.runs) {
    if (run.track == track) {
      return &run;
    }
  }
  return nullptr;
}

bool same_scope(const std::vector<OpenScope>& open, const Span& span) {
  return span.depth < open.size() && open[span.depth].site == span.site && open[span.depth].start_ns == span.start_ns;
}

std::uint16_t with(std::uint16_t flags, unsigned more) {
  return static_cast<std::uint16_t>(flags | more);
}
std::uint16_t without(std::uint16_t flags, unsigned less) {
  return static_cast<std::uint16_t>(flags & ~less);
}

/// One query to one capture. Scope events of a track are in the file in chronological order, and every block states the
/// scopes open at its start, including those of idle tracks. A block's declared range covers all its events, but may
/// begin before that of an earlier block: spans are handed in late, and a recorder that lags behind writes several
/// blocks of one track before those of another. Therefore:
///
/// - blocks that ended before the range contain nothing of it and are skipped;
/// - of blocks in a row that begin after the range, the first states the scopes open then, even if no block overlaps
///   the range. No scope event of the range comes after it if it holds events of the track, or if all later blocks begin
///   after the range too. Spans handed in late may;
/// - the end of a scope beyond the range is found by bisection: a block with the scope open at its start precedes the
///   end.
class TrackQuery {
 public:
  TrackQuery(const Source& source, TrackId track, bool is_lane, TimeRange range)
      : source_(source), track_(track), is_lane_(is_lane), range_(range), builder_(track) {}

  /// The track's spans that overlap the range, by ascending start and depth.
  SpanList run() {
    bool wants_scopes = true;
    bool knows_open = false;  // a block after the range has stated the open scopes, and only such blocks followed
    std::size_t end = source_.block_count();
    while (end > 0 && source_.start_ns(end - 1) >= range_.end_ns) {
      --end;
    }
    SpanList found;
    for (std::size_t block = 0; block < source_.block_count(); ++block) {
      const bool is_after = source_.start_ns(block) >= range_.end_ns;
      knows_open = knows_open && is_after;
      if (source_.end_ns(block) < range_.start_ns) {
        continue;
      }
      if (!is_after) {
        take_block(block, wants_scopes, found);
      } else if (wants_scopes && !knows_open && start_of(block).is_readable) {
        knows_open = true;
        take_start(block, found);
        if (start_of(block).has_events || block >= end) {
          end_range(block, found);
          wants_scopes = false;
        }
      }
    }
    if (wants_scopes) {
      catch_up(found);
      builder_.append_open(source_.end_ns_of(track_), Span::open, found);
    }
    append_open_async(found);
    keep_overlapping(found);
    return found;
  }

 private:
  /// The state of the track at the start of a block: its open scopes; none if the block does not name the track.
  struct Start {
    bool is_readable = false;
    bool has_events = false;
    std::uint64_t sequence = 0;
    std::vector<OpenScope> open;
  };
  /// Blocks between which a scope ended: it is open after `after`, and closed at the start of `before`.
  struct Gap {
    std::size_t after = 0;
    std::size_t before = 0;
  };

  [[nodiscard]] bool overlaps(const Span& span) const {
    return span.start_ns < range_.end_ns && (span.end_ns() > range_.start_ns || span.start_ns >= range_.start_ns);
  }

  void take_block(std::size_t block, bool wants_scopes, SpanList& out) {
    if (!source_.read(block, wants_scopes ? BatchParts::everything : BatchParts::others, batch_)) {
      return;
    }
    if (wants_scopes) {
      take_run(block, find_run(batch_, track_), out);
    }
    append_span_events(batch_, track_, out);
  }

  /// Processes a run; null means that the track has no open scopes. Finds the ends of scopes that this run misses.
  void take_run(std::size_t block, const ScopeRun* run, SpanList& out) {
    ScopeRun nothing;
    if (run == nullptr) {
      if (!builder_.has_open()) {
        return;
      }
      nothing.track = track_;
      nothing.first_sequence = nothing.end_sequence = builder_.next_sequence();
      run = &nothing;
    }
    const std::size_t first = out.spans.size();
    builder_.take(*run, batch_.text, out);
    const Gap gap{last_block_, block};
    last_block_ = block;
    has_run_ = true;
    resolve(out, first, gap);
  }

  /// Processes the state at the start of a readable block after the range.
  void take_start(std::size_t block, SpanList& out) {
    const Start& start = start_of(block);
    ScopeRun run;
    run.track = track_;
    run.first_sequence = run.end_sequence = start.open.empty() ? builder_.next_sequence() : start.sequence;
    run.open_at_start = start.open;
    const std::size_t first = out.spans.size();
    builder_.take(run, {}, out);
    const Gap gap{last_block_, block};
    last_block_ = block;
    if (std::exchange(has_run_, true)) {
      resolve(out, first, gap);
    }
  }

  /// The scopes open at the start of this block, which was processed, are those open at the end of the range.
  void end_range(std::size_t block, SpanList& out) {
    const std::size_t open = out.spans.size();
    builder_.append_open(range_.end_ns, Span::end_unknown, out);
    resolve(out, open, {block, source_.block_count()});
  }

  /// The capture ended before a block stated the scopes open at the range's end; the track's last run states them.
  void catch_up(SpanList& out) {
    const std::size_t first = has_run_ ? last_block_ + 1 : 0;
    for (std::size_t block = source_.block_count(); block > first; --block) {
      if (source_.read(block - 1, BatchParts::scopes, batch_)) {
        take_run(block - 1, find_run(batch_, track_), out);
        return;
      }
    }
  }

  [[nodiscard]] const Start& start_of(std::size_t block) {
    const auto [place, is_new] = starts_.try_emplace(block);
    if (is_new) {
      EventBatch batch;
      place->second.is_readable = source_.read(block, BatchParts::sequences, batch);
      if (const ScopeRun* const run = find_run(batch, track_)) {
        place->second.open = run->open_at_start;
        place->second.sequence = run->first_sequence;
        place->second.has_events = run->first_sequence != run->end_sequence;
      }
    }
    return place->second;
  }

  /// The scopes that ended in a block, followed by those open after it.
  [[nodiscard]] const SpanList& ends_of(std::size_t block) {
    if (ends_block_ == block && !ends_.spans.empty()) {
      return ends_;
    }
    EventBatch batch;
    SpanBuilder builder(track_);
    ends_.clear();
    ends_block_ = block;
    const ScopeRun* run = nullptr;
    if (source_.read(block, BatchParts::scopes, batch) && (run = find_run(batch, track_)) != nullptr) {
      builder.take(*run, batch.text, ends_);
      ends_closed_ = ends_.spans.size();
      builder.append_open(source_.end_ns_of(track_), Span::open, ends_);
    }
    return ends_;
  }

  /// Finds the true end of those spans from `first` on whose end is unknown.
  void resolve(SpanList& out, std::size_t first, Gap gap) {
    for (std::size_t i = first; i < out.spans.size(); ++i) {
      if ((out.spans[i].flags & Span::end_unknown) != 0) {
        find_end(out.spans[i], gap);
      }
    }
  }

  void find_end(Span& span, Gap gap) {
    std::size_t low = gap.after;    // the span is open after its start
    std::size_t high = gap.before;  // and closed at the start of this one, or this is the end of the capture
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      std::size_t block = middle;
      while (block < high && !start_of(block).is_readable) {
        ++block;
      }
      if (block < high && same_scope(start_of(block).open, span)) {
        low = block;
      } else {
        high = middle;
      }
    }
    const SpanList& ended = ends_of(low);
    for (std::size_t i = 0; i < ended.spans.size(); ++i) {
      const Span& other = ended.spans[i];
      if (other.depth != span.depth || other.site != span.site || other.start_ns != span.start_ns) {
        continue;
      }
      if (i >= ends_closed_ && gap.before < source_.block_count()) {
        break;  // it ended between two readable blocks, in a damaged block
      }
      // Nested scopes in the blocks in between are unknown.
      const std::int64_t inner_ns = span.duration_ns - span.self_ns;
      span.duration_ns = other.duration_ns;
      span.self_ns = std::max<std::int64_t>(span.duration_ns - std::max<std::int64_t>(inner_ns, 0), 0);
      span.flags = with(without(span.flags, Span::end_unknown),
                        Span::self_is_bound | (other.flags & (Span::unbalanced | Span::open)));
      return;
    }
  }

  void append_open_async(SpanList& out) const {
    if (!is_lane_) {
      return;
    }
    for (const Span& span : source_.open_async()) {
      if (span.track == track_) {
        out.spans.push_back(span);
      }
    }
  }

  void keep_overlapping(SpanList& out) {
    std::erase_if(out.spans, [this](const Span& span) { return !overlaps(span); });
    for (Span& span : out.spans) {
      span.flags = with(span.flags, (span.start_ns < range_.start_ns ? Span::starts_before_range : 0U) |
                                        (span.end_ns() > range_.end_ns ? Span::ends_after_range : 0U));
    }
    std::stable_sort(out.spans.begin(), out.spans.end(), [](const Span& a, const Span& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.depth < b.depth;
    });
  }

  const Source& source_;
  TrackId track_;
  bool is_lane_;
  TimeRange range_;
  SpanBuilder builder_;
  EventBatch batch_;
  std::size_t last_block_ = 0;  // block of the last run
  bool has_run_ = false;
  std::unordered_map<std::size_t, Start> starts_;  // of blocks read by bisections
  std::size_t ends_block_ = 0;                     // block of the scopes in ends_, if any
  SpanList ends_;
  std::size_t ends_closed_ = 0;  // number of scopes that ended in it; the others are open after it
};

}  // namespace

SpanList spans_of_track(const Source& source, TrackId track, bool is_lane, TimeRange range) {
  return TrackQuery(source, track, is_lane, range).run();
}

}  // namespace kymo::timeline
