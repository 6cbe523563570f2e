// Programs that start threads without end.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

#include <kymo/capture.hpp>

#include "support/child_process.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

TEST(Churn, MemoryIsBoundedByTheThreadsThatLiveAndEveryScopeIsAccountedFor) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const std::string output = directory / "output";
  const int threads = test::is_emulated || test::has_sanitizer ? 4'000 : 40'000;
  test::ChildProcess program({CHURN_PROGRAM, path, std::to_string(threads)}, {}, output);
  ASSERT_EQ(program.wait(), 0);
  std::ifstream said(output);
  std::int64_t early = 0;
  std::int64_t late = 0;
  std::uint64_t issued = 0;
  ASSERT_TRUE(said >> early >> late >> issued);
  // 360 bytes a thread would be 13 MB.
  if (!test::has_sanitizer) {
    EXPECT_LT(late - early, 3'000'000);
  }
  const CaptureReader capture(path);
  ASSERT_TRUE(capture.is_closed());
  EXPECT_TRUE(capture.damages().empty());
  std::uint64_t accounted = 0;
  for (const TrackTotals& track : capture.end().tracks) {
    accounted += track.recorded_scopes + track.dropped_scopes;
  }
  EXPECT_EQ(accounted, issued);
  EXPECT_GE(capture.declarations().tracks.size() + 8, capture.end().tracks.size());
}

}  // namespace
}  // namespace kymo
