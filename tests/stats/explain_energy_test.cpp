// Why frames took more joules: made-up captures whose joules are known.
#include <kymo/explain_energy.hpp>
#include <kymo/statistics.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "stats/energy/interval_energy.hpp"
#include "stats/power_recording.hpp"

namespace kymo::test {
namespace {

constexpr TrackId main_track{1};
constexpr TrackId worker_track{2};
constexpr std::int64_t frame_ns = 100 * ms;
constexpr int frames = 100;

/// 100 frames of 100 ms; the machine takes 20 W, and what `watts` says more, counted each millisecond.
class ExplainEnergy : public ::testing::Test {
 protected:
  using Watts = std::function<double(std::int64_t in_frame_ns, int frame)>;

  void measure(const Watts& watts, const char* what = "machine") {
    MetricSeries series;
    double joules = 0;
    for (std::int64_t time_ns = 0; time_ns <= frames * frame_ns; time_ns += ms) {
      series.times_ns.push_back(time_ns);
      series.values.push_back(joules);
      series.flags.push_back(0);
      joules += watts(time_ns % frame_ns, static_cast<int>(time_ns / frame_ns)) * 1e-3;
    }
    recording_.metric(what == std::string("gpu") ? energy_metric("gpu_energy", {{"gpu", "0"}}) : energy_metric(),
                      series);
  }
  void mark_frames() {
    for (int frame = 0; frame <= frames; ++frame) {
      recording_.frame_mark(frame * frame_ns);
    }
  }
  [[nodiscard]] EnergyExplanation explain_it(const ExplainOptions& options = {}) const {
    return explain_energy(recording_.make_timeline(5), options);
  }
  /// A little noise, the same in each run.
  static std::int64_t noise_ns(int frame) { return frame * 37 % 11 * ms / 10; }
  static bool is_costly(int frame) { return frame % 10 == 4; }

  PowerRecording recording_;
};

TEST_F(ExplainEnergy, NamesTheScopeThatTookMorePower) {
  mark_frames();
  for (int frame = 0; frame < frames; ++frame) {
    const std::int64_t start_ns = frame * frame_ns;
    recording_.scope(start_ns, start_ns + 40 * ms, main_track, "load");
    recording_.scope(start_ns + 40 * ms, start_ns + 90 * ms, main_track, "train");
  }
  measure([](std::int64_t in_frame_ns, int frame) {
    const bool is_training = in_frame_ns >= 40 * ms && in_frame_ns < 90 * ms;
    return 20 + 0.1 * (frame * 7 % 5) + (is_training && is_costly(frame) ? 40.0 : 0.0);
  });
  const EnergyExplanation why = explain_it();
  EXPECT_TRUE(why.has_power);
  EXPECT_EQ(why.instances, 100U);
  EXPECT_EQ(why.costly, 10U);
  EXPECT_NEAR(why.excess_joules(), 2.0, 0.02);
  ASSERT_EQ(why.findings.size(), 1U);
  const EnergyFinding& finding = why.findings.front();
  EXPECT_EQ(finding.text.find("in \"train\""), 0U) << finding.text;
  EXPECT_NE(finding.text.find(": at more power (60."), std::string::npos) << finding.text;
  EXPECT_NEAR(finding.excess_joules, 2.0, 0.02);
  EXPECT_NEAR(finding.share, 1, 0.02);
  EXPECT_LE(finding.interval->low, finding.share);
  EXPECT_EQ(finding.in_instances, 10U);
  ASSERT_EQ(finding.costly.size(), 10U);
  for (const InstanceJoules& one : finding.costly) {
    EXPECT_EQ(one.instance.number % 10, 5U) << "frames count from 1";
  }
  EXPECT_EQ(describe(why).find("10 of 100 frames took 2.0"), 0U) << describe(why);
}

TEST_F(ExplainEnergy, NamesTheScopeThatRanForLongerBesideAnother) {
  mark_frames();
  for (int frame = 0; frame < frames; ++frame) {
    const std::int64_t start_ns = frame * frame_ns;
    recording_.scope(start_ns, start_ns + 100 * ms, main_track, "wait");
    const std::int64_t decode_ns = (is_costly(frame) ? 80 : 20) * ms + noise_ns(frame);
    recording_.scope(start_ns, start_ns + decode_ns, worker_track, "decode");
  }
  // 10 W more while the worker runs.
  measure([](std::int64_t in_frame_ns, int frame) {
    return 20 + (in_frame_ns < (is_costly(frame) ? 80 : 20) * ms + noise_ns(frame) ? 10.0 : 0.0);
  });
  const EnergyExplanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  // 60 ms more at half of 30 W, since two threads share.
  EXPECT_NEAR(why.findings.front().excess_joules, 0.9, 0.02);
  EXPECT_EQ(why.findings.front().text.find("in \"decode\""), 0U);
  EXPECT_NE(why.findings.front().text.find(": for longer (40"), std::string::npos) << why.findings.front().text;
  // The other has 60 ms less of a whole 20 W, and half of 30 W instead: 0.3 J less.
  ASSERT_EQ(why.less.size(), 1U);
  EXPECT_NEAR(why.less.front().excess_joules, -0.3, 0.02);
  EXPECT_NE(why.less.front().text.find(": for less time (59.8 ms"), std::string::npos) << why.less.front().text;
  EXPECT_NEAR(why.excess_joules(), 0.6, 0.02);
  EXPECT_NEAR(why.unexplained_joules, 0, 0.01);
}

TEST_F(ExplainEnergy, NamesTheGpusSpan) {
  mark_frames();
  for (int frame = 0; frame < frames; ++frame) {
    const std::int64_t start_ns = frame * frame_ns;
    recording_.scope(start_ns, start_ns + 90 * ms, main_track, "submit");
    recording_.gpu_span(start_ns + 10 * ms, start_ns + (is_costly(frame) ? 90 : 40) * ms + noise_ns(frame) / 2,
                        "attention");
  }
  measure([](std::int64_t, int) { return 20.0; });
  measure(
      [](std::int64_t in_frame_ns, int frame) {
        return in_frame_ns >= 10 * ms && in_frame_ns < (is_costly(frame) ? 90 : 40) * ms ? 200.0 : 10.0;
      },
      "gpu");
  const EnergyExplanation why = explain_it();
  ASSERT_GE(why.findings.size(), 1U);
  EXPECT_NE(why.findings.front().text.find("running \"attention\""), std::string::npos) << why.findings.front().text;
  EXPECT_NEAR(why.findings.front().excess_joules, 10, 0.1);
}

TEST_F(ExplainEnergy, WhatNoScopeUsedIsSaid) {
  mark_frames();
  for (int frame = 0; frame < frames; ++frame) {
    recording_.scope(frame * frame_ns, frame * frame_ns + 30 * ms, main_track, "work");
  }
  measure([](std::int64_t in_frame_ns, int frame) {
    return 20 + 0.1 * (frame * 7 % 5) + (in_frame_ns >= 50 * ms && is_costly(frame) ? 20.0 : 0.0);
  });
  const EnergyExplanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  EXPECT_EQ(why.findings.front().text, "while no scope was open");
  EXPECT_NEAR(why.findings.front().excess_joules, 1, 0.02);
}

TEST_F(ExplainEnergy, NothingStandsOutWhereOnlyNoiseIs) {
  mark_frames();
  recording_.scope(0, frames * frame_ns, main_track, "train");
  measure([](std::int64_t, int frame) { return 20 + 0.05 * (frame * 37 % 11); });
  const EnergyExplanation why = explain_it();
  EXPECT_TRUE(why.findings.empty());
  EXPECT_EQ(describe(why).find("nothing stands out: of 100 frames, one took "), 0U) << describe(why);
}

TEST_F(ExplainEnergy, WithoutAPowerSourceItSaysSo) {
  mark_frames();
  recording_.scope(0, frames * frame_ns, main_track, "train");
  const EnergyExplanation why = explain_it();
  EXPECT_FALSE(why.has_power);
  EXPECT_EQ(describe(why).find("no power was recorded"), 0U) << describe(why);
}

TEST_F(ExplainEnergy, OneFrameIsExplainedOnDemand) {
  mark_frames();
  recording_.scope(0, frames * frame_ns, main_track, "train");
  measure([](std::int64_t, int frame) { return 20 + 0.05 * (frame * 37 % 11) + (frame == 41 ? 30.0 : 0.0); });
  EXPECT_TRUE(explain_it().findings.empty());
  ExplainOptions options;
  options.slow.number = 42;
  const EnergyExplanation why = explain_it(options);
  ASSERT_EQ(why.findings.size(), 1U);
  EXPECT_NEAR(why.findings.front().excess_joules, 3, 0.05);
  options.slow.number = 4'000;
  EXPECT_THROW((void)explain_it(options), SelectionError);
}

TEST_F(ExplainEnergy, ScopesOfASiteAreExplainedWithoutFrames) {
  for (int frame = 0; frame < frames; ++frame) {
    const std::int64_t start_ns = frame * frame_ns;
    recording_.open(start_ns, main_track, "epoch");
    recording_.scope(start_ns + 10 * ms, start_ns + 40 * ms, main_track, "load");
    recording_.scope(start_ns + 40 * ms, start_ns + 90 * ms, main_track, "train");
    recording_.close(start_ns + 90 * ms, main_track);
  }
  measure([](std::int64_t in_frame_ns, int frame) {
    const bool is_training = in_frame_ns >= 40 * ms && in_frame_ns < 90 * ms;
    return 20 + 0.1 * (frame * 7 % 5) + (is_training && is_costly(frame) ? 40.0 : 0.0);
  });
  EXPECT_THROW((void)explain_it(), SelectionError) << "there are no frames";
  ExplainOptions options;
  options.site = "epoch";
  const EnergyExplanation why = explain_it(options);
  EXPECT_EQ(why.name, "epoch");
  EXPECT_EQ(why.instances, 100U);
  EXPECT_EQ(why.costly, 10U);
  ASSERT_EQ(why.findings.size(), 1U);
  EXPECT_EQ(why.findings.front().text.find("in \"train\""), 0U) << why.findings.front().text;
  // 40 W for 50 ms.
  EXPECT_NEAR(why.findings.front().excess_joules, 2, 0.02);
  EXPECT_EQ(describe(why).find("10 of 100 scopes \"epoch\" took 2.0"), 0U) << describe(why);
  options.site = "load";
  EXPECT_TRUE(explain_it(options).findings.empty());
  options.site = "nowhere";
  EXPECT_THROW((void)explain_it(options), SelectionError);
}

TEST_F(ExplainEnergy, FramesWithoutAReadingAreLeftOut) {
  mark_frames();
  recording_.scope(0, frames * frame_ns, main_track, "train");
  measure([](std::int64_t, int frame) { return frame == 50 ? std::nan("") : 20.0; });
  const EnergyExplanation why = explain_it();
  EXPECT_GT(why.unknown, 0U);
  EXPECT_EQ(why.instances + why.unknown, 100U);
}

/// What the sharing says of the parts of each frame adds up to what it says of all of them together.
TEST_F(ExplainEnergy, TheFramesPartsAddUpToTheStatistics) {
  std::mt19937 random(5);
  std::int64_t time_ns = 0;
  for (int i = 0; i < 500; ++i) {
    const auto length_ns = static_cast<std::int64_t>(random() % (20 * ms));
    for (const TrackId track : {main_track, worker_track}) {
      const std::int64_t start_ns = time_ns + static_cast<std::int64_t>(random() % ms);
      recording_.open(start_ns, track, "outer");
      recording_.scope(start_ns + length_ns / 4, start_ns + length_ns / 2, track, "inner");
      recording_.close(start_ns + length_ns, track);
    }
    time_ns += length_ns + 2 * ms;
  }
  measure([](std::int64_t in_frame_ns, int frame) { return 20 + frame % 7 + 1e-8 * static_cast<double>(in_frame_ns); });
  const Timeline timeline = recording_.make_timeline(9);
  stats::IntervalEnergies energies(timeline);
  std::vector<stats::EnergyInterval> intervals;
  for (std::int64_t at_ns = 0; at_ns < frames * frame_ns; at_ns += 7 * ms) {
    intervals.push_back({{at_ns, at_ns + 7 * ms}, ProcessId{1}});
  }
  std::map<std::string, double> joules;
  for (const stats::DividedEnergy& divided : energies.divide(intervals)) {
    for (const stats::EnergyPart& part : divided.parts) {
      joules[timeline.site(part.user.site).name] += part.joules;
    }
  }
  for (const SiteEnergy& site : read_energy(timeline).sites) {
    EXPECT_NEAR(joules[timeline.site(site.site).name], site.self.joules, 1e-6 * site.self.joules + 1e-6);
  }
  EXPECT_EQ(joules.size(), 2U);
}

}  // namespace
}  // namespace kymo::test
