// Captures as Apache Arrow tables, through the Arrow C data interface: pyarrow, DuckDB, pandas, R and others read them
// without a copy.
//
//     ArrowArrayStream stream;
//     kymo::open_arrow_stream({"run.kymo"}, kymo::ArrowTable::spans, &stream);
//
// Columns (every name is dictionary-coded; times are nanoseconds of CLOCK_MONOTONIC of the first capture's machine):
//
//   spans     process, track, kind (thread, async, queue), name, category?, start_ns, duration_ns, self_ns, depth,
//   flags
//             (those of kymo::Span), async_id, arguments? (a JSON object) | site?, track_id
//   frames    process, stream (empty: the main one), number (from 1), start_ns, duration_ns
//   metrics   process, name, unit, labels ("rail=GPU, board=1"), time_ns, value? (null: could not be read), stale |
//             metric
//   sites     process, site, name, function, file, line, kind (scope, function, dynamic, hooked)
//   tracks    process, track_id, name, kind, os_thread_id
//   metric_declarations  process, metric, name, unit, labels, kind (gauge, counter, energy_counter), source, step,
//             renewal_ns, window_ns, estimated, total, renewal_measured
//   phases    process, number, start_ns, duration_ns
//   messages  process, track, time_ns, text
//   processes process, boot_id, command_line, offset_ns, bound_ns
//
// Columns with ? may be null; process is an index into Timeline::processes(). site, track_id and metric are the
// timeline's ids. Columns after | come only where they are asked for by name, and so do pid, host, rank and capture
// (the path), which every table has. Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

extern "C" {

// As the specification of the Arrow C data and stream interfaces defines them.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif

/// The same as kymo::open_arrow_stream() for languages that call C: 0, or an errno value with the reason in `error`
/// (cut to its size, ended by NUL). `table` is an ArrowTable.
KYMO_API int kymo_open_arrow_stream_v1(const char* const* captures, std::size_t capture_count, int table,
                                       struct ArrowArrayStream* stream, char* error, std::size_t error_size);

}  // extern "C"

namespace kymo {

enum class ArrowTable : std::uint8_t {
  spans = 0,
  frames = 1,
  metrics = 2,  ///< their samples
  sites = 3,
  tracks = 4,
  metric_declarations = 5,
  phases = 6,
  messages = 7,
  processes = 8,
};

/// Some of a capture's blocks of events, which count from 0, in order; blocks of other kinds do not count.
struct BlockRange {
  std::size_t capture = 0;  ///< index into Timeline's captures
  std::size_t first = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();  ///< beyond the last one
};

/// What of a table to read. What is left empty chooses everything.
struct ArrowQuery {
  ArrowTable table = ArrowTable::spans;
  std::vector<std::string> columns;  ///< in this order. Columns that are not asked for cost nothing
  /// Spans, frames and phases that overlap it, whole; samples and messages in it. Blocks outside are not read.
  TimeRange range;
  std::vector<std::string> names;  ///< patterns for names of spans, sites and metrics, streams; one must fit (`*`, `?`)
  std::vector<std::string> tracks;   ///< patterns for names of tracks, for spans, messages and tracks
  std::vector<ProcessId> processes;  ///< ids, as in TimelineProcess::declaration
  /// Readers that share a capture take some blocks each; all of them together get every row once. A span or a sample
  /// is the matter of the block that it ends in; what a capture has few of (all else) goes to the reader of its block
  /// 0. Spans that begin before the first block have Span::self_is_bound and may lack arguments.
  std::vector<BlockRange> blocks;
};

/// Opens captures (files, directories) and fills in a stream of record batches of one or more blocks of the captures,
/// so that memory does not grow with them. The stream owns what it needs and belongs to the caller, who must release
/// it; it is for one thread at a time. What the batches hold lives until each is released, also after the stream is.
/// What Timeline's constructor throws passes through.
KYMO_API void open_arrow_stream(const std::vector<std::string>& captures, ArrowTable table, ArrowArrayStream* stream);

/// The same for a part of a timeline that is open already, which must not be refreshed while the stream lives.
/// std::invalid_argument for columns that the table does not have. About 25 ns a span and 3 ns a sample for all columns
/// but arguments.
KYMO_API void open_arrow_stream(std::shared_ptr<const Timeline> timeline, const ArrowQuery& query,
                                ArrowArrayStream* stream);

}  // namespace kymo
