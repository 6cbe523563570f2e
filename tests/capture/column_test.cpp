#include "capture/format/column.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <kymo/capture.hpp>

#include "capture/format/table.hpp"

namespace kymo::capture {
namespace {

// Values of up to so many bits, the last of them with all bits set.
std::vector<std::uint64_t> random_values(std::mt19937_64& random, std::size_t count, unsigned width) {
  const std::uint64_t mask = width == 0 ? 0 : ~std::uint64_t{0} >> (64 - width);
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t& value : values) {
    value = random() & mask;
  }
  if (count > 0) {
    values.back() = mask;
  }
  return values;
}

ColumnView view_of(const ByteBuffer& coded, Encoding encoding, std::uint64_t count, BlockPayload& payload) {
  std::copy(coded.bytes().begin(), coded.bytes().end(), payload.resize(coded.size()));
  ColumnView column;
  column.id = 1;
  column.encoding = encoding.byte();
  column.count = count;
  column.bytes = {payload.data(), payload.size()};
  column.check();
  return column;
}

std::vector<std::uint64_t> decode(const ColumnView& column) {
  std::vector<std::uint64_t> values;
  NumberCursor cursor(column);
  std::array<std::uint64_t, group_size> group;
  while (const std::size_t count = cursor.next(group.data())) {
    values.insert(values.end(), group.begin(), group.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return values;
}

TEST(Column, PackedNumbersOfEveryWidthAndCountComeBack) {
  std::mt19937_64 random(2);
  for (unsigned width = 0; width <= 64; ++width) {
    for (const std::size_t count : {1U, 7U, 63U, 64U}) {
      std::vector<std::uint64_t> values = random_values(random, count, width);
      ByteBuffer coded;
      std::vector<std::uint64_t> consumed = values;
      consumed.resize(group_size, 99);
      pack_group(consumed.data(), count, coded);
      ASSERT_EQ(coded.size(), 1 + (count * width + 7) / 8);
      BlockPayload payload;
      ASSERT_EQ(decode(view_of(coded, {Storage::packed}, count, payload)), values) << width;
    }
  }
}

TEST(Column, PackedBitsStandLowestFirst) {
  std::vector<std::uint64_t> values{1, 2, 3, 4, 5};
  values.resize(group_size);
  ByteBuffer coded;
  pack_group(values.data(), 5, coded);
  // Three bits a value: 001 010 011 100 101 from the lowest bit on.
  const std::vector<std::byte> expected{std::byte{3}, std::byte{0b11'010'001}, std::byte{0b0'101'100'0}};
  EXPECT_EQ(std::vector<std::byte>(coded.bytes().begin(), coded.bytes().end()), expected);
}

TEST(Column, PlanesOfEveryWidthComeBack) {
  std::mt19937_64 random(3);
  for (unsigned width = 0; width <= 64; ++width) {
    const std::vector<std::uint64_t> values = random_values(random, 200, width);
    ByteBuffer coded;
    put_planes(values, coded);
    BlockPayload payload;
    ASSERT_EQ(decode(view_of(coded, {Storage::planes}, values.size(), payload)), values) << width;
  }
}

TEST(Column, NoiseInTheLowBitsIsKeptOutOfThePlanes) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> values(10'000);
  for (std::uint64_t& value : values) {
    value = 100 + random() % 400;
  }
  ByteBuffer coded;
  put_planes(values, coded);
  EXPECT_EQ(coded.data()[0], std::byte{1});  // 9 bits: one below a plane
  EXPECT_EQ(coded.data()[1], std::byte{1});
  EXPECT_EQ(coded.size(), 2 + 10'000 / 8 + 10'000);
  BlockPayload payload;
  EXPECT_EQ(decode(view_of(coded, {Storage::planes}, values.size(), payload)), values);

  // Multiples of 256 have no noise there.
  for (std::uint64_t& value : values) {
    value *= 256;
  }
  coded.clear();
  put_planes(values, coded);
  EXPECT_EQ(coded.data()[0], std::byte{0});
  EXPECT_EQ(decode(view_of(coded, {Storage::planes}, values.size(), payload)), values);
}

TEST(Column, LanesTakeValuesInAnySteps) {
  std::mt19937_64 random(4);
  for (const Packing packing : {Packing::bits, Packing::planes}) {
    NumberLane lane(packing);
    for (int round = 0; round < 20; ++round) {
      lane.clear();
      std::vector<std::uint64_t> values;
      for (int step = 0; step < 20; ++step) {
        const std::size_t count = random() % 65;
        for (std::size_t i = 0; i < count; ++i) {
          values.push_back(random() >> (random() % 64));
          lane.tail()[i] = values.back();
        }
        lane.advance(count);
      }
      lane.finish();
      ASSERT_EQ(lane.count(), values.size());
      ByteBuffer coded;
      coded.append(lane.bytes());
      BlockPayload payload;
      ASSERT_EQ(decode(view_of(coded, {lane.storage()}, values.size(), payload)), values);
    }
  }
}

TEST(Column, CountsThatTheBytesDoNotWarrantAreRefused) {
  const std::vector<std::byte> bytes(20, std::byte{1});
  for (std::uint8_t encoding = 0; encoding < 6; ++encoding) {
    for (const std::uint64_t count :
         {std::uint64_t{1} << 20U, std::uint64_t{1} << 40U, std::uint64_t{1} << 61U, UINT64_MAX - 63, UINT64_MAX}) {
      ColumnView column;
      column.encoding = encoding;
      column.count = count;
      column.bytes = bytes;
      EXPECT_THROW(column.check(), DecodeError) << static_cast<int>(encoding) << ' ' << count;
    }
  }
}

TEST(Table, UnknownTablesAndColumnsAreSteppedOver) {
  ByteBuffer raw;
  TableWriter writer(raw, Packing::bits);
  std::vector<std::uint64_t> values{5, 6, 7};
  writer.begin(static_cast<TableId>(200), 12345);
  writer.numbers(1, plain, values);
  writer.end();
  writer.begin(TableId::flows, 9);
  values = {1, 2, 3};
  writer.numbers(1, wandering, values);
  values = {8, 8, 8};
  writer.numbers(77, plain, values);
  writer.column(78, {static_cast<Storage>(15)}, 1000000, std::as_bytes(std::span("abc", 3)));
  writer.end();

  BlockPayload payload;
  std::copy(raw.bytes().begin(), raw.bytes().end(), payload.resize(raw.size()));
  TableReader reader({payload.data(), payload.size()});
  TableView table;
  ASSERT_TRUE(reader.next(table));
  EXPECT_EQ(table.id(), 200);
  ASSERT_TRUE(reader.next(table));
  EXPECT_TRUE(table.is(TableId::flows));
  EXPECT_EQ(table.key(), 9U);
  ASSERT_EQ(table.rows(), 3U);
  std::vector<std::uint64_t> seen;
  table.field(1, 3, [&](std::size_t, std::uint64_t value) { seen.push_back(value); });
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_THROW(static_cast<void>(table.count(78)), DecodeError);
  EXPECT_FALSE(reader.next(table));
}

TEST(Table, MoreThanABlockMayHoldIsRefusedOnBothSides) {
  ByteBuffer raw;
  TableWriter writer(raw, Packing::bits);
  writer.begin(TableId::flows);
  std::vector<std::uint64_t> values(max_payload_cost + 1);
  EXPECT_THROW(writer.counted_numbers(1, plain, values), std::length_error);

  // The same by hand: groups of width 0, of which a byte stands for 64 values.
  raw.clear();
  raw.append_u8(static_cast<std::uint8_t>(TableId::flows));
  raw.append_varint(0);
  raw.append_u8(1);
  raw.append_u8(Encoding{Storage::packed}.byte());
  raw.append_varint(max_payload_cost + 64);
  const std::vector<std::byte> groups(max_payload_cost / 64 + 1);
  raw.append_varint(groups.size());
  raw.append(groups);
  raw.append_u8(0);
  BlockPayload payload;
  std::copy(raw.bytes().begin(), raw.bytes().end(), payload.resize(raw.size()));
  TableReader reader({payload.data(), payload.size()});
  TableView table;
  EXPECT_THROW(static_cast<void>(reader.next(table)), DecodeError);
}

}  // namespace
}  // namespace kymo::capture
