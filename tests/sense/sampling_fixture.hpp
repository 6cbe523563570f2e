// Records samples into memory for the length of a test.
#pragma once

#include <gtest/gtest.h>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "support/memory_sink.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {

class SamplingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    guard_ = install(sink_);
    ASSERT_TRUE(is_recording());
  }
  void TearDown() override { guard_ = {}; }

  [[nodiscard]] std::vector<EventBatch> recorded() {
    EXPECT_TRUE(flush());
    return sink_->batches();
  }

  /// The values of a metric with such labels, "core=0", or without any.
  [[nodiscard]] std::vector<double> values_of(const std::string& name, const std::string& labels = {}) {
    const std::vector<EventBatch> batches = recorded();
    std::map<MetricId, std::string> names;
    std::vector<double> values;
    for (const EventBatch& batch : batches) {
      for (const MetricDeclaration& metric : batch.declarations.metrics) {
        std::string text;
        for (const auto& [key, value] : metric.labels) {
          text += (text.empty() ? "" : ",") + key + "=" + value;
        }
        names[metric.id] = metric.name + "{" + text + "}";
      }
      for (const SampleRun& run : batch.samples) {
        if (names[run.metric] == name + "{" + labels + "}") {
          values.insert(values.end(), run.values.begin(), run.values.end());
        }
      }
    }
    return values;
  }

  std::shared_ptr<MemorySink> sink_ = std::make_shared<MemorySink>();
  SinkGuard guard_;
};

}  // namespace kymo::test
