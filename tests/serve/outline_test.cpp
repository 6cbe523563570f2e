// Outlines, against a walk through the file by the tables of docs/format.md.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>

#include "capture/capture_fixture.hpp"
#include "capture/sample_batches.hpp"
#include "serve/live/outline.hpp"

namespace kymo::serve {
namespace {

using test::Bytes;

std::uint64_t number_at(const std::string& text, std::size_t at, unsigned bytes) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(text.at(at + i))} << (8 * i);
  }
  return number;
}

/// Bytes of a file by their offsets, and how far they cover it.
struct Outline {
  std::map<std::uint64_t, std::string> pieces;
  std::uint64_t end = 0;
};

Outline parse_outline(const std::string& text) {
  Outline outline;
  std::uint64_t after = 0;
  for (std::size_t at = 0;;) {
    const std::uint64_t offset = number_at(text, at, 8);
    const std::size_t size = static_cast<std::size_t>(number_at(text, at + 8, 4));
    at += 12;
    if (size == 0) {
      EXPECT_EQ(at, text.size()) << "nothing stands behind the end";
      outline.end = offset;
      return outline;
    }
    EXPECT_GE(offset, after) << "pieces ascend";
    outline.pieces[offset] = text.substr(at, size);
    after = offset + size;
    at += size;
  }
}

std::string write_outline(const Bytes& bytes, std::uint64_t from = 0, std::uint64_t most_bytes = UINT64_MAX) {
  OutlineBody outline(capture::make_memory_source(bytes), from, most_bytes);
  std::string text;
  while (outline.next(text) == Body::Step::more) {
  }
  return text;
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What docs/format.md makes of a whole file.
Outline walk(const Bytes& bytes) {
  const std::string file = text_of(bytes);
  Outline outline;
  outline.pieces[0] = file.substr(0, 16);
  std::size_t at = 16;
  while (at + 48 <= file.size() && file.substr(at, 4) == "\x8BKLK") {
    const std::size_t size = 48 + static_cast<std::size_t>(number_at(file, at + 8, 4));
    constexpr char events = 3;
    outline.pieces[at] = file.substr(at, file[at + 4] == events ? 48 : size);
    at += size;
  }
  if (at + 16 == file.size() && file.substr(at + 8) == "KYMOEND\n") {
    outline.pieces[at] = file.substr(at);
    at += 16;
  }
  outline.end = at;
  return outline;
}

Bytes sample_capture(std::size_t batches, bool finish) {
  test::BatchSource source(7);
  std::vector<EventBatch> drawn;
  for (std::size_t i = 0; i < batches; ++i) {
    drawn.push_back(source.ordinary(300));
  }
  return test::write_capture(drawn, finish);
}

TEST(Outline, HoldsEverythingButEvents) {
  for (const bool finish : {true, false}) {
    const Bytes bytes = sample_capture(40, finish);
    const Outline outline = parse_outline(write_outline(bytes));
    const Outline expected = walk(bytes);
    EXPECT_EQ(outline.pieces, expected.pieces);
    EXPECT_EQ(outline.end, bytes.size());
    EXPECT_GT(outline.pieces.size(), 40U);
  }
}

TEST(Outline, GoesOnWhereAnEarlierOneEnded) {
  const Bytes bytes = sample_capture(30, true);
  const Outline expected = walk(bytes);
  Outline all;
  // As the file grows, by a size that tears blocks anywhere, and with room for a few blocks at a time.
  for (std::size_t there = 0; all.end < bytes.size(); there = std::min(there + 777, bytes.size())) {
    const Bytes begun(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(there));
    const Outline part = parse_outline(write_outline(begun, all.end, 2000));
    ASSERT_GE(part.end, all.end);
    ASSERT_LE(part.end, there);
    ASSERT_TRUE(part.pieces.empty() || part.pieces.begin()->first >= all.end);
    all.pieces.insert(part.pieces.begin(), part.pieces.end());
    all.end = part.end;
  }
  EXPECT_EQ(all.pieces, expected.pieces);
}

TEST(Outline, StaysBelowItsBoundUnlessOneBlockIsLarger) {
  const Bytes bytes = sample_capture(40, true);
  const std::string all = write_outline(bytes);
  EXPECT_LE(write_outline(bytes, 0, all.size() / 2).size(), all.size() / 2 + 100);
  // The preamble alone, then one block at a time.
  const Outline first = parse_outline(write_outline(bytes, 0, 1));
  EXPECT_EQ(first.end, 16U);
  const Outline second = parse_outline(write_outline(bytes, first.end, 1));
  EXPECT_EQ(second.pieces.size(), 1U);
  EXPECT_EQ(second.pieces.begin()->first, 16U);
}

TEST(Outline, LeavesOutWhatIsDamagedAndPassesNoTornEnd) {
  const Bytes whole = sample_capture(20, true);
  const Outline expected = walk(whole);
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Bytes bytes = whole;
    const std::size_t hurt = 16 + random() % (bytes.size() - 16);
    bytes[hurt] ^= std::byte{0x55};
    const Outline outline = parse_outline(write_outline(bytes));
    const std::string file = text_of(bytes);
    std::size_t missing = 0;
    for (const auto& [offset, content] : outline.pieces) {
      ASSERT_EQ(file.compare(static_cast<std::size_t>(offset), content.size(), content), 0) << offset;
      ASSERT_EQ(expected.pieces.count(offset), 1U) << offset;
    }
    for (const auto& [offset, content] : expected.pieces) {
      missing += outline.pieces.count(offset) == 0 ? 1U : 0U;
    }
    EXPECT_LE(missing, 1U) << "only the block that was hit";
    const Bytes torn(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(hurt));
    EXPECT_LE(parse_outline(write_outline(torn)).end, hurt);
  }
}

TEST(Outline, OfBytesThatAreNoBlocksIsEmpty) {
  const Bytes garbage(100'000, std::byte{0x8B});
  EXPECT_EQ(parse_outline(write_outline(garbage)).end, 16U);
  EXPECT_EQ(parse_outline(write_outline({})).end, 0U);
  EXPECT_EQ(parse_outline(write_outline(garbage, 5000)).end, 5000U);
}

}  // namespace
}  // namespace kymo::serve
