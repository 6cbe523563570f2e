// Tokens out of JSON: what is standard, what is taken beyond it, and what is refused where.
#include "exchange/import/json_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace kymo::exchange {
namespace {

/// Gives a text in pieces of one size.
JsonReader::Read pieces(std::string text, std::size_t size) {
  return [text = std::move(text), size, at = std::size_t{0}](char* bytes, std::size_t room) mutable {
    const std::size_t count = std::min({size, room, text.size() - at});
    std::memcpy(bytes, text.data() + at, count);
    at += count;
    return count;
  };
}

/// All tokens in short: {k:s"text" 12 T F 0 }.
std::string tokens(const std::string& text, JsonLimits limits = {}, std::size_t piece = 3) {
  JsonReader reader(pieces(text, piece), limits);
  std::string all;
  for (;;) {
    switch (reader.next()) {
      case JsonToken::begin_object:
        all += '{';
        break;
      case JsonToken::end_object:
        all += '}';
        break;
      case JsonToken::begin_array:
        all += '[';
        break;
      case JsonToken::end_array:
        all += ']';
        break;
      case JsonToken::key:
        all.append(reader.text()) += ':';
        break;
      case JsonToken::string:
        all.append("'").append(reader.text()).append(reader.is_cut() ? "...'" : "'");
        break;
      case JsonToken::number:
        all.append("#").append(reader.text());
        break;
      case JsonToken::true_value:
        all += 'T';
        break;
      case JsonToken::false_value:
        all += 'F';
        break;
      case JsonToken::null_value:
        all += '0';
        break;
      case JsonToken::end:
        return all;
    }
  }
}

std::string complaint(const std::string& text, JsonLimits limits = {}) {
  try {
    return "read: " + tokens(text, limits);
  } catch (const MalformedInput& error) {
    return error.what();
  }
}

TEST(JsonReader, TokensComeWhereverTheTextIsCutIntoPieces) {
  const std::string text = R"( {"a" : [1, -2.5e+3, true,false , null, "x\"\\\/\b\f\n\r\ty"], "b":{}, "":[[]]} )";
  const std::string expected = "{a:[#1#-2.5e+3TF0'x\"\\/\b\f\n\r\ty']b:{}:[[]]}";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(tokens(text, {}, piece), expected) << piece;
  }
}

TEST(JsonReader, EscapedCodePointsBecomeUtf8) {
  EXPECT_EQ(tokens(R"(["\u0041\u00e9\u20AC\ud83d\ude00"])"), "['A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80']");
  EXPECT_EQ(tokens(R"(["\ud83d"])"), "['\xEF\xBF\xBD']");
  EXPECT_EQ(tokens(R"(["\ud83d\nx"])"), "['\xEF\xBF\xBD\nx']");
  EXPECT_EQ(tokens(R"(["\ud83d\ud83d\ude00"])"), "['\xEF\xBF\xBD\xF0\x9F\x98\x80']");
  EXPECT_EQ(tokens(R"(["\ude00"])"), "['\xEF\xBF\xBD']");
}

TEST(JsonReader, BytesThatAreNotUtf8AreReplacedAndCounted) {
  JsonReader reader(pieces("[\"a\xFFz\",\"\xC3\xA9\",\"\xE2\x82\"]", 2));
  reader.next();
  reader.next();
  EXPECT_EQ(reader.text(), "a\xEF\xBF\xBDz");
  reader.next();
  EXPECT_EQ(reader.text(), "\xC3\xA9");
  EXPECT_EQ(reader.repaired_texts(), 1U);
  reader.next();
  EXPECT_EQ(reader.text(), "\xEF\xBF\xBD");
  EXPECT_EQ(reader.repaired_texts(), 2U);
}

TEST(JsonReader, WhatTracingProgramsWriteBeyondJsonIsTaken) {
  EXPECT_EQ(tokens("\xEF\xBB\xBF[NaN,Infinity,-Infinity,]"), "[#NaN#Infinity#-Infinity]");
  EXPECT_EQ(tokens("{\"a\":1,}"), "{a:#1}");
  EXPECT_EQ(tokens("[\"a\tb\"]"), "['a\tb']");
}

TEST(JsonReader, ErrorsNameTheByte) {
  EXPECT_EQ(complaint("[1 2]"), "byte 3: ',' or ']' is missing");
  EXPECT_EQ(complaint("[1,2"), "byte 4: ',' or ']' is missing, and the text ends here");
  EXPECT_EQ(complaint("{1:2}"), "byte 1: a member's name is missing");
  EXPECT_EQ(complaint("{\"a\" 2}"), "byte 5: ':' is missing");
  EXPECT_EQ(complaint("[1] x"), "byte 4: the text goes on with 'x' after its value");
  EXPECT_EQ(complaint("[\x01]"), "byte 1: the byte 0x01 begins no value");
  EXPECT_EQ(complaint("[tru]"), "byte 4: this is no value; is 'true' meant?");
  EXPECT_EQ(complaint("[-]"), "byte 2: a digit is missing");
  EXPECT_EQ(complaint("[1.]"), "byte 3: a digit is missing");
  EXPECT_EQ(complaint(R"(["\u12g4"])"), "byte 7: \\u in a string needs four hexadecimal digits");
  EXPECT_EQ(complaint(R"(["\x"])"), "byte 4: a backslash in a string is followed by nothing that JSON knows");
  EXPECT_EQ(complaint("[\"abc"), "byte 5: a string has no end, and the text ends here");
  EXPECT_EQ(complaint(""), "byte 0: a value is missing, and the text ends here");
  EXPECT_EQ(complaint("[" + std::string(600, '1') + "]"), "byte 513: a number has more than 512 digits");
}

TEST(JsonReader, DepthAndLengthHaveLimits) {
  JsonLimits limits;
  limits.depth = 3;
  limits.text = 4;
  EXPECT_EQ(complaint("[[[]]]", limits), "read: [[[]]]");
  EXPECT_EQ(complaint("[[[[", limits), "byte 3: arrays and objects lie deeper within each other than 3");
  EXPECT_EQ(tokens("[\"abcd\",\"abcde\",\"abc\xC3\xA9\",\"a\\u0042cdefgh\"]", limits),
            "['abcd''abcd...''abc...''aBcd...']");
}

}  // namespace
}  // namespace kymo::exchange
