// What is laid out of pieces: the truth where there is room for it, and never more than the pixels allow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "game_capture.hpp"
#include "panel/layout/flame_layout.hpp"
#include "panel/layout/frame_layout.hpp"
#include "panel/layout/metric_layout.hpp"

namespace kymo::test {
namespace {

using panel::FlameBox;
using panel::FlameRow;
using panel::Piece;

std::vector<Piece> exact_pieces(const Game& game) {
  std::vector<Piece> pieces;
  for (const EventBatch& batch : game.batches()) {
    pieces.push_back(std::make_shared<timeline::Detail>(timeline::make_detail(batch, true)));
  }
  return pieces;
}

panel::FrameCover frames_of(const std::vector<Piece>& pieces) {
  panel::FrameCover frames(FrameStreamId{1});
  for (const Piece& piece : pieces) {
    frames.add(piece);
  }
  frames.finish();
  return frames;
}

panel::TimeAxis axis_over(TimeRange range, double width) {
  panel::TimeAxis axis;
  axis.set_bounds({0, 100'000'000'000});
  axis.set_width(width);
  axis.show(range);
  return axis;
}

const FlameRow* row_of(const panel::FlameLayout& layout, TrackId track, std::uint16_t depth) {
  for (const FlameRow& row : layout.rows) {
    if (row.track == track && row.depth == depth) {
      return &row;
    }
  }
  return nullptr;
}

TEST(FlameLayout, SpansWithRoomStandWhereTheyHappened) {
  const auto pieces = exact_pieces(Game());
  const auto axis = axis_over({Game::start_of(12), Game::start_of(14)}, 1000);
  const auto layout = panel::lay_out_flame(pieces, axis, {});
  ASSERT_EQ(layout.tracks.size(), 3U);
  const FlameRow* row = row_of(layout, Game::main_track, 1);
  ASSERT_NE(row, nullptr);
  std::vector<FlameBox> seen;
  for (const FlameBox& box : row->boxes) {
    if (box.right > 0 && box.left < 1000) {
      seen.push_back(box);
    }
  }
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0].name, Game::update_site.value());
  EXPECT_NEAR(seen[0].left, 50, 0.1);
  EXPECT_NEAR(seen[0].right, 250, 0.1);
  EXPECT_EQ(seen[1].name, Game::render_site.value());
  EXPECT_EQ(seen[3].start_ns, Game::start_of(13) + Game::frame_ns / 2);
  EXPECT_TRUE(seen[3].is_one);
}

TEST(FlameLayout, AScopeOverSeveralBlocksIsOneBox) {
  // A scope that is open through three blocks: the first knows its start, the last its end.
  std::vector<Piece> pieces;
  for (int i = 0; i < 3; ++i) {
    EventBatch batch;
    batch.start_ns = 1000 + i * 1000;
    batch.end_ns = batch.start_ns + 999;
    ScopeRun& run = batch.runs.emplace_back();
    run.track = TrackId{1};
    if (i == 0) {
      run.events.push_back({1500, SiteId{7}, 0, 0});
    } else {
      run.open_at_start.push_back({1500, SiteId{7}});
    }
    if (i == 2) {
      run.events.push_back({3500, {}, 0, 0});
    }
    pieces.push_back(std::make_shared<timeline::Detail>(timeline::make_detail(batch, true)));
  }
  const auto layout = panel::lay_out_flame(pieces, axis_over({1000, 4000}, 3000), {});
  ASSERT_EQ(layout.rows.size(), 1U);
  ASSERT_EQ(layout.rows[0].boxes.size(), 1U);
  EXPECT_EQ(layout.rows[0].boxes[0].start_ns, 1500);
  EXPECT_EQ(layout.rows[0].boxes[0].end_ns, 3500);
  EXPECT_EQ(layout.rows[0].boxes[0].flags, 0) << "its end is known by now";
}

TEST(FlameLayout, ALongSpanBesideNarrowOnesIsShownByItself) {
  // Three scopes of 10 ns within a pixel, and one of 5,000 ns right behind them.
  EventBatch batch;
  batch.end_ns = 10'000;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  std::int64_t at = 1'000;
  for (std::uint32_t site = 1; site <= 4; ++site) {
    const std::int64_t length = site == 4 ? 5'000 : 10;
    run.events.push_back({at, SiteId{site}, 0, 0});
    run.events.push_back({at + length, {}, 0, 0});
    at += length + 2;
  }
  run.end_sequence = run.events.size();
  const auto piece = std::make_shared<timeline::Detail>(timeline::make_detail(batch, true));
  const auto layout = panel::lay_out_flame({piece}, axis_over({0, 10'000}, 100), {});
  const FlameRow* row = row_of(layout, TrackId{1}, 0);
  ASSERT_NE(row, nullptr);
  ASSERT_EQ(row->boxes.size(), 2U);
  EXPECT_FALSE(row->boxes[0].is_one);
  EXPECT_NEAR(row->boxes[0].right, 10.3F, 2);
  EXPECT_TRUE(row->boxes[1].is_one);
  EXPECT_EQ(row->boxes[1].name, 4U);
  EXPECT_EQ(row->boxes[1].end_ns - row->boxes[1].start_ns, 5'000);
}

TEST(FlameLayout, ABoxOfSeveralScopesIsNamedAfterOneWithMuchOfTheTime) {
  // As a training loop: an optimizer that takes a fiftieth, forward, backward.
  EventBatch batch;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  std::int64_t at = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto site = SiteId{static_cast<std::uint32_t>(i % 3 + 1)};
    run.events.push_back({at, SiteId{site}, 0, 0});
    at += site == SiteId{1} ? 2'000 : 49'000;
    run.events.push_back({at, {}, 0, 0});
  }
  run.end_sequence = run.events.size();
  batch.end_ns = at;
  const auto piece = std::make_shared<timeline::Detail>(timeline::make_detail(batch, true));
  // A step and a half in a pixel, and many steps.
  for (const double pixels : {670.0, 40.0}) {
    const auto layout = panel::lay_out_flame({piece}, axis_over({0, at}, pixels), {});
    const FlameRow* row = row_of(layout, TrackId{1}, 0);
    ASSERT_NE(row, nullptr);
    for (const FlameBox& box : row->boxes) {
      EXPECT_TRUE(box.is_one || box.name != 1U) << box.left << " of " << pixels;
    }
  }
}

TEST(FlameLayout, AScopeThatNoBlockCoversWholeIsShownAmongCrowdedOnes) {
  // The first block ends soon after a scope of 8 ms began. The second one begins 6 ms later, with what lies inside it.
  // Both are full of scopes that are too narrow to be shown one by one.
  constexpr std::int64_t ms = 1'000'000;
  std::vector<Piece> pieces;
  for (int i = 0; i < 2; ++i) {
    EventBatch batch;
    ScopeRun& run = batch.runs.emplace_back();
    run.track = TrackId{1};
    if (i == 1) {
      run.open_at_start.push_back({100 * ms, SiteId{9}});
      run.events.push_back({106 * ms, SiteId{8}, 1, 0});
      run.events.push_back({107 * ms, {}, 1, 0});
      run.events.push_back({108 * ms, {}, 0, 0});
    }
    const std::int64_t end = i == 0 ? 100 * ms : 200 * ms;
    for (std::int64_t at = i == 0 ? 0 : 108 * ms; at + 280'000 <= end; at += 280'000) {
      run.events.push_back({at + 20'000, SiteId{7}, 0, 0});
      run.events.push_back({at + 270'000, {}, 0, 0});
    }
    if (i == 0) {
      run.events.push_back({100 * ms, SiteId{9}, 0, 0});
    }
    run.end_sequence = run.events.size();
    batch.start_ns = run.events.front().time_ns;
    batch.end_ns = run.events.back().time_ns;
    pieces.push_back(std::make_shared<timeline::Detail>(timeline::make_detail(batch, true)));
  }
  const auto layout = panel::lay_out_flame(pieces, axis_over({0, 500 * ms}, 900), {});
  const FlameRow* row = row_of(layout, TrackId{1}, 0);
  ASSERT_NE(row, nullptr);
  EXPECT_FALSE(row->boxes.front().is_one) << "those are crowded";
  double covered = 0;
  bool is_found = false;
  for (std::size_t i = 0; i < row->boxes.size(); ++i) {
    const FlameBox& box = row->boxes[i];
    covered += double{box.right} - box.left;
    EXPECT_TRUE(i == 0 || box.left >= row->boxes[i - 1].right - 0.01F) << i;
    if (box.is_one) {
      is_found = true;
      EXPECT_EQ(box.name, 9U);
      EXPECT_EQ(box.start_ns, 100 * ms);
      EXPECT_EQ(box.end_ns, 108 * ms);
      EXPECT_NEAR(box.left, 180, 2.5);
      EXPECT_NEAR(box.right, 194.4, 2.5);
    }
  }
  EXPECT_TRUE(is_found);
  EXPECT_GT(covered, 357) << "nothing is left empty";
}

TEST(FlameLayout, BoxesAreBoundedByPixels) {
  Game game;
  game.frames = 20000;
  game.frames_in_block = 500;
  for (const bool is_exact : {true, false}) {
    std::vector<Piece> pieces;
    for (const EventBatch& batch : game.batches()) {
      pieces.push_back(std::make_shared<timeline::Detail>(timeline::make_detail(batch, is_exact)));
    }
    const auto layout = panel::lay_out_flame(pieces, axis_over({0, Game::start_of(20000)}, 400), {});
    EXPECT_GT(layout.boxes, 20U);
    EXPECT_LE(layout.boxes, 4U * 400U);
    for (const FlameRow& row : layout.rows) {
      for (std::size_t i = 1; i < row.boxes.size(); ++i) {
        EXPECT_LE(row.boxes[i - 1].right, row.boxes[i].left + 0.01F);
      }
    }
    panel::FlameOptions few;
    few.most_boxes = 40;
    EXPECT_LE(panel::lay_out_flame(pieces, axis_over({0, Game::start_of(20000)}, 400), few).boxes, 40U);
  }
}

/// The left ends of all boxes.
std::vector<float> lefts_of(const panel::FlameLayout& layout) {
  std::vector<float> lefts;
  for (const FlameRow& row : layout.rows) {
    for (const FlameBox& box : row.boxes) {
      lefts.push_back(box.left);
    }
  }
  return lefts;
}

TEST(FlameLayout, OfAViewThatDiffersLittleBeginsWhereTheLastOneEnded) {
  Game game;
  game.frames = 2000;
  const std::vector<Piece> pieces = exact_pieces(game);
  const panel::TimeAxis axis = axis_over({0, Game::start_of(2000)}, 400);
  panel::FlameOptions options;
  options.first_line = 2;  // "update" and "render" fill it
  options.end_line = 3;
  options.most_boxes = 60;
  const panel::FlameLayout first = panel::lay_out_flame(pieces, axis, options);
  ASSERT_GT(first.next_doublings, 0U);
  options.doublings = first.next_doublings;
  const panel::FlameLayout next = panel::lay_out_flame(pieces, axis, options);
  EXPECT_EQ(next.next_doublings, first.next_doublings);
  EXPECT_EQ(lefts_of(next), lefts_of(first));
  options.doublings = first.next_doublings + 2;
  EXPECT_EQ(panel::lay_out_flame(pieces, axis, options).next_doublings, first.next_doublings + 1) << "there is room";
}

TEST(FlameLayout, AViewThatStandsStillShowsAllItHasRoomFor) {
  Game game;
  game.frames = 2000;
  const Bytes bytes = game.write();
  panel::FlameOptions options;
  options.most_boxes = 300;
  const auto lay_out = [&options](panel::ViewState& state) {
    state.begin_frame();
    std::vector<float> lefts = lefts_of(state.flame_layout(options));
    state.end_frame();
    return lefts;
  };
  const auto settle = [&](panel::ViewState& state) {
    std::vector<float> lefts = lay_out(state);
    for (int frame = 0; frame < 200 && state.is_busy(); ++frame) {
      lefts = lay_out(state);
    }
    EXPECT_FALSE(state.is_busy());
    return lefts;
  };
  panel::ViewState moved(provide(bytes), immediate_data());
  moved.flame().set_width(400);
  settle(moved);
  const TimeRange part{Game::start_of(500), Game::start_of(600)};
  moved.flame().show(part);
  lay_out(moved);
  EXPECT_TRUE(moved.is_busy()) << "it began with boxes as wide as those of everything";
  panel::ViewState fresh(provide(bytes), immediate_data());
  fresh.flame().set_width(400);
  settle(fresh);
  fresh.flame().show({Game::start_of(0), Game::start_of(1)});
  settle(fresh);
  fresh.flame().show(part);
  EXPECT_EQ(settle(moved), settle(fresh));
}

TEST(FlameLayout, CoarsePiecesShowWhatTheFineOnesDo) {
  // Bins of a block, far narrower than its frames, say where "frame" ran and where it did not.
  Game game;
  game.frames = 10;
  EventBatch batch = game.batches().front();
  batch.runs.resize(1);
  batch.runs[0].events.clear();
  batch.runs[0].arguments.clear();
  batch.runs[0].events = {{Game::start_of(2), SiteId{1}, 0, 0}, {Game::start_of(4), {}, 0, 0}};
  const auto coarse = std::make_shared<timeline::Detail>(timeline::make_detail(batch, false));
  const auto axis = axis_over({Game::start_of(0), Game::start_of(10)}, 1000);
  const auto layout = panel::lay_out_flame({coarse}, axis, {});
  const FlameRow* row = row_of(layout, Game::main_track, 0);
  ASSERT_NE(row, nullptr);
  ASSERT_FALSE(row->boxes.empty());
  EXPECT_NEAR(row->boxes.front().left, 200, 20);
  EXPECT_NEAR(row->boxes.back().right, 400, 20);
}

TEST(FrameLayout, EveryFrameWithRoomHasABar) {
  const auto pieces = exact_pieces(Game());
  const auto axis = axis_over({Game::start_of(0), Game::start_of(100)}, 2000);
  const auto bars = panel::lay_out_frames(frames_of(pieces), axis, 3);
  EXPECT_EQ(bars.count, 99U) << "100 marks";
  EXPECT_EQ(bars.bars.size(), 99U);
  EXPECT_EQ(bars.longest_ns, Game::slow_ns);
  ASSERT_TRUE(bars.latest.has_value());
  EXPECT_EQ(bars.latest->start_ns, Game::start_of(98));
}

TEST(FrameLayout, NarrowFramesAreDrawnAsTheLongestOfThem) {
  Game game;
  game.frames = 5000;
  game.frames_in_block = 1000;
  const auto pieces = exact_pieces(game);
  const auto axis = axis_over({Game::start_of(0), Game::start_of(5000)}, 100);
  const auto bars = panel::lay_out_frames(frames_of(pieces), axis, 3);
  EXPECT_LE(bars.bars.size(), 100U);
  EXPECT_EQ(bars.count, 4999U);
  const panel::FrameBar* slow = panel::find_bar(bars, axis.to_pixel(Game::start_of(37)) + 0.1);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->longest.frame.duration_ns, Game::slow_ns);
  EXPECT_EQ(slow->longest.frame.start_ns, Game::start_of(37));
  EXPECT_GT(slow->count, 20U);
}

TEST(FrameLayout, MetricsKeepTheirExtremesAndSayWhatIsStale) {
  Game game;
  game.frames = 1000;
  const auto pieces = exact_pieces(game);
  const auto axis = axis_over({Game::start_of(0), Game::start_of(1000)}, 90);
  const auto metrics = panel::lay_out_metrics(pieces, {}, {}, {}, axis, 3);
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].min, 0);
  EXPECT_EQ(metrics[0].max, 999);
  EXPECT_EQ(metrics[0].latest, 999);
  EXPECT_LE(metrics[0].steps.size(), 61U);
  const auto near =
      panel::lay_out_metrics(pieces, {}, {}, {}, axis_over({Game::start_of(4), Game::start_of(8) - 1}, 900), 3);
  ASSERT_EQ(near[0].steps.size(), 4U);
  EXPECT_FALSE(near[0].steps[0].is_stale);
  EXPECT_TRUE(near[0].steps[1].is_stale);
  EXPECT_EQ(near[0].min, 4);
  EXPECT_EQ(near[0].max, 7);
}

/// A piece with samples of one metric.
Piece sampled(std::vector<std::int64_t> times_ns) {
  EventBatch batch;
  batch.start_ns = times_ns.front();
  batch.end_ns = times_ns.back();
  SampleRun& run = batch.samples.emplace_back();
  run.metric = MetricId{1};
  for (std::size_t i = 0; i < times_ns.size(); ++i) {
    run.values.push_back(static_cast<double>(times_ns[i] / 1'000'000));
    run.flags.push_back(0);
  }
  run.times_ns = std::move(times_ns);
  return std::make_shared<timeline::Detail>(timeline::make_detail(batch, false));
}

/// The steps of a sensor's metric, or of a program's, that was sampled at 100, 200, 300 and 2000 ms.
panel::MetricSteps steps_in(TimeRange range, bool is_sensor) {
  constexpr std::int64_t ms = 1'000'000;
  const std::vector<Piece> all = {sampled({100 * ms, 200 * ms}), sampled({300 * ms}), sampled({2000 * ms})};
  std::vector<Piece> past;
  std::vector<Piece> pieces;
  for (const Piece& piece : all) {
    (piece->end_ns < range.start_ns ? past : pieces).push_back(piece);
  }
  Declarations declarations;
  MetricDeclaration metric;
  metric.id = MetricId{1};
  metric.source = is_sensor ? "/proc/load" : "";
  declarations.metrics = {metric};
  panel::MetricHolds holds;
  holds.learn(all);
  panel::TimeAxis axis;
  axis.set_bounds({0, 3000 * ms});
  axis.set_width(1000);
  axis.show(range);
  const auto metrics = panel::lay_out_metrics(pieces, past, holds, declarations, axis, 3);
  return metrics.empty() ? panel::MetricSteps() : metrics[0];
}

TEST(MetricLayout, AValueHoldsUntilTheNextSample) {
  constexpr std::int64_t ms = 1'000'000;
  const auto between = steps_in({220 * ms, 280 * ms}, true);
  ASSERT_EQ(between.steps.size(), 1U) << "the sample before the range";
  EXPECT_EQ(between.latest, 200);
  EXPECT_LE(between.steps[0].left, 0);
  EXPECT_GE(between.steps[0].right, 1000);
  const auto over = steps_in({250 * ms, 350 * ms}, true);
  ASSERT_EQ(over.steps.size(), 2U);
  EXPECT_NEAR(over.steps[0].right, 500, 0.1);
  EXPECT_NEAR(over.steps[1].left, 500, 0.1);
  EXPECT_GE(over.steps[1].right, 1000);
}

/// The rows of a counter in joules that grows by 2 J each 100 ms, and is read every 10 ms; it restarts at 500 ms.
std::vector<panel::MetricSteps> energy_steps(std::int64_t renewal_ns) {
  constexpr std::int64_t ms = 1'000'000;
  EventBatch batch;
  batch.end_ns = 1000 * ms;
  SampleRun& run = batch.samples.emplace_back();
  run.metric = MetricId{1};
  for (std::int64_t i = 0; i <= 100; ++i) {
    run.times_ns.push_back(i * 10 * ms);
    run.values.push_back(static_cast<double>(i < 50 ? 100 + i / 10 * 2 : i / 10 * 2));
    run.flags.push_back(i % 10 == 0 ? 0 : SampleRun::stale);
  }
  Declarations declarations;
  MetricDeclaration metric;
  metric.id = MetricId{1};
  metric.kind = MetricKind::energy_counter;
  metric.unit = "J";
  metric.source = "/sys/energy";
  metric.renewal_ns = renewal_ns;
  declarations.metrics = {metric};
  const auto piece = std::make_shared<timeline::Detail>(timeline::make_detail(batch, false));
  const auto rows = panel::lay_out_metrics({piece}, {}, {}, declarations, axis_over({0, 1000 * ms}, 1000), 3);
  EXPECT_EQ(panel::unit_of(metric, rows.at(0)), "W");
  return rows;
}

TEST(MetricLayout, ATotalIsShownAsItsGrowthPerSecond) {
  for (const std::int64_t renewal_ns : {std::int64_t{0}, std::int64_t{100'000'000}}) {
    const panel::MetricSteps steps = energy_steps(renewal_ns).at(0);
    ASSERT_TRUE(steps.has_values);
    EXPECT_NEAR(steps.min, 20, 1e-9);
    EXPECT_NEAR(steps.max, 20, 1e-9);
    ASSERT_EQ(steps.steps.size(), 9U) << "none over the restart";
    EXPECT_NEAR(steps.steps[0].left, 0, 0.1);
    EXPECT_NEAR(steps.steps[0].right, 100, 0.1);
    EXPECT_NEAR(steps.steps[4].left, 500, 0.1);
  }
}

TEST(MetricLayout, AnyFiniteValuesHaveAPlaceAndInfiniteOnesAreMissing) {
  constexpr std::int64_t ms = 1'000'000;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EventBatch batch;
  batch.end_ns = 1000 * ms;
  SampleRun& run = batch.samples.emplace_back();
  run.metric = MetricId{1};
  for (const double value : {-1.7e308, infinity, 0.0, -infinity, 1.7e308}) {
    run.times_ns.push_back(static_cast<std::int64_t>(run.times_ns.size()) * 200 * ms);
    run.values.push_back(value);
    run.flags.push_back(0);
  }
  const auto piece = std::make_shared<timeline::Detail>(timeline::make_detail(batch, false));
  const auto rows = panel::lay_out_metrics({piece}, {}, {}, {}, axis_over({0, 1000 * ms}, 1000), 3);
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].steps.size(), 5U);
  for (const std::size_t place : {1U, 3U}) {
    EXPECT_FALSE(rows[0].steps[place].min <= rows[0].steps[place].max) << "no value";
  }
  EXPECT_EQ(rows[0].min, -1.7e308);
  EXPECT_EQ(rows[0].max, 1.7e308);
  EXPECT_DOUBLE_EQ(panel::share_between(rows[0].min, rows[0].max, rows[0].steps[0].last), 0);
  EXPECT_DOUBLE_EQ(panel::share_between(rows[0].min, rows[0].max, rows[0].steps[2].last), 0.5);
  EXPECT_DOUBLE_EQ(panel::share_between(rows[0].min, rows[0].max, rows[0].steps[4].last), 1);
  // Narrower than a step, as summaries have them too.
  const auto joined = panel::lay_out_metrics({piece}, {}, {}, {}, axis_over({0, 1000 * ms}, 2), 3);
  ASSERT_EQ(joined.at(0).steps.size(), 1U);
  EXPECT_EQ(joined[0].steps[0].max, 1.7e308);
  EXPECT_TRUE(std::isfinite(joined[0].max));
}

TEST(MetricLayout, ASensorThatFallsSilentLeavesAGapAndAProgramsValueStands) {
  constexpr std::int64_t ms = 1'000'000;
  const auto all = steps_in({0, 3000 * ms}, true);
  ASSERT_EQ(all.steps.size(), 4U);
  EXPECT_NEAR(all.steps[2].right, 800.0 / 3, 0.1) << "five intervals of 100 ms";
  EXPECT_NEAR(all.steps[3].right, 2500.0 / 3, 0.1);
  EXPECT_TRUE(steps_in({1000 * ms, 1500 * ms}, true).steps.empty());
  const auto program = steps_in({1000 * ms, 1500 * ms}, false);
  ASSERT_EQ(program.steps.size(), 1U);
  EXPECT_EQ(program.latest, 300);
  EXPECT_GE(program.steps[0].right, 1000);
}

}  // namespace
}  // namespace kymo::test
