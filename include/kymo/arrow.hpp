// Captures as Apache Arrow tables, through the Arrow C data interface: pyarrow, DuckDB, pandas, R and others read them
// without a copy.
//
//     ArrowArrayStream stream;
//     kymo::open_arrow_stream({"run.kymo"}, kymo::ArrowTable::spans, &stream);
//
// Columns (every name is dictionary-coded; times are nanoseconds of CLOCK_MONOTONIC of the first capture's machine):
//
//   spans    process, track, kind (thread, async, queue), name, category?, start_ns, duration_ns, self_ns, depth, flags
//            (those of kymo::Span), async_id, arguments? (a JSON object)
//   frames   process, stream (empty: the main one), number (from 1), start_ns, duration_ns
//   metrics  process, name, unit, labels ("rail=GPU, board=1"), time_ns, value? (null: could not be read), stale
//
// Columns with ? may be null; process is an index into Timeline::processes(). Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/export.hpp>

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

enum class ArrowTable : std::uint8_t { spans = 0, frames = 1, metrics = 2 };

/// Opens captures (files, directories) and fills in a stream of record batches, one for each block of the captures, so
/// that memory does not grow with them. The stream owns what it needs and belongs to the caller, who must release it;
/// it is for one thread at a time. What the batches hold lives until each is released, also after the stream is. What
/// Timeline's constructor throws passes through.
KYMO_API void open_arrow_stream(const std::vector<std::string>& captures, ArrowTable table, ArrowArrayStream* stream);

}  // namespace kymo
