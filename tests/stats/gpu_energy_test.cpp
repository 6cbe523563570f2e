// Joules of GPUs: those of their spans, and of frames and phases.
#include "stats/energy/energy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "power_recording.hpp"

namespace kymo::test {
namespace {

using stats::EnergyStatistics;

TEST(Energy, OfGpusGoesToGpuSpansFramesAndPhases) {
  const TruePower cpu{.constant = 10};
  const TruePower gpu{.constant = 100};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(cpu, {}));
  recording.metric(power_metric(), sample_power(gpu, {}));
  recording.scope(second, 5 * second, TrackId{1}, "work");
  recording.gpu_span(second, 3 * second, "kernel");
  recording.gpu_span(2 * second, 3 * second, "copy");
  for (std::int64_t i = 1; i <= 5; ++i) {
    recording.frame_mark(i * second);
  }
  recording.sync_point(second);
  recording.sync_point(3 * second);
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.joules, 40, 1e-6) << "none of the GPU's power";
  ASSERT_EQ(statistics.spans.size(), 2U);
  EXPECT_EQ(timeline.name(statistics.spans[0].name), "kernel");
  EXPECT_NEAR(statistics.spans[0].energy.joules, 150, 1e-6);
  EXPECT_NEAR(statistics.spans[1].energy.joules, 50, 1e-6);
  ASSERT_EQ(statistics.frame_streams.size(), 1U);
  EXPECT_EQ(statistics.frame_streams[0].count, 4U);
  EXPECT_NEAR(statistics.frame_streams[0].machine.joules, 40, 1e-6);
  EXPECT_NEAR(statistics.frame_streams[0].gpu.joules, 400, 1e-6);
  EXPECT_TRUE(statistics.frame_streams[0].is_resolved());
  ASSERT_EQ(statistics.phases.size(), 2U);
  EXPECT_EQ(statistics.phases[0].phase.number, 1U);
  EXPECT_NEAR(statistics.phases[0].machine.joules, 20, 1e-6);
  EXPECT_NEAR(statistics.phases[0].gpu.joules, 200, 1e-6);
}

// As NVML has them where a reading of the counter costs much.
TEST(Energy, OfAGpuOverLongTimesIsThatOfItsCounterAndOfSpansThatOfItsPower) {
  const TruePower power{.constant = 80, .square = 600, .square_s = 0.5};
  const auto gather = [&](bool has_counter) {
    PowerRecording recording;
    MetricDeclaration watts = power_metric();
    watts.renewal_ns = 100 * ms;
    recording.metric(watts, sample_power(power, {.renewal_ns = 100 * ms}));
    if (has_counter) {
      MetricDeclaration joules = energy_metric("gpu_energy", {{"gpu", "0"}});
      joules.renewal_ns = second;
      recording.metric(joules, sample_energy(power, {.renewal_ns = second}));
    }
    recording.gpu_span(second, 1200 * ms, "kernel");
    for (std::int64_t i = 1; i <= 9; ++i) {
      recording.frame_mark(i * second);
    }
    return stats::gather_energy(recording.make_timeline(3));
  };
  const EnergyStatistics alone = gather(false);
  const EnergyStatistics both = gather(true);
  for (const auto& [known, less_known] :
       {std::pair(both.gpu, alone.gpu), std::pair(both.frame_streams.at(0).gpu, alone.frame_streams.at(0).gpu)}) {
    EXPECT_LT(known.bound_joules, less_known.bound_joules / 2);
  }
  EXPECT_LE(std::fabs(both.gpu.joules - power.between(0, 10 * second)), both.gpu.bound_joules);
  EXPECT_EQ(both.spans.at(0).energy.joules, alone.spans.at(0).energy.joules);
  ASSERT_EQ(both.sources.size(), 1U) << "the device counts once";
  EXPECT_LT(both.sources[0].energy.bound_joules, alone.sources[0].energy.bound_joules / 2);
}

TEST(Energy, OfGpusGoesNowhereWhereTheTimesOfASpanAreNotKnown) {
  PowerRecording recording;
  recording.metric(power_metric(), sample_power({.constant = 100}, {}));
  recording.gpu_span(second, 3 * second, "kernel");
  recording.gpu_span(2 * second, 2 * second, "copy (unresolved)");
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  ASSERT_EQ(statistics.spans.size(), 1U);
  EXPECT_EQ(statistics.spans[0].unresolved, 0U);
  EXPECT_NEAR(statistics.spans[0].energy.joules, 200, 1e-6);
}

TEST(Energy, OfAGpuThatNothingMeasuresIsMissingAndNotZero) {
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy({.constant = 10}, {}));
  recording.scope(second, 5 * second, TrackId{1}, "work");
  recording.gpu_span(second, 3 * second, "kernel");
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.joules, 40, 1e-6);
  EXPECT_FALSE(statistics.gpu.is_known());
  EXPECT_FALSE(statistics.spans.at(0).energy.is_known());
}

}  // namespace
}  // namespace kymo::test
