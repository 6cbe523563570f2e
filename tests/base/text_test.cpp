#include "base/text/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace kymo::base {
namespace {

TEST(CutTextTest, ShortTextsStayWhole) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("", 0), "");
}

TEST(CutTextTest, ACutNeverSplitsACharacter) {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";  // 1, 2, 3 and 4 bytes
  EXPECT_EQ(cut_text(text, 2), "a");
  EXPECT_EQ(cut_text(text, 3), "a\xC3\xA4");
  EXPECT_EQ(cut_text(text, 4), "a\xC3\xA4");
  EXPECT_EQ(cut_text(text, 5), "a\xC3\xA4");
  EXPECT_EQ(cut_text(text, 6), "a\xC3\xA4\xE2\x82\xAC");
  EXPECT_EQ(cut_text(text, 9), "a\xC3\xA4\xE2\x82\xAC");
}

TEST(CutTextTest, WhatIsNotUtf8IsCutWhereItFalls) {
  const std::string text(20, '\x80');
  EXPECT_EQ(cut_text(text, 10).size(), 10U);
}

}  // namespace
}  // namespace kymo::base
