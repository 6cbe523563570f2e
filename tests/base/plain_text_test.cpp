#include "base/text/plain_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text/escapes.hpp"
#include "base/text/json_text.hpp"

namespace kymo::base {
namespace {

std::string plain(std::string_view text, std::string_view kept = {}) {
  std::string out;
  append_plain_text(out, text, kept);
  return out;
}

TEST(PlainTextTest, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(plain("a\x1b[31m\r\n\x7f"), "a\\x1b[31m\\x0d\\x0a\\x7f");
  EXPECT_EQ(plain("\xC2\x80 \xC2\x9B"), "\\x80 \\x9b") << "also those of C1";
  EXPECT_EQ(plain(std::string_view("\0", 1)), "\\x00");
}

TEST(PlainTextTest, CharactersThatReorderALineAreSpelledOut) {
  EXPECT_EQ(plain("a\xE2\x80\xAE"
                  "b\xE2\x80\xAA \xE2\x81\xA6 \xE2\x81\xA9"),
            "a\\u202eb\\u202a \\u2066 \\u2069");
  const std::string_view neighbours = "\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA";
  EXPECT_EQ(plain(neighbours), neighbours);
}

TEST(PlainTextTest, EverythingElseStays) {
  const std::string_view text =
      "plain \xC2\xA0 Gr\xC3\xB6\xC3\x9F"
      "e \xE2\x80\xA6 \xF0\x9F\x98\x80 \\x1b";
  EXPECT_EQ(plain(text), text);
  EXPECT_EQ(plain("a\tb\nc\x1b", "\t\n"), "a\tb\nc\\x1b");
}

TEST(PlainTextTest, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(plain("\x9B\xFF\xC2"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(plain("\xC2\xC2\x9B"), "\xEF\xBF\xBD\\x9b");
}

TEST(PlainTextTest, JsonEscapesWhatTerminalsObey) {
  std::string json;
  append_json_text(json, "\x1b\x7f\xC2\x9B\xC2\xA0\xE2\x80\xAE");
  EXPECT_EQ(json, "\\u001b\\u007f\\u009b\xC2\xA0\\u202e");
  std::string minimal;
  append_json_text(minimal, "\xC2\x9B\xE2\x80\xAE", JsonEscapes::minimal);
  EXPECT_EQ(minimal, "\xC2\x9B\xE2\x80\xAE");
}

TEST(PlainTextTest, PagesGetBlanksForWhatBrowsersObey) {
  std::string page;
  append_xml(page,
             "<a\x1b\xC2\x9B\xE2\x80\xAE"
             "b\n>");
  EXPECT_EQ(page, "&lt;a   b &gt;");
}

}  // namespace
}  // namespace kymo::base
