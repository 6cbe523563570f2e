// The statistics tab.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "game_capture.hpp"
#include "panel/data/live_window.hpp"
#include "screen.hpp"

namespace kymo::test {
namespace {

using stats::SiteFigures;

std::vector<std::string> names_in_order(const panel::PanelView& view) {
  std::vector<std::string> names;
  for (const std::size_t place : view.sites().order()) {
    names.push_back(view.state().data().provider().site(view.state().data().figures()[place].site).name);
  }
  return names;
}

TEST(StatisticsTab, ListsSitesByTheirTotalAndByWhatIsClicked) {
  const Bytes bytes = Game().write();
  panel::PanelView view(provide(bytes), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.type("t");
  EXPECT_TRUE(view.shows_statistics());
  screen.frames(3);
  EXPECT_EQ(names_in_order(view), (std::vector<std::string>{"frame", "render", "update", "job"}));
  const auto& frame = view.state().data().figures().front();
  EXPECT_EQ(frame.count, 100U);
  EXPECT_EQ(frame.max_ns, Game::slow_ns - 1);
  EXPECT_EQ(std::accumulate(frame.bars.begin(), frame.bars.end(), std::uint64_t{0}), 100U);
  EXPECT_LE(frame.bars.size(), SiteFigures::most_bars);

  // The head of the table lies below the filter; its first column is that of names.
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const panel::Area flame = view.marks().rows;
  for (float y = flame.bottom; y < flame.bottom + 8 * line; y += 6) {
    screen.click(40, y);
    if (names_in_order(view).front() != "frame") {
      break;
    }
  }
  EXPECT_EQ(names_in_order(view), (std::vector<std::string>{"update", "render", "job", "frame"}));
  for (float y = flame.bottom; y < flame.bottom + 10 * line && view.state().marked_site() == 0; y += 6) {
    screen.click(300, y);  // on the head it sorts once more
  }
  EXPECT_NE(view.state().marked_site(), 0U) << "a row was clicked";
}

TEST(StatisticsTab, ALiveWindowIsAddedUpAsACaptureIs) {
  Game game;
  const auto window = std::make_shared<panel::LiveWindow>(panel::HistoryBounds{});
  for (const EventBatch& batch : game.batches()) {
    window->write(batch);
  }
  panel::LiveBlocks live(window);
  ASSERT_TRUE(live.refresh());
  const Bytes bytes = game.write();
  auto of_capture = provide(bytes)->figures();
  auto of_window = live.figures();
  const auto by_site = [](const SiteFigures& a, const SiteFigures& b) { return a.site < b.site; };
  std::sort(of_capture.begin(), of_capture.end(), by_site);  // equal totals stand in no order
  std::sort(of_window.begin(), of_window.end(), by_site);
  ASSERT_EQ(of_window.size(), of_capture.size());
  for (std::size_t i = 0; i < of_window.size(); ++i) {
    EXPECT_EQ(of_window[i].site, of_capture[i].site);
    EXPECT_EQ(of_window[i].total_ns, of_capture[i].total_ns);
    EXPECT_EQ(of_window[i].self_ns, of_capture[i].self_ns);
    EXPECT_EQ(of_window[i].p99_ns, of_capture[i].p99_ns);
    EXPECT_EQ(of_window[i].bars, of_capture[i].bars);
  }
}

}  // namespace
}  // namespace kymo::test
