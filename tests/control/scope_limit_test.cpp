// What a full capture takes of batches: no scope that it has not opened, the ends of those that it has, all else.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "control/scope_limit.hpp"

namespace kymo::test {
namespace {

constexpr TrackId track{7};

ScopeEvent open(std::uint16_t depth) {
  return {100, SiteId{1}, depth, 0};
}
ScopeEvent close(std::uint16_t depth) {
  return {200, SiteId{}, depth, 0};
}

EventBatch batch_of(std::size_t open_at_start, std::initializer_list<ScopeEvent> events) {
  EventBatch batch;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = track;
  run.dropped_scopes = 3;
  run.first_sequence = 50;
  run.end_sequence = 60;
  run.open_at_start.resize(open_at_start, {1, SiteId{2}});
  run.events = events;
  return batch;
}

std::string shape_of(const ScopeRun& run) {
  std::string text(run.open_at_start.size(), '|');
  for (const ScopeEvent& event : run.events) {
    text += (event.is_open() ? "+" : "-") + std::to_string(event.depth);
  }
  return text;
}

/// Of the limit's track. That of the thread says what the spool of a killed process says too.
std::uint64_t dropped_in(const EventBatch& batch) {
  EXPECT_EQ(batch.runs.front().dropped_scopes, 3U);
  EXPECT_EQ(batch.runs.back().track, control::ScopeLimit::limit_track);
  return batch.runs.back().dropped_scopes;
}

TEST(ScopeLimit, OpensNothingAndClosesWhatTheCaptureHasOpen) {
  control::ScopeLimit limit;
  // Two scopes are open. One more opens and closes, then the inner one closes, and another opens in its place.
  const EventBatch first = limit.without_scopes(batch_of(2, {open(2), close(2), close(1), open(1), open(2)}));
  EXPECT_EQ(shape_of(first.runs[0]), "||-1");
  EXPECT_EQ(dropped_in(first), 3U);
  EXPECT_EQ(first.runs[0].first_sequence, 50U);
  EXPECT_EQ(first.runs[0].end_sequence, 60U) << "the events that were taken out are not to be read from the spool";
  const EventBatch second = limit.without_scopes(batch_of(3, {close(2), close(1), close(0), open(0), close(0)}));
  EXPECT_EQ(shape_of(second.runs[0]), "|-0");
  EXPECT_EQ(dropped_in(second), 4U);
  const EventBatch third = limit.without_scopes(batch_of(0, {}));
  EXPECT_EQ(shape_of(third.runs[0]), "");
  EXPECT_EQ(third.runs.size(), 1U) << "nothing more was dropped";
}

TEST(ScopeLimit, ACloseThatEndsDeeperScopesEndsThemInTheCaptureToo) {
  control::ScopeLimit limit;
  EXPECT_EQ(shape_of(limit.without_scopes(batch_of(3, {open(3), close(1), open(1)})).runs[0]), "|||-1");
  EXPECT_EQ(shape_of(limit.without_scopes(batch_of(2, {close(0)})).runs[0]), "|-0");
}

TEST(ScopeLimit, KeepsTheArgumentsOfScopesThatTheCaptureHasAndNoOtherText) {
  control::ScopeLimit limit;
  EventBatch batch = batch_of(1, {open(1), close(1), close(0)});
  batch.text = "lostkeptspan";
  const auto argument = [](std::uint64_t offset) {
    return ArgumentValue{NameId{1}, ArgumentType::string, false, 4, offset};
  };
  batch.runs[0].arguments = {{1, argument(0)}, {2, argument(4)}};
  batch.spans.push_back({track, NameId{1}, NameId{}, 1, 0, 100, 1, 0});
  batch.span_arguments = {argument(8)};
  const EventBatch rest = limit.without_scopes(batch);
  ASSERT_EQ(rest.runs[0].arguments.size(), 1U);
  EXPECT_EQ(rest.runs[0].arguments[0].position, 0U);
  EXPECT_EQ(rest.text.substr(rest.runs[0].arguments[0].value.bits, 4), "kept");
  EXPECT_EQ(rest.text.substr(rest.span_arguments[0].bits, 4), "span");
  EXPECT_EQ(rest.text.size(), 8U);
  EXPECT_EQ(rest.spans.size(), 1U);
  EXPECT_EQ(rest.runs.back().track, control::ScopeLimit::limit_track);
  EXPECT_EQ(rest.runs.back().dropped_others, 1U);
}

}  // namespace
}  // namespace kymo::test
