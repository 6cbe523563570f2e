// Rows that the user pins, hides, moves and resizes; menus; and the row under the pointer.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "interaction.hpp"
#include "marked_game.hpp"
#include "metered_game.hpp"
#include "panel/layout/arrangement.hpp"
#include "panel/layout/metric_heat.hpp"

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
    view_.state().tracks().order().hide(track.value());
  }
  screen_.frames(2);
  EXPECT_TRUE(has_text(view_.hints(), "all tracks are hidden: H shows them")) << view_.hints();
}

TEST(EmptyCapture, SaysHowToFillIt) {
  EventBatch batch;
  batch.start_ns = 1'000'000'000;
  batch.end_ns = 2'000'000'000;
  batch.declarations.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 100, "main"}};
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

TEST_F(TrackArrangement, TheLineAboveTheChartIsDraggedToMakeRoomForRows) {
  const panel::Area rows = view_.marks().rows;
  const panel::Area flame = view_.marks().flame;
  const float x = place_in(rows).x;
  screen_.drag(ImVec2(x, rows.bottom + 3), ImVec2(x, rows.bottom + 83));
  EXPECT_NEAR(view_.marks().rows.height(), rows.height() + 80, 2);
  EXPECT_NEAR(view_.marks().flame.top, flame.top + 80, 2);
  screen_.drag(ImVec2(x, rows.bottom + 83), ImVec2(x, 0));
  EXPECT_GT(view_.marks().bars.height(), 10) << "something is left";
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

TEST_F(TrackArrangement, ThePaletteFindsCommandsByAFewLetters) {
  screen_.click(place_in(view_.marks().flame).x, view_.marks().flame.bottom - 4);
  screen_.type(":");
  screen_.frames(2);
  ASSERT_GT(view_.marks().palette.size(), 5U) << "all at first";
  screen_.type("BOOKMARK");
  screen_.frame();
  ASSERT_EQ(view_.marks().palette.size(), 1U);
  screen_.key(ImGuiKey_Enter);
  EXPECT_EQ(view_.state().notes().all().size(), 1U);
  screen_.frame();
  EXPECT_TRUE(view_.marks().palette.empty()) << "closed";
  screen_.type(":");
  screen_.frames(2);
  const TimeRange range = view_.state().flame().range();
  screen_.type("stat");
  screen_.frame();
  ASSERT_EQ(view_.marks().palette.size(), 1U);
  click(view_.marks().palette[0]);
  EXPECT_EQ(view_.tab(), "statistics");
  EXPECT_EQ(view_.state().flame().range().start_ns, range.start_ns) << "letters in the field are no keys";
}

class ManyCores : public Arrangement {
 protected:
  ManyCores() : Arrangement(many_cores_game()) {}
  /// The titles of rows, without what follows.
  [[nodiscard]] Names rows() {
    Names names;
    const panel::Area area = view_.marks().row_titles;
    for (float y = area.top + 2; y < area.bottom; y += 5) {
      screen_.move(area.left + 8, y);
      screen_.frame();
      const std::string tip = view_.tip();
      const std::string name = tip.substr(0, std::min(tip.find('\n'), tip.find(" in ")));
      if (!name.empty() && (names.empty() || names.back() != name)) {
        names.push_back(name);
      }
    }
    return names;
  }
};

TEST_F(ManyCores, ShareARowSoThatTheProgramTheGpuAndPowerAreSeen) {
  EXPECT_EQ(rows(), (Names{"speed", "cpu_util", "gpu_load", "gpu_power", "load", "cpu_power", "cpu_util, 64 cores"}))
      << "clocks that stand still are among the constant ones";
}

TEST_F(ManyCores, HaveRowsOfTheirOwnAtAClickAndByAKey) {
  point_at(view_.marks().row_titles, "cpu_util, 64");
  const ImVec2 at = ImGui::GetIO().MousePos;
  screen_.click(at.x, at.y);
  const Names open = rows();
  ASSERT_GT(open.size(), 9U);
  EXPECT_EQ((Names{open.begin() + 6, open.begin() + 9}), (Names{"cpu_util, 64 cores", "cpu_util 0", "cpu_util 1"}));
  point_at(view_.marks().row_titles, "cpu_util 1");
  screen_.type("P");
  EXPECT_EQ(rows().front(), "cpu_util 1");
  point_at(view_.marks().row_titles, "cpu_util 0");
  screen_.type("e");
  EXPECT_EQ(rows(), (Names{"cpu_util 1", "speed", "cpu_util", "gpu_load", "gpu_power", "load", "cpu_power",
                           "cpu_util, 64 cores"}));
  point_at(view_.marks().row_titles, "cpu_util, 64");
  screen_.type("h");
  EXPECT_EQ(rows(), (Names{"cpu_util 1", "speed", "cpu_util", "gpu_load", "gpu_power", "load", "cpu_power"}));
}

TEST_F(ManyCores, TellTheirValuesUnderThePointer) {
  point_at(view_.marks().row_titles, "cpu_util, 64");
  const float top = ImGui::GetIO().MousePos.y;
  bool has_busy = false;
  for (float y = top; y < top + 60; y += 1) {
    screen_.move(overview_x(Game::start_of(50)), y);
    screen_.frame();
    has_busy = has_busy || has_text(view_.tip(), "core 9: 90 %") || has_text(view_.tip(), "core 9: 100 %");
    EXPECT_FALSE(has_text(view_.tip(), "core 10: 90 %")) << view_.tip();
  }
  EXPECT_TRUE(has_busy);
}

TEST_F(ManyCores, AFilterFindsAFamilyOrOneOfIt) {
  screen_.click(place_in(view_.marks().metric_filter).x, place_in(view_.marks().metric_filter).y);
  screen_.type("CPU_util");
  EXPECT_EQ(rows(), (Names{"cpu_util", "cpu_util, 64 cores"}));
  screen_.type(" 17");
  EXPECT_EQ(rows(), (Names{"cpu_util 17"}));
}

TEST_F(ManyCores, OneThatIsAskedForIsShown) {
  view_.state().show_metric(MetricId{3 + 17});
  screen_.frames(3);
  const Names shown = rows();
  EXPECT_NE(std::find(shown.begin(), shown.end(), "cpu_util 17"), shown.end());
}

/// Declarations of metrics and tracks by name, with ids from a number on.
Declarations declare(std::uint32_t first, const std::vector<std::string>& metrics,
                     const std::vector<std::string>& tracks) {
  Declarations declarations;
  for (const std::string& name : metrics) {
    MetricDeclaration metric;
    metric.id = MetricId{first++};
    metric.name = name;
    declarations.metrics.push_back(metric);
  }
  for (const std::string& name : tracks) {
    TrackDeclaration track;
    track.id = TrackId{first++};
    track.name = name;
    declarations.tracks.push_back(track);
  }
  return declarations;
}

TEST(KeptArrangement, HoldsForTheRowsOfTheSameNamesInAnotherCapture) {
  RowOrder metrics;
  RowOrder tracks;
  panel::Arrangement first;
  EXPECT_FALSE(first.keep(declare(1, {"a", "b", "c"}, {"main", "worker", "worker", ""}), metrics, tracks));
  metrics.move(3, false, {1, 2, 3});
  metrics.toggle_pin(2);
  tracks.hide(6);
  tracks.hide(7);  // has no name
  EXPECT_TRUE(first.keep(declare(1, {"a", "b", "c"}, {"main", "worker", "worker", ""}), metrics, tracks));
  EXPECT_FALSE(first.keep({}, metrics, tracks)) << "nothing was done since";
  const std::string text = first.format();
  EXPECT_EQ(text, "metric m 0 a\nmetric m 0 c\nmetric pm 0 b\ntrack h 0 worker (2)\n");

  RowOrder next_metrics;
  RowOrder next_tracks;
  panel::Arrangement next = panel::Arrangement::parse(text);
  EXPECT_EQ(next.format(), text);
  EXPECT_FALSE(next.keep(declare(10, {"c", "a"}, {"main", "worker"}), next_metrics, next_tracks));
  EXPECT_LT(next_metrics.place_of(11, 11), next_metrics.place_of(10, 10)) << "a stands before c";
  EXPECT_EQ(next_tracks.hidden(), 0U);
  EXPECT_FALSE(next.keep(declare(10, {"c", "a", "b"}, {"main", "worker", "worker"}), next_metrics, next_tracks));
  EXPECT_TRUE(next_metrics.is_pinned(12)) << "declared later, as in a capture that grows";
  EXPECT_EQ(next.format(), text);
}

TEST(KeptArrangement, WhatACaptureDoesNotHaveIsNotForgotten) {
  RowOrder metrics;
  RowOrder tracks;
  panel::Arrangement arrangement = panel::Arrangement::parse("target 8000000\nmetric p 2 gone\ntrack - -2 main\n");
  const Declarations declarations = declare(1, {"here"}, {"main"});
  EXPECT_FALSE(arrangement.keep(declarations, metrics, tracks));
  EXPECT_EQ(tracks.height_of(2), -2);
  metrics.hide(1);
  tracks.resize(2, 2);
  EXPECT_TRUE(arrangement.keep(declarations, metrics, tracks));
  EXPECT_EQ(arrangement.format(), "target 8000000\nmetric p 2 gone\nmetric h 0 here\n");
}

TEST(KeptArrangement, AFamilysRowIsKnownOnAMachineWithMoreCores) {
  const auto declare_cores = [](std::uint32_t count) {
    Declarations declarations = declare(1, std::vector<std::string>(count, "cpu_util"), {});
    for (MetricDeclaration& metric : declarations.metrics) {
      metric.source = "/proc/stat";
      metric.labels = {{"core", std::to_string(metric.id.value())}};
    }
    return declarations;
  };
  RowOrder metrics;
  RowOrder tracks;
  panel::Arrangement first;
  EXPECT_FALSE(first.keep(declare_cores(4), metrics, tracks));
  metrics.hide(panel::family_bit | 1U);
  EXPECT_TRUE(first.keep(declare_cores(4), metrics, tracks));
  RowOrder next_metrics;
  panel::Arrangement next = panel::Arrangement::parse(first.format());
  EXPECT_FALSE(next.keep(declare_cores(9), next_metrics, tracks));
  EXPECT_TRUE(next_metrics.is_hidden(panel::family_bit | 1U)) << first.format();
}

TEST(KeptArrangement, HostileTextIsLeftOutAndBounded) {
  panel::Arrangement arrangement = panel::Arrangement::parse(
      "target 0\ntarget -5\ntarget 99999999999999999999\nmetric p 999 high\nmetric p -9 low\nmetric x 0 odd\nmetric p\n"
      "metric p 0 \nmetric p one name\nlane p 0 name\ntrack h 0 a\x01\x1b[31m\n\n\0track h 0 zero\ntrack h 0 cut");
  EXPECT_EQ(arrangement.format(), "metric p 3 high\nmetric p -3 low\ntrack h 0 a  [31m\n");
  std::string many;
  for (std::size_t i = 0; i < 2 * panel::KeptRows::most_rows; ++i) {
    many += "track h 0 " + std::to_string(i) + std::string(1000, 'x') + "\n";
  }
  const std::string kept = panel::Arrangement::parse(many).format();
  EXPECT_EQ(static_cast<std::size_t>(std::count(kept.begin(), kept.end(), '\n')), panel::KeptRows::most_rows);
  EXPECT_LT(kept.size(), panel::KeptRows::most_rows * (panel::KeptRows::most_name + 20));
}

TEST(KeptArrangement, IsSavedWhenARowIsArrangedAndShownAtTheNextStart) {
  const Bytes bytes = write_capture(metered_game(), true);
  std::string saved;
  panel::ViewOptions options;
  options.load_arrangement = [&saved] { return saved; };
  options.save_arrangement = [&saved](const std::string& text) { saved = text; };
  {
    panel::PanelView view(provide(bytes), options, immediate_data());
    Screen screen([&view] { view.draw(); });
    screen.frames(5);
    EXPECT_EQ(saved, "") << "nothing changed";
    view.state().metric_order().hide(5);
    screen.frame();
    EXPECT_EQ(saved, "metric h 0 cpu_util\n");
  }
  panel::PanelView view(provide(bytes), options, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frame();
  EXPECT_TRUE(view.state().metric_order().is_hidden(5));
}

}  // namespace
}  // namespace kymo::test
