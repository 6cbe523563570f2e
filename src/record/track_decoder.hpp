// Turns the words of one track's chunks into events of a batch. Used by the collector, and by recovery on a dead
// process's spool, so it trusts no word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "record/clock_map.hpp"
#include "record/event_words.hpp"

namespace kymo::record {

/// Gathers the samples of a batch by metric.
class SampleGatherer {
 public:
  void add(EventBatch& batch, MetricId metric, std::int64_t time_ns, double value, std::uint8_t flags = 0);
  /// The batch was handed on.
  void forget() { runs_.clear(); }

 private:
  std::vector<std::uint32_t> runs_;  ///< by metric: index of its run in the batch + 1; 0: none yet
};

/// Async spans that have begun and not ended, of the whole process.
struct OpenAsync {
  TrackId track = 0;
  NameId name = 0;
  std::int64_t start_ns = 0;
  std::vector<ArgumentValue> arguments;  ///< strings stand in `text`
  std::string text;
};
using OpenAsyncSpans = std::unordered_map<std::uint64_t, OpenAsync>;

/// What one track's decoder shares with the others.
struct DecodeContext {
  const ClockMap& clock;
  SampleGatherer& samples;
  OpenAsyncSpans& open_async;
};

/// Decodes one track, chunk by chunk, keeping what is open between calls.
class TrackDecoder {
 public:
  explicit TrackDecoder(TrackId track) : track_(track) {}

  /// A new chunk begins: the counter value that its times count from, and the sequence number of its first word.
  void begin_chunk(std::uint64_t time_base, std::uint64_t first_sequence) {
    time_base_ = time_base;
    sequence_ = first_sequence;
  }

  /// Goes on where another reader stopped: the scopes that were open there, and the time of the last event.
  void resume(std::vector<OpenScope> open, std::int64_t last_ns) {
    open_ = std::move(open);
    depth_ = open_.size();
    last_ns_ = last_ns;
  }

  /// The next word has this number, although no chunk says so.
  void continue_at(std::uint64_t sequence) { sequence_ = sequence; }

  /// Passes over words that were decoded before; their time bases count for the words behind them.
  void skip(std::span<const std::uint64_t> words);

  /// The run of this track in the batch, begun if it is not there: what is open now is what it starts with.
  ScopeRun& run_in(EventBatch& batch);

  /// Decodes words into the batch. Returns how many were taken: all of them, or fewer when the rest is damaged.
  std::size_t decode(std::span<const std::uint64_t> words, EventBatch& batch, DecodeContext& context);

  /// The thread has ended: closes what is open, by force, at the time of its last event; where all of them were
  /// dropped, at `seen_ns`, when its end was seen.
  void end_track(EventBatch& batch, std::int64_t seen_ns);

  /// The batch was handed on; the next one gets a run of its own. The memory of this run's events is kept for it.
  void forget_run(EventBatch& batch) {
    spare_events_ = run_index_ != no_run ? std::move(batch.runs[run_index_].events) : std::vector<ScopeEvent>();
    spare_events_.clear();
    run_index_ = no_run;
  }

  [[nodiscard]] TrackId track() const { return track_; }
  [[nodiscard]] bool has_run() const { return run_index_ != no_run; }
  [[nodiscard]] bool has_open_scopes() const { return depth_ != 0; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

 private:
  static constexpr std::size_t no_run = ~std::size_t{0};

  std::size_t decode_scopes(std::span<const std::uint64_t> words, ClockMap::Converter& convert, ScopeRun& run);
  const std::uint64_t* decode_leaves(std::span<const std::uint64_t> words, const ClockMap::Line& on_line,
                                     std::byte*& to);
  const std::uint64_t* decode_each(std::span<const std::uint64_t> words, ClockMap::Converter& convert, std::byte*& to);
  /// Reads the argument that stands at `words`; its size in words, or 0 when it does not fit.
  static std::size_t read_argument(std::span<const std::uint64_t> words, ArgumentValue& argument, std::string& text);
  std::size_t decode_argument(std::span<const std::uint64_t> words, EventBatch& batch, ScopeRun& run);
  std::size_t decode_event(std::span<const std::uint64_t> words, std::int64_t time_ns, EventBatch& batch,
                           DecodeContext& context);
  static bool decode_async(EventKind kind, std::span<const std::uint64_t> payload, std::int64_t time_ns,
                           EventBatch& batch, DecodeContext& context);
  static std::size_t decode_span(std::span<const std::uint64_t> words, std::uint64_t own_bits, EventBatch& batch);
  static void decode_hold(std::span<const std::uint64_t> words, TrackId track, std::int64_t end_ns, EventBatch& batch,
                          const DecodeContext& context);
  void close(std::uint32_t depth, std::int64_t time_ns, std::uint16_t flags, ScopeRun& run);
  [[nodiscard]] std::int64_t monotone(std::int64_t time_ns) {
    last_ns_ = time_ns > last_ns_ ? time_ns : last_ns_;
    return last_ns_;
  }

  TrackId track_;
  std::uint64_t time_base_ = 0;
  std::uint64_t sequence_ = 0;
  std::int64_t last_ns_ = 0;
  std::size_t run_index_ = no_run;
  std::vector<OpenScope> open_;  // the first depth_ of them
  std::size_t depth_ = 0;
  std::vector<ScopeEvent> spare_events_;
};

/// Widens the stretch that a batch states, so that it covers a time.
inline void cover(EventBatch& batch, std::int64_t time_ns) {
  batch.start_ns = time_ns < batch.start_ns ? time_ns : batch.start_ns;
  batch.end_ns = time_ns > batch.end_ns ? time_ns : batch.end_ns;
}

/// An empty batch, ready to be filled: everything is earlier than its end and later than its start.
void clear_batch(EventBatch& batch);

}  // namespace kymo::record
