// Scope runs: one SCOPES table a run; its key is the track. Columns:
//
//    1 facts           event count, first sequence, end sequence less first, dropped scopes, dropped others
//    2 open sites      scopes open at the start, outermost first
//    3 open starts     their start times less the block's start (wandering)
//    4 opens           bits: 1 for an event that opens a scope, 0 for one that closes
//    5 open deltas     time of each open less the time of the event before it in the run (the block's start for the
//    first) 6 close deltas    the same for each close 7 sites           of each open 8 odd events      indexes of the
//    events whose depth or flags are not what is implied (ascending) 9 odd depths
//   10 odd flags
//   11 positions       of the arguments (ascending)
//   12..17             the arguments (arguments_codec.hpp)
//
// The implied depth of an event: the depth after the event before it, for an open; that less one, for a close. The
// depth after an event is its depth, plus one where it opened. Before the first event it is the number of scopes open
// at the start. The implied flags are 0.
#pragma once

#include <cstdint>

#include <kymo/events.hpp>

#include "capture/arguments_codec.hpp"
#include "capture/table.hpp"

namespace kymo::capture {

/// Codes runs into tables; keeps its scratch memory.
class ScopesEncoder {
 public:
  explicit ScopesEncoder(Packing packing) : open_deltas_(packing), close_deltas_(packing), sites_(packing) {}

  /// About 3.5 ns a scope, 5 where sites come at random. std::length_error where the block is full.
  void encode(const ScopeRun& run, std::int64_t block_start_ns, TableWriter& table);

  /// Opens in the run that was encoded last.
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

/// Decodes a SCOPES table, reusing the run's memory. About 4 ns a scope. DecodeError.
void decode_scopes(const TableView& table, std::int64_t block_start_ns, bool with_events, ScopeRun& run);

}  // namespace kymo::capture
