// Few bytes that stand for many rows: what readers keep of a capture is bounded by its size.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "capture/format/block.hpp"
#include "capture/format/codec.hpp"
#include "capture/format/crc32c.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/format/table.hpp"
#include "capture_fixture.hpp"

namespace kymo::capture {
namespace {

using test::Bytes;

constexpr std::uint64_t most_kept = (std::uint64_t{128} << 20U);

/// A capture whose blocks a forger appends.
class Forgery {
 public:
  Forgery() : bytes_(test::write_capture({}, false)) {
    number_ = static_cast<std::uint32_t>(test::open_bytes(bytes_).blocks().size());
  }

  void append(BlockKind kind, const ByteBuffer& raw) {
    ByteBuffer stored;
    const auto codec = make_lz4_codec();
    const std::size_t size = codec->compress(raw.bytes(), {}, stored);
    BlockHeader header;
    header.kind = kind;
    header.codec = size == 0 ? CodecId::none : CodecId::lz4;
    if (size == 0) {
      stored.clear();
      stored.append(raw.bytes());
    }
    header.stored_size = static_cast<std::uint32_t>(stored.size());
    header.raw_size = static_cast<std::uint32_t>(raw.size());
    header.payload_crc = crc32c(stored.bytes());
    header.number = number_++;
    header.start_ns = header.end_ns = 1'000'000'000;
    std::array<std::byte, block_header_size> head;
    encode_header(header, head);
    bytes_.insert(bytes_.end(), head.begin(), head.end());
    bytes_.insert(bytes_.end(), stored.bytes().begin(), stored.bytes().end());
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::uint32_t number_;
};

/// A column of zeros that takes two bytes.
void put_zeros(TableWriter& table, std::uint8_t column, std::uint64_t count) {
  table.column(column, {Storage::planes, false, false}, count, std::array{std::byte{0}, std::byte{0}});
}

TEST(Expansion, DeclarationsThatAFewBytesStandForAreNotAllKept) {
  Forgery forgery;
  constexpr std::size_t rows = 200'000;
  std::uint32_t next = 1;
  for (int block = 0; block < 4; ++block) {
    Declarations declarations;
    declarations.sites.resize(rows);
    for (SiteDeclaration& site : declarations.sites) {
      site.id = SiteId{next++};
    }
    ByteBuffer raw;
    TableWriter table(raw, Packing::bits);
    encode_declarations(declarations, table);
    forgery.append(BlockKind::declarations, raw);
  }
  ASSERT_LT(forgery.bytes().size(), 199'000U);
  const CaptureReader reader = test::open_bytes(forgery.bytes());
  EXPECT_LE(memory_of(reader.declarations()), most_kept + 64 * forgery.bytes().size());
  EXPECT_GT(reader.declarations().sites.size(), rows) << "what is bearable is read";
  ASSERT_FALSE(reader.damages().empty());
  EXPECT_NE(reader.damages()[0].what.find("memory"), std::string::npos) << reader.damages()[0].what;
}

TEST(Expansion, TextsThatAFewBytesStandForAreNotAllKept) {
  Forgery forgery;
  for (int i = 0; i < 400; ++i) {
    Declarations declarations;
    declarations.infos.push_back({ProcessId{1}, "key " + std::to_string(i), std::string(1'000'000, 'x')});
    ByteBuffer raw;
    TableWriter table(raw, Packing::bits);
    encode_declarations(declarations, table);
    forgery.append(BlockKind::declarations, raw);
  }
  ASSERT_LT(forgery.bytes().size(), std::size_t{3} << 20U);
  const CaptureReader reader = test::open_bytes(forgery.bytes());
  EXPECT_LE(memory_of(reader.declarations()), most_kept + 64 * forgery.bytes().size());
  EXPECT_FALSE(reader.damages().empty());
}

TEST(Expansion, AThousandTablesOfStacksInABlockAreDamage) {
  for (const int tables : {1, 1000}) {
    Forgery forgery;
    ByteBuffer raw;
    TableWriter table(raw, Packing::bits);
    Declarations declarations;
    declarations.stacks.resize(4096);
    for (int i = 0; i < tables; ++i) {
      for (StackDeclaration& stack : declarations.stacks) {
        stack.id = StackId{stack.id.value() + 4096};
      }
      ByteBuffer one;
      TableWriter writer(one, Packing::bits);
      encode_declarations(declarations, writer);
      raw.append(one.bytes());
    }
    forgery.append(BlockKind::declarations, raw);
    const CaptureReader reader = test::open_bytes(forgery.bytes());
    EXPECT_EQ(reader.declarations().stacks.empty(), tables != 1);
    EXPECT_EQ(reader.damages().empty(), tables == 1);
  }
}

TEST(Expansion, TotalsOfMillionsOfTracksInAFewBytesAreDamage) {
  Forgery forgery;
  ByteBuffer raw;
  TableWriter table(raw, Packing::planes);
  table.begin(TableId::track_totals);
  put_zeros(table, 1, 4'000'000);
  table.end();
  forgery.append(BlockKind::end, raw);
  const CaptureReader reader = test::open_bytes(forgery.bytes());
  EXPECT_TRUE(reader.end().tracks.empty());
  EXPECT_FALSE(reader.damages().empty());
}

TEST(Expansion, MillionsOfEventsInAFewBytesAreDamage) {
  for (const TableId id : {TableId::frame_marks, TableId::flows, TableId::spans, TableId::async_begins,
                           TableId::sync_points, TableId::clock_anchors}) {
    Forgery forgery;
    ByteBuffer raw;
    TableWriter table(raw, Packing::planes);
    table.begin(id);
    put_zeros(table, 1, 4'000'000);
    table.end();
    forgery.append(BlockKind::events, raw);
    CaptureReader reader = test::open_bytes(forgery.bytes());
    EventBatch batch;
    EXPECT_FALSE(reader.read(reader.blocks().back(), batch)) << static_cast<int>(id);
    EXPECT_FALSE(reader.damages().empty());
  }
}

TEST(Expansion, SummariesBeyondWhatTheFileCanHoldAreNotRead) {
  Forgery forgery;
  ByteBuffer raw;
  std::fill_n(raw.reserve(4'000'000), 4'000'000, std::byte{0});
  raw.commit(4'000'000);
  for (int i = 0; i < 50; ++i) {
    forgery.append(BlockKind::summary, raw);
  }
  const CaptureReader reader = test::open_bytes(forgery.bytes());
  std::uint64_t read = 0;
  BlockPayload payload;
  for (const BlockInfo& block : reader.blocks()) {
    read += block.kind == BlockKind::summary && reader.read_payload(block, payload) ? payload.size() : 0;
  }
  EXPECT_GT(read, 0U);
  EXPECT_LE(read, (std::uint64_t{16} << 20U) + 64 * forgery.bytes().size());
  EXPECT_FALSE(reader.damages().empty());
}

}  // namespace
}  // namespace kymo::capture
