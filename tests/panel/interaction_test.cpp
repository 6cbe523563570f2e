// What the mouse and the keyboard do to a replayed capture.
#include "interaction.hpp"

namespace kymo::test {
namespace {

TEST_F(Interaction, ShowsTheWholeCaptureAtFirst) {
  EXPECT_TRUE(view_.state().overview().shows_all());
  EXPECT_TRUE(view_.state().flame().shows_all());
  EXPECT_FALSE(view_.state().is_paused());
  EXPECT_GT(screen_.checked_vertices(), 500);
}

TEST_F(Interaction, ClickOnABarPinsItsFrameAndPauses) {
  click_bar(20);
  ASSERT_TRUE(view_.state().pinned().has_value());
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(20));
  EXPECT_EQ(view_.state().pinned()->duration_ns, Game::frame_ns);
  EXPECT_TRUE(view_.state().is_paused());
  EXPECT_EQ(view_.state().flame().range().start_ns, Game::start_of(20));
  EXPECT_EQ(view_.state().flame().range().end_ns, Game::start_of(21));
}

TEST_F(Interaction, ShiftDragZoomsEverythingAndPinsTheSlowestFrame) {
  const float y = middle_of(view_.marks().bars);
  const std::int64_t from = Game::start_of(30) + 1'000'000;
  const std::int64_t to = Game::start_of(50);
  screen_.drag(ImVec2(overview_x(from), y), ImVec2(overview_x(to), y), 0, true);
  const TimeRange shown = view_.state().overview().range();
  EXPECT_NEAR(static_cast<double>(shown.start_ns), static_cast<double>(from), 2e6);
  EXPECT_NEAR(static_cast<double>(shown.end_ns), static_cast<double>(to), 2e6);
  EXPECT_EQ(view_.state().flame().range().start_ns, shown.start_ns);
  EXPECT_EQ(view_.state().flame().range().end_ns, shown.end_ns);
  ASSERT_TRUE(view_.state().pinned().has_value());
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(Game::slow_frame));
  EXPECT_EQ(view_.state().pinned()->duration_ns, Game::slow_ns);
  EXPECT_TRUE(view_.state().is_paused());
}

TEST_F(Interaction, ShiftDragWorksOnMetricRowsAndTheFlameChart) {
  const float rows_y = view_.marks().rows.top + 4;
  screen_.drag(ImVec2(overview_x(Game::start_of(60)), rows_y), ImVec2(overview_x(Game::start_of(80)), rows_y), 0, true);
  EXPECT_NEAR(static_cast<double>(view_.state().overview().range().start_ns), static_cast<double>(Game::start_of(60)),
              2e6);
  const float flame_y_middle = middle_of(view_.marks().flame);
  screen_.drag(ImVec2(flame_x(Game::start_of(65)), flame_y_middle), ImVec2(flame_x(Game::start_of(70)), flame_y_middle),
               0, true);
  EXPECT_NEAR(static_cast<double>(view_.state().overview().range().start_ns), static_cast<double>(Game::start_of(65)),
              1e6);
  EXPECT_NEAR(static_cast<double>(view_.state().overview().range().end_ns), static_cast<double>(Game::start_of(70)),
              1e6);
}

TEST_F(Interaction, WheelZoomsTheFlameChartAboutThePointer) {
  const ImVec2 at(std::floor(place_in(view_.marks().flame, 0.3F).x), place_in(view_.marks().flame).y);
  const double pixel = double{at.x} - double{view_.marks().flame.left};
  const std::int64_t under = view_.state().flame().to_time(pixel);
  const std::int64_t before = view_.state().flame().length_ns();
  const TimeRange overview = view_.state().overview().range();
  screen_.wheel(at.x, at.y, 3);
  EXPECT_NEAR(static_cast<double>(view_.state().flame().length_ns()), static_cast<double>(before) * 0.512, 1e4);
  EXPECT_NEAR(view_.state().flame().to_pixel(under), pixel, 0.1);
  EXPECT_EQ(view_.state().overview().range().start_ns, overview.start_ns);
  EXPECT_EQ(view_.state().overview().range().end_ns, overview.end_ns);
}

TEST_F(Interaction, DragPansAndDoubleClickResets) {
  click_bar(20);
  const ImVec2 at = place_in(view_.marks().flame, 0.5F, 0.9F);
  screen_.wheel(at.x, at.y, 5);
  const TimeRange zoomed = view_.state().flame().range();
  screen_.drag(at, ImVec2(at.x - 200, at.y));
  const TimeRange moved = view_.state().flame().range();
  EXPECT_EQ(moved.end_ns - moved.start_ns, zoomed.end_ns - zoomed.start_ns);
  const double expected = 200 * view_.state().flame().ns_per_pixel();
  EXPECT_NEAR(static_cast<double>(moved.start_ns - zoomed.start_ns), expected, expected * 0.01);
  screen_.double_click(at.x, at.y);
  EXPECT_EQ(view_.state().flame().range().start_ns, Game::start_of(20));
  EXPECT_EQ(view_.state().flame().range().end_ns, Game::start_of(21));
  view_.state().resume();
  screen_.frame();
  EXPECT_TRUE(view_.state().flame().shows_all());
}

TEST_F(Interaction, ClickOnASpanTellsItsTimesAndArguments) {
  click_bar(20);
  // Lines: the title of "main", "frame", "update" and "render".
  screen_.click(flame_x(Game::start_of(20) + Game::frame_ns * 3 / 10), flame_y(2));
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::update_site);
  const auto& facts = view_.state().data().span_facts();
  ASSERT_TRUE(facts.has_value());
  ASSERT_TRUE(facts->is_found);
  EXPECT_EQ(facts->span.start_ns, Game::start_of(20) + Game::frame_ns / 10);
  EXPECT_EQ(facts->span.duration_ns, Game::frame_ns * 4 / 10);
  ASSERT_EQ(facts->arguments.size(), 1U);
  EXPECT_EQ(facts->arguments[0].first, "objects");
  EXPECT_EQ(facts->arguments[0].second, "20");

  screen_.click(flame_x(Game::start_of(20) + Game::frame_ns / 20), flame_y(1));
  ASSERT_TRUE(view_.state().data().span_facts().has_value());
  EXPECT_EQ(view_.state().data().span_facts()->span.self_ns, Game::frame_ns * 2 / 10 - 1);

  screen_.click(flame_x(Game::start_of(20) + Game::frame_ns * 8 / 10), flame_y(6));
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_TRUE(base::is_name(view_.state().selected()->what));
  EXPECT_TRUE(view_.state().data().span_facts()->is_found);
  EXPECT_EQ(view_.state().data().span_facts()->span.duration_ns, Game::frame_ns / 4 - 1);
  screen_.key(ImGuiKey_Escape);
  EXPECT_FALSE(view_.state().selected().has_value());
}

TEST_F(Interaction, NextAndPreviousOfASiteBringItIntoView) {
  click_bar(20);
  screen_.click(flame_x(Game::start_of(20) + Game::frame_ns * 3 / 10), flame_y(2));
  screen_.type("n");
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(21) + Game::frame_ns / 10);
  EXPECT_LE(view_.state().flame().range().start_ns, view_.state().selected()->start_ns);
  EXPECT_GE(view_.state().flame().range().end_ns, view_.state().selected()->end_ns);
  screen_.type("p");
  screen_.type("p");
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(19) + Game::frame_ns / 10);
  for (int i = 0; i < 25; ++i) {
    screen_.type("p");
  }
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(0) + Game::frame_ns / 10);
  EXPECT_TRUE(view_.state().has_jumped_in_vain());
}

TEST_F(Interaction, SearchFindsASiteAndJumpsToIt) {
  screen_.click(place_in(view_.marks().flame).x, view_.marks().flame.bottom - 4);
  screen_.type("/");
  EXPECT_TRUE(view_.is_searching());
  screen_.type("REND");
  screen_.key(ImGuiKey_Enter);
  screen_.frames(3);
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::render_site);
  EXPECT_FALSE(view_.shows_help()) << "letters typed into the search are no commands";
}

TEST_F(Interaction, RightDragMeasures) {
  const float y = middle_of(view_.marks().flame);
  screen_.drag(ImVec2(flame_x(Game::start_of(10)), y), ImVec2(flame_x(Game::start_of(30)), y), 1);
  ASSERT_TRUE(view_.state().measured().has_value());
  EXPECT_NEAR(static_cast<double>(view_.state().measured()->end_ns - view_.state().measured()->start_ns), 200e6, 2e6);
}

TEST_F(Interaction, EverythingHasAKey) {
  click_bar(50);
  screen_.key(ImGuiKey_RightArrow);
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(51));
  screen_.key(ImGuiKey_LeftArrow);
  screen_.key(ImGuiKey_LeftArrow);
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(49));
  const std::int64_t length = view_.state().flame().length_ns();
  screen_.type("w");
  EXPECT_LT(view_.state().flame().length_ns(), length);
  const std::int64_t zoomed_start = view_.state().flame().range().start_ns;
  screen_.type("d");
  EXPECT_GT(view_.state().flame().range().start_ns, zoomed_start);
  screen_.type("a");
  EXPECT_NEAR(static_cast<double>(view_.state().flame().range().start_ns), static_cast<double>(zoomed_start), 2);
  screen_.type("s");
  EXPECT_EQ(view_.state().flame().length_ns(), length);
  screen_.move(flame_x(Game::start_of(49) + 1'000'000), middle_of(view_.marks().flame));
  screen_.type("m");
  screen_.move(flame_x(Game::start_of(49) + 4'000'000), middle_of(view_.marks().flame));
  screen_.type("m");
  ASSERT_TRUE(view_.state().measured().has_value());
  EXPECT_NEAR(static_cast<double>(view_.state().measured()->end_ns - view_.state().measured()->start_ns), 3e6, 2e4);
  screen_.type("m");
  EXPECT_FALSE(view_.state().measured().has_value());
  screen_.type("?");
  EXPECT_TRUE(view_.shows_help());
  screen_.key(ImGuiKey_Escape);
  EXPECT_FALSE(view_.shows_help());
  screen_.type(" ");
  EXPECT_FALSE(view_.state().is_paused());
  EXPECT_FALSE(view_.state().pinned().has_value());
  screen_.type("0");
  EXPECT_TRUE(view_.state().flame().shows_all());
}

TEST_F(Interaction, WheelAndDragOnBarsAndRowsMoveBoth) {
  const ImVec2 bars = place_in(view_.marks().bars, 0.25F);
  const TimeRange all = view_.state().overview().range();
  const TimeRange flame = view_.state().flame().range();
  screen_.wheel(bars.x, bars.y, 4);
  const TimeRange zoomed = view_.state().overview().range();
  EXPECT_LT(zoomed.end_ns - zoomed.start_ns, (all.end_ns - all.start_ns) / 2);
  const float rows_y = view_.marks().rows.top + 4;
  screen_.drag(ImVec2(bars.x, rows_y), ImVec2(bars.x - 150, rows_y));
  const TimeRange moved = view_.state().overview().range();
  EXPECT_GT(moved.start_ns, zoomed.start_ns);
  EXPECT_EQ(moved.end_ns - moved.start_ns, zoomed.end_ns - zoomed.start_ns);
  EXPECT_EQ(view_.state().flame().range().start_ns, flame.start_ns);
  screen_.double_click(bars.x, rows_y);
  EXPECT_TRUE(view_.state().overview().shows_all());
}

TEST_F(Interaction, ButtonsOfTheHeaderDoWhatTheySay) {
  click(view_.marks().pause);
  EXPECT_TRUE(view_.state().is_paused());
  EXPECT_TRUE(has_text(view_.header(), "paused"));
  click(view_.marks().pause);
  EXPECT_FALSE(view_.state().is_paused());
  click(view_.marks().tabs.front());
  EXPECT_EQ(view_.tab(), "statistics");
  click(view_.marks().tabs.front());
  EXPECT_EQ(view_.tab(), "");
  click(view_.marks().help);
  EXPECT_TRUE(view_.shows_help());
  click_bar(12);
  EXPECT_TRUE(has_text(view_.header(), "pinned, frame 13, 10 ms"));
}

TEST_F(Interaction, ASiteThatWasFoundIsClickedToBeGoneTo) {
  click(view_.marks().search);
  screen_.type("job");
  screen_.frame();
  const panel::Area dock = view_.marks().dock;
  for (float y = dock.top + 2; y < dock.bottom && !view_.state().selected(); y += 6) {
    screen_.click(dock.left + 40, y);
  }
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::job_site);
  click(view_.marks().search);
  EXPECT_FALSE(view_.is_searching());
}

TEST_F(Interaction, AnIdleViewWorksNothingOut) {
  screen_.frames(3);
  const std::uint64_t before = view_.state().layouts_made();
  screen_.frames(10);
  EXPECT_EQ(view_.state().layouts_made(), before);
}

TEST_F(Interaction, PauseAndResumeKeepTheRowsOfAFinishedCapture) {
  screen_.type(" ");
  EXPECT_TRUE(view_.state().is_paused());
  EXPECT_TRUE(view_.state().overview().shows_all());
  screen_.type(" ");
  EXPECT_FALSE(view_.state().is_paused());
  EXPECT_TRUE(view_.state().overview().shows_all());
}

}  // namespace
}  // namespace kymo::test
