// Ranges of captures whose blocks do not follow each other in time: run states arrive late, with early times, and a
// recorder that lags behind writes one thread after another.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "interaction.hpp"
#include "panel/lists/lists.hpp"
#include "stats/statistics/call_tree.hpp"
#include "stats/statistics/statistics.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

/// The scopes of one track of a game, dealt out to blocks.
struct DealtTrack {
  ScopeRun all;
  std::size_t next = 0;
  std::vector<OpenScope> open;

  /// A run of the events before a time; one without events where the track is idle with open scopes.
  void put_until(std::int64_t end_ns, EventBatch& batch) {
    ScopeRun run;
    run.track = all.track;
    run.open_at_start = open;
    run.first_sequence = next;
    for (; next < all.events.size() && all.events[next].time_ns < end_ns; ++next) {
      const ScopeEvent& event = all.events[next];
      run.events.push_back(event);
      open.resize(event.depth);
      if (event.is_open()) {
        open.push_back({event.time_ns, event.site});
      }
    }
    run.end_sequence = next;
    if (!run.events.empty() || !run.open_at_start.empty()) {
      batch.runs.push_back(std::move(run));
    }
  }
};

/// A game in blocks that end anywhere, some of which are followed by one that says of earlier times what no scope is.
std::vector<EventBatch> late_game(std::mt19937& random) {
  Game game;
  game.frames = 30;
  game.frames_in_block = 30;
  const EventBatch whole = game.batches()[0];
  const std::int64_t length = whole.end_ns - whole.start_ns;
  std::vector<std::int64_t> ends{whole.end_ns + 1};
  for (int i = 0; i < 12; ++i) {
    ends.push_back(whole.start_ns + 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(length)));
  }
  std::sort(ends.begin(), ends.end());
  std::vector<DealtTrack> tracks;
  for (const ScopeRun& run : whole.runs) {
    tracks.push_back({run, 0, {}});
  }
  std::vector<EventBatch> batches;
  std::int64_t start_ns = whole.start_ns;
  for (const std::int64_t end_ns : ends) {
    EventBatch& block = batches.emplace_back();
    block.start_ns = start_ns;
    block.end_ns = end_ns - 1;
    for (DealtTrack& track : tracks) {
      track.put_until(end_ns, block);
    }
    start_ns = end_ns;
    if (random() % 2 == 0) {
      EventBatch& late = batches.emplace_back();
      late.start_ns = whole.start_ns;
      late.end_ns = end_ns - 1;
      for (DealtTrack& track : tracks) {
        track.put_until(end_ns, late);
      }
    }
  }
  batches[0].declarations = whole.declarations;
  return batches;
}

/// The same game as a recorder writes it that found all of some stretches at once.
std::vector<EventBatch> lagging_game(std::mt19937& random) {
  Game game;
  game.frames = 30;
  game.frames_in_block = 30;
  const EventBatch whole = game.batches()[0];
  const std::int64_t length = whole.end_ns - whole.start_ns;
  std::vector<DealtTrack> tracks;
  for (const ScopeRun& run : whole.runs) {
    tracks.push_back({run, 0, {}});
  }
  std::vector<EventBatch> batches;
  for (std::int64_t drain = 1; drain <= 4; ++drain) {
    const std::int64_t end_ns = whole.start_ns + length * drain / 4 + 1;
    for (DealtTrack& busy : tracks) {
      while (busy.next < busy.all.events.size() && busy.all.events[busy.next].time_ns < end_ns) {
        EventBatch& block = batches.emplace_back();
        block.start_ns = busy.all.events[busy.next].time_ns;
        block.end_ns = std::min(block.start_ns + 1 + static_cast<std::int64_t>(random() % 20'000'000U), end_ns - 1);
        for (DealtTrack& track : tracks) {
          track.put_until(&track == &busy ? block.end_ns + 1 : block.start_ns - length, block);
        }
      }
    }
  }
  batches[0].declarations = whole.declarations;
  return batches;
}

/// The rest of a game whose first blocks are gone, as a flight recorder leaves it.
std::vector<EventBatch> kept_game(std::mt19937& random) {
  std::vector<EventBatch> batches = random() % 2 == 0 ? late_game(random) : lagging_game(random);
  const auto gone = static_cast<std::ptrdiff_t>(1 + random() % (batches.size() / 2));
  batches[static_cast<std::size_t>(gone)].declarations = batches[0].declarations;
  batches.erase(batches.begin(), batches.begin() + gone);
  return batches;
}

template <typename List>
List list_of(const Bytes& bytes, const panel::ListKey& key) {
  panel::PanelData data(provide(bytes), immediate_data());
  panel::KeptList<List> list;
  for (int i = 0; i < 1000 && (i == 0 || list.is_reading()); ++i) {
    list.keep_fresh(data, key);
    data.request_missing();
    data.poll();
  }
  EXPECT_FALSE(list.is_reading());
  return list.list();
}

using Sums = std::map<SiteId, std::pair<std::uint64_t, std::uint64_t>>;  // counts and totals

/// What the scopes that ended within the batches amount to in a range. What was open before counts from the start of
/// the block that brings its track.
Sums sums_of(const std::vector<EventBatch>& batches, TimeRange range) {
  Sums sums;
  std::map<TrackId, std::vector<OpenScope>> tracks;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      const auto [track, is_first] = tracks.try_emplace(run.track, run.open_at_start);
      std::vector<OpenScope>& open = track->second;
      for (OpenScope& scope : open) {
        scope.start_ns = is_first ? std::max(scope.start_ns, batch.start_ns) : scope.start_ns;
      }
      for (const ScopeEvent& event : run.events) {
        if (event.is_open()) {
          open.push_back({event.time_ns, event.site});
          continue;
        }
        const OpenScope scope = open.back();
        open.pop_back();
        if (scope.start_ns < range.end_ns && event.time_ns > range.start_ns) {
          ++sums[scope.site].first;
          sums[scope.site].second += static_cast<std::uint64_t>(std::min(event.time_ns, range.end_ns) -
                                                                std::max(scope.start_ns, range.start_ns));
        }
      }
    }
  }
  return sums;
}

Sums sums_of(const stats::Statistics& statistics) {
  Sums sums;
  for (const stats::SiteStatistics& site : statistics.sites) {
    sums[site.site] = {site.durations.count, site.durations.total_ns};
  }
  return sums;
}

Sums sums_of(const panel::SiteList& list) {
  Sums sums;
  for (const stats::SiteFigures& site : list.sites) {
    sums[site.site] = {site.count, site.total_ns};
  }
  return sums;
}

Sums sums_of(const panel::TreeList& list) {
  Sums sums;
  for (const panel::TreeList::Node& node : list.nodes) {
    if (node.site) {
      sums[node.site].first += node.count;
      sums[node.site].second += node.total_ns;
    }
  }
  return sums;
}

void expect_figures_of_ranges(std::vector<EventBatch> (*make_game)(std::mt19937&)) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < rounds(60U); ++round) {
    const std::vector<EventBatch> batches = make_game(random);
    const Bytes bytes = write_capture(batches);
    std::vector<CaptureReader> readers;
    readers.push_back(open_bytes(bytes));
    const Timeline timeline(std::move(readers));
    const auto length = static_cast<unsigned>(Game::start_of(27) - Game::start_ns);
    TimeRange range;
    range.start_ns = Game::start_ns + static_cast<std::int64_t>(random() % length);
    range.end_ns = range.start_ns + 1 + static_cast<std::int64_t>(random() % 30'000'000);
    SelectionOptions part;
    part.time = range;
    stats::StatisticsOptions options;
    options.selection = stats::Selection(timeline, part);

    // What the capture was made of knows it best.
    Sums expected = sums_of(batches, range);
    const std::string where =
        std::to_string(round) + ": " + std::to_string(range.start_ns) + " to " + std::to_string(range.end_ns);
    ASSERT_EQ(sums_of(stats::gather_statistics(timeline, options)), expected) << where;
    ASSERT_EQ(sums_of(list_of<panel::SiteList>(bytes, panel::ListKey(range))), expected) << where;
    ASSERT_EQ(sums_of(list_of<panel::TreeList>(bytes, panel::ListKey(range))), expected) << where;

    // A scope that the range cuts is listed, and lasts at least to the range's end.
    const Sums::mapped_type frames = expected[Game::frame_site];
    const auto spans = list_of<panel::InstanceList>(bytes, panel::ListKey(range, Game::frame_site.value()));
    ASSERT_EQ(spans.count, frames.first) << where;
    for (const panel::InstanceList::Row& row : spans.longest) {
      EXPECT_LE(panel::length_between(row.key.start_ns, row.key.end_ns), Game::frame_ns);
      EXPECT_TRUE(!row.is_open || row.key.end_ns >= range.end_ns - 1);
    }
    const auto times = list_of<panel::SiteTimes>(bytes, panel::ListKey(range, Game::frame_site.value()));
    EXPECT_TRUE(frames.first == 0 || times.hold(range.end_ns - 1) ||
                (range.end_ns - Game::start_ns) % Game::frame_ns == 0);
  }
}

TEST(LateBlocks, FiguresOfARangeAreThoseOfTheStatistics) {
  expect_figures_of_ranges(late_game);
}

TEST(LateBlocks, FiguresOfARangeAreThoseOfTheStatisticsThoughOneThreadIsWrittenAfterAnother) {
  expect_figures_of_ranges(lagging_game);
}

TEST(LateBlocks, WhatWasOpenBeforeTheCaptureCountsFromItsStart) {
  expect_figures_of_ranges(kept_game);
  std::mt19937 random(7);
  for (unsigned round = 0; round < rounds(20U); ++round) {
    const std::vector<EventBatch> batches = kept_game(random);
    const Bytes bytes = write_capture(batches);
    std::vector<CaptureReader> readers;
    readers.push_back(open_bytes(bytes));
    const Timeline timeline(std::move(readers));
    const TimeRange all;
    const Sums expected = sums_of(batches, all);
    stats::StatisticsOptions options;
    ASSERT_EQ(sums_of(stats::gather_statistics(timeline, options)), expected) << round;
    options.use_summaries = false;
    ASSERT_EQ(sums_of(stats::gather_statistics(timeline, options)), expected) << round;
    ASSERT_EQ(sums_of(list_of<panel::SiteList>(bytes, panel::ListKey(all))), expected) << round;
  }
}

TEST(LateBlocks, TheSelfTimeOfASpanOverSeveralBlocksIsKnownWhereItsInsidesAre) {
  std::mt19937 random(6);
  for (unsigned round = 0; round < rounds(20U); ++round) {
    const Bytes bytes = write_capture(late_game(random));
    panel::PanelView view(provide(bytes), {}, immediate_data());
    Screen screen([&view] { view.draw(); });
    for (unsigned frame = 0; frame < 30; ++frame) {
      const std::int64_t start_ns = Game::start_of(frame);
      view.state().select({Game::main_track, Game::frame_site, 0, start_ns, start_ns + Game::frame_ns - 1});
      screen.frames(4);
      ASSERT_TRUE(has_text(view.facts(), "   self 2 ms   ")) << round << ' ' << frame << '\n' << view.facts();
    }
  }
}

}  // namespace
}  // namespace kymo::test
