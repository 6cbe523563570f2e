// Declarations: one table for each vector of Declarations, each with a text in column 1.
//
//   PROCESSES      1 host, 2 id, 3 pid, 4 boot id, 5 rank, 6 command line
//   INFOS          1 key, 2 process, 3 value
//   NAMES          1 text, 2 id
//   MODULES        1 path, 2 id, 3 process, 4 load base, 5 size, 6 build id
//   SITES          1 name, 2 id, 3 kind, 4 process, 5 line, 6 function, 7 file, 8 module, 9 module offset
//   TRACKS         1 name, 2 id, 3 kind, 4 process, 5 kernel's thread id
//   METRICS        1 name, 2 id, 3 kind, 4 process, 5 unit, 6 source
//   METRIC_LABELS  1 key, 2 value, 3 row of the metric in METRICS
//   FRAME_STREAMS  1 name, 2 id, 3 process
#pragma once

#include <functional>

#include <kymo/declarations.hpp>

#include "capture/table.hpp"

namespace kymo::capture {

/// Appends a table for each vector that is not empty. std::length_error where the block is full.
void encode_declarations(const Declarations& declarations, TableWriter& table);

/// What keeping all of them takes, about: rows, texts, and what finds them by id.
[[nodiscard]] std::uint64_t memory_of(const Declarations& declarations);

/// Hands the declarations over in pieces, each small enough for one block; all at once where they are few.
void for_each_piece(const Declarations& declarations, const std::function<void(const Declarations&)>& take);

/// Appends the table's rows to `declarations`, which holds those of this payload; whether it was a table of
/// declarations. DecodeError.
bool decode_declarations(const TableView& table, Declarations& declarations);

}  // namespace kymo::capture
