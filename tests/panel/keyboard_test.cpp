// Everything that the mouse does, by keys.
#include <sstream>

#include "interaction.hpp"
#include "marked_game.hpp"
#include "panel/data/live_window.hpp"
#include "panel/view/help.hpp"

namespace kymo::test {
namespace {

class Keyboard : public Interaction {
 protected:
  Keyboard() : Interaction(MarkedGame::batches()) { screen_.click(place_in(view_.marks().flame).x, bottom()); }

  [[nodiscard]] float bottom() { return view_.marks().flame.bottom - 4; }
  /// The names in the first column of the open tab.
  [[nodiscard]] std::vector<std::string> sites_in_order() {
    std::vector<std::string> sites;
    std::istringstream lines(view_.copied_tab(panel::CopyAs::csv));
    for (std::string line; std::getline(lines, line);) {
      sites.push_back(line.substr(0, line.find(',')));
    }
    sites.erase(sites.begin());
    return sites;
  }
  [[nodiscard]] std::string marked_name() {
    return view_.state().data().provider().site(view_.state().marked_site()).name;
  }
};

TEST_F(Keyboard, TheListNamesAKeyForEveryGesture) {
  for (const panel::HelpLine& line : panel::help_lines()) {
    EXPECT_NE(line.keys[0], 0) << line.what;
    EXPECT_NE(line.what[0], 0) << line.keys;
  }
  const int before = screen_.checked_vertices();
  screen_.type("?");
  EXPECT_TRUE(view_.shows_help());
  EXPECT_NE(screen_.checked_vertices(), before);
}

TEST_F(Keyboard, ShiftArrowsGoFromSpanToSpan) {
  click_bar(MarkedGame::frame);
  screen_.key(ImGuiKey_UpArrow, true);
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::frame_site);
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(MarkedGame::frame));
  screen_.key(ImGuiKey_DownArrow, true);
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::update_site);
  screen_.key(ImGuiKey_RightArrow, true);
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::render_site);
  screen_.key(ImGuiKey_LeftArrow, true);
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::update_site);
  screen_.key(ImGuiKey_UpArrow, true);
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::frame_site);
  EXPECT_TRUE(has_text(view_.facts(), "duration 10 ms"));
}

TEST_F(Keyboard, WhatIsMeasuredIsZoomedTo) {
  screen_.move(flame_x(Game::start_of(30)), bottom());
  screen_.type("m");
  screen_.move(flame_x(Game::start_of(50)), bottom());
  screen_.type("mz");
  EXPECT_NEAR(static_cast<double>(view_.state().overview().range().start_ns), static_cast<double>(Game::start_of(30)),
              1e6);
  EXPECT_EQ(view_.state().flame().range().start_ns, view_.state().overview().range().start_ns);
  ASSERT_TRUE(view_.state().pinned().has_value());
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(Game::slow_frame));
}

TEST_F(Keyboard, CapitalsMoveBarsAndRows) {
  const std::int64_t all = view_.state().overview().length_ns();
  const std::int64_t chart = view_.state().flame().length_ns();
  screen_.move(overview_x(Game::start_of(50)), middle_of(view_.marks().bars));
  screen_.type("WWW");
  EXPECT_NEAR(static_cast<double>(view_.state().overview().length_ns()), static_cast<double>(all) * 0.512, 1e3);
  const std::int64_t start = view_.state().overview().range().start_ns;
  screen_.type("D");
  EXPECT_GT(view_.state().overview().range().start_ns, start);
  screen_.type("A");
  EXPECT_NEAR(static_cast<double>(view_.state().overview().range().start_ns), static_cast<double>(start), 2);
  screen_.type("SSSS");
  EXPECT_EQ(view_.state().overview().length_ns(), all);
  EXPECT_EQ(view_.state().flame().length_ns(), chart);
}

TEST_F(Keyboard, ArrowsGoFromTheFirstFrameToTheLast) {
  click_bar(0);
  screen_.move(overview_x(Game::start_of(0)), middle_of(view_.marks().bars));
  screen_.type("WWWWWWWWWW");
  for (unsigned frame = 1; frame < 99; ++frame) {
    screen_.key(ImGuiKey_RightArrow);
    ASSERT_EQ(view_.state().pinned()->start_ns, Game::start_of(frame));
    ASSERT_LE(view_.state().overview().range().start_ns, Game::start_of(frame));
    ASSERT_GT(view_.state().overview().range().end_ns, Game::start_of(frame));
  }
  screen_.key(ImGuiKey_RightArrow);
  EXPECT_EQ(view_.state().pinned()->start_ns, Game::start_of(98)) << "the last has no end";
}

TEST_F(Keyboard, FrameStreamsTakeTurns) {
  EXPECT_EQ(view_.state().frame_bars(3).count, 99U) << "the last has no end";
  screen_.type("c");
  EXPECT_EQ(view_.state().stream(), FrameStreamId{2});
  screen_.frame();
  EXPECT_TRUE(has_text(view_.header(), "frames physics\n")) << view_.header();
  EXPECT_EQ(view_.state().frame_bars(3).count, 49U);
  screen_.type("c");
  EXPECT_EQ(view_.state().stream(), FrameStreamId{1});
  screen_.frame();
  EXPECT_TRUE(has_text(view_.header(), "frames\n")) << view_.header();
}

TEST_F(Keyboard, SearchChoosesAndGoesBothWays) {
  screen_.type("/");
  screen_.type("e");  // in frame, update, render, and in the file of job
  screen_.key(ImGuiKey_DownArrow);
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view_.state().marked_site(), Game::update_site);
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view_.state().marked_site(), Game::render_site);
  screen_.key(ImGuiKey_UpArrow);
  EXPECT_EQ(view_.state().marked_site(), Game::update_site);
  screen_.key(ImGuiKey_Enter);
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::update_site);
  const std::int64_t first = view_.state().selected()->start_ns;
  screen_.key(ImGuiKey_Enter);
  screen_.key(ImGuiKey_Enter);
  EXPECT_EQ(view_.state().selected()->start_ns, first + 2 * Game::frame_ns);
  screen_.key(ImGuiKey_Enter, true);
  EXPECT_EQ(view_.state().selected()->start_ns, first + Game::frame_ns);
}

TEST_F(Keyboard, StatisticsAreSortedFilteredAndChosenFrom) {
  screen_.type("t");
  screen_.frames(3);
  ASSERT_EQ(sites_in_order().size(), 4U);
  screen_.type("9");
  screen_.frame();
  EXPECT_EQ(sites_in_order().front(), "frame") << "the longest";
  screen_.type("9");
  screen_.frame();
  EXPECT_EQ(sites_in_order().back(), "frame");
  const int without = screen_.checked_vertices();
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_EQ(marked_name(), sites_in_order()[0]);
  EXPECT_GT(screen_.checked_vertices(), without) << "its distribution";
  screen_.key(ImGuiKey_DownArrow);
  screen_.key(ImGuiKey_DownArrow);
  screen_.key(ImGuiKey_UpArrow);
  EXPECT_EQ(marked_name(), sites_in_order()[1]);
  screen_.type("F");
  screen_.type("ENDE");
  EXPECT_EQ(sites_in_order(), std::vector<std::string>{"render"});
}

TEST(LiveKeyboard, FollowsTheNewestAgain) {
  const auto window = std::make_shared<panel::LiveWindow>(panel::HistoryBounds{});
  const std::vector<EventBatch> batches = Game().batches();
  panel::PanelView view(std::make_shared<panel::LiveBlocks>(window, 12.0), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  for (const EventBatch& batch : batches) {
    window->write(batch);
  }
  screen.frames(3);
  EXPECT_TRUE(has_text(view.header(), "live, following"));
  EXPECT_TRUE(has_text(view.header(), "a scope costs 12 ns"));
  EXPECT_TRUE(has_text(view.header(), "the panel takes ")) << view.header();
  screen.click(place_in(view.marks().flame).x, view.marks().flame.bottom - 4);
  screen.type("0a");
  EXPECT_TRUE(has_text(view.header(), "live, held")) << view.header();
  screen.type("f");
  EXPECT_TRUE(view.state().follows());
  EXPECT_EQ(view.state().flame().range().start_ns, Game::start_of(98));
  screen.key(ImGuiKey_LeftArrow);
  EXPECT_TRUE(view.state().is_paused());
  screen.click(place_in(view.marks().follow).x, place_in(view.marks().follow).y);
  EXPECT_TRUE(view.state().follows());
}

/// Too small for all tracks and metrics.
class SmallScreen : public Interaction {
 protected:
  SmallScreen() : Interaction(MarkedGame::batches(), ImVec2(640, 300)) {}

  /// What the title at the chart's top says.
  [[nodiscard]] std::string top_tip() {
    screen_.move(view_.marks().titles.left + 20, view_.marks().titles.top + 8);
    screen_.frame();
    return view_.tip();
  }
};

TEST_F(SmallScreen, TracksAndMetricsScroll) {
  const ImVec2 at = place_in(view_.marks().flame, 0.8F);
  EXPECT_TRUE(has_text(top_tip(), "main"));
  screen_.click(at.x, at.y);
  screen_.key(ImGuiKey_Escape);
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_FALSE(has_text(top_tip(), "main"));
  screen_.key(ImGuiKey_UpArrow);
  EXPECT_TRUE(has_text(top_tip(), "main"));
  screen_.wheel(at.x, at.y, -1, true);
  EXPECT_FALSE(has_text(top_tip(), "main"));
  screen_.wheel(at.x, at.y, 1, true);
  EXPECT_TRUE(has_text(top_tip(), "main"));
  screen_.drag(at, ImVec2(at.x, at.y - 80));
  EXPECT_FALSE(has_text(top_tip(), "main"));
  EXPECT_EQ(view_.marks().rows_scroll, 0);
  screen_.key(ImGuiKey_PageDown);
  EXPECT_GT(view_.marks().rows_scroll, 0);
  screen_.key(ImGuiKey_PageUp);
  EXPECT_EQ(view_.marks().rows_scroll, 0);
}

TEST_F(SmallScreen, RowsThatScrollReachTheEndOfTheBars) {
  EXPECT_EQ(view_.marks().rows.right, view_.marks().bars.right);
  view_.state().overview().zoom(0.3, 100);
  screen_.frames(2);
  const std::int64_t before = view_.state().overview().range().start_ns;
  const panel::Area rows = view_.marks().rows;
  screen_.drag(ImVec2(rows.right - 6, middle_of(rows)), ImVec2(rows.right - 106, middle_of(rows)));
  EXPECT_GT(view_.state().overview().range().start_ns, before) << "the pointer meets the plot there, no scroll bar";
}

}  // namespace
}  // namespace kymo::test
