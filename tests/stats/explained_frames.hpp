// Frames of a made-up program that are explained.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/explain.hpp>

#include "stats/common/random_source.hpp"
#include "stats/made_up_program.hpp"
#include "support/nanoseconds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {

constexpr std::int64_t microsecond = 1'000;

class ExplainedFrames : public ::testing::Test {
 protected:
  /// Frames of about 2 ms in "update", from a time on. `body` does the rest.
  void write(int count, const std::function<void(MadeUpProgram&, TrackId main, int frame)>& body,
             std::int64_t start_ns = 0) {
    path_ = directory_ / (std::to_string(++runs_) + ".kymo");
    MadeUpProgram program(path_, true);
    const TrackId main = program.thread("main");
    stats::RandomSource random(7);
    program.idle_until(main, start_ns);
    program.frame(main);
    for (int frame = 1; frame <= count; ++frame) {
      program.scope(main, "update", 2 * ms + static_cast<std::int64_t>(random.normal() * 20e3));
      body(program, main, frame);
      program.frame(main);
    }
    program.finish();
  }
  [[nodiscard]] Explanation explain_it(const ExplainOptions& options = {}) const {
    return explain(Timeline(path_), options).front();
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  TemporaryDirectory directory_;
  std::string path_;
  int runs_ = 0;
};

inline bool has(const std::vector<std::string>& texts, const std::string& words) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

}  // namespace kymo::test
