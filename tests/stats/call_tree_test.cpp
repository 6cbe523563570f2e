// The call tree: worked out by hand, and against a plain replay of made-up recordings.
#include "stats/statistics/call_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "power_recording.hpp"
#include "stats/statistics/statistics.hpp"
#include "support/open_memory.hpp"
#include "timeline/recording_model.hpp"

namespace kymo::test {
namespace {

struct PathSum {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t self_ns = 0;

  friend bool operator==(const PathSum& a, const PathSum& b) {
    return a.count == b.count && a.total_ns == b.total_ns && a.self_ns == b.self_ns;
  }
};

std::ostream& operator<<(std::ostream& out, const PathSum& sum) {
  return out << sum.count << " x, total " << sum.total_ns << ", self " << sum.self_ns;
}

using Paths = std::map<std::string, PathSum>;

Paths paths_of(const Timeline& timeline, const stats::CallTree& tree) {
  Paths paths;
  std::vector<std::string> names(tree.rows.size());
  for (std::size_t i = 0; i < tree.rows.size(); ++i) {
    const stats::CallTreeRow& row = tree.rows[i];
    names[i] = (row.depth == 0 ? "" : names[row.parent]) + "/" + (!row.site ? "*" : timeline.site(row.site).name);
    EXPECT_EQ(paths.count(names[i]), 0U) << names[i];
    paths[names[i]] = {row.count, row.total_ns, row.self_ns};
  }
  return paths;
}

void expect_equal(const Paths& found, const Paths& expected, const std::string& what = {}) {
  for (const auto& [path, sum] : found) {
    const auto other = expected.find(path);
    EXPECT_TRUE(other != expected.end()) << what << ": " << path << " is not there";
    if (other != expected.end()) {
      EXPECT_EQ(sum, other->second) << what << ": " << path;
    }
  }
  for (const auto& [path, sum] : expected) {
    EXPECT_EQ(found.count(path), 1U) << what << ": " << path << " is missing: " << sum;
  }
}

/// Replays a recording's events plainly, each scope with the part of it that lies in a range.
Paths replay(const RecordingModel& model, TimeRange range = {}, TrackId track = {}) {
  struct Open {
    std::string path;
    std::int64_t start_ns;
  };
  Paths paths;
  std::map<TrackId, std::vector<Open>> stacks;
  const auto end = [&](std::vector<Open>& stack, std::int64_t time_ns) {
    const Open open = stack.back();
    stack.pop_back();
    if (open.start_ns < range.end_ns && (time_ns > range.start_ns || open.start_ns >= range.start_ns)) {
      const auto duration =
          static_cast<std::uint64_t>(std::min(time_ns, range.end_ns) - std::max(open.start_ns, range.start_ns));
      PathSum& sum = paths[open.path];
      ++sum.count;
      sum.total_ns += duration;
      sum.self_ns += duration;
      if (!stack.empty()) {
        paths[stack.back().path].self_ns -= duration;
      }
    }
  };
  for (const EventBatch& batch : model.batches()) {
    for (const ScopeRun& run : batch.runs) {
      auto& stack = stacks[run.track];
      for (const ScopeEvent& event : run.events) {
        if (track && run.track != track) {
          continue;
        }
        while (stack.size() > event.depth) {
          end(stack, event.time_ns);
        }
        if (event.is_open()) {
          const std::string name = model.batches()[0].declarations.sites[event.site.index()].name;
          stack.push_back({(stack.empty() ? "" : stack.back().path) + "/" + name, event.time_ns});
        }
      }
    }
  }
  for (auto& [id, stack] : stacks) {
    while (!stack.empty()) {
      end(stack, model.truth().end_ns);
    }
  }
  for (auto path = paths.begin(); path != paths.end();) {
    path = path->second.count == 0 ? paths.erase(path) : std::next(path);
  }
  return paths;
}

TEST(CallTree, RecursionCountsEveryMomentOnce) {
  PowerRecording recording;
  recording.open(0, TrackId{1}, "walk");
  recording.open(100, TrackId{1}, "walk");
  recording.open(200, TrackId{1}, "walk");
  recording.scope(210, 220, TrackId{1}, "read");
  recording.close(300, TrackId{1});
  recording.close(400, TrackId{1});
  recording.close(1000, TrackId{1});
  const Timeline timeline = recording.make_timeline();
  const stats::CallTree tree = stats::gather_call_tree(timeline);
  const Paths expected{{"/walk", {1, 1000, 700}},
                       {"/walk/walk", {1, 300, 200}},
                       {"/walk/walk/walk", {1, 100, 90}},
                       {"/walk/walk/walk/read", {1, 10, 10}}};
  EXPECT_EQ(paths_of(timeline, tree), expected);
  EXPECT_EQ(tree.total_ns, 1000U);
  ASSERT_EQ(tree.sites.size(), 2U);
  EXPECT_EQ(timeline.site(tree.sites[0].site).name, "walk");
  EXPECT_EQ(tree.sites[0].count, 3U);
  EXPECT_EQ(tree.sites[0].inclusive_ns, 1000U) << "not 1400";
  EXPECT_EQ(tree.sites[0].self_ns, 990U);
}

TEST(CallTree, ThreadsAddUpAndTheLongestComesFirst) {
  PowerRecording recording;
  recording.open(0, TrackId{1}, "main");
  recording.scope(10, 40, TrackId{1}, "a");
  recording.scope(50, 150, TrackId{1}, "b");
  recording.close(200, TrackId{1});
  recording.open(100, TrackId{2}, "main");
  recording.scope(110, 120, TrackId{2}, "a");
  recording.close(400, TrackId{2});
  const Timeline timeline = recording.make_timeline(3);
  const stats::CallTree tree = stats::gather_call_tree(timeline);
  ASSERT_EQ(tree.rows.size(), 3U);
  EXPECT_EQ(timeline.site(tree.rows[1].site).name, "b");
  const Paths expected{{"/main", {2, 500, 360}}, {"/main/a", {2, 40, 40}}, {"/main/b", {1, 100, 100}}};
  EXPECT_EQ(paths_of(timeline, tree), expected);
}

TEST(CallTree, IsThatOfAPlainReplay) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const RecordingModel model({.seed = seed, .steps = 5000});
    const auto bytes = model.write(seed % 2 == 0);
    const Timeline timeline = open_memory(bytes);
    const stats::CallTree tree = stats::gather_call_tree(timeline);
    expect_equal(paths_of(timeline, tree), replay(model));
    std::uint64_t self_ns = 0;
    for (const stats::CallTreeRow& row : tree.rows) {
      self_ns += row.self_ns;
    }
    EXPECT_EQ(self_ns, tree.total_ns);
  }
}

TEST(CallTree, TheTimeOfAFiberCountsOnceOnItsOwnTrack) {
  PowerRecording recording;
  recording.fiber(TrackId{2}, "task");
  recording.open(0, TrackId{1}, "loop");
  recording.open(5, TrackId{1}, "turn");
  recording.scope(10, 40, TrackId{1}, "task");  // the thread runs the fiber
  recording.close(45, TrackId{1});
  recording.scope(60, 80, TrackId{1}, "idle fiber");
  recording.close(100, TrackId{1});
  recording.scope(10, 30, TrackId{2}, "work");
  recording.scope(30, 40, TrackId{2}, "more");
  recording.fiber(TrackId{3}, "idle fiber");  // has no scopes: its run is all that is known of it
  const Timeline timeline = recording.make_timeline(1);
  const Paths expected{{"/loop", {1, 70, 40}},
                       {"/loop/turn", {1, 10, 10}},
                       {"/loop/idle fiber", {1, 20, 20}},
                       {"/work", {1, 20, 20}},
                       {"/more", {1, 10, 10}}};
  const stats::CallTree tree = stats::gather_call_tree(timeline);
  expect_equal(paths_of(timeline, tree), expected);
  EXPECT_EQ(tree.total_ns, 100U) << "as long as the recording";
  stats::CallTreeOptions chosen;
  stats::SelectionOptions part;
  part.sites = {"task"};
  chosen.selection = stats::Selection(timeline, part);
  expect_equal(paths_of(timeline, stats::gather_call_tree(timeline, chosen)), {{"/task", {1, 30, 30}}}, "by name");
}

/// Compares the trees of stretches of a recording, between `parts` even marks and some of them long, with replays.
void expect_replayed_stretches(const RecordingModel& model, std::int64_t parts) {
  const auto bytes = model.write();
  const Timeline timeline = open_memory(bytes);
  const std::int64_t length_ns = model.truth().end_ns - model.truth().start_ns;
  for (std::int64_t part = 0; part + 2 < parts; ++part) {
    const TimeRange range{model.truth().start_ns + length_ns * part / parts,
                          model.truth().start_ns + length_ns * (part + 1 + part % 2) / parts + part};
    stats::SelectionOptions chosen;
    chosen.time = range;
    stats::CallTreeOptions options;
    options.selection = stats::Selection(timeline, chosen);
    expect_equal(paths_of(timeline, stats::gather_call_tree(timeline, options)), replay(model, range),
                 std::to_string(part));
    chosen.threads = {"thread 1"};
    options.selection = stats::Selection(timeline, chosen);
    expect_equal(paths_of(timeline, stats::gather_call_tree(timeline, options)), replay(model, range, TrackId{2}));
  }
}

TEST(CallTree, OfAStretchOfTimeHoldsThePartsThatLieInIt) {
  for (std::uint32_t seed = 11; seed <= 14; ++seed) {
    SCOPED_TRACE(seed);
    expect_replayed_stretches(RecordingModel({.seed = seed, .steps = 3000}), 9);
  }
}

TEST(CallTree, OfAStretchOfTimeHoldsItsPartsThoughOneThreadIsWrittenAfterAnother) {
  for (std::uint32_t seed = 41; seed <= 46; ++seed) {
    SCOPED_TRACE(seed);
    expect_replayed_stretches(RecordingModel({.seed = seed, .steps = 3000, .lags = true}), 60);
  }
}

TEST(CallTree, OfChosenSitesBeginsWithTheOutermostOfThem) {
  PowerRecording recording;
  recording.open(0, TrackId{1}, "main");
  recording.open(10, TrackId{1}, "step");
  recording.open(20, TrackId{1}, "draw");
  recording.scope(30, 40, TrackId{1}, "step");
  recording.close(50, TrackId{1});
  recording.close(110, TrackId{1});
  recording.scope(120, 130, TrackId{1}, "draw");
  recording.close(200, TrackId{1});
  const Timeline timeline = recording.make_timeline();
  stats::SelectionOptions chosen;
  chosen.sites = {"st?p"};
  stats::CallTreeOptions options;
  options.selection = stats::Selection(timeline, chosen);
  const stats::CallTree tree = stats::gather_call_tree(timeline, options);
  const Paths expected{{"/step", {1, 100, 70}}, {"/step/draw", {1, 30, 20}}, {"/step/draw/step", {1, 10, 10}}};
  EXPECT_EQ(paths_of(timeline, tree), expected);
  EXPECT_EQ(tree.total_ns, 100U);
}

TEST(CallTree, OfADamagedCaptureHoldsWhatIsSound) {
  const RecordingModel model({.seed = 31, .steps = 4000});
  const auto sound = model.write();
  const Timeline whole = open_memory(sound);
  std::uint64_t count = 0;
  for (const stats::CallTreeRow& row : stats::gather_call_tree(whole).rows) {
    count += row.count;
  }
  const std::vector<BlockInfo> blocks = whole.capture(0).blocks();
  for (std::size_t block = 0; block < blocks.size(); block += 7) {
    if (blocks[block].kind != BlockKind::events) {
      continue;
    }
    auto bytes = sound;
    bytes[blocks[block].offset + 60] ^= std::byte{4};
    const Timeline timeline = open_memory(bytes);
    stats::CallTreeOptions options;
    stats::SelectionOptions chosen;
    chosen.time = {blocks[block / 2].start_ns, blocks[block].end_ns + 1000};
    for (const bool cuts : {false, true}) {
      options.selection = cuts ? stats::Selection(timeline, chosen) : stats::Selection();
      const stats::CallTree tree = stats::gather_call_tree(timeline, options);
      EXPECT_EQ(tree.blocks_damaged, 1U);
      std::uint64_t found = 0;
      for (const stats::CallTreeRow& row : tree.rows) {
        EXPECT_LE(row.self_ns, row.total_ns);
        found += row.count;
      }
      EXPECT_GT(found, 0U);
      EXPECT_LE(found, count + 100) << "a scope that goes on beyond what is lost is seen at most twice";
    }
  }
}

TEST(CallTree, PathsThatFindNoRoomAreCountedUnderTheirParents) {
  const RecordingModel model({.seed = 21, .steps = 5000, .closes_all = true});
  const auto bytes = model.write();
  const Timeline timeline = open_memory(bytes);
  const stats::CallTree whole = stats::gather_call_tree(timeline);
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{30}}) {
    stats::CallTreeOptions options;
    options.most_paths = most;
    const stats::CallTree tree = stats::gather_call_tree(timeline, options);
    EXPECT_LE(tree.rows.size(), 2 * most + 1);
    EXPECT_EQ(tree.total_ns, whole.total_ns);
    std::uint64_t self_ns = 0;
    std::uint64_t count = 0;
    std::uint64_t folded = 0;
    for (const stats::CallTreeRow& row : tree.rows) {
      self_ns += row.self_ns;
      count += row.count;
      folded += !row.site ? row.count : 0;
    }
    EXPECT_EQ(self_ns, whole.total_ns);
    EXPECT_EQ(folded, tree.folded_scopes);
    std::uint64_t count_of_whole = 0;
    for (const stats::CallTreeRow& row : whole.rows) {
      count_of_whole += row.count;
    }
    EXPECT_EQ(count, count_of_whole);
  }
  EXPECT_EQ(whole.folded_scopes, 0U);
}

}  // namespace
}  // namespace kymo::test
