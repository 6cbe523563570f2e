#include "base/text/json_text.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/programs.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::base {
namespace {

using Json = nlohmann::json;

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string microseconds(std::int64_t time_ns) {
  std::string out;
  append_microseconds(out, time_ns);
  return out;
}

/// Bytes that are often nearly UTF-8: whole sequences, cut ones, lone bytes of every kind.
std::string random_bytes(std::mt19937_64& random) {
  static const char* const pieces[] = {
      "\"",       "\\",           "\n",           "abc",      "\xC3\xA9",         "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
      "\xE2\x82", "\xF0\x9F\x98", "\xED\xA0\x80", "\xC0\xAF", "\xF4\x90\x80\x80", "\xE0\x80\x80", "\x80",
      "\x7F",     "\xEF\xBF\xBD"};
  std::string bytes;
  const std::size_t count = random() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 2 == 0) {
      bytes += pieces[random() % std::size(pieces)];
    } else {
      bytes += static_cast<char>(random() & 0xFFU);
    }
  }
  return bytes;
}

TEST(JsonText, QuotesBackslashesAndControlCharactersReadBack) {
  std::string text = "a \"quoted\" \\ path\n\t\r\b\f é € 😀 ";
  for (int character = 0; character < 0x20; ++character) {
    text += static_cast<char>(character);
  }
  EXPECT_EQ(Json::parse(json_string(text)).get<std::string>(), text);
  EXPECT_EQ(json_string(""), "\"\"");
}

TEST(JsonText, TextThatIsNotUtf8IsReplacedAndTheRestStays) {
  EXPECT_EQ(json_string("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(json_string("cut \xE2\x82"), "\"cut \xEF\xBF\xBD\"");
  EXPECT_EQ(json_string("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonText, AnyBytesReadBackAsPythonDecodesThem) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "pairs.txt";
  std::mt19937_64 random(7);
  {
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < 5000; ++i) {
      const std::string bytes = random_bytes(random);
      for (const char byte : bytes) {
        constexpr char digits[] = "0123456789abcdef";
        file << digits[static_cast<unsigned char>(byte) >> 4U] << digits[static_cast<unsigned char>(byte) & 0xFU];
      }
      const std::string text = json_string(bytes);
      ASSERT_TRUE(Json::accept(text)) << text;
      file << ' ' << text << '\n';
    }
  }
  EXPECT_EQ(test::output_of(KYMO_TEST_PYTHON " " KYMO_TEST_SCRIPTS "/check_strings.py " + path), "5000 equal\n");
}

TEST(JsonText, NumbersReadBackToTheSameDouble) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 5000; ++i) {
    const double value = std::bit_cast<double>(random());
    std::string out;
    if (!append_json_number(out, value)) {
      EXPECT_FALSE(std::isfinite(value));
      EXPECT_EQ(out, "");
      continue;
    }
    const Json number = Json::parse(out, nullptr, false);
    ASSERT_TRUE(number.is_number()) << out;
    EXPECT_EQ(number.get<double>(), value) << out;
  }
}

TEST(JsonText, NumbersAreAsShortAsTheyCanBe) {
  std::string out;
  EXPECT_TRUE(append_json_number(out, 0.1));
  out += ' ';
  EXPECT_TRUE(append_json_number(out, 2));
  out += ' ';
  EXPECT_TRUE(append_json_number(out, 1e300));
  EXPECT_EQ(out, "0.1 2 1e+300");
}

TEST(JsonText, NanAndInfinityAreRefused) {
  std::string out = "x";
  EXPECT_FALSE(append_json_number(out, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(append_json_number(out, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(append_json_number(out, -std::numeric_limits<double>::infinity()));
  EXPECT_EQ(out, "x");
}

TEST(JsonText, MicrosecondsKeepEveryNanosecond) {
  EXPECT_EQ(microseconds(12345), "12.345");
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(7), "0.007");
  EXPECT_EQ(microseconds(1000), "1.000");
  EXPECT_EQ(microseconds(-1), "-0.001");
  EXPECT_EQ(microseconds(std::numeric_limits<std::int64_t>::max()), "9223372036854775.807");
  EXPECT_EQ(microseconds(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST(JsonText, StartAndDurationAddUpToTheEndInDoubles) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    // Up to five weeks after the machine started, for up to 16 s.
    const auto start_ns = static_cast<std::int64_t>(random() % 3'000'000'000'000'000);
    const auto duration_ns = static_cast<std::int64_t>((random() % 16'000'000'000) >> (random() % 34));
    std::string duration;
    append_duration_until_end(duration, start_ns, duration_ns);
    const double duration_us = std::stod(duration);
    const std::int64_t end_ns = start_ns + duration_ns;
    EXPECT_EQ(std::stod(microseconds(start_ns)) + duration_us, std::stod(microseconds(end_ns))) << start_ns << duration;
    EXPECT_EQ(std::llround(duration_us * 1000), duration_ns) << duration;
    EXPECT_EQ(duration.find('e'), std::string::npos) << duration;
  }
}

TEST(JsonText, DurationsThatAddUpStayShort) {
  std::string out;
  append_duration_until_end(out, 1'000'500, 250);
  out += ' ';
  append_duration_until_end(out, 123, 0);
  out += ' ';
  append_duration_until_end(out, std::numeric_limits<std::int64_t>::max(), 7);
  EXPECT_EQ(out, "0.250 0.000 0.007");
}

TEST(JsonText, IntegersAndIdsAreWrittenWhole) {
  std::string out;
  append_json_integer(out, std::numeric_limits<std::int64_t>::min());
  out += ' ';
  append_json_integer(out, std::numeric_limits<std::uint64_t>::max());
  out += ' ';
  append_json_id(out, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out, "-9223372036854775808 18446744073709551615 \"0xffffffffffffffff\"");
}

}  // namespace
}  // namespace kymo::base
