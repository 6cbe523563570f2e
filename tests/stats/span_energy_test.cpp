// Joules of one span out of the batches around it, against power whose energy is known and against the sum over a
// whole capture.
#include "stats/energy/span_energy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <kymo/batch_cursor.hpp>

#include "power_recording.hpp"
#include "stats/energy/energy.hpp"

namespace kymo::test {
namespace {

stats::SpanJoules ask(const Timeline& timeline, const Span& span) {
  stats::SpanEnergyQuestion question(timeline.declarations(), span.track, {span.start_ns, span.end_ns()});
  EXPECT_TRUE(question.has_source());
  BatchCursor cursor(timeline, question.reach(), BatchParts::everything);
  for (EventBatch batch; cursor.next(batch);) {
    question.take(batch);
  }
  return question.finish();
}

/// The only span of a name.
Span find_span(const Timeline& timeline, const std::string& name) {
  for (const TrackDeclaration& track : timeline.tracks()) {
    for (const Span& span : timeline.spans(track.id).spans) {
      if (timeline.name_of(span) == name) {
        return span;
      }
    }
  }
  ADD_FAILURE() << "no span " << name;
  return {};
}

TEST(SpanEnergy, OfScopesIsWhatTheWholeCaptureGivesTheirSites) {
  const TruePower power{.constant = 40, .slope = 3, .square = 25, .square_s = 3};
  PowerRecording recording;
  recording.metric(energy_metric(),
                   sample_energy(power, {.end_ns = 20 * second, .period_ns = ms, .renewal_ns = 5 * ms}));
  recording.open(second, TrackId{1}, "run");
  for (int i = 0; i < 12; ++i) {
    const std::int64_t start = (2 + i) * second;
    recording.scope(start, start + 700 * ms, TrackId{1}, "main" + std::to_string(i));
    // The others run in a part of it each, one of them on and off.
    recording.scope(start + 100 * ms, start + 400 * ms, TrackId{2}, "worker" + std::to_string(i));
    recording.scope(start + 200 * ms, start + 300 * ms, TrackId{3}, "loader" + std::to_string(i));
    recording.scope(start + 310 * ms, start + 320 * ms, TrackId{3}, "saver" + std::to_string(i));
  }
  recording.close(18 * second, TrackId{1});
  const Timeline timeline = recording.make_timeline(9);
  const auto truth = recording.true_joules(power);
  std::size_t asked = 0;
  for (const stats::SiteEnergy& site : stats::gather_energy(timeline).sites) {
    const std::string name = timeline.site(site.site).name;
    const stats::SpanJoules joules = ask(timeline, find_span(timeline, name));
    EXPECT_NEAR(joules.energy.joules, site.inclusive.joules, 1e-6) << name;
    EXPECT_LE(joules.energy.bound_joules, site.inclusive.bound_joules + 1e-6) << name;
    EXPECT_LE(std::fabs(joules.energy.joules - truth.at(name).inclusive), joules.energy.bound_joules + 1e-9) << name;
    EXPECT_TRUE(joules.is_shared) << name;
    EXPECT_FALSE(joules.is_whole);
    EXPECT_EQ(joules.renewal_ns, 5 * ms);
    ++asked;
  }
  EXPECT_EQ(asked, 1U + 4 * 12);
}

TEST(SpanEnergy, IsSharedByRunStatesAsTheWholeCaptureIs) {
  const TruePower power{.constant = 40, .slope = 3};
  PowerRecording recording;
  recording.metric(energy_metric(),
                   sample_energy(power, {.end_ns = 6 * second, .period_ns = ms, .renewal_ns = 5 * ms}));
  for (std::int64_t i = 0; i < 300; ++i) {
    const std::int64_t start = second + i * 10 * ms;
    const std::int64_t turn = start + (1 + i * 7 % 8) * ms;
    for (const std::uint32_t thread : {1U, 2U}) {
      const bool is_first = thread == 1;
      recording.state(start, turn, TrackId{thread}, is_first ? RunState::running : RunState::blocked);
      recording.state(turn, start + 10 * ms, TrackId{thread}, is_first ? RunState::runnable : RunState::running);
    }
    if (i % 50 == 0) {
      recording.scope(start, start + 400 * ms, TrackId{1}, "first" + std::to_string(i));
      recording.scope(start + 100 * ms, start + 450 * ms, TrackId{2}, "second" + std::to_string(i));
    }
  }
  const Timeline timeline = recording.make_timeline(9);
  std::size_t asked = 0;
  for (const stats::SiteEnergy& site : stats::gather_energy(timeline).sites) {
    const std::string name = timeline.site(site.site).name;
    const stats::SpanJoules joules = ask(timeline, find_span(timeline, name));
    EXPECT_NEAR(joules.energy.joules, site.inclusive.joules, 1e-6) << name;
    EXPECT_TRUE(joules.by_cpu_time) << name;
    ++asked;
  }
  EXPECT_EQ(asked, 12U);
}

TEST(SpanEnergy, OfASpanOfAQueueIsItsShareOfTheGpusPower) {
  PowerRecording recording;
  recording.metric(power_metric(), sample_power(TruePower{.constant = 120}, {}));
  recording.metric(energy_metric(), sample_energy(TruePower{.constant = 7}, {}));
  recording.gpu_span(2 * second, 4 * second, "alone");
  recording.gpu_span(5 * second, 7 * second, "first");
  recording.gpu_span(6 * second, 8 * second, "second");
  recording.scope(second, 9 * second, TrackId{1}, "run");
  const Timeline timeline = recording.make_timeline(5);
  const stats::SpanJoules alone = ask(timeline, find_span(timeline, "alone"));
  EXPECT_NEAR(alone.energy.joules, 240, 1e-6);
  EXPECT_FALSE(alone.is_shared);
  EXPECT_NEAR(ask(timeline, find_span(timeline, "first")).energy.joules, 180, 1e-6);
  EXPECT_TRUE(ask(timeline, find_span(timeline, "second")).is_shared);
  // A thread has nothing of the GPU's power.
  EXPECT_NEAR(ask(timeline, find_span(timeline, "run")).energy.joules, 56, 1e-6);
}

TEST(SpanEnergy, WithoutASourceIsMissingRatherThanZero) {
  PowerRecording recording;
  recording.metric(power_metric(), sample_power(TruePower{.constant = 120}, {}));
  recording.scope(second, 2 * second, TrackId{1}, "run");
  const Timeline timeline = recording.make_timeline();
  const Span run = find_span(timeline, "run");
  EXPECT_FALSE(
      stats::SpanEnergyQuestion(timeline.declarations(), run.track, {run.start_ns, run.end_ns()}).has_source());

  // A source that could not be read meanwhile.
  PowerRecording silent;
  silent.metric(energy_metric(), sample_energy(TruePower{.constant = 7}, {.start_ns = 0, .end_ns = second}));
  silent.scope(20 * second, 21 * second, TrackId{1}, "late");
  const Timeline later = silent.make_timeline();
  EXPECT_FALSE(ask(later, find_span(later, "late")).energy.is_known());
}

TEST(SpanEnergy, OfAnAsyncSpanIsMissingAlthoughTheMachinesIsKnown) {
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(TruePower{.constant = 10}, {}));
  const Timeline timeline = recording.make_timeline();
  Declarations declared = timeline.declarations();
  declared.tracks.push_back({TrackId{77}, TrackKind::async, ProcessId{1}, 0, "requests"});
  stats::SpanEnergyQuestion question(declared, TrackId{77}, {second, 2 * second});
  EXPECT_FALSE(question.has_source());
  BatchCursor cursor(timeline, question.reach(), BatchParts::everything);
  for (EventBatch batch; cursor.next(batch);) {
    question.take(batch);
  }
  EXPECT_FALSE(question.finish().energy.is_known());
}

TEST(SpanEnergy, WithoutSharingItIsTheWholeMachines) {
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(TruePower{.constant = 10}, {}));
  recording.scope(2 * second, 4 * second, TrackId{1}, "one");
  recording.scope(2 * second, 4 * second, TrackId{2}, "other");
  const Timeline timeline = recording.make_timeline();
  const Span one = find_span(timeline, "one");
  EXPECT_NEAR(ask(timeline, one).energy.joules, 10, 1e-6);
  stats::SpanEnergyQuestion question(timeline.declarations(), one.track, {one.start_ns, one.end_ns()});
  question.share_nothing();
  BatchCursor cursor(timeline, {}, BatchParts::samples);
  for (EventBatch batch; cursor.next(batch);) {
    question.take(batch);
  }
  const stats::SpanJoules whole = question.finish();
  EXPECT_TRUE(whole.is_whole);
  EXPECT_NEAR(whole.energy.joules, 20, 1e-6);
}

}  // namespace
}  // namespace kymo::test
