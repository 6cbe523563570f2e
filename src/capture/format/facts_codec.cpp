#include "capture/format/facts_codec.hpp"

#include <array>

#include "capture/format/block.hpp"

namespace kymo::capture {

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
  table.field(1, ascending, {end.tracks, &TrackTotals::track});
  table.field(2, plain, {end.tracks, &TrackTotals::recorded_scopes});
  table.field(3, plain, {end.tracks, &TrackTotals::dropped_scopes});
  table.field(4, plain, {end.tracks, &TrackTotals::dropped_others});
  table.field(5, plain, {end.tracks, &TrackTotals::end_sequence});
  table.end();
  if (!end.facts.empty()) {
    table.begin(TableId::closing_facts);
    using Fact = decltype(end.facts)::value_type;
    table.text_field(1, {end.facts, &Fact::first});
    table.field(2, plain, {end.facts, &Fact::second});
    table.end();
  }
}

bool decode_capture_end(const TableView& table, CaptureEnd& end) {
  if (table.is(TableId::track_totals)) {
    const std::uint64_t rows = table.rows();
    end.tracks.resize(static_cast<std::size_t>(rows));
    table.field(1, rows, [&](std::size_t i, std::uint64_t value) { end.tracks[i].track = narrow<TrackId>(value); });
    table.field(2, rows, [&](std::size_t i, std::uint64_t value) { end.tracks[i].recorded_scopes = value; });
    table.field(3, rows, [&](std::size_t i, std::uint64_t value) { end.tracks[i].dropped_scopes = value; });
    table.field(4, rows, [&](std::size_t i, std::uint64_t value) { end.tracks[i].dropped_others = value; });
    table.field(5, rows, [&](std::size_t i, std::uint64_t value) { end.tracks[i].end_sequence = value; });
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
  table.field(1, plain, {blocks, &BlockInfo::kind});
  table.field(2, plain, {blocks, &BlockInfo::level});
  table.field(3, plain, {blocks, &BlockInfo::stored_bytes});
  table.field(4, plain, {blocks, &BlockInfo::raw_bytes});
  table.field(5, wandering, {blocks, &BlockInfo::start_ns});
  table.field(6, signed_values, blocks, [](const BlockInfo& block) {
    return static_cast<std::uint64_t>(block.end_ns) - static_cast<std::uint64_t>(block.start_ns);
  });
  table.field(7, plain, {blocks, &BlockInfo::scope_events});
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
  std::array<std::uint64_t, 5> facts{};
  table.field(8, table.count(8), [&](std::size_t i, std::uint64_t value) {
    if (i < facts.size()) {
      facts[i] = value;
    }
  });
  page.previous_index = facts[2];
  page.all_declarations = facts[3];
  page.living_declarations = facts[4];
  auto& blocks = page.blocks;
  const std::uint64_t rows = table.rows();
  if (rows > max_index_blocks) {
    throw DecodeError("an index block lists more blocks than any writer puts into one");
  }
  blocks.resize(static_cast<std::size_t>(rows));
  table.field(1, rows, [&](std::size_t i, std::uint64_t value) {
    blocks[i].kind = static_cast<BlockKind>(narrow<std::uint8_t>(value));
  });
  table.field(2, rows, [&](std::size_t i, std::uint64_t value) { blocks[i].level = narrow<std::uint16_t>(value); });
  table.field(3, rows,
              [&](std::size_t i, std::uint64_t value) { blocks[i].stored_bytes = narrow<std::uint32_t>(value); });
  table.field(4, rows, [&](std::size_t i, std::uint64_t value) { blocks[i].raw_bytes = narrow<std::uint32_t>(value); });
  table.field(5, rows,
              [&](std::size_t i, std::uint64_t value) { blocks[i].start_ns = static_cast<std::int64_t>(value); });
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
