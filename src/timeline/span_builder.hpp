// Builds the spans of one track, with their arguments, from its runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

#include "capture/summary/scope_matcher.hpp"

namespace kymo::timeline {

/// Processes the runs of one track in order. Holds the open scopes and their arguments so far.
class SpanBuilder {
 public:
  explicit SpanBuilder(TrackId track) : track_(track) {}

  /// Appends the scopes that end in the run, in order of their ends. Scopes that ended between two processed runs are
  /// appended first, marked end_unknown and extended to the preceding event. `text` is the text of the run's batch.
  KYMO_API void take(const ScopeRun& run, std::string_view text, SpanList& out);

  /// Appends the currently open scopes, outermost first, as spans up to `end_ns`, with these flags in addition to their
  /// own.
  void append_open(std::int64_t end_ns, std::uint16_t flags, SpanList& out) const;

  /// The sequence number after the last processed event.
  [[nodiscard]] std::uint64_t next_sequence() const { return stack_.next_sequence(); }
  [[nodiscard]] bool has_open() const { return stack_.depth() != 0; }

 private:
  /// Arguments of an open scope.
  struct Pending {
    std::vector<ArgumentValue> values;
    std::string text;
  };
  /// The arguments of a scope: their position in the list.
  struct Place {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void end_lost(const ScopeRun& run, SpanList& out);
  void assign_arguments(const ScopeRun& run, std::string_view text, SpanList& out);
  void attach(std::size_t depth, const ArgumentValue& value, std::string_view text);
  [[nodiscard]] Place put(std::size_t level, SpanList& out) const;
  void forget(std::size_t level);
  void append_span(std::size_t level, std::int64_t end_ns, unsigned flags, SpanList& out) const;

  TrackId track_;
  capture::ScopeStack stack_;
  std::int64_t last_ns_ = 0;       // of the last processed event
  std::vector<Pending> pending_;   // by depth
  std::size_t pending_count_ = 0;  // arguments in pending_
  std::vector<Place> ended_;       // of the scopes that end in the current run, if any has arguments
};

/// Appends the emitted and ended async spans of a batch: those of one track, or of all tracks if `track` is 0.
KYMO_API void append_span_events(const EventBatch& batch, TrackId track, SpanList& out);

/// The content of an argument of the type string: a part of its batch's text. Empty in damaged data.
[[nodiscard]] inline std::string_view text_of(const ArgumentValue& value, std::string_view text) {
  return value.bits <= text.size() ? text.substr(static_cast<std::size_t>(value.bits), value.text_size)
                                   : std::string_view();
}

/// The spans of one track in consecutive batches, in the order in which they ended. Spans that are still open come last
/// and extend to the end of the last batch.
[[nodiscard]] KYMO_API SpanList spans_of_batches(const std::vector<std::shared_ptr<const EventBatch>>& batches,
                                                 TrackId track);

}  // namespace kymo::timeline
