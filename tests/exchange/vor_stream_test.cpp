// .vor streams byte by byte: written as the format says, read whatever is in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <lz4.h>

#include "exchange/vor/flame.hpp"
#include "exchange/vor/format.hpp"
#include "vor_fixture.hpp"

namespace kymo::exchange {
namespace {

using test::as_record;
using test::Bytes;
using test::declaration;
using test::flame_part;
using test::frame;
using test::header;
using test::reader_of;
using test::scope;

// Bytes that lz4 finds no repetition in.
double odd_value() {
  const std::uint64_t bits = 0x40A1B2C3D4E5F607U;
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(VorStream, SmallStreamIsTheseBytes) {
  std::string written;
  VorWriter::append_header(written, {true, {{"frame_ms", "ms"}}});
  VorWriter writer;
  writer.append_declaration(written, 1, {"loss", "nats"});
  VorFrame values;
  values.system = {odd_value()};
  writer.append_frame(written, values);
  const char expected[] =
      "VOR1\x02\x00\x01\x01\x00\x08\x00"
      "frame_ms\x02\x00ms"
      "\x15\x00\x00\x00\x0F\x00\x00\x00\xF0\x00\x01\x01\x00\x04\x00"
      "loss\x04\x00nats"
      "\x15\x00\x00\x00\x0F\x00\x00\x00\xF0\x00\x00\x07\xF6\xE5\xD4\xC3\xB2\xA1\x40\x00\x00\x00\x00\x00\x00";
  EXPECT_EQ(written, std::string(expected, sizeof expected - 1));
}

TEST(VorStream, FlamePartIsTheseBytes) {
  const std::string texts = "n=1";
  const std::vector<FlameScope> scopes = {
      {1000, 9000, SiteId{1}, 0, 0, 3}, {2000, 3000, SiteId{2}, 1, 0, 0}, {3000, 9000, SiteId{2}, 1, 0, 0}};
  FlameWriter writer;
  writer.begin();
  writer.add_thread(1000, "main", scopes, texts);
  writer.add_site({1, false, "work", "run()", "a.cpp", 300});
  writer.add_site({2, true, "", "load", "b.cpp", 7});
  const std::string part(writer.finish({7, 500, 9500}));

  const std::string stream = scope(1, 1000, 9000, scope(2, 2000, 3000) + scope(2, 3000, 9000), "n=1");
  const std::string expected = flame_part({7, 500, 9500, 3, 2}, stream);
  const std::string sites = test::flame_sites();
  // All but the compressed threads, whose size varies, byte for byte.
  const std::size_t head = 4 + 4 + 1 + 3 + 3 + 1 + 1;
  EXPECT_EQ(part.substr(0, head), expected.substr(0, head));
  EXPECT_EQ(part.substr(part.size() - sites.size() - 4), Bytes().u32(sites.size()).raw(sites).str());
  const std::string expected_threads = test::flame_threads({7, 1000, 9000, 3, 2}, stream);
  const std::size_t begin = head + 4;
  EXPECT_EQ(part[begin], 1);
  EXPECT_EQ(part.substr(begin + 1, 4), Bytes().u32(expected_threads.size()).str());
  std::string raw(expected_threads.size(), ' ');
  const std::size_t stored = part.size() - sites.size() - 4 - begin - 5;
  EXPECT_EQ(part.substr(head, 4), Bytes().u32(stored + 4).str());
  ASSERT_EQ(
      LZ4_decompress_safe(part.data() + begin + 5, raw.data(), static_cast<int>(stored), static_cast<int>(raw.size())),
      static_cast<int>(raw.size()));
  EXPECT_EQ(raw, expected_threads);
}

TEST(VorStream, ReadsWhatStandsThere) {
  const std::string flame = flame_part({0, 1000, 2000}, scope(1, 1000, 2000));
  const std::string bytes = header({{"frame_ms", "ms"}, {"gpu_util", "%"}}, true) + declaration(2, "loss", "nats") +
                            frame({0, 73}, {{2, 1.25}}, flame) + frame({16.5, 0});
  VorReader reader = reader_of(bytes);
  EXPECT_TRUE(reader.header().has_flames);
  ASSERT_EQ(reader.header().columns.size(), 2U);
  EXPECT_EQ(reader.header().columns[1].name, "gpu_util");
  EXPECT_EQ(reader.header().columns[1].unit, "%");
  VorFrame found;
  for (int round = 0; round < 2; ++round, reader.rewind()) {
    ASSERT_TRUE(reader.next(found));
    EXPECT_EQ(found.system, (std::vector<double>{0, 73}));
    ASSERT_EQ(found.user.size(), 1U);
    EXPECT_EQ(found.user[0].column, 2);
    EXPECT_EQ(found.user[0].value, 1.25);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(found.flame.data()), found.flame.size()), flame);
    ASSERT_TRUE(reader.next(found));
    EXPECT_EQ(found.system, (std::vector<double>{16.5, 0}));
    EXPECT_TRUE(found.user.empty());
    EXPECT_TRUE(found.flame.empty());
    EXPECT_FALSE(reader.next(found));
    ASSERT_EQ(reader.user_columns().size(), 1U);
    EXPECT_EQ(reader.user_columns()[0].second.name, "loss");
    EXPECT_EQ(reader.damage().records + reader.damage().torn_bytes, 0U);
  }
}

TEST(VorStream, CutAnywhereGivesTheWholeRecordsBeforeTheCut) {
  const std::string head = header({{"frame_ms", "ms"}});
  std::string bytes = head;
  std::vector<std::size_t> ends;
  for (int i = 0; i < 3; ++i) {
    bytes += frame({static_cast<double>(i)});
    ends.push_back(bytes.size());
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    if (size < head.size()) {
      EXPECT_THROW(reader_of(part), VorError) << size;
      continue;
    }
    VorReader reader = reader_of(part);
    VorFrame found;
    std::size_t count = 0;
    std::size_t last = head.size();
    for (; reader.next(found); ++count) {
      last = ends[count];
    }
    EXPECT_EQ(count, static_cast<std::size_t>(
                         std::count_if(ends.begin(), ends.end(), [size](std::size_t end) { return end <= size; })));
    EXPECT_EQ(reader.damage().torn_bytes, size - last);
  }
}

TEST(VorStream, DamagedRecordIsLeftOutAndTheRestIsRead) {
  const std::string head = header({{"frame_ms", "ms"}});
  const std::string good = frame({1});
  const std::string damaged[] = {
      as_record(""),                                              // says nothing
      as_record("\x07what"),                                      // another tag
      as_record(std::string(5, '\0')),                            // a frame that is cut off
      Bytes().u32(3).raw("abc").str(),                            // no size
      Bytes().u32(6).u32(0xFFFFFFFFU).raw("ab").str(),            // a size that lz4 cannot reach
      Bytes().u32(6).u32(20).raw("\xF0z").str(),                  // no lz4
      as_record(Bytes().u8(0).f64(1).u16(1).u16(7).str()),        // a value that is cut off
      as_record(Bytes().u8(0).f64(1).u16(0).u32(99).str()),       // a flame part that is cut off
      as_record(Bytes().u8(1).u16(1).u16(500).raw("abc").str()),  // a name that is cut off
  };
  for (const std::string& record : damaged) {
    VorReader reader = reader_of(head + good + record + good);
    VorFrame found;
    EXPECT_TRUE(reader.next(found));
    EXPECT_TRUE(reader.next(found));
    EXPECT_EQ(found.system, std::vector<double>{1});
    EXPECT_FALSE(reader.next(found));
    EXPECT_EQ(reader.damage().records, 1U);
    EXPECT_EQ(reader.damage().first_record, head.size() + good.size());
  }
}

TEST(VorStream, HugeLengthIsTornAndTakesNoMemory) {
  const std::string bytes = header({{"frame_ms", "ms"}}) + frame({1}) + Bytes().u32(0xFFFFFFF0U).raw("abc").str();
  VorReader reader = reader_of(bytes);
  VorFrame found;
  EXPECT_TRUE(reader.next(found));
  EXPECT_FALSE(reader.next(found));
  EXPECT_EQ(reader.damage().torn_bytes, 7U);
}

TEST(VorStream, ColumnsThatAreDeclaredTwiceOrNeverAreCounted) {
  const std::string bytes = header({{"frame_ms", "ms"}}) + declaration(1, "loss", "") + declaration(1, "other", "") +
                            declaration(0, "frame_ms", "ms") + frame({1}, {{1, 5}, {9, 6}, {0, 7}});
  VorReader reader = reader_of(bytes);
  VorFrame found;
  ASSERT_TRUE(reader.next(found));
  ASSERT_EQ(found.user.size(), 1U);
  EXPECT_EQ(found.user[0].value, 5);
  EXPECT_EQ(reader.user_columns().size(), 1U);
  EXPECT_EQ(reader.damage().declarations, 2U);
  EXPECT_EQ(reader.damage().values, 2U);
}

void expect_refused(const std::string& bytes, const std::string& what) {
  try {
    static_cast<void>(reader_of(bytes));
    ADD_FAILURE() << "not refused: " << what;
  } catch (const VorError& error) {
    EXPECT_EQ(error.what(), what);
  }
}

TEST(VorStream, WhatIsNoStreamIsRefusedWithTheByte) {
  expect_refused("", "test.vor: not a .vor stream: it does not begin with VOR1");
  expect_refused("VOR2\x02", "test.vor: not a .vor stream: it does not begin with VOR1");
  expect_refused(Bytes().raw("VOR1").u16(3).u8(0).u16(0).str(),
                 "test.vor: version 3 of .vor, at byte 4; kymo reads version 2");
  expect_refused(Bytes().raw("VOR1").u16(2).u8(0).u16(1).u16(9).raw("frame").str(),
                 "test.vor: cut off in its header, at byte 16");
}

}  // namespace
}  // namespace kymo::exchange
