// What the page reads captures through: pages that are fetched, and the outline that a server sends ahead.
#include "paged_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "timeline/recording_model.hpp"

namespace kymo::web {
namespace {

using Bytes = std::vector<std::byte>;

/// A file elsewhere that counts what is fetched of it.
struct FarFile {
  explicit FarFile(Bytes content) : bytes(std::move(content)) {}

  Fetch fetch() {
    return [this](std::uint64_t offset, std::span<std::byte> out) {
      ++fetches;
      const std::size_t count = offset < bytes.size() ? std::min(out.size(), bytes.size() - offset) : 0;
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
      fetched += count;
      return count;
    };
  }

  Bytes bytes;
  std::size_t fetches = 0;
  std::size_t fetched = 0;
};

Bytes some_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 + i / 256);
  }
  return bytes;
}

void put(Bytes& out, std::uint64_t number, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    out.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
}

/// An outline of pieces of a file, that covers it up to `end`.
Bytes outline_of(const Bytes& file, const std::vector<std::pair<std::size_t, std::size_t>>& pieces, std::uint64_t end) {
  Bytes out;
  for (const auto& [offset, size] : pieces) {
    put(out, offset, 8);
    put(out, size, 4);
    out.insert(out.end(), file.begin() + static_cast<std::ptrdiff_t>(offset),
               file.begin() + static_cast<std::ptrdiff_t>(offset + size));
  }
  put(out, end, 8);
  put(out, 0, 4);
  return out;
}

Bytes read(const PagedBytes& paged, std::uint64_t offset, std::size_t size) {
  Bytes out(size);
  out.resize(paged.read(offset, out));
  return out;
}

Bytes part_of(const Bytes& bytes, std::size_t offset, std::size_t size) {
  offset = std::min(offset, bytes.size());
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + static_cast<std::ptrdiff_t>(std::min(size, bytes.size() - offset))};
}

TEST(PagedBytes, AnyPartIsReadAsItIsInTheFile) {
  FarFile file(some_bytes(100'000));
  PageOptions options;
  options.page_bytes = 1000;
  options.cache_bytes = 7000;
  PagedBytes paged("far", file.fetch(), options);
  paged.set_size(file.bytes.size());
  static_cast<void>(
      paged.add_outline(outline_of(file.bytes, {{0, 70}, {1990, 20}, {50'000, 4001}, {99'990, 10}}, 100'000)));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const std::size_t offset = random() % 101'000;
    const std::size_t size = random() % (i % 10 == 0 ? 20'000 : 300);
    ASSERT_EQ(read(paged, offset, size), part_of(file.bytes, offset, size)) << offset << ' ' << size;
  }
}

TEST(PagedBytes, WhatTheOutlineHoldsIsNotFetched) {
  FarFile file(some_bytes(10'000));
  PagedBytes paged("far", file.fetch());
  paged.set_size(file.bytes.size());
  EXPECT_EQ(paged.add_outline(outline_of(file.bytes, {{0, 100}, {4000, 500}}, 6000)), 6000U);
  EXPECT_EQ(paged.add_outline(outline_of(file.bytes, {{6000, 10}}, 10'000)), 10'000U);
  EXPECT_EQ(read(paged, 4100, 400), part_of(file.bytes, 4100, 400));
  EXPECT_EQ(read(paged, 6000, 10), part_of(file.bytes, 6000, 10));
  Bytes window(1000);
  EXPECT_EQ(paged.read_some(4400, window, 50), 100U) << "more than is at hand was not needed";
  EXPECT_EQ(file.fetches, 0U);
  EXPECT_EQ(read(paged, 9000, 2000), part_of(file.bytes, 9000, 2000));
  EXPECT_EQ(file.fetches, 1U);
}

TEST(PagedBytes, AFileThatIsReadThroughTakesFewFetchesAndBoundedMemory) {
  FarFile file(some_bytes(1'000'000));
  PageOptions options;
  options.page_bytes = 1000;
  options.cache_bytes = 40'000;
  PagedBytes paged("far", file.fetch(), options);
  paged.set_size(file.bytes.size());
  for (std::size_t offset = 0; offset < file.bytes.size(); offset += 500) {
    ASSERT_EQ(read(paged, offset, 500), part_of(file.bytes, offset, 500));
  }
  EXPECT_LT(file.fetches, 100U);
  EXPECT_LT(file.fetched, 1'100'000U);
}

TEST(PagedBytes, AFileThatEndsEarlyIsReadAsFarAsItGoes) {
  FarFile file(some_bytes(2500));
  PageOptions options;
  options.page_bytes = 1000;
  PagedBytes paged("far", file.fetch(), options);
  paged.set_size(10'000);
  EXPECT_EQ(read(paged, 2400, 1000), part_of(file.bytes, 2400, 100));
  EXPECT_TRUE(read(paged, 7000, 10).empty());
}

TEST(PagedBytes, WhatIsNoOutlineIsRefusedAndNothingOfItTaken) {
  FarFile file(some_bytes(5000));
  PagedBytes paged("far", file.fetch());
  paged.set_size(5000);
  const Bytes good = outline_of(file.bytes, {{100, 50}, {200, 50}}, 5000);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(static_cast<void>(paged.add_outline({good.data(), size})), CaptureError) << size;
  }
  EXPECT_THROW(static_cast<void>(paged.add_outline(outline_of(file.bytes, {{200, 50}, {100, 50}}, 5000))),
               CaptureError);
  EXPECT_THROW(static_cast<void>(paged.add_outline(outline_of(file.bytes, {{200, 50}, {249, 50}}, 5000))),
               CaptureError);
  Bytes far;
  put(far, ~std::uint64_t{0}, 8);
  put(far, 0, 4);
  EXPECT_THROW(static_cast<void>(paged.add_outline(far)), CaptureError);
  Bytes huge;
  put(huge, 0, 8);
  put(huge, ~std::uint32_t{0}, 4);
  EXPECT_THROW(static_cast<void>(paged.add_outline(huge)), CaptureError);
  EXPECT_EQ(read(paged, 100, 50), part_of(file.bytes, 100, 50));
  EXPECT_EQ(file.fetches, 1U) << "a piece of a refused outline was kept";
  EXPECT_THROW(paged.set_size(4999), CaptureError);
  EXPECT_THROW(paged.set_size(std::uint64_t{1} << 60U), CaptureError);
}

TEST(PagedBytes, ACaptureIsReadThroughThem) {
  const test::RecordingModel model({});
  FarFile file(model.write());
  const auto paged = std::make_shared<PagedBytes>("far.kymo", file.fetch());
  paged->set_size(file.bytes.size());
  const CaptureReader far = capture::open_source(make_source(paged), "far.kymo");
  const CaptureReader near(file.bytes.data(), file.bytes.size(), "near.kymo");
  EXPECT_EQ(far.path(), "far.kymo");
  EXPECT_EQ(far.blocks().size(), near.blocks().size());
  EXPECT_EQ(far.is_closed(), near.is_closed());
  EXPECT_TRUE(far.damages().empty());
}

}  // namespace
}  // namespace kymo::web
