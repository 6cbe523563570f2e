#include "base/text/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text/metric_name.hpp"

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

MetricDeclaration metric_of(std::vector<std::pair<std::string, std::string>> labels) {
  MetricDeclaration metric;
  metric.name = "gpu_power";
  metric.labels = std::move(labels);
  return metric;
}

TEST(FullNameTest, HasTheLabelsWithoutAUuidBesideOthers) {
  EXPECT_EQ(full_name(metric_of({})), "gpu_power");
  EXPECT_EQ(full_name(metric_of({{"gpu", "1"}, {"mig", "2"}, {"uuid", "GPU-7"}})), "gpu_power gpu=1 mig=2");
  EXPECT_EQ(full_name(metric_of({{"uuid", "GPU-7"}})), "gpu_power uuid=GPU-7");
}

}  // namespace
}  // namespace kymo::base
