// Captures as Apache Arrow tables through the Arrow C data interface. pyarrow, DuckDB, pandas, R and others read them
// without a copy.
//
//     ArrowArrayStream stream;
//     kymo::open_arrow_stream({"run.kymo"}, kymo::ArrowTable::spans, &stream);
//
// Columns (all names are dictionary-coded; times are nanoseconds of CLOCK_MONOTONIC of the first capture's machine):
//
//   spans     process, track, kind (thread, async, queue), name, category?, start_ns, duration_ns, self_ns, depth,
//   flags
//             (those of kymo::Span), async_id, arguments? (a JSON object) | running_ns?, runnable_ns?, blocked_ns? (float64:
//             what the thread did in a scope), site?, track_id
//   frames    process, stream (empty: the main one), number (from 1), start_ns, duration_ns
//   metrics   process, name, unit, labels ("rail=GPU, board=1"), time_ns, value? (null: could not be read), stale |
//             metric
//   sites     process, site, name, function, file, line, kind (scope, function, dynamic, hooked)
//   tracks    process, track_id, name, kind, os_thread_id
//   metric_declarations  process, metric, name, unit, labels, kind (gauge, counter, energy_counter), source, step,
//             renewal_ns, window_ns, estimated, total, renewal_measured
//   phases    process, number, start_ns, duration_ns
//   messages  process, track, time_ns, text
//   stacks    process (that of the thread), thread, os_thread_id, time_ns, blocked_ns, unsampled_ns (both 0: it was on a CPU), sampled_waits,
//             cpu, function (the innermost), file, line, stack ("main;draw", the outermost first)
//   processes process, boot_id, command_line, offset_ns, bound_ns
//
// Columns with ? may be null. process is an index into Timeline::processes(). site, track_id and metric are the
// timeline's ids. Columns after | are included only when asked for by name. The same holds for pid, host, rank and
// capture (the path), which every table has. Component kymo::analysis.
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

// Definitions from the specification of the Arrow C data and stream interfaces.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/// The types of an array.
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

/// The data of an array.
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

/// A stream of arrays of one type.
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif

/// kymo::open_arrow_stream() for languages that call C. Returns 0, or an errno value with the reason in `error` (cut to
/// `error_size`, NUL-terminated). `table` is an ArrowTable.
KYMO_API int kymo_open_arrow_stream_v1(const char* const* captures, std::size_t capture_count, int table,
                                       struct ArrowArrayStream* stream, char* error, std::size_t error_size);

}  // extern "C"

namespace kymo {

/// The tables that a timeline can be read as.
enum class ArrowTable : std::uint8_t {
  spans = 0,
  frames = 1,
  metrics = 2,  ///< metric samples
  sites = 3,
  tracks = 4,
  metric_declarations = 5,
  phases = 6,
  messages = 7,
  processes = 8,
  stacks = 9,  ///< sampled stacks
};

/// A range of a capture's event blocks. Event blocks are counted from 0 in order; blocks of other kinds do not count.
struct BlockRange {
  std::size_t capture = 0;  ///< index into Timeline's captures
  std::size_t first = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();  ///< one past the last block
};

/// Selects part of a table. Empty members select everything.
struct ArrowQuery {
  ArrowTable table = ArrowTable::spans;
  std::vector<std::string> columns;  ///< columns in output order; columns left out cost nothing
  /// Selects spans, frames and phases that overlap it (whole), and samples and messages inside it. Other blocks are not
  /// read.
  TimeRange range;
  std::vector<std::string> names;   ///< patterns (`*`, `?`) for names of spans, sites, metrics, streams; one must match
  std::vector<std::string> tracks;  ///< patterns for track names; apply to spans, messages and tracks
  std::vector<ProcessId> processes;  ///< ids, as in TimelineProcess::declaration
  /// Splits a capture among several readers: each takes some blocks, and together they return every row exactly once. A
  /// span or sample belongs to the block that it ends in. Rows of all other tables go to the reader of the capture's
  /// block 0. Spans that begin before a reader's first block have Span::self_is_bound set and may lack arguments.
  std::vector<BlockRange> blocks;
  /// In the arguments of spans, numbers that JSON lacks are NaN, Infinity and -Infinity, as Python writes and reads
  /// them. Otherwise they are null.
  bool keeps_nan = false;
};

/// Opens captures (files, directories) and fills in a stream of record batches. A batch covers one or more blocks, so
/// memory does not grow with the captures. The stream owns its resources. The caller owns the stream and must release
/// it. Use it from one thread at a time. A batch's data stays valid until the batch is released, even after the stream
/// is released. Throws what Timeline's constructor throws.
KYMO_API void open_arrow_stream(const std::vector<std::string>& captures, ArrowTable table, ArrowArrayStream* stream);

/// Streams part of an open timeline. The timeline must not be refreshed while the stream lives. Throws
/// std::invalid_argument for columns that the table does not have. About 25 ns a span and 3 ns a sample for all columns
/// except arguments.
KYMO_API void open_arrow_stream(std::shared_ptr<const Timeline> timeline, const ArrowQuery& query,
                                ArrowArrayStream* stream);

}  // namespace kymo
