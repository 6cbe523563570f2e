// A summary of a sequence of blocks, so that totals and overviews need not decode every block.
//
// A capture holds summaries of increasing length. Level 0 covers a few seconds or some millions of events, each higher
// level 16 summaries of the one below, and level 255 the whole capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kymo/declarations.hpp>

#include "capture/summary/coverage.hpp"
#include "capture/summary/histogram.hpp"
#include "capture/summary/keyed_table.hpp"
#include "capture/summary/scope_matcher.hpp"

namespace kymo::capture {

class ByteBuffer;

/// The scopes of one site that ended within the summary, on all tracks. It can be merged, as its statistics cannot.
struct SiteSummary {
  SiteId id;
  Histogram durations;              ///< count, total, minimum, maximum and percentiles
  std::uint64_t self_ns = 0;        ///< total time minus that of the scopes directly inside
  std::uint64_t unbalanced = 0;     ///< scopes that did not close themselves
  std::uint64_t self_is_bound = 0;  ///< scopes whose self time may be too large, because scopes inside may be missing

  [[nodiscard]] bool empty() const { return durations.empty(); }
  void add(const ScopeSpan& span) {
    durations.record(span.duration_ns);
    self_ns += static_cast<std::uint64_t>(span.self_ns);
    if (span.flags != 0) [[unlikely]] {
      unbalanced += (span.flags & ScopeSpan::unbalanced) != 0 ? 1 : 0;
      self_is_bound += (span.flags & ScopeSpan::self_is_bound) != 0 ? 1 : 0;
    }
  }
  void merge(const SiteSummary& other);
  void clear();
};

/// The complete spans of one name from the program, and the async spans that ended.
struct SpanNameSummary {
  NameId id;
  Histogram durations;

  [[nodiscard]] bool empty() const { return durations.empty(); }
  void merge(const SpanNameSummary& other) { durations.merge(other.durations); }
  void clear() { durations.clear(); }
};

/// The frames of one stream that ended within the summary. The first mark of a stream ends no frame.
struct FrameStreamSummary {
  FrameStreamId id;
  Histogram frame_times;
  std::uint64_t marks = 0;
  std::int64_t last_mark_ns = 0;  ///< valid if marks > 0

  [[nodiscard]] bool empty() const { return marks == 0; }
  void merge(const FrameStreamSummary& other);
  void clear();
};

/// The samples of one metric. NaN is not counted.
struct MetricSummary {
  MetricId id;
  std::uint64_t count = 0;
  double min = 0;  ///< this and the following: valid if count > 0
  double max = 0;
  double sum = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  double first = 0;
  double last = 0;

  [[nodiscard]] bool empty() const { return count == 0; }
  void add(std::int64_t time_ns, double value);
  void merge(const MetricSummary& other);
  void clear() { *this = {id}; }
};

/// A track's losses and its open scopes at the end of the summary.
struct TrackSummary {
  TrackId id;
  std::uint64_t dropped_scopes = 0;  ///< total since recording began, like dropped_others
  std::uint64_t dropped_others = 0;
  std::uint64_t next_sequence = 0;      ///< `open` is known up to here
  std::vector<ScopeStack::Level> open;  ///< outermost first

  [[nodiscard]] bool empty() const { return dropped_scopes == 0 && dropped_others == 0 && open.empty(); }
};

/// The level of the summary of a whole capture.
inline constexpr std::uint8_t total_level = 255;

/// A summary. Tables may hold empty entries.
struct Summary {
  std::uint8_t level = 0;
  std::int64_t start_ns = 0;  ///< summaries of one level follow each other without gaps
  std::int64_t end_ns = 0;
  std::uint32_t first_block = 0;  ///< numbers of the first and the last covered EVENTS block, without gaps
  std::uint32_t last_block = 0;
  std::uint64_t blocks = 0;        ///< EVENTS blocks covered; 0: an empty summary
  std::uint64_t scope_events = 0;  ///< opens and closes
  KeyedTable<SiteSummary> sites;
  KeyedTable<SpanNameSummary> span_names;
  KeyedTable<FrameStreamSummary> frame_streams;
  KeyedTable<MetricSummary> metrics;
  KeyedTable<TrackSummary> tracks;
  Coverage coverage;
  /// Threads' run states. A state is the depth of a row of its thread, and the CPUs vote by their number plus 1. A
  /// named row is of the CPU of that number plus 1: when recorded threads ran there, which vote by their ids.
  Coverage states;

  /// Adds another summary of the same capture, in any order, but of different blocks. The level stays.
  void merge(const Summary& other);
  /// Empties the summary; keeps memory. Bins begin at 2^shift ns.
  void clear(unsigned shift);
};

/// The longest table a payload may hold.
inline constexpr std::size_t most_summary_entries = std::size_t{1} << 18;

/// Whether a summary's payload is within the limits of decode_summary() and of a block. Only programs with over ten
/// thousand busy sites or a quarter of a million tracks exceed them; their captures are read without this summary.
[[nodiscard]] bool fits_in_a_block(const Summary& summary);

/// The parts of a summary to decode; others cost no time and stay empty.
struct SummaryParts {
  bool durations = true;  ///< sites and span names: most of a summary's bytes and time
  bool tables = true;     ///< frame streams, metrics, tracks
  bool coverage = true;   ///< and run states
};

/// Appends a summary's payload (docs/format.md, "Summaries").
void encode_summary(const Summary& summary, ByteBuffer& out);

/// Reads a payload of encode_summary; skips unknown sections. Throws DecodeError if it is invalid. Allocates at most
/// about 100 times the payload and never more than about 500 MB.
[[nodiscard]] Summary decode_summary(std::span<const std::byte> payload, SummaryParts parts = {});

}  // namespace kymo::capture
