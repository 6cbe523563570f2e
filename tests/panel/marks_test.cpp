// What stands at points in time, what is told of it, and what a span took.
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
    screen_.move(view_.marks().flame.left + 20, flame_y(track.line));
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
  EXPECT_TRUE(has_text(view_.tip(), "a total that grows\na new value every 1 ms, as the source states")) << view_.tip();
  EXPECT_TRUE(has_text(view_.tip(), "in steps of 1 mJ")) << view_.tip();
}

TEST_F(Marks, ABarSaysHowGoodItsFrameIs) {
  const auto tip_of = [this](unsigned frame) {
    screen_.move(overview_x(Game::start_of(frame) + ms), middle_of(view_.marks().bars));
    screen_.frame();
    return view_.tip();
  };
  EXPECT_EQ(tip_of(10), "frame of 10 ms, good");
  EXPECT_EQ(tip_of(Game::slow_frame), "frame of 45 ms, bad");
}

}  // namespace
}  // namespace kymo::test
