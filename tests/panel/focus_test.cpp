// What the frames, metrics and messages tabs show inside a site's scopes, of a span, and of a frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "marked_game.hpp"
#include "panel/lists/lists.hpp"
#include "panel/lists/site_gatherer.hpp"
#include "panel/lists/site_times.hpp"
#include "selection_tabs.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

TEST_F(SelectionTabs, FramesMetricsAndMessagesAreThoseInsideASite) {
  // Each job begins with the frame, at the time of the samples; renders begin later.
  view_.state().mark_site(Game::job_site);
  open("metrics");
  const std::size_t all = rows().size();
  ASSERT_GT(all, 1U);
  screen_.type("o");
  screen_.frames(4);
  EXPECT_EQ(rows().size(), all);
  EXPECT_EQ(rows()[0][1], "100");
  screen_.type("o");
  view_.state().mark_site(Game::render_site);
  screen_.type("o");
  screen_.frames(4);
  EXPECT_EQ(rows().size(), 0U);
  open("frames");
  EXPECT_EQ(rows().size(), 99U) << "each has a render";
  screen_.type("o");
  screen_.frames(4);
  EXPECT_EQ(rows().size(), 99U);
}

TEST_F(SelectionTabs, StatisticsFollowASite) {
  view_.state().mark_site(Game::render_site);
  open("statistics");
  ASSERT_EQ(rows().size(), 4U) << "frame, render, update, job";
  screen_.type("o");
  screen_.frames(4);
  ASSERT_EQ(rows().size(), 1U) << "nothing is inside a render";
  EXPECT_EQ(rows()[0][0], "render");
  screen_.type("o");
  screen_.frames(4);
  EXPECT_EQ(rows().size(), 4U);
}

class MarkedTabs : public SelectionTabs {
 protected:
  MarkedTabs() : SelectionTabs(MarkedGame::batches()) {}
};

TEST_F(MarkedTabs, MessagesFollowASiteASpanAndAFrame) {
  open("messages");
  ASSERT_EQ(rows().size(), 2U) << "after 1 ms and 5 ms of frame 20";
  view_.state().mark_site(Game::update_site);
  screen_.type("o");
  screen_.frames(4);
  ASSERT_EQ(rows().size(), 1U) << "update ends after 5 ms";
  EXPECT_EQ(rows()[0][2], "loaded level");
  screen_.type("o");
  screen_.frames(4);
  EXPECT_EQ(rows().size(), 2U);
  const std::int64_t start = Game::start_of(MarkedGame::frame);
  view_.state().select(
      {Game::main_track, Game::render_site, 1, start + Game::frame_ns / 2, start + Game::frame_ns * 9 / 10});
  screen_.type("M");
  screen_.frames(4);
  ASSERT_EQ(rows().size(), 1U) << "the one in this render";
  EXPECT_EQ(rows()[0][2], "<b>second</b>");
  view_.state().measure(std::nullopt);
  view_.state().pin({Game::start_of(MarkedGame::frame + 1), Game::frame_ns});
  screen_.frames(4);
  EXPECT_EQ(rows().size(), 0U);
}

/// Scopes of three sites that nest and cross blocks, and messages, samples and marks at any time.
std::vector<EventBatch> random_batches(std::mt19937& random) {
  std::vector<EventBatch> all = Game().batches();
  for (EventBatch& batch : all) {
    batch.frame_marks.clear();
    batch.runs.clear();
    batch.spans.clear();
    batch.samples[0] = {};
    batch.samples[0].metric = MetricId{1};
  }
  std::array<std::vector<OpenScope>, 2> open;
  std::array<std::uint64_t, 2> sequences{};
  for (EventBatch& batch : all) {
    const auto length = static_cast<std::uint64_t>(batch.end_ns - batch.start_ns);
    const auto times = [&](std::size_t count) {
      std::vector<std::int64_t> sorted(count);
      std::generate(sorted.begin(), sorted.end(),
                    [&] { return batch.start_ns + static_cast<std::int64_t>(random() % length); });
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    for (std::size_t track = 0; track < 2; ++track) {
      ScopeRun& run = batch.runs.emplace_back();
      run.track = track == 0 ? Game::main_track : Game::worker_track;
      run.open_at_start = open[track];
      for (const std::int64_t time_ns : times(random() % 8)) {
        if (open[track].size() < 4 && random() % 2 == 0) {
          open[track].push_back({time_ns, SiteId{1 + static_cast<std::uint32_t>(random() % 3)}});
          run.events.push_back(
              {time_ns, open[track].back().site, static_cast<std::uint16_t>(open[track].size() - 1), 0});
        } else if (!open[track].empty()) {
          open[track].pop_back();
          run.events.push_back({time_ns, {}, static_cast<std::uint16_t>(open[track].size()), 0});
        }
      }
      run.first_sequence = sequences[track];
      sequences[track] += run.events.size();
      run.end_sequence = sequences[track];
    }
    for (const std::int64_t time_ns : times(random() % 5)) {
      Message message;
      message.track = Game::main_track;
      message.time_ns = time_ns;
      message.text = "m";
      batch.messages.push_back(message);
    }
    for (const std::int64_t time_ns : times(random() % 5)) {
      batch.samples[0].times_ns.push_back(time_ns);
      batch.samples[0].values.push_back(1);
    }
    for (const std::int64_t time_ns : times(random() % 3)) {
      batch.frame_marks.push_back({FrameStreamId{1}, Game::main_track, time_ns});
    }
  }
  return all;
}

/// Where scopes of a site were open, by an independent walk over the events.
std::vector<TimeRange> times_inside(SiteId site, const std::vector<EventBatch>& batches) {
  std::vector<TimeRange> inside;
  std::array<std::vector<OpenScope>, 2> open;
  const auto add = [&inside, site](const OpenScope& scope, std::int64_t end_ns) {
    if (scope.site == site) {
      inside.push_back({scope.start_ns, end_ns});
    }
  };
  for (const EventBatch& batch : batches) {
    for (std::size_t track = 0; track < 2; ++track) {
      for (const ScopeEvent& event : batch.runs[track].events) {
        if (event.site) {
          open[track].push_back({event.time_ns, event.site});
        } else {
          add(open[track].back(), event.time_ns);
          open[track].pop_back();
        }
      }
    }
  }
  for (const auto& scopes : open) {
    for (const OpenScope& scope : scopes) {
      add(scope, std::numeric_limits<std::int64_t>::max());
    }
  }
  return inside;
}

TEST(Focus, ListsHoldExactlyWhatIsInsideScopesOfTheSite) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < rounds(60U); ++round) {
    const std::vector<EventBatch> batches = random_batches(random);
    const SiteId site{1 + static_cast<std::uint32_t>(random() % 3)};
    const std::vector<TimeRange> inside = times_inside(site, batches);
    const auto is_inside = [&inside](std::int64_t from_ns, std::int64_t to_ns) {
      return std::any_of(inside.begin(), inside.end(),
                         [&](const TimeRange& one) { return one.start_ns < to_ns && one.end_ns > from_ns; });
    };
    std::uint64_t messages = 0;
    std::uint64_t samples = 0;
    std::uint64_t frames = 0;
    std::optional<std::int64_t> mark_ns;
    for (const EventBatch& batch : batches) {
      for (const Message& message : batch.messages) {
        messages += is_inside(message.time_ns, message.time_ns + 1) ? 1U : 0U;
      }
      for (const std::int64_t time_ns : batch.samples[0].times_ns) {
        samples += is_inside(time_ns, time_ns + 1) ? 1U : 0U;
      }
      for (const FrameMark& mark : batch.frame_marks) {
        frames += mark_ns && is_inside(*mark_ns, mark.time_ns) ? 1U : 0U;
        mark_ns = mark.time_ns;
      }
    }
    const Bytes bytes = write_capture(batches, true);
    panel::PanelData data(provide(bytes), immediate_data());
    const auto read = [&data](auto list, const panel::ListKey& key) {
      for (int i = 0; i < 1000 && !list.is_whole(); ++i) {
        list.keep_fresh(data, key);
        data.request_missing();
        data.poll();
      }
      EXPECT_TRUE(list.is_whole());
      return list.list();
    };
    panel::ListKey key({}, 1);
    key.inside = site;
    key.times =
        std::make_shared<panel::SiteTimes>(read(panel::KeptList<panel::SiteTimes>(), panel::ListKey({}, site.value())));
    EXPECT_EQ(read(panel::KeptList<panel::MessageList>(), key).count, messages) << round;
    EXPECT_EQ(read(panel::KeptList<panel::FrameList>(), key).durations.count, frames) << round;
    const panel::MetricList metrics = read(panel::KeptList<panel::MetricList>(), key);
    EXPECT_EQ(metrics.rows.empty() ? 0U : metrics.rows[0].count, samples) << round;
  }
}

TEST(Focus, StatisticsAreOfTheScopesOfTheSiteAndInsideOfThem) {
  std::mt19937 random(17);
  for (unsigned round = 0; round < rounds(60U); ++round) {
    const std::vector<EventBatch> batches = random_batches(random);
    const SiteId site{1 + static_cast<std::uint32_t>(random() % 3)};
    // By an independent walk over the events.
    std::map<SiteId, std::pair<std::uint64_t, std::uint64_t>> expected;
    std::array<std::vector<OpenScope>, 2> open;
    for (const EventBatch& batch : batches) {
      for (std::size_t track = 0; track < 2; ++track) {
        for (const ScopeEvent& event : batch.runs[track].events) {
          std::vector<OpenScope>& scopes = open[track];
          if (event.site) {
            scopes.push_back({event.time_ns, event.site});
            continue;
          }
          if (std::any_of(scopes.begin(), scopes.end(), [site](const OpenScope& one) { return one.site == site; })) {
            auto& [count, total_ns] = expected[scopes.back().site];
            ++count;
            total_ns += static_cast<std::uint64_t>(event.time_ns - scopes.back().start_ns);
          }
          scopes.pop_back();
        }
      }
    }
    const Bytes bytes = write_capture(batches, true);
    const auto provider = provide(bytes);
    panel::SiteList::Gatherer gatherer(panel::ListKey({}, site.value()), *provider);
    for (std::size_t block = 0; block < provider->blocks()[0].blocks.size(); ++block) {
      gatherer.take(*provider->read(0, block, BatchParts::scopes), panel::ScannedBlock{});
    }
    gatherer.finish();
    std::map<SiteId, std::pair<std::uint64_t, std::uint64_t>> shown;
    for (const stats::SiteFigures& one : gatherer.result().sites) {
      shown[one.site] = {one.count, one.total_ns};
    }
    EXPECT_EQ(shown, expected) << round;
  }
}

TEST(Focus, TimesAreThoseOfTheFirstCallsWhereThereAreTooMany) {
  constexpr std::size_t calls = panel::SiteTimes::most * 5 / 2;
  EventBatch batch;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = Game::main_track;
  for (std::size_t call = 0; call < calls; ++call) {
    const auto start_ns = static_cast<std::int64_t>(call) * 10;
    run.events.push_back({start_ns, Game::job_site, 0, 0});
    run.events.push_back({start_ns + 4, {}, 0, 0});
  }
  run.end_sequence = run.events.size();
  batch.end_ns = run.events.back().time_ns;
  const Bytes bytes = Game().write();
  panel::SiteTimes::Gatherer gatherer(panel::ListKey({}, Game::job_site.value()), *provide(bytes));
  gatherer.take(batch, panel::ScannedBlock{});
  const panel::SiteTimes times = gatherer.result();
  EXPECT_EQ(times.ranges.size(), panel::SiteTimes::most);
  EXPECT_EQ(times.end_ns, std::int64_t{panel::SiteTimes::most} * 10);
  EXPECT_TRUE(times.hold(times.end_ns - 10));
  EXPECT_TRUE(times.hold(times.end_ns - 7));
  EXPECT_FALSE(times.hold(times.end_ns - 6));
  EXPECT_FALSE(times.hold(times.end_ns));
  EXPECT_TRUE(times.overlap({times.end_ns - 7, times.end_ns - 5}));
  EXPECT_FALSE(times.overlap({times.end_ns - 6, times.end_ns}));
}

}  // namespace
}  // namespace kymo::test
