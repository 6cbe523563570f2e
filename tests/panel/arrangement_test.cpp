// Rows that the user pins, hides, moves and resizes; menus; and the row under the pointer.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "interaction.hpp"
#include "marked_game.hpp"
#include "metered_game.hpp"

namespace kymo::test {
namespace {

using panel::RowAction;
using panel::RowOrder;

TEST(RowOrderTest, PinnedRowsStandFirstAndMovedOnesKeepTheirPlaces) {
  RowOrder order;
  const auto sorted = [&order] {
    std::vector<std::uint32_t> rows = {1, 2, 3, 4, 5};
    std::sort(rows.begin(), rows.end(),
              [&order](std::uint32_t a, std::uint32_t b) { return order.place_of(a, a) < order.place_of(b, b); });
    return rows;
  };
  using Rows = std::vector<std::uint32_t>;
  EXPECT_EQ(sorted(), (Rows{1, 2, 3, 4, 5}));
  order.move(3, false, sorted());
  EXPECT_EQ(sorted(), (Rows{1, 3, 2, 4, 5}));
  order.toggle_pin(4);
  EXPECT_EQ(sorted(), (Rows{4, 1, 3, 2, 5}));
  order.move(1, false, sorted());
  EXPECT_EQ(sorted(), (Rows{4, 1, 3, 2, 5})) << "not before a pinned one";
  order.move(5, true, sorted());
  EXPECT_EQ(sorted(), (Rows{4, 1, 3, 2, 5})) << "the last one stays";
  order.toggle_pin(4);
  EXPECT_EQ(sorted(), (Rows{1, 3, 2, 4, 5}));
  order.move(3, true, {1, 3, 4});
  EXPECT_EQ(sorted(), (Rows{1, 4, 3, 2, 5})) << "rows that are not shown stand behind those";
}

TEST(RowOrderTest, HeightsHaveLimits) {
  RowOrder order(1);
  panel::apply(RowAction::lower, 7, {}, order);
  panel::apply(RowAction::lower, 7, {}, order);
  EXPECT_EQ(order.height_of(7), -1);
  for (int i = 0; i < 9; ++i) {
    panel::apply(RowAction::higher, 7, {}, order);
  }
  EXPECT_EQ(order.height_of(7), RowOrder::most_steps);
  EXPECT_EQ(order.height_of(8), 0);
}

class Arrangement : public Interaction {
 protected:
  explicit Arrangement(const std::vector<EventBatch>& batches = metered_game()) : Interaction(batches) {}

  /// The first words of the tooltips down an area, each once.
  [[nodiscard]] std::vector<std::string> names_down(const panel::Area& area) {
    std::vector<std::string> names;
    for (float y = area.top + 2; y < area.bottom; y += 5) {
      screen_.move(area.left + 8, y);
      screen_.frame();
      const std::string tip = view_.tip();
      const std::string name = tip.substr(0, tip.find_first_of(" \n"));
      if (!name.empty() && (names.empty() || names.back() != name)) {
        names.push_back(name);
      }
    }
    return names;
  }
  [[nodiscard]] std::vector<std::string> metrics() { return names_down(view_.marks().row_titles); }
  [[nodiscard]] std::vector<std::string> tracks() { return names_down(view_.marks().titles); }

  /// Moves the pointer over the title of a row.
  void point_at(const panel::Area& area, const std::string& name) {
    for (float y = area.top + 2; y < area.bottom; y += 5) {
      screen_.move(area.left + 8, y);
      screen_.frame();
      if (view_.tip().compare(0, name.size(), name) == 0) {
        return;
      }
    }
    FAIL() << name << " is not shown";
  }
  /// Takes a line of the menu of the row under the pointer.
  void choose_in_row_menu(std::size_t line, int button) {
    const ImVec2 at = ImGui::GetIO().MousePos;
    screen_.click(at.x, at.y, button);
    ASSERT_GT(view_.marks().row_menu.size(), line);
    click(view_.marks().row_menu[line]);
  }
  /// A number for how high a row's title is.
  [[nodiscard]] int height_of(const std::string& name) {
    const panel::Area area = view_.marks().row_titles;
    int height = 0;
    for (float y = area.top + 1; y < area.bottom; y += 1) {
      screen_.move(area.left + 8, y);
      screen_.frame();
      height += view_.tip().compare(0, name.size(), name) == 0 ? 1 : 0;
    }
    return height;
  }
};

using Names = std::vector<std::string>;

TEST_F(Arrangement, MetricRowsArePinnedMovedAndHiddenByTheirMenu) {
  const Names usual = {"speed", "frame_ms", "cpu_util", "gpu_load", "load", "disk_read"};
  ASSERT_EQ(metrics(), usual);
  point_at(view_.marks().row_titles, "gpu_load");
  choose_in_row_menu(0, 0);  // pin
  EXPECT_EQ(metrics(), (Names{"gpu_load", "speed", "frame_ms", "cpu_util", "load", "disk_read"}));
  point_at(view_.marks().row_titles, "cpu_util");
  choose_in_row_menu(1, 1);  // up
  EXPECT_EQ(metrics(), (Names{"gpu_load", "speed", "cpu_util", "frame_ms", "load", "disk_read"}));
  point_at(view_.marks().row_titles, "load");
  choose_in_row_menu(5, 0);  // hide
  EXPECT_EQ(metrics(), (Names{"gpu_load", "speed", "cpu_util", "frame_ms", "disk_read"}));
  point_at(view_.marks().row_titles, "speed");
  choose_in_row_menu(6, 0);  // show hidden ones
  EXPECT_EQ(metrics(), (Names{"gpu_load", "speed", "cpu_util", "frame_ms", "load", "disk_read"}));
}

TEST_F(Arrangement, KeysActOnTheMetricRowUnderThePointer) {
  screen_.click(place_in(view_.marks().flame).x, view_.marks().flame.bottom - 4);
  point_at(view_.marks().row_titles, "cpu_util");
  screen_.type("P");
  EXPECT_EQ(metrics().front(), "cpu_util");
  point_at(view_.marks().row_titles, "disk_read");
  screen_.type("[[");
  EXPECT_EQ(metrics(), (Names{"cpu_util", "speed", "frame_ms", "disk_read", "gpu_load", "load"}));
  point_at(view_.marks().row_titles, "speed");
  screen_.type("h");
  EXPECT_EQ(metrics()[1], "frame_ms");
  screen_.type("H");
  EXPECT_EQ(metrics()[1], "speed");
  const int usual = height_of("speed");
  point_at(view_.marks().row_titles, "speed");
  screen_.type(")");
  EXPECT_GT(height_of("speed"), usual * 3 / 2);
  point_at(view_.marks().row_titles, "speed");
  screen_.type("((");
  EXPECT_LT(height_of("speed"), usual * 3 / 4);
}

TEST_F(Arrangement, MetricsAreFilteredByName) {
  click(view_.marks().metric_filter);
  screen_.type("GPU");
  screen_.frames(2);
  EXPECT_EQ(metrics(), (Names{"gpu_clock", "gpu_load"})) << "with those that do not change";
  EXPECT_EQ(view_.state().is_paused(), false) << "letters are no commands there";
}

TEST_F(Arrangement, PinnedMetricsStayWhileTheOthersScroll) {
  point_at(view_.marks().row_titles, "disk_read");
  choose_in_row_menu(0, 0);
  for (const char* const name : {"speed", "frame_ms", "cpu_util"}) {
    point_at(view_.marks().row_titles, name);
    screen_.type("))");
  }
  screen_.key(ImGuiKey_PageDown);
  EXPECT_GT(view_.marks().rows_scroll, 0);
  EXPECT_EQ(metrics().front(), "disk_read");
}

TEST_F(Arrangement, EmptyPartsSayWhatToDo) {
  EXPECT_EQ(view_.hints(), "");
  click(view_.marks().metric_filter);
  screen_.type("no such metric");
  screen_.frames(2);
  EXPECT_EQ(view_.hints(), "no metric's name has this text\n");
  screen_.key(ImGuiKey_Escape);
  for (const TrackId track : {Game::main_track, Game::worker_track, Game::gpu_track}) {
    view_.state().tracks().order().hide(track);
  }
  screen_.frames(2);
  EXPECT_TRUE(has_text(view_.hints(), "all tracks are hidden: H shows them")) << view_.hints();
}

TEST(EmptyCapture, SaysHowToFillIt) {
  EventBatch batch;
  batch.start_ns = 1'000'000'000;
  batch.end_ns = 2'000'000'000;
  batch.declarations.tracks = {{1, TrackKind::thread, 1, 100, "main"}};
  const Bytes bytes = write_capture({batch}, true);
  panel::PanelView view(provide(bytes), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frames(5);
  EXPECT_TRUE(has_text(view.hints(), "kymo::frame_mark()")) << view.hints();
  EXPECT_TRUE(has_text(view.hints(), "KYMO_SCOPE")) << view.hints();
}

class TrackArrangement : public Arrangement {
 protected:
  TrackArrangement() : Arrangement(MarkedGame::batches()) {
    screen_.click(place_in(view_.marks().flame).x, view_.marks().flame.bottom - 4);
  }
};

TEST_F(TrackArrangement, TracksArePinnedMovedHiddenAndShowFewerRows) {
  const Names usual = tracks();
  ASSERT_GE(usual.size(), 3U);
  ASSERT_EQ(usual[0], "main");
  ASSERT_EQ(usual[1], "worker");
  point_at(view_.marks().titles, "worker");
  choose_in_row_menu(0, 1);  // pin
  EXPECT_EQ(tracks().front(), "worker");
  point_at(view_.marks().titles, "worker");
  choose_in_row_menu(0, 1);  // unpin
  EXPECT_EQ(tracks(), usual);
  point_at(view_.marks().titles, "worker");
  screen_.type("[");
  EXPECT_EQ(tracks().front(), "worker");
  EXPECT_EQ(tracks()[1], "main");
  point_at(view_.marks().titles, "worker");
  screen_.type("h");
  EXPECT_EQ(tracks().front(), "main");
  const std::uint32_t lines = view_.state().flame_layout({}).lines;
  point_at(view_.marks().titles, "main");
  screen_.type("(((");
  EXPECT_LT(view_.state().flame_layout({}).lines, lines) << "only its first row";
  screen_.type(")))H");
  EXPECT_GT(view_.state().flame_layout({}).lines, lines) << "worker is there again";
}

TEST_F(TrackArrangement, MenusNameKeysAndDoWhatTheyDo) {
  ASSERT_EQ(view_.marks().menus.size(), 4U);
  const auto choose = [this](std::size_t menu, std::size_t line) {
    click(view_.marks().menus[menu]);
    ASSERT_GT(view_.marks().menu_lines.size(), line);
    click(view_.marks().menu_lines[line]);
  };
  choose(0, 0);
  EXPECT_TRUE(view_.state().is_paused());
  choose(0, 0);
  EXPECT_FALSE(view_.state().is_paused());
  const std::int64_t length = view_.state().flame().length_ns();
  choose(0, 5);
  EXPECT_LT(view_.state().flame().length_ns(), length) << "zoomed in";
  choose(1, 0);
  EXPECT_TRUE(view_.state().pinned().has_value()) << "a frame was gone to";
  choose(2, 2);
  EXPECT_EQ(view_.tab(), "statistics");
  choose(2, 2);
  EXPECT_EQ(view_.tab(), "");
  choose(3, 0);
  EXPECT_TRUE(view_.shows_help());
  click(view_.marks().menus[1]);
  EXPECT_EQ(view_.marks().menus[1].width(), 0) << "it is open";
  screen_.key(ImGuiKey_Escape);
  EXPECT_GT(view_.marks().menus[1].width(), 0) << "it is closed";
}

}  // namespace
}  // namespace kymo::test
