// Tracks without scopes: their states, messages and titles can be found in the chart.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "selection_tabs.hpp"

namespace kymo::test {
namespace {

constexpr TrackId telling_track{4};  // has one message
constexpr TrackId watched_track{5};  // has states
constexpr TrackId quiet_track{6};
constexpr TrackId first_track{7};  // has states, and a scope in the last frame
constexpr ThreadId watched_thread{1};
constexpr ThreadId late_thread{2};
constexpr unsigned told_in_frame = 50;

std::vector<EventBatch> batches() {
  std::vector<EventBatch> all = Game().batches();
  Declarations& declared = all[0].declarations;
  declared.tracks.push_back({telling_track, TrackKind::thread, ProcessId{1}, 104, "telling"});
  declared.tracks.push_back({watched_track, TrackKind::thread, ProcessId{1}, 105, "watched"});
  declared.tracks.push_back({quiet_track, TrackKind::thread, ProcessId{1}, 106, "quiet"});
  declared.tracks.push_back({first_track, TrackKind::thread, ProcessId{1}, 107, "late"});
  declared.threads = {{watched_thread, ProcessId{1}, 4711, 105, "watched"},
                      {late_thread, ProcessId{1}, 4711, 107, "late"}};
  for (EventBatch& batch : all) {
    for (const ThreadId thread : {watched_thread, late_thread}) {
      batch.states.push_back({thread, {{batch.start_ns, batch.end_ns - batch.start_ns, 0, RunState::blocked}}});
    }
  }
  Message& message = all[told_in_frame / 10].messages.emplace_back();
  message.track = telling_track;
  message.time_ns = Game::start_of(told_in_frame) + 1'000'000;
  message.text = "hello";
  ScopeRun& run = all.back().runs.emplace_back();
  run.track = first_track;
  run.events = {{Game::start_of(99), Game::job_site, 0, 0}, {Game::start_of(99) + 1000, {}, 0, 0}};
  run.end_sequence = 2;
  return all;
}

class ScopelessTracks : public SelectionTabs {
 protected:
  ScopelessTracks() : SelectionTabs(batches()) {}

  [[nodiscard]] bool has_title(TrackId track) {
    const auto& tracks = view_.state().flame_layout().tracks;
    return std::any_of(tracks.begin(), tracks.end(), [track](const auto& one) { return one.track == track; });
  }
  void show_frame(unsigned frame) {
    view_.state().flame().show({Game::start_of(frame), Game::start_of(frame + 1)});
    screen_.frames(3);
  }
};

TEST_F(ScopelessTracks, ThreadsHaveTheirStatesBelow) {
  const auto& threads = view_.state().scopeless_threads();
  EXPECT_TRUE(has_title(first_track));
  EXPECT_EQ(threads, std::vector<ThreadId>{watched_thread});
  const auto& lanes = view_.state().states().scopeless;
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes[0].thread, watched_thread);
  EXPECT_FALSE(lanes[0].boxes.empty());
  EXPECT_EQ(view_.state().track_of(watched_thread), watched_track);
  view_.state().tracks().order().hide(first_track.value());
  screen_.frames(3);
  EXPECT_FALSE(has_title(first_track));
  EXPECT_EQ(threads, std::vector<ThreadId>{watched_thread}) << "what is hidden does not come back below";
}

TEST_F(ScopelessTracks, AMessageHasATitleToStandOn) {
  show_frame(told_in_frame);
  EXPECT_TRUE(has_title(telling_track));
  EXPECT_FALSE(has_title(quiet_track));
  const auto& messages = view_.state().marks().messages;
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].first->track, telling_track);
}

TEST_F(ScopelessTracks, WhatASearchFindsIsShown) {
  open("search");
  screen_.type("F");
  screen_.type("quiet");
  screen_.frames(4);
  ASSERT_EQ(rows().size(), 1U);
  screen_.key(ImGuiKey_DownArrow);
  screen_.frames(3);
  EXPECT_TRUE(has_title(quiet_track));
  view_.state().show_track(watched_track);
  screen_.frames(3);
  EXPECT_TRUE(has_title(watched_track));
  EXPECT_TRUE(view_.state().scopeless_threads().empty()) << "its states are beside its title";
}

}  // namespace
}  // namespace kymo::test
