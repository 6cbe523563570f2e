// Scope runs: one SCOPES table per run; its key is the track. Columns:
//
//    1 facts           event count, first sequence, end sequence minus first, dropped scopes, dropped others
//    2 open sites      scopes open at the start, outermost first
//    3 open starts     their start times minus the block's start (wandering)
//    4 opens           bits: 1 for an event that opens a scope, 0 for one that closes
//    5 open deltas     time of each open minus the time of the event before it in the run (of the first: the block's
//                      start)
//    6 close deltas    the same for each close
//    7 sites           of each open
//    8 odd events      indexes of the events whose depth or flags differ from the implied ones (ascending)
//    9 odd depths
//   10 odd flags
//   11 positions       of the arguments (ascending)
//   12..17             the arguments (arguments_codec.hpp)
//
// The implied depth of an open is the depth after the event before it; of a close, that minus one. The depth after an
// event is its own depth, plus one if it opened a scope. Before the first event it is the number of scopes open at the
// start. The implied flags are 0.
#pragma once

#include <cstdint>

#include <kymo/events.hpp>

#include "capture/format/arguments_codec.hpp"
#include "capture/format/table.hpp"

namespace kymo::capture {

/// Encodes runs into tables; keeps its scratch memory.
class ScopesEncoder {
 public:
  explicit ScopesEncoder(Packing packing) : open_deltas_(packing), close_deltas_(packing), sites_(packing) {}

  /// About 3.5 ns per scope, 5 if sites are in random order. Throws std::length_error if the block is full.
  void encode(const ScopeRun& run, std::int64_t block_start_ns, TableWriter& table);

  /// Number of opens in the run encoded last.
  [[nodiscard]] std::uint64_t opens() const { return open_deltas_.count(); }

 private:
  void encode_events(const ScopeRun& run, std::int64_t block_start_ns);
  void note_odd_events(const ScopeRun& run, std::size_t begin, std::size_t end, std::uint32_t depth);

  NumberLane open_deltas_;
  NumberLane close_deltas_;
  NumberLane sites_;
  ByteBuffer bits_;
  std::vector<std::uint64_t> odd_events_;
  std::vector<std::uint64_t> odd_depths_;
  std::vector<std::uint64_t> odd_flags_;
  ArgumentsEncoder arguments_;
};

/// Decodes a SCOPES table, reusing the run's memory. About 4 ns per scope. Throws DecodeError.
void decode_scopes(const TableView& table, std::int64_t block_start_ns, bool with_events, ScopeRun& run);

}  // namespace kymo::capture
