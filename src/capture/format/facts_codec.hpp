// Facts about a whole capture: the payloads of HEADER, END and INDEX blocks.
//
//   HEADER  CAPTURE         1 texts: recorder, spool id, clock source; 2 floats: clock step in ns; 3 owner's pid
//           and tables of declarations: the processes, the infos known at the start
//   END     TRACK_TOTALS    1 track (ascending), 2 recorded scopes, 3 dropped scopes, 4 dropped others, 5 end sequence
//           CLOSING_FACTS   1 key, 2 value
//   INDEX   BLOCKS          1 kind, 2 level, 3 stored size, 4 raw size, 5 start (wandering), 6 end minus start
//                           (zigzag), 7 scope events, 8 facts: offset and number of the first of these blocks, offset
//                           of the INDEX block before this one or 0, offset from which the DECLARATIONS blocks repeat
//                           all declarations or 0, offset from which they repeat all that are in no ENDED_TRACKS block
//   ENDED_TRACKS            TRACKS and TRACK_TOTALS of tracks that have ended
#pragma once

#include <cstdint>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/format/table.hpp"

namespace kymo::capture {

void encode_capture_header(const CaptureHeader& header, TableWriter& table);
/// Returns whether it is a table of a header. Throws DecodeError.
bool decode_capture_header(const TableView& table, CaptureHeader& header);

void encode_capture_end(const CaptureEnd& end, TableWriter& table);
/// Returns whether it is a table of an end. Throws DecodeError.
bool decode_capture_end(const TableView& table, CaptureEnd& end);

/// A list of consecutive blocks.
struct IndexPage {
  std::vector<BlockInfo> blocks;
  std::uint64_t previous_index = 0;
  std::uint64_t all_declarations = 0;
  std::uint64_t living_declarations = 0;
};

/// Limit of blocks in one INDEX block.
constexpr std::size_t max_index_blocks = 4096;

void encode_index(const IndexPage& page, TableWriter& table);
/// Returns whether it is a table of an index. Throws DecodeError.
bool decode_index(const TableView& table, IndexPage& page);

}  // namespace kymo::capture
