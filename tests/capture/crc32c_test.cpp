#include "capture/format/crc32c.hpp"

#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace kymo::capture {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Crc32c, HasThePublishedValues) {
  // The check value of the catalogue of CRCs, and the vectors of RFC 3720, B.4.
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
  const std::vector<std::byte> zeros(32);
  EXPECT_EQ(crc32c(zeros), 0x8A9136AAU);
  const std::vector<std::byte> ones(32, std::byte{0xFF});
  EXPECT_EQ(crc32c(ones), 0x62A8AB43U);
  std::vector<std::byte> ascending(32);
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    ascending[i] = static_cast<std::byte>(i);
  }
  EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(crc32c_by_table(ascending), 0x46DD794EU);
}

TEST(Crc32c, IsTheSameByTableAndInPieces) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(300);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto stretch = std::span(bytes).first(size);
    EXPECT_EQ(crc32c(stretch), crc32c_by_table(stretch));
    const std::size_t half = size / 3;
    EXPECT_EQ(crc32c(stretch.subspan(half), crc32c(stretch.first(half))), crc32c(stretch));
  }
}

}  // namespace
}  // namespace kymo::capture
