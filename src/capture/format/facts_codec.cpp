#include "capture/format/facts_codec.hpp"

#include <array>

#include "capture/format/block.hpp"
#include "capture/format/row_columns.hpp"

namespace kymo::capture {
namespace {

// The columns of each table that are fields: Columns is RowsOut or RowsIn.

template <typename Columns>
void visit(Columns& columns, const TrackTotals*) {
  columns.number(1, &TrackTotals::track, ascending);
  columns.number(2, &TrackTotals::recorded_scopes);
  columns.number(3, &TrackTotals::dropped_scopes);
  columns.number(4, &TrackTotals::dropped_others);
  columns.number(5, &TrackTotals::end_sequence);
}

template <typename Columns>
void visit(Columns& columns, const BlockInfo*) {
  columns.number(2, &BlockInfo::level);
  columns.number(3, &BlockInfo::stored_bytes);
  columns.number(4, &BlockInfo::raw_bytes);
  columns.time(5, &BlockInfo::start_ns);
}

}  // namespace

void encode_capture_header(const CaptureHeader& header, TableWriter& table) {
  table.begin(TableId::capture);
  const std::array<std::string_view, 3> texts{header.recorder, header.spool_id, header.clock_source};
  table.texts(1, texts);
  table.floats(2, std::span(&header.clock_step_ns, 1));
  auto& values = table.values();
  values.assign({header.owner_pid});
  table.numbers(3, plain, values);
  table.end();
}

bool decode_capture_header(const TableView& table, CaptureHeader& header) {
  if (!table.is(TableId::capture)) {
    return false;
  }
  const std::array<std::string*, 3> texts{&header.recorder, &header.spool_id, &header.clock_source};
  table.text_field(1, table.rows(), [&](std::size_t i, std::string_view text) {
    if (i < texts.size()) {
      *texts[i] = text;
    }
  });
  table.floats(2, std::span(&header.clock_step_ns, 1));
  table.field(3, 1, [&](std::size_t, std::uint64_t value) { header.owner_pid = value; });
  return true;
}

void encode_capture_end(const CaptureEnd& end, TableWriter& table) {
  table.begin(TableId::track_totals);
  if (!end.tracks.empty()) {
    RowsOut<TrackTotals> columns(table, end.tracks);
    visit(columns, end.tracks.data());
  }
  table.end();
  if (!end.facts.empty()) {
    table.begin(TableId::closing_facts);
    using Fact = decltype(end.facts)::value_type;
    RowsOut<Fact> columns(table, end.facts);
    columns.text(1, &Fact::first);
    columns.number(2, &Fact::second);
    table.end();
  }
}

bool decode_capture_end(const TableView& table, CaptureEnd& end) {
  if (table.is(TableId::track_totals)) {
    end.tracks.clear();
    RowsIn<TrackTotals> columns(table, end.tracks);
    visit(columns, end.tracks.data());
    return true;
  }
  if (table.is(TableId::closing_facts)) {
    const std::uint64_t rows = table.rows();
    end.facts.clear();
    table.text_field(1, rows, [&](std::size_t, std::string_view key) { end.facts.emplace_back(key, 0); });
    table.field(2, rows, [&](std::size_t i, std::uint64_t value) { end.facts[i].second = value; });
    return true;
  }
  return false;
}

void encode_index(const IndexPage& page, TableWriter& table) {
  const auto& blocks = page.blocks;
  table.begin(TableId::blocks);
  if (!blocks.empty()) {
    RowsOut<BlockInfo> columns(table, blocks);
    columns.number(1, &BlockInfo::kind);
    visit(columns, blocks.data());
    table.field(6, signed_values, blocks, [](const BlockInfo& block) {
      return static_cast<std::uint64_t>(block.end_ns) - static_cast<std::uint64_t>(block.start_ns);
    });
    columns.number(7, &BlockInfo::scope_events);
  }
  auto& facts = table.values();
  facts.assign({blocks.empty() ? 0 : blocks.front().offset, blocks.empty() ? 0 : blocks.front().number,
                page.previous_index, page.all_declarations});
  if (page.living_declarations != 0) {
    facts.push_back(page.living_declarations);
  }
  table.counted_numbers(8, plain, facts);
  table.end();
}

bool decode_index(const TableView& table, IndexPage& page) {
  if (!table.is(TableId::blocks)) {
    return false;
  }
  const auto facts = table.first_values<5>(8);
  page.previous_index = facts[2];
  page.all_declarations = facts[3];
  page.living_declarations = facts[4];
  auto& blocks = page.blocks;
  const std::uint64_t rows = table.rows();
  if (rows > max_index_blocks) {
    throw DecodeError("an index block lists more blocks than any writer puts into one");
  }
  blocks.clear();
  RowsIn<BlockInfo> columns(table, blocks);
  visit(columns, blocks.data());
  table.field(1, rows, [&](std::size_t i, std::uint64_t value) {
    blocks[i].kind = static_cast<BlockKind>(narrow<std::uint8_t>(value));
  });
  table.field(6, rows, [&](std::size_t i, std::uint64_t value) {
    blocks[i].end_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(blocks[i].start_ns) + value);
  });
  table.field(7, rows,
              [&](std::size_t i, std::uint64_t value) { blocks[i].scope_events = narrow<std::uint32_t>(value); });
  std::uint64_t offset = facts[0];
  auto number = narrow<std::uint32_t>(facts[1]);
  for (BlockInfo& block : blocks) {
    block.offset = offset;
    block.number = number++;
    offset += block_header_size + block.stored_bytes;
  }
  return true;
}

}  // namespace kymo::capture
