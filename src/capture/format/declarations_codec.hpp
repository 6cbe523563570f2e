// Declarations: one table for each vector of Declarations, each with a text in column 1.
//
//   PROCESSES      1 host, 2 id, 3 pid, 4 boot id, 5 rank, 6 command line
//   INFOS          1 key, 2 process, 3 value
//   NAMES          1 text, 2 id
//   MODULES        1 path, 2 id, 3 process, 4 load base, 5 size, 6 build id
//   SITES          1 name, 2 id, 3 kind, 4 process, 5 line, 6 function, 7 file, 8 module, 9 module offset, 10 role
//   TRACKS         1 name, 2 id, 3 kind, 4 process, 5 kernel's thread id, 6 role
//   METRICS        1 name, 2 id, 3 kind, 4 process, 5 unit, 6 source, 7 step, 8 renewal, 9 window, 10 traits
//   METRIC_LABELS  1 key, 2 value, 3 row of the metric in METRICS
//   FRAME_STREAMS  1 name, 2 id, 3 process
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <kymo/declarations.hpp>

#include "capture/format/table.hpp"

namespace kymo::capture {

/// Rows of declarations, counted through all their lists in the order of the tables.
struct RowRange {
  std::size_t first = 0;
  std::size_t count = SIZE_MAX;
};

/// Appends a table for each list that has rows in the range. Throws std::length_error if the block is full.
void encode_declarations(const Declarations& declarations, TableWriter& table, RowRange range = {});

/// Approximate memory to keep all of them: rows, texts and the index by id.
[[nodiscard]] std::uint64_t memory_of(const Declarations& declarations);

/// Cuts the declarations into pieces that fit a block each; into one piece if they are few or none.
void for_each_piece(const Declarations& declarations, const std::function<void(RowRange)>& take);

/// Appends the table's rows to `declarations`, which holds those of this payload. Returns whether it is a table of
/// declarations. Throws DecodeError.
bool decode_declarations(const TableView& table, Declarations& declarations);

}  // namespace kymo::capture
