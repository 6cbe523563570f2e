// Decodes the words of one track's chunks into events of a batch. The collector uses it, and recovery on a dead
// process's spool, so it trusts no word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "record/clock/clock_map.hpp"
#include "record/collector/async_spans.hpp"
#include "record/pool/event_words.hpp"

namespace kymo::record {

/// Groups the samples of a batch by metric.
class SampleGatherer {
 public:
  void add(EventBatch& batch, MetricId metric, std::int64_t time_ns, double value, std::uint8_t flags = 0);
  /// Called after the batch was handed on.
  void forget() { runs_.clear(); }

 private:
  std::vector<std::uint32_t> runs_;  ///< by metric: index of its run in the batch + 1; 0: none yet
};

/// Data shared by the decoders of all tracks.
struct DecodeContext {
  const ClockMap& clock;
  SampleGatherer& samples;
  AsyncSpans& async_spans;
};

/// Decodes one track, chunk by chunk, and keeps the open scopes between calls.
class TrackDecoder {
 public:
  explicit TrackDecoder(TrackId track) : track_(track) {}

  /// Begins a new chunk: a count at or shortly before its first word's, and that word's sequence number.
  void begin_chunk(std::uint64_t begun_at, std::uint64_t first_sequence);

  /// The words that follow were published between two looks at the track, at these counts, or since its chunk began.
  /// A word holds 44 bits of a count, of which half are 29 minutes at 5 GHz. If the looks are closer than half of that,
  /// each word's count is certain. Else it is the one nearest to either look: see come_near().
  void looked(std::uint64_t before, std::uint64_t now);

  /// Continues where another reader stopped: with its open scopes and the time of the last event.
  void resume(std::vector<OpenScope> open, std::int64_t last_ns) {
    open_ = std::move(open);
    depth_ = open_.size();
    last_ns_ = last_ns;
  }

  /// Sets the sequence number of the next word where no chunk header gives it.
  void continue_at(std::uint64_t sequence) { sequence_ = sequence; }

  /// Skips words decoded before.
  void skip(std::size_t words) { sequence_ += words; }

  /// The run of this track in the batch. If it is new, it starts with the currently open scopes.
  ScopeRun& run_in(EventBatch& batch);

  /// Decodes words into the batch. Returns how many were decoded: all, or fewer if the rest is damaged.
  std::size_t decode(std::span<const std::uint64_t> words, EventBatch& batch, DecodeContext& context);

  /// The thread has ended: closes open scopes by force at the time of its last event or, if all events were dropped, at
  /// `seen_ns`, when its end was seen.
  void end_track(EventBatch& batch, std::int64_t seen_ns);

  /// The batch was handed on; the next one gets a new run, which reuses the memory of this run's events.
  void forget_run(EventBatch& batch) {
    spare_events_ = run_index_ != no_run ? std::move(batch.runs[run_index_].events) : ScopeEvents();
    spare_events_.clear();
    run_index_ = no_run;
  }

  [[nodiscard]] TrackId track() const { return track_; }
  [[nodiscard]] bool has_run() const { return run_index_ != no_run; }
  [[nodiscard]] bool has_open_scopes() const { return depth_ != 0; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

 private:
  static constexpr std::size_t no_run = ~std::size_t{0};
  struct Window;

  /// The count of a word near reference_.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t word) const;
  void come_near(std::uint64_t word);

  std::size_t decode_scopes(std::span<const std::uint64_t> words, ClockMap::Converter& convert, Window& window,
                            ScopeRun& run);
  const std::uint64_t* decode_leaves(std::span<const std::uint64_t> words, const Window& window, std::byte*& to);
  const std::uint64_t* decode_each(std::span<const std::uint64_t> words, ClockMap::Converter& convert, Window& window,
                                   std::byte*& to);
  /// Reads the argument at `words`. Returns its size in words, or 0 if it is invalid.
  static std::size_t read_argument(std::span<const std::uint64_t> words, ArgumentValue& argument, std::string& text);
  std::size_t decode_argument(std::span<const std::uint64_t> words, EventBatch& batch, ScopeRun& run);
  std::size_t decode_event(std::span<const std::uint64_t> words, std::int64_t time_ns, EventBatch& batch,
                           DecodeContext& context);
  static bool decode_async_argument(std::span<const std::uint64_t> payload, std::int64_t time_ns, AsyncSpans& spans);
  static std::size_t decode_span(std::span<const std::uint64_t> words, std::uint64_t own_bits, EventBatch& batch);
  static void decode_hold(std::span<const std::uint64_t> words, TrackId track, std::int64_t end_ns, EventBatch& batch,
                          const DecodeContext& context);
  void close(std::uint32_t depth, std::int64_t time_ns, std::uint16_t flags, ScopeRun& run);
  [[nodiscard]] std::int64_t monotone(std::int64_t time_ns) {
    last_ns_ = time_ns > last_ns_ ? time_ns : last_ns_;
    return last_ns_;
  }

  TrackId track_;
  std::uint64_t reference_ = 0;  // the next words' counts are less than half of what a word can express from here
  std::uint64_t now_ = 0;
  bool is_far_ = false;  // now_ is farther from reference_ than that
  std::uint64_t sequence_ = 0;
  std::int64_t last_ns_ = 0;
  std::size_t run_index_ = no_run;
  std::vector<OpenScope> open_;  // only the first depth_ are valid
  std::size_t depth_ = 0;
  std::ptrdiff_t at_once_ = 1;  // words decoded one by one before pairs are tried again
  ScopeEvents spare_events_;
};

/// Widens the batch's interval to include a time.
inline void cover(EventBatch& batch, std::int64_t time_ns) {
  batch.start_ns = time_ns < batch.start_ns ? time_ns : batch.start_ns;
  batch.end_ns = time_ns > batch.end_ns ? time_ns : batch.end_ns;
}

/// Makes an empty batch. Its interval is inverted, so that the first time covered sets both ends.
void clear_batch(EventBatch& batch);

}  // namespace kymo::record
