// What stands at points in time, what is told of it, and what a span took.
#include <algorithm>

#include "interaction.hpp"
#include "marked_game.hpp"

namespace kymo::test {
namespace {

constexpr std::int64_t ms = 1'000'000;

class Marks : public Interaction {
 protected:
  Marks() : Interaction(MarkedGame::batches()) { click_bar(MarkedGame::frame); }

  [[nodiscard]] float x_after(double of_ms) {
    return flame_x(Game::start_of(MarkedGame::frame) + static_cast<std::int64_t>(of_ms * 1e6));
  }
};

TEST_F(Marks, AMessageTellsItsTextToPointerAndKeys) {
  screen_.move(x_after(1), flame_y(0));
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "loaded level")) << view_.tip();
  screen_.click(x_after(5), flame_y(0));
  ASSERT_TRUE(view_.state().message().has_value());
  EXPECT_TRUE(has_text(view_.facts(), "<b>second</b>")) << "as it is: " << view_.facts();
  screen_.type("I");
  EXPECT_TRUE(has_text(view_.facts(), "loaded level"));
  screen_.type("I");
  EXPECT_TRUE(has_text(view_.facts(), "loaded level")) << "there is none before it";
  screen_.type("i");
  EXPECT_TRUE(has_text(view_.facts(), "second"));
  screen_.key(ImGuiKey_Escape);
  EXPECT_FALSE(view_.state().message().has_value());
  screen_.type("i");
  EXPECT_TRUE(has_text(view_.facts(), "loaded level")) << "the first";
}

TEST_F(Marks, AFlowLeadsFromScopeToScope) {
  // Lines: "main", "frame", "update" and "render", "worker", "job".
  ASSERT_EQ(view_.state().marks().arrows.size(), 1U);
  const panel::FlowArrow& arrow = view_.state().marks().arrows[0];
  EXPECT_EQ(arrow.from_line, 2U);
  EXPECT_EQ(arrow.to_line, 4U);
  EXPECT_NEAR(view_.marks().flame.left + arrow.from, x_after(1.5), 1);
  EXPECT_NEAR(view_.marks().flame.left + arrow.to, x_after(2), 1);
}

TEST_F(Marks, ASpanTellsWhatItLiesInAndHowItStandsToTheOthersOfItsSite) {
  screen_.click(x_after(3.5), flame_y(2));
  screen_.frames(2);
  EXPECT_TRUE(has_text(view_.facts(), "in frame\n")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "40 % of the pinned frame")) << view_.facts();
  view_.state().resume();
  view_.state().flame().show({Game::start_of(Game::slow_frame), Game::start_of(Game::slow_frame + 1)});
  screen_.frames(3);
  screen_.click(flame_x(Game::start_of(Game::slow_frame) + Game::slow_ns * 3 / 10), flame_y(2));
  screen_.frames(2);
  EXPECT_TRUE(has_text(view_.facts(), "longer than about 99 % of the 100 calls")) << view_.facts();
  view_.open_tab("statistics");
  screen_.type("M");
  screen_.frame();
  EXPECT_TRUE(has_text(view_.header(), "of the measured 18 ms")) << view_.header();
}

/// On a screen that is too small for all tracks.
class ScrolledMarks : public Interaction {
 protected:
  ScrolledMarks() : Interaction(MarkedGame::batches(), ImVec2(900, 330)) { click_bar(MarkedGame::frame); }

  /// Corners of letters of names, within the length of what is measured.
  [[nodiscard]] int letters_under_the_length() {
    const panel::Area label = view_.marks().measured;
    int letters = 0;
    for (int i = 0; i < ImGui::GetDrawData()->CmdListsCount; ++i) {
      for (const ImDrawVert& vertex : ImGui::GetDrawData()->CmdLists[i]->VtxBuffer) {
        const bool is_inside = vertex.pos.x > label.left && vertex.pos.x < label.right && vertex.pos.y > label.top &&
                               vertex.pos.y < label.bottom;
        letters += is_inside && vertex.col == panel::current_theme().box_text ? 1 : 0;
      }
    }
    return letters;
  }
};

TEST_F(ScrolledMarks, AMeasuredLengthCoversNoName) {
  const std::int64_t start_ns = Game::start_of(MarkedGame::frame);
  view_.state().measure(TimeRange{start_ns, start_ns + 6 * ms});
  const ImVec2 middle = place_in(view_.marks().flame);
  for (int i = 0; i < 5; ++i) {
    screen_.frame();
    ASSERT_GT(view_.marks().measured.width(), 0);
    EXPECT_EQ(letters_under_the_length(), 0) << i;
    screen_.drag(middle, {middle.x, middle.y - 12});
  }
}

TEST_F(Marks, DiamondsStandOnLinesWithoutNames) {
  const panel::FlameLayout& chart = view_.state().flame_layout();
  ASSERT_FALSE(view_.state().marks().messages.empty());
  ASSERT_FALSE(chart.rows.empty());
  for (const panel::MessageMark& mark : view_.state().marks().messages) {
    EXPECT_TRUE(std::any_of(chart.tracks.begin(), chart.tracks.end(),
                            [&mark](const panel::FlameTrack& track) { return track.line == mark.line; }));
    EXPECT_TRUE(std::none_of(chart.rows.begin(), chart.rows.end(), [&mark](const panel::FlameRow& row) {
      return row.line == mark.line;
    })) << "a row of spans, which have names";
  }
  EXPECT_LT(view_.marks().titles.right, view_.marks().flame.left + 1) << "and tracks' names stand beside the chart";
}

/// In one frame, update begins twenty flows that end in the worker's job.
std::vector<EventBatch> batches_with_flows() {
  std::vector<EventBatch> batches = MarkedGame::batches();
  EventBatch& batch = batches[MarkedGame::frame / Game().frames_in_block];
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::int64_t start = Game::start_of(MarkedGame::frame) + static_cast<std::int64_t>(i) * 60'000;
    batch.flows.push_back({Game::main_track, FlowPhase::begin, start + 1'100'000, 100 + i});
    batch.flows.push_back({Game::worker_track, FlowPhase::end, start + 1'200'000, 100 + i});
  }
  return batches;
}

class ManyFlows : public Interaction {
 protected:
  ManyFlows() : Interaction(batches_with_flows()) { click_bar(MarkedGame::frame); }
};

TEST_F(ManyFlows, AreDrawnForTheSpanInFocusOrForAll) {
  screen_.move(2, 2);
  screen_.frame();
  ASSERT_EQ(view_.state().marks().arrows.size(), 21U);
  const int without = screen_.checked_vertices();
  screen_.type("x");
  screen_.frame();
  EXPECT_GT(screen_.checked_vertices(), without + 20 * 3);
  screen_.type("x");
  screen_.frame();
  EXPECT_EQ(screen_.checked_vertices(), without);
  screen_.click(flame_x(Game::start_of(MarkedGame::frame) + 1'500'000), flame_y(2));
  screen_.move(2, 2);
  screen_.frame();
  const int selected = screen_.checked_vertices();
  screen_.type("x");
  screen_.frame();
  EXPECT_EQ(screen_.checked_vertices(), selected) << "all touch the selected span";
}

TEST_F(Marks, FramesBeginAtLinesThroughTheChart) {
  const std::int64_t start = Game::start_of(MarkedGame::frame);
  view_.state().flame().show({start - 5'000'000, start + 25'000'000});
  screen_.frames(3);
  const std::vector<panel::FrameBar> frames = view_.state().chart_frames().bars;
  ASSERT_EQ(frames.size(), 4U) << "three lines between them";
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const std::int64_t begin = start + static_cast<std::int64_t>(i - 1) * Game::frame_ns;
    EXPECT_NEAR(view_.marks().flame.left + frames[i].left, flame_x(begin), 1);
    EXPECT_EQ(frames[i].left, frames[i - 1].right);
  }
  view_.state().flame().fit();
  view_.state().flame().set_width(120);
  EXPECT_LE(view_.state().chart_frames().bars.size(), 60U) << "those that are too narrow are joined";
}

TEST_F(Marks, ATrackIsFoldedToItsFirstRowByAClickOnItsName) {
  const std::uint32_t lines = view_.state().flame_layout({}).lines;
  const panel::Area titles = view_.marks().titles;
  screen_.click(titles.left + 10, flame_y(0));
  screen_.frames(2);
  EXPECT_EQ(view_.state().flame_layout({}).lines, lines - 1) << "update and render share the second row of main";
  screen_.click(titles.left + 10, flame_y(0));
  screen_.frames(2);
  EXPECT_EQ(view_.state().flame_layout({}).lines, lines);
}

TEST_F(Marks, TracksStayWhileTheViewMovesToWhereTheyAreIdle) {
  const std::size_t tracks = view_.state().flame_layout({}).tracks.size();
  const std::int64_t start = Game::start_of(MarkedGame::frame);
  view_.state().flame().show({start + 3'500'000, start + 4'000'000});  // the worker's job is over
  screen_.frames(3);
  EXPECT_EQ(view_.state().flame_layout({}).tracks.size(), tracks);
}

TEST_F(Marks, PhasesStandOnBothAxes) {
  ASSERT_EQ(view_.state().marks().sync_points.size(), 1U);
  EXPECT_EQ(view_.state().marks().sync_points[0].number, MarkedGame::sync_number);
  EXPECT_NEAR(view_.marks().flame.left + view_.state().marks().sync_points[0].pixel, x_after(6), 1);
  ASSERT_EQ(view_.state().overview_sync_points().size(), 1U);
}

TEST_F(Marks, AsyncTracksAreDrawnAndSaidToBeAsync) {
  const std::vector<panel::FlameTrack> tracks = view_.state().flame_layout({}).tracks;
  ASSERT_EQ(tracks.size(), 4U);
  for (const panel::FlameTrack& track : tracks) {
    screen_.move(view_.marks().titles.left + 20, flame_y(track.line));
    screen_.frame();
    EXPECT_EQ(has_text(view_.tip(), "network  (async)"), track.track == MarkedGame::async_track) << view_.tip();
  }
}

TEST_F(Marks, ASpanTellsItsTimesAndWhatItTook) {
  screen_.click(x_after(3.5), flame_y(2));
  screen_.frames(5);
  EXPECT_TRUE(has_text(view_.facts(), "duration 4 ms   self 4 ms")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "objects=20"));
  EXPECT_TRUE(has_text(view_.facts(), "run   game.cpp:10"));
  // 20 W, alone for 2.5 ms and shared with the worker for 1.5 ms.
  EXPECT_TRUE(has_text(view_.facts(), "joules 65 mJ within ")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "estimated: shared equally"));
  screen_.click(x_after(3.5), flame_y(1));
  screen_.frames(5);
  EXPECT_TRUE(has_text(view_.facts(), "duration 10 ms   self 2 ms")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "exactly 9,999,999 ns")) << view_.facts();
  EXPECT_TRUE(has_text(view_.facts(), "100 % of the pinned frame")) << view_.facts();
}

TEST_F(Marks, AMetricTellsWhereItsNumberComesFromAndWhenItIsStale) {
  const float y = view_.marks().rows.top + 8;
  screen_.move(view_.marks().rows.left - 30, y);
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "load in W\nfrom /sys/load")) << view_.tip();
  screen_.move(overview_x(Game::start_of(21)) + 4, y);
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "here: 21 W, stale")) << view_.tip();
  screen_.move(overview_x(Game::start_of(22)) + 4, y);
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "here: 22 W\n")) << view_.tip();
  screen_.move(view_.marks().rows.left + 30, y + ImGui::GetTextLineHeight() * 2.2F);
  screen_.frame();
  EXPECT_TRUE(has_text(
      view_.tip(), "a total that grows; shown is its growth per second\na new value every 1 ms, as the source states"))
      << view_.tip();
  EXPECT_TRUE(has_text(view_.tip(), "in steps of 1 mJ")) << view_.tip();
}

TEST_F(Marks, ABarSaysHowGoodItsFrameIs) {
  const auto tip_of = [this](unsigned frame) {
    screen_.move(overview_x(Game::start_of(frame) + ms), middle_of(view_.marks().bars));
    screen_.frame();
    return view_.tip();
  };
  EXPECT_EQ(tip_of(10), "frame 11, 10 ms, good");
  EXPECT_EQ(tip_of(Game::slow_frame), "frame 38, 45 ms, bad");
}

TEST_F(Marks, TheFramesAboveTheChartHaveTheirNumbersAndArePinned) {
  view_.state().flame().show({Game::start_of(30) - 3 * ms, Game::start_of(34)});
  screen_.frames(3);
  const panel::Area frames = view_.marks().chart_frames;
  EXPECT_LE(frames.bottom, view_.marks().flame.top);
  screen_.move(flame_x(Game::start_of(31) + ms), middle_of(frames));
  screen_.frame();
  EXPECT_EQ(view_.tip(), "frame 32, 10 ms, good");
  screen_.click(flame_x(Game::start_of(31) + ms), middle_of(frames));
  ASSERT_TRUE(view_.state().pinned().has_value());
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(31));
  // Other gestures are those of the chart.
  const std::int64_t length = view_.state().flame().length_ns();
  screen_.wheel(place_in(frames).x, middle_of(frames), -2);
  EXPECT_GT(view_.state().flame().length_ns(), length);
}

/// The marked game with a flow to the GPU, and a mark where what the GPU took is not known.
std::vector<EventBatch> gpu_batches() {
  std::vector<EventBatch> all = MarkedGame::batches();
  all.front().declarations.names.push_back({NameId{20}, "blur (unresolved)"});
  EventBatch& batch = all[MarkedGame::frame / Game().frames_in_block];
  const std::int64_t start = Game::start_of(MarkedGame::frame);
  batch.flows.push_back({Game::main_track, FlowPhase::begin, start + 6 * ms, 9});
  batch.flows.push_back({Game::gpu_track, FlowPhase::end, start + Game::frame_ns * 3 / 4, 9});  // where "draw" begins
  SpanEvent blur;
  blur.track = Game::gpu_track;
  blur.name = NameId{20};
  blur.start_ns = start + 3 * ms;
  batch.spans.push_back(blur);
  return all;
}

/// A program that does little for long: one scope over three blocks, of which the second holds but a moment.
std::vector<EventBatch> slow_batches() {
  std::vector<EventBatch> all(3);
  Declarations& declared = all[0].declarations;
  declared = Game().batches().front().declarations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EventBatch& batch = all[i];
    const std::int64_t at = Game::start_ns + static_cast<std::int64_t>(i) * 400 * ms;
    ScopeRun& run = batch.runs.emplace_back();
    run.track = Game::main_track;
    run.first_sequence = i * 3;
    run.end_sequence = i * 3 + 3;
    if (i != 0) {
      run.open_at_start = {{Game::start_ns, Game::frame_site}};
    }
    const SiteId opened = i == 0 ? Game::frame_site : Game::update_site;
    run.events.push_back({at, opened, static_cast<std::uint16_t>(i == 0 ? 0 : 1), 0});
    run.events.push_back({at + 1000, i == 0 ? Game::update_site : SiteId{0}, 1, 0});
    run.events.push_back({at + 2000, {}, static_cast<std::uint16_t>(i == 2 ? 0 : 1), 0});
    if (i == 1) {
      run.events.pop_back();
      run.end_sequence = run.first_sequence + 2;
    }
    batch.start_ns = at;
    batch.end_ns = at + 2000;
  }
  all[2].runs[0].first_sequence = all[1].runs[0].end_sequence;
  all[2].runs[0].end_sequence = all[2].runs[0].first_sequence + 3;
  return all;
}

class SlowMarks : public Interaction {
 protected:
  SlowMarks() : Interaction(slow_batches()) {}
};

TEST_F(SlowMarks, AScopeThatGoesOnThroughShortBlocksIsOneBox) {
  const panel::FlameLayout& layout = view_.state().flame_layout({});
  ASSERT_FALSE(layout.rows.empty());
  ASSERT_EQ(layout.rows[0].boxes.size(), 1U);
  EXPECT_TRUE(layout.rows[0].boxes[0].is_one);
  EXPECT_EQ(layout.rows[0].boxes[0].start_ns, Game::start_ns);
  EXPECT_EQ(layout.rows[0].boxes[0].end_ns, Game::start_ns + 800 * ms + 2000);
}

class GpuMarks : public Interaction {
 protected:
  GpuMarks() : Interaction(gpu_batches()) { click_bar(MarkedGame::frame); }
};

TEST_F(GpuMarks, AFlowEntersTheGpusSpanRatherThanTheTitleOfItsTrack) {
  // Lines: "main", "frame", "update" and "render", "worker", "job", "gpu", its spans.
  const auto& arrows = view_.state().marks().arrows;
  ASSERT_EQ(arrows.size(), 2U);
  const panel::FlowArrow& arrow = arrows[0].flow_id == 9 ? arrows[0] : arrows[1];
  EXPECT_EQ(arrow.from_line, 2U);
  EXPECT_EQ(arrow.to_line, 6U);
}

TEST_F(GpuMarks, AScopeWhoseGpuTimesAreNotKnownIsAMarkThatSaysSo) {
  screen_.move(flame_x(Game::start_of(MarkedGame::frame) + 3 * ms), flame_y(6));
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "blur (unresolved)")) << view_.tip();
  EXPECT_TRUE(has_text(view_.tip(), "when it ran on the GPU is not known")) << view_.tip();
}

}  // namespace
}  // namespace kymo::test
