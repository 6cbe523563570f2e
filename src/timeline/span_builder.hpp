// Spans of one track out of its runs, with their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/scope_matcher.hpp"

namespace kymo::timeline {

/// Takes the runs of one track in order; holds what is open and the arguments it got so far.
class SpanBuilder {
 public:
  explicit SpanBuilder(TrackId track) : track_(track) {}

  /// Appends the scopes that end in the run, in the order they end. Scopes that ended between the runs taken are
  /// appended first, marked end_unknown and reaching to the last event before. `text` is the text of the run's batch.
  void take(const ScopeRun& run, std::string_view text, SpanList& out);

  /// Appends what is open now, outermost first, as spans that reach to `end_ns`, with these flags besides their own.
  void append_open(std::int64_t end_ns, std::uint16_t flags, SpanList& out) const;

  /// The sequence number after the last event taken.
  [[nodiscard]] std::uint64_t next_sequence() const { return stack_.next_sequence(); }
  [[nodiscard]] bool has_open() const { return stack_.depth() != 0; }

 private:
  /// Arguments of an open scope.
  struct Pending {
    std::vector<ArgumentValue> values;
    std::string text;
  };
  /// The arguments of a scope that ended: where they stand in the list.
  struct Place {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void end_lost(const ScopeRun& run, SpanList& out);
  void assign_arguments(const ScopeRun& run, std::string_view text, SpanList& out);
  void attach(std::size_t depth, const ArgumentValue& value, std::string_view text);
  [[nodiscard]] static Place put(const Pending& pending, SpanList& out);
  [[nodiscard]] Span span_of(std::size_t level, std::int64_t end_ns) const;

  TrackId track_;
  capture::ScopeStack stack_;
  std::int64_t last_ns_ = 0;       // of the last event taken
  std::vector<Pending> pending_;   // by depth
  std::size_t pending_count_ = 0;  // arguments in pending_
  std::vector<Place> ended_;       // of the scopes that end in the run at hand, where any has arguments
};

/// Appends the spans of a batch that were handed in whole or ended as async spans: those of one track, or of all where
/// `track` is 0.
void append_span_events(const EventBatch& batch, TrackId track, SpanList& out);

/// Appends an argument of a batch whose text is `text`.
void append_argument(const ArgumentValue& value, std::string_view text, SpanList& out);

}  // namespace kymo::timeline
