#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <span>
#include <thread>

#include "capture/capture_fixture.hpp"
#include "capture/format/block.hpp"
#include "capture/format/crc32c.hpp"
#include "capture/format/frame_breaks.hpp"
#include "capture/sample_batches.hpp"
#include "support/rounds.hpp"

namespace kymo::capture {
namespace {

using test::BatchSource;
using test::Bytes;
using test::describe;
using test::open_bytes;

struct Sample {
  std::vector<EventBatch> batches;
  std::vector<std::string> descriptions;
  Bytes bytes;
};

Sample small_capture(std::size_t blocks = 4, std::size_t events = 40, bool finish = true) {
  Sample sample;
  BatchSource source(1);
  for (std::size_t i = 0; i < blocks; ++i) {
    sample.batches.push_back(source.ordinary(events));
    sample.descriptions.push_back(describe(sample.batches.back()));
  }
  sample.bytes = test::write_capture(sample.batches, finish);
  return sample;
}

// What can be read is a selection of what was written, in order.
void expect_selection(const std::vector<std::string>& read, const std::vector<std::string>& written) {
  std::size_t at = 0;
  for (const std::string& block : read) {
    while (at < written.size() && written[at] != block) {
      ++at;
    }
    ASSERT_LT(at, written.size()) << "a block was read that was never written";
    ++at;
  }
}

std::string error_of(const Bytes& bytes) {
  try {
    static_cast<void>(open_bytes(bytes));
    return "";
  } catch (const CaptureError& error) {
    return error.what();
  }
}

TEST(CaptureReader, WhatIsNoCaptureIsRefusedWithAReason) {
  EXPECT_NE(error_of({}).find("empty"), std::string::npos);
  EXPECT_NE(error_of(Bytes(100)).find("not a kymo capture"), std::string::npos);
  Bytes bytes = small_capture().bytes;
  bytes[8] = std::byte{2};
  EXPECT_NE(error_of(bytes).find("version 2"), std::string::npos);
  const test::TemporaryDirectory directory;
  EXPECT_THROW(CaptureReader(directory / "missing.kymo"), CaptureError);
  EXPECT_THROW(CaptureReader(directory / "."), CaptureError);
}

TEST(CaptureReader, RandomBytesAreRefused) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    Bytes bytes(random() % 500);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random());
    }
    EXPECT_NE(error_of(bytes), "");
    // Behind a preamble they are damage.
    const auto preamble = encode_preamble();
    bytes.insert(bytes.begin(), preamble.begin(), preamble.end());
    const CaptureReader reader = open_bytes(bytes);
    EXPECT_TRUE(reader.blocks().empty());
    EXPECT_EQ(reader.damages().empty(), bytes.size() == preamble.size());
  }
}

TEST(CaptureReader, AFileCutAnywhereGivesEveryWholeBlockAndReportsTheRest) {
  const Sample sample = small_capture();
  const CaptureReader whole = open_bytes(sample.bytes);
  std::set<std::size_t> boundaries{preamble_size, sample.bytes.size()};
  for (const BlockInfo& block : whole.blocks()) {
    boundaries.insert(static_cast<std::size_t>(block.offset) + block_header_size + block.stored_bytes);
  }
  // A step that meets no structure's size.
  constexpr std::size_t step = test::is_emulated ? 7 : 1;
  for (std::size_t size = 0; size <= sample.bytes.size(); size += step) {
    const Bytes cut(sample.bytes.begin(), sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    if (size < preamble_size) {
      EXPECT_NE(error_of(cut), "");
      continue;
    }
    const CaptureReader reader = open_bytes(cut);
    std::size_t whole_blocks = 0;
    std::size_t whole_events = 0;
    for (const BlockInfo& block : whole.blocks()) {
      if (block.offset + block_header_size + block.stored_bytes <= size) {
        ++whole_blocks;
        whole_events += block.kind == BlockKind::events ? 1 : 0;
      }
    }
    ASSERT_EQ(reader.blocks().size(), whole_blocks) << size;
    const auto events = test::read_events(reader);
    ASSERT_EQ(events.size(), whole_events) << size;
    EXPECT_TRUE(std::equal(events.begin(), events.end(), sample.descriptions.begin()));
    ASSERT_EQ(reader.damages().empty(), boundaries.count(size) != 0) << size;
    if (!reader.damages().empty()) {
      EXPECT_EQ(reader.damages()[0].offset + reader.damages()[0].size, size);
    }
  }
}

TEST(CaptureReader, TornLastBlockIsReportedAndTheRestIsRead) {
  const Sample sample = small_capture(4, 40, false);
  const Bytes torn(sample.bytes.begin(), sample.bytes.end() - 10);
  const CaptureReader reader = open_bytes(torn);
  EXPECT_FALSE(reader.is_closed());
  EXPECT_EQ(test::read_events(reader).size(), 3U);
  ASSERT_EQ(reader.damages().size(), 1U);
  EXPECT_NE(reader.damages()[0].what.find("not complete"), std::string::npos) << reader.damages()[0].what;
}

TEST(CaptureReader, TenThousandRandomDamagesNeverYieldWhatWasNotWritten) {
  const Sample sample = small_capture(6, 60);
  std::mt19937_64 random(7);
  std::size_t lost = 0;
  for (int round = 0; round < test::rounds(10'000); ++round) {
    Bytes bytes = sample.bytes;
    switch (random() % 4) {
      case 0:  // a bit
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
        break;
      case 1: {  // a stretch of zeros, as a hole left by a crash
        const std::size_t at = random() % bytes.size();
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min<std::size_t>(random() % 600, bytes.size() - at), std::byte{0});
        break;
      }
      case 2: {  // bytes that are gone
        const std::size_t at = random() % bytes.size();
        const std::size_t count = std::min<std::size_t>(random() % 600, bytes.size() - at);
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        bytes.erase(from, from + static_cast<std::ptrdiff_t>(count));
        break;
      }
      default:  // some random bytes
        for (std::uint64_t i = random() % 20; i > 0; --i) {
          bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
    }
    try {
      CaptureReader reader = open_bytes(bytes);
      const auto events = test::read_events(reader);
      expect_selection(events, sample.descriptions);
      lost += sample.descriptions.size() - events.size();
      if (events.size() < sample.descriptions.size()) {
        ASSERT_FALSE(reader.damages().empty()) << round;
      }
      const bool is_sound = reader.check();
      ASSERT_EQ(is_sound, reader.damages().empty());
      ASSERT_TRUE(is_sound || bytes != sample.bytes);
      // One stretch of damage costs the blocks it touches: those further away are read.
      for (const Damage& damage : reader.damages()) {
        ASSERT_LE(damage.offset + damage.size, bytes.size() + block_header_size + max_payload_size);
      }
    } catch (const CaptureError&) {
      // Only where the first bytes were hit.
      ASSERT_FALSE(std::equal(bytes.begin(), bytes.begin() + std::min<std::ptrdiff_t>(std::ssize(bytes), 12),
                              sample.bytes.begin(), sample.bytes.begin() + 12))
          << round;
    }
  }
  EXPECT_GT(lost, 1000U);
}

TEST(CaptureReader, OneDamagedPayloadCostsItsBlockOnly) {
  Sample sample = small_capture(5, 40);
  const CaptureReader whole = open_bytes(sample.bytes);
  std::size_t index = 0;
  for (const BlockInfo& block : whole.blocks()) {
    if (block.kind != BlockKind::events) {
      continue;
    }
    for (const bool with_index : {true, false}) {
      Bytes bytes = sample.bytes;
      bytes[block.offset + block_header_size + 5] ^= std::byte{0x10};
      if (!with_index) {
        bytes.pop_back();
      }
      const CaptureReader reader = open_bytes(bytes);
      const auto events = test::read_events(reader);
      std::vector<std::string> expected = sample.descriptions;
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(index));
      EXPECT_EQ(events, expected);
      const auto damages = reader.damages();
      ASSERT_FALSE(damages.empty());
      EXPECT_EQ(damages[0].offset, block.offset);
      EXPECT_EQ(damages[0].size, block_header_size + block.stored_bytes);
      EXPECT_NE(damages[0].what.find("checksum"), std::string::npos) << damages[0].what;
    }
    ++index;
  }
}

TEST(CaptureReader, ReadingResumesAtTheNextBlockBehindADamagedLength) {
  Sample sample = small_capture(5, 40, false);
  const CaptureReader whole = open_bytes(sample.bytes);
  std::vector<BlockInfo> event_blocks;
  for (const BlockInfo& block : whole.blocks()) {
    if (block.kind == BlockKind::events) {
      event_blocks.push_back(block);
    }
  }
  Bytes bytes = sample.bytes;
  bytes[event_blocks[1].offset + 10] = std::byte{0x7F};  // stored size: gigabytes
  const CaptureReader reader = open_bytes(bytes);
  std::vector<std::string> expected = sample.descriptions;
  expected.erase(expected.begin() + 1);
  EXPECT_EQ(test::read_events(reader), expected);
  ASSERT_EQ(reader.damages().size(), 1U);
  EXPECT_EQ(reader.damages()[0].offset, event_blocks[1].offset);
  EXPECT_EQ(reader.damages()[0].offset + reader.damages()[0].size, event_blocks[2].offset);
}

TEST(CaptureReader, ABlockThatWasCutOutIsMissedByItsNumber) {
  Sample sample = small_capture(4, 40, false);
  const CaptureReader whole = open_bytes(sample.bytes);
  const BlockInfo block = whole.blocks()[3];
  Bytes bytes = sample.bytes;
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(block.offset);
  bytes.erase(from, from + static_cast<std::ptrdiff_t>(block_header_size + block.stored_bytes));
  const CaptureReader reader = open_bytes(bytes);
  EXPECT_EQ(reader.blocks().size(), whole.blocks().size() - 1);
  ASSERT_EQ(reader.damages().size(), 1U);
  EXPECT_NE(reader.damages()[0].what.find("missing"), std::string::npos);
}

TEST(CaptureReader, BlocksOfUnknownKindsAreListedAndSteppedOver) {
  Sample sample = small_capture(3, 40, false);
  const CaptureReader whole = open_bytes(sample.bytes);
  BlockHeader header;
  header.kind = static_cast<BlockKind>(99);
  header.stored_size = 5;
  header.raw_size = 5;
  header.number = static_cast<std::uint32_t>(whole.blocks().size());
  const Bytes payload(5, std::byte{1});
  header.payload_crc = crc32c(payload);
  std::array<std::byte, block_header_size> bytes{};
  encode_header(header, bytes);
  sample.bytes.insert(sample.bytes.end(), bytes.begin(), bytes.end());
  sample.bytes.insert(sample.bytes.end(), payload.begin(), payload.end());
  CaptureReader reader = open_bytes(sample.bytes);
  EXPECT_TRUE(reader.check());
  EXPECT_EQ(reader.blocks().size(), whole.blocks().size() + 1);
  EXPECT_EQ(test::read_events(reader), sample.descriptions);
}

TEST(CaptureReader, AGrowingFileIsFollowedByteByByte) {
  const Sample sample = small_capture(3, 10);
  const test::TemporaryDirectory directory;
  const std::string path = directory / "growing.kymo";
  test::write_file(path, Bytes(sample.bytes.begin(), sample.bytes.begin() + preamble_size));
  std::ofstream file(path, std::ios::binary | std::ios::app);
  CaptureReader reader(path);
  std::vector<std::string> seen;
  std::size_t taken = 0;
  EventBatch batch;
  for (std::size_t size = preamble_size; size < sample.bytes.size(); ++size) {
    file.put(static_cast<char>(sample.bytes[size]));
    file.flush();
    const bool found = reader.refresh();
    EXPECT_EQ(found, reader.blocks().size() > taken);
    for (; taken < reader.blocks().size(); ++taken) {
      if (reader.blocks()[taken].kind == BlockKind::events) {
        ASSERT_TRUE(reader.read(reader.blocks()[taken], batch));
        seen.push_back(describe(batch));
      }
    }
  }
  EXPECT_EQ(seen, sample.descriptions);
  EXPECT_TRUE(reader.is_closed());
  EXPECT_TRUE(reader.damages().empty());
  EXPECT_EQ(reader.declarations().sites.size(), 5U);
  EXPECT_EQ(reader.end().tracks.size(), 1U);
  EXPECT_FALSE(reader.refresh());
}

TEST(CaptureReader, AGrowingFileIsFollowedPastDamage) {
  Sample sample = small_capture(4, 40, false);
  const CaptureReader whole = open_bytes(sample.bytes);
  const BlockInfo damaged = whole.blocks()[2];
  sample.bytes[damaged.offset + 9] ^= std::byte{0xFF};
  const test::TemporaryDirectory directory;
  const std::string path = directory / "growing.kymo";
  test::write_file(path, Bytes(sample.bytes.begin(), sample.bytes.begin() + preamble_size));
  CaptureReader reader(path);
  for (std::size_t size = preamble_size; size <= sample.bytes.size(); size += 7) {
    test::write_file(path, Bytes(sample.bytes.begin(), sample.bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    reader.refresh();
  }
  test::write_file(path, sample.bytes);
  reader.refresh();
  EXPECT_EQ(reader.blocks().size(), whole.blocks().size() - 1);
  ASSERT_EQ(reader.damages().size(), 1U);
  EXPECT_EQ(reader.damages()[0].offset, damaged.offset);
}

TEST(CaptureReader, AFileThatBecameShorterIsAnError) {
  const Sample sample = small_capture(3, 10, false);
  const test::TemporaryDirectory directory;
  const std::string path = directory / "shrinking.kymo";
  test::write_file(path, sample.bytes);
  CaptureReader reader(path);
  test::write_file(path, Bytes(sample.bytes.begin(), sample.bytes.begin() + 100));
  EXPECT_THROW(reader.refresh(), CaptureError);
  EventBatch batch;
  EXPECT_FALSE(reader.read(reader.blocks().back(), batch));
}

TEST(CaptureReader, ADamagedIndexIsReplacedByHopping) {
  const Sample sample = small_capture();
  const CaptureReader whole = open_bytes(sample.bytes);
  const BlockInfo index = whole.blocks().back();
  ASSERT_EQ(index.kind, BlockKind::index);
  for (std::size_t offset = index.offset; offset < sample.bytes.size(); ++offset) {
    Bytes bytes = sample.bytes;
    bytes[offset] ^= std::byte{0x55};
    const CaptureReader reader = open_bytes(bytes);
    EXPECT_EQ(test::read_events(reader), sample.descriptions) << offset;
    EXPECT_EQ(reader.declarations().sites.size(), 5U);
  }
}

TEST(CaptureReader, DeclarationsSurviveDamageToTheirRepetition) {
  const Sample sample = small_capture();
  const CaptureReader whole = open_bytes(sample.bytes);
  std::vector<BlockInfo> blocks;
  for (const BlockInfo& block : whole.blocks()) {
    if (block.kind == BlockKind::declarations) {
      blocks.push_back(block);
    }
  }
  ASSERT_EQ(blocks.size(), 2U);
  for (const BlockInfo& block : blocks) {
    Bytes bytes = sample.bytes;
    bytes[block.offset + block_header_size] ^= std::byte{1};
    const CaptureReader reader = open_bytes(bytes);
    EXPECT_EQ(reader.declarations().sites.size(), 5U);
    EXPECT_EQ(reader.end().tracks.size(), 1U);
  }
}

TEST(CaptureReader, ABlockOfAnotherFileIsNotBelieved) {
  const Sample sample = small_capture(4, 40);
  const Bytes other_bytes = test::write_capture({sample.batches[2], sample.batches[0]});
  const CaptureReader other = open_bytes(other_bytes);
  const CaptureReader reader = open_bytes(sample.bytes);
  EventBatch batch;
  for (BlockInfo block : other.blocks()) {
    block.offset += 3;
    EXPECT_FALSE(reader.read(block, batch));
    block.stored_bytes = UINT32_MAX;
    EXPECT_FALSE(reader.read(block, batch));
    block.offset = UINT64_MAX - 10;
    EXPECT_FALSE(reader.read(block, batch));
  }
}

TEST(CaptureReader, SeveralThreadsReadAtOnce) {
  const Sample sample = small_capture(8, 2000);
  const CaptureReader reader = open_bytes(sample.bytes);
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> results(4);
  for (auto& result : results) {
    threads.emplace_back([&reader, &result] { result = test::read_events(reader); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& result : results) {
    EXPECT_EQ(result, sample.descriptions);
  }
}

TEST(CaptureReader, AZstdBlockThatPromisesMoreThanItHoldsIsRefused) {
  // 16 bytes that claim 4080: as much as the header allows for them.
  BlockHeader header;
  header.codec = CodecId::zstd;
  header.stored_size = 16;
  header.raw_size = 16 * max_compression;
  const Bytes payload(16, std::byte{0x28});
  header.payload_crc = crc32c(payload);
  std::array<std::byte, block_header_size> header_bytes{};
  encode_header(header, header_bytes);
  Bytes bytes;
  const auto preamble = encode_preamble();
  bytes.insert(bytes.end(), preamble.begin(), preamble.end());
  bytes.insert(bytes.end(), header_bytes.begin(), header_bytes.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const CaptureReader reader = open_bytes(bytes);
  ASSERT_EQ(reader.blocks().size(), 1U);
  EventBatch batch;
  EXPECT_FALSE(reader.read(reader.blocks()[0], batch));
  EXPECT_EQ(reader.damages().size(), 1U);

  // One byte more is not a header at all.
  header.raw_size += 1;
  encode_header(header, header_bytes);
  std::copy(header_bytes.begin(), header_bytes.end(), bytes.begin() + preamble_size);
  EXPECT_TRUE(open_bytes(bytes).blocks().empty());
}

/// A capture whose last EVENTS block is marked as following lost events.
Bytes capture_after_loss(const EventBatch& batch, CaptureWriterOptions options) {
  Bytes bytes = test::write_capture({batch}, false, std::move(options));
  const BlockInfo last = open_bytes(bytes).blocks().back();
  EXPECT_EQ(last.kind, BlockKind::events);
  const auto head = std::span(bytes).subspan(static_cast<std::size_t>(last.offset)).first<block_header_size>();
  BlockHeader header = parse_header(head).value();
  header.level = level_after_loss;
  encode_header(header, head);
  return bytes;
}

// A batch starts as early as its spans, which may have begun before the marks ahead of the lost events.
TEST(CaptureReader, ABlockAfterLostEventsBreaksFramesAtItsFirstMarkHoweverEarlyItStarts) {
  EventBatch batch;
  batch.start_ns = 5;
  batch.end_ns = 300;
  batch.frame_marks = {{FrameStreamId{1}, TrackId{2}, 200}, {FrameStreamId{1}, TrackId{1}, 100}};
  auto options = test::sample_options();
  options.declarations.frame_streams = {{FrameStreamId{1}, ProcessId{1}, ""}, {FrameStreamId{2}, ProcessId{1}, "b"}};
  const Bytes bytes = capture_after_loss(batch, std::move(options));
  const CaptureReader reader = open_bytes(bytes);
  EventBatch read;
  ASSERT_TRUE(reader.read(reader.blocks().back(), read));
  EXPECT_TRUE(read.follows_loss);
  ASSERT_EQ(read.frame_marks.size(), 4U);
  EXPECT_EQ(read.frame_marks[0].time_ns, 100);
  EXPECT_EQ(read.frame_marks[1].time_ns, 300) << "no mark of this stream";
  EXPECT_TRUE(read.frame_marks[0].is_break && read.frame_marks[1].is_break);
}

// A small file may declare millions, and consist of blocks that all say that events before them are missing.
TEST(CaptureReader, ABlockAfterLostEventsTakesLittleMemoryHoweverManyStreamsThereAre) {
  EventBatch batch;
  batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, 5});
  auto options = test::sample_options();
  for (std::uint32_t id = 1; id <= 5'000; ++id) {
    options.declarations.frame_streams.push_back({FrameStreamId{id}, ProcessId{1}, ""});
  }
  const Bytes bytes = capture_after_loss(batch, std::move(options));
  const CaptureReader reader = open_bytes(bytes);
  ASSERT_TRUE(reader.read(reader.blocks().back(), batch));
  EXPECT_EQ(batch.frame_marks.size(), most_broken_streams + 1);
  EXPECT_TRUE(batch.frame_marks.front().is_break);
  EXPECT_FALSE(batch.frame_marks.back().is_break);
}

}  // namespace
}  // namespace kymo::capture
