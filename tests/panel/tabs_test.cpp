// The tabs below the flame chart: what their tables hold, and what a click on a row does.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "interaction.hpp"
#include "marked_game.hpp"
#include "metered_game.hpp"
#include "panel/data/live_window.hpp"
#include "panel/lists/site_gatherer.hpp"
#include "stats/statistics/statistics.hpp"
#include "support/open_memory.hpp"

namespace kymo::test {
namespace {

using stats::SiteFigures;

/// The open tab's rows, each by the columns' titles.
std::vector<std::map<std::string, std::string>> rows_of(panel::PanelView& view) {
  const auto split = [](const std::string& text, char by) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, by);) {
      parts.push_back(part);
    }
    return parts;
  };
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> lines = split(view.copied_tab(panel::CopyAs::csv), '\n');
  const std::vector<std::string> titles = split(lines.front(), ',');
  for (std::size_t line = 1; line < lines.size(); ++line) {
    const std::vector<std::string> fields = split(lines[line], ',');
    rows.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      rows.back()[titles.at(i)] = fields[i];
    }
  }
  return rows;
}

std::vector<std::string> column_of(panel::PanelView& view, const std::string& title) {
  std::vector<std::string> texts;
  for (const auto& row : rows_of(view)) {
    texts.push_back(row.at(title));
  }
  return texts;
}

TimeRange random_range(std::mt19937_64& random) {
  const std::int64_t length = Game::start_of(100) - Game::start_ns;
  std::uniform_int_distribution<std::int64_t> times(Game::start_ns - length / 10, Game::start_of(100) + length / 10);
  const std::int64_t one = times(random);
  const std::int64_t other = times(random);
  return {std::min(one, other), std::max(one, other) + 1};
}

void expect_equal(std::vector<SiteFigures> some, std::vector<SiteFigures> others) {
  const auto by_site = [](const SiteFigures& a, const SiteFigures& b) { return a.site < b.site; };
  std::sort(some.begin(), some.end(), by_site);  // equal totals stand in no order
  std::sort(others.begin(), others.end(), by_site);
  ASSERT_EQ(some.size(), others.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].site, others[i].site);
    EXPECT_EQ(some[i].count, others[i].count);
    EXPECT_EQ(some[i].total_ns, others[i].total_ns);
    EXPECT_EQ(some[i].self_ns, others[i].self_ns);
    EXPECT_EQ(some[i].p99_ns, others[i].p99_ns);
    EXPECT_EQ(some[i].bars, others[i].bars);
  }
}

class Tabs : public Interaction {
 protected:
  Tabs() : Interaction(MarkedGame::batches()) {}

  void open(const char* word) {
    ASSERT_TRUE(view_.open_tab(word));
    screen_.frames(3);
  }
  void measure(TimeRange range) {
    view_.state().measure(range);
    screen_.frames(3);
  }
  /// Clicks down the first column until something is true.
  template <typename IsDone>
  void click_rows(IsDone is_done) {
    const panel::Area& dock = view_.marks().dock;
    for (float y = dock.top + 2; y < dock.bottom && !is_done(); y += 6) {
      screen_.click(dock.left + 40, y);
    }
  }
};

TEST_F(Tabs, SitesAreListedByTheirTotalAndByWhatIsClicked) {
  open("statistics");
  const std::vector<std::string> by_total{"frame", "render", "update", "job"};
  EXPECT_EQ(column_of(view_, "site"), by_total);
  const SiteFigures& frame = view_.state().data().figures().front();
  EXPECT_EQ(frame.count, 100U);
  EXPECT_EQ(frame.max_ns, Game::slow_ns - 1);
  EXPECT_EQ(std::accumulate(frame.bars.begin(), frame.bars.end(), std::uint64_t{0}), 100U);
  EXPECT_LE(frame.bars.size(), SiteFigures::most_bars);
  EXPECT_EQ(rows_of(view_).front().at("place"), "game.cpp:10");
  double share = 0;
  for (const auto& row : rows_of(view_)) {
    share += std::stod(row.at("self share"));
  }
  EXPECT_NEAR(share, 1, 1e-5);

  // The head of the table lies below the filter; its first column is that of names.
  click_rows([&] { return column_of(view_, "site") != by_total; });
  EXPECT_EQ(column_of(view_, "site"), (std::vector<std::string>{"frame", "job", "render", "update"}));
  click_rows([&] { return view_.state().marked_site() != SiteId{}; });
  EXPECT_NE(view_.state().marked_site(), SiteId{}) << "a row was clicked";
}

TEST_F(Tabs, StatisticsAreOfWhatIsMeasuredElseOfThePinnedFrameElseOfEverything) {
  open("statistics");
  EXPECT_TRUE(has_text(view_.header(), "of everything"));
  const std::int64_t ms = Game::frame_ns / 10;
  // From 2 ms after a frame's start to 7 ms after the next one's.
  measure({Game::start_of(5) + 2 * ms, Game::start_of(6) + 7 * ms});
  EXPECT_TRUE(has_text(view_.header(), "of the measured 15 ms")) << view_.header();
  std::map<std::string, std::map<std::string, std::string>> sites;
  for (const auto& row : rows_of(view_)) {
    sites[row.at("site")] = row;
  }
  EXPECT_EQ(sites["frame"]["count"], "2");
  EXPECT_EQ(sites["frame"]["total"], std::to_string(15 * ms - 1));
  EXPECT_EQ(sites["update"]["total"], std::to_string((3 + 4) * ms));
  EXPECT_EQ(sites["render"]["total"], std::to_string((4 + 2) * ms));
  EXPECT_EQ(sites["job"]["total"], std::to_string(5 * ms / 10 + 25 * ms / 10));
  measure({0, 0});  // nothing
  click_bar(Game::slow_frame);
  screen_.frames(3);
  EXPECT_TRUE(has_text(view_.header(), "of the pinned frame"));
  EXPECT_EQ(rows_of(view_).front().at("total"), std::to_string(Game::slow_ns - 1));
  view_.state().resume();
  screen_.frames(3);
  EXPECT_EQ(rows_of(view_).front().at("count"), "100");
}

TEST_F(Tabs, TheSlowestFramesArePinnedByAClick) {
  open("frames");
  const auto rows = rows_of(view_);
  ASSERT_EQ(rows.size(), 99U) << "the last has no end";
  EXPECT_EQ(rows[0].at("frame"), std::to_string(Game::slow_frame + 1)) << "the first whole frame is 1";
  EXPECT_EQ(rows[0].at("duration"), std::to_string(Game::slow_ns));
  EXPECT_EQ(rows[0].at("at"), std::to_string(Game::start_of(Game::slow_frame) - Game::start_ns));
  EXPECT_NEAR(std::stod(rows[0].at("of target")), 45 / 16.7, 1e-4);
  EXPECT_EQ(rows[1].at("frame"), "1") << "equal ones by time";
  click_rows([&] { return view_.state().pinned().has_value(); });
  ASSERT_TRUE(view_.state().pinned().has_value());
  EXPECT_EQ(rows_of(view_).size(), 99U) << "the pinned frame does not limit the list";
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_NE(view_.state().pinned()->start_ns, 0);

  measure({Game::start_of(10), Game::start_of(20)});
  EXPECT_EQ(rows_of(view_).size(), 10U) << "those with both marks in it";
  measure({Game::start_of(10) + 1, Game::start_of(20) - 1});
  EXPECT_EQ(rows_of(view_).size(), 8U);
  const auto numbers = column_of(view_, "frame");
  EXPECT_EQ(std::min(numbers.front(), numbers.back()), "12");
}

TEST_F(Tabs, SpansOfASiteAreGoneToByAClick) {
  open("spans");
  EXPECT_TRUE(rows_of(view_).empty());
  view_.state().mark_site(Game::update_site);
  screen_.frames(3);
  auto rows = rows_of(view_);
  ASSERT_EQ(rows.size(), 100U);
  EXPECT_EQ(rows[0].at("duration"), std::to_string(Game::slow_ns * 4 / 10));
  EXPECT_EQ(rows[0].at("track"), "main");
  measure({Game::start_of(10) + Game::frame_ns / 2, Game::start_of(12) + Game::frame_ns / 5});
  rows = rows_of(view_);
  ASSERT_EQ(rows.size(), 2U) << "one whole, and one that begins in it";
  EXPECT_EQ(rows[0].at("at"), std::to_string(Game::start_of(11) - Game::start_ns + Game::frame_ns / 10));
  click_rows([&] { return view_.state().selected().has_value(); });
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(base::site_of(view_.state().selected()->what), Game::update_site);
  const TimeRange seen = view_.state().flame().range();
  EXPECT_LE(seen.start_ns, view_.state().selected()->start_ns);
  EXPECT_GE(seen.end_ns, view_.state().selected()->end_ns);
  view_.state().deselect();
  view_.state().mark_site(SiteId{});
  screen_.frames(1);
  EXPECT_TRUE(rows_of(view_).empty()) << "they are not shown any more";
}

TEST_F(Tabs, ASpanOverSeveralBlocksIsOneRow) {
  view_.state().mark_site(Game::frame_site);
  open("spans");
  EXPECT_EQ(rows_of(view_).size(), 100U);
  measure({Game::start_of(9) + Game::frame_ns / 2, Game::start_of(10) + 1});
  EXPECT_EQ(rows_of(view_).size(), 2U);
  EXPECT_EQ(rows_of(view_)[0].at("duration"), std::to_string(Game::frame_ns - 1)) << "not cut at the range's ends";
}

TEST_F(Tabs, MessagesAreGoneToByAClickAndFiltered) {
  open("messages");
  EXPECT_EQ(column_of(view_, "text"), (std::vector<std::string>{"loaded level", "<b>second</b>"}));
  click_rows([&] { return view_.state().message().has_value(); });
  ASSERT_TRUE(view_.state().message().has_value());
  EXPECT_TRUE(has_text(view_.facts(), view_.state().message()->text.c_str())) << view_.facts();
  screen_.type("F");
  screen_.type("SECOND");
  screen_.frame();
  EXPECT_EQ(column_of(view_, "text"), std::vector<std::string>{"<b>second</b>"});
  measure({Game::start_ns, Game::start_of(MarkedGame::frame)});
  EXPECT_TRUE(rows_of(view_).empty());
}

TEST_F(Tabs, SearchFindsScopesTracksMetricsAndMessages) {
  open("statistics");
  screen_.type("/");
  screen_.type("LO");  // the metric load, and a message
  screen_.frames(2);
  ASSERT_EQ(rows_of(view_).size(), 2U);
  EXPECT_EQ(column_of(view_, "kind"), (std::vector<std::string>{"metric", "message"}));
  screen_.type("xx");
  screen_.frames(2);
  EXPECT_TRUE(rows_of(view_).empty());
  screen_.key(ImGuiKey_Escape);
  EXPECT_EQ(view_.tab(), "statistics") << "the tab of before";
}

TEST_F(Tabs, ATrackThatWasFoundIsScrolledTo) {
  open("search");
  screen_.type("F");
  screen_.type("network");
  screen_.frames(2);
  ASSERT_EQ(column_of(view_, "kind"), std::vector<std::string>{"track"});
  view_.state().show_track(MarkedGame::async_track);
  screen_.frames(2);
  EXPECT_FALSE(view_.state().take_wanted_track().has_value()) << "the chart took it";
}

TEST_F(Tabs, ATableIsCopied) {
  open("frames");
  click(view_.marks().copy[1]);
  EXPECT_EQ(std::string(ImGui::GetClipboardText()), view_.copied_tab(panel::CopyAs::csv));
  open("statistics");
  click(view_.marks().copy[0]);
  const std::string text = ImGui::GetClipboardText();
  std::istringstream lines(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) {
    all.push_back(line);
  }
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].substr(0, 13), "site    count");
  EXPECT_EQ(all[1].substr(0, 13), "frame     100");
  EXPECT_EQ(all[1].substr(all[1].size() - 11), "game.cpp:10") << "as it is shown";
}

TEST_F(Tabs, ViewsAreGoneBackTo) {
  screen_.frames(40);
  const TimeRange first = view_.state().flame().range();
  const ImVec2 at = place_in(view_.marks().flame, 0.5F);
  screen_.wheel(at.x, at.y, 2);
  screen_.wheel(at.x, at.y, 2);
  screen_.frames(40);
  const TimeRange second = view_.state().flame().range();
  ASSERT_LT(second.end_ns - second.start_ns, first.end_ns - first.start_ns);
  click_bar(30);
  screen_.frames(40);
  const TimeRange third = view_.state().flame().range();
  click(view_.marks().back);
  EXPECT_EQ(view_.state().flame().range().start_ns, second.start_ns);
  click(view_.marks().back);
  EXPECT_EQ(view_.state().flame().range().start_ns, first.start_ns);
  click(view_.marks().back);
  EXPECT_EQ(view_.state().flame().range().start_ns, first.start_ns) << "there is nothing before";
  click(view_.marks().forward);
  click(view_.marks().forward);
  EXPECT_EQ(view_.state().flame().range().start_ns, third.start_ns);
  EXPECT_EQ(view_.state().flame().range().end_ns, third.end_ns);
}

class MetricRows : public Interaction {
 protected:
  MetricRows() : Interaction(metered_game()) {}

  [[nodiscard]] std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const panel::MetricSteps& steps : view_.state().metrics(3)) {
      names.push_back(panel::find_metric(view_.state().data().provider().declarations(), steps.metric)->name);
    }
    return names;
  }
};

TEST_F(MetricRows, BeginWithTheProgramsOwn) {
  EXPECT_EQ(names(),
            (std::vector<std::string>{"speed", "frame_ms", "cpu_util", "gpu_clock", "gpu_load", "load", "disk_read"}));
}

TEST_F(MetricRows, ConstantOnesOfTheMachineShareALineUntilItIsClicked) {
  const int folded = screen_.checked_vertices();
  const panel::Area line = view_.marks().constants;
  ASSERT_GT(line.height(), 0) << "gpu_clock; the program's own stay";
  screen_.click(line.left + 20, middle_of(line));
  screen_.frame();
  EXPECT_GT(screen_.checked_vertices(), folded + 20) << "its row";
  screen_.click(line.left + 20, middle_of(line));
  screen_.move(2, 2);
  screen_.frame();
  EXPECT_NEAR(screen_.checked_vertices(), folded, 12);
}

TEST(TabsLive, ALiveWindowIsAddedUpAsACaptureIs) {
  Game game;
  const auto window = std::make_shared<panel::LiveWindow>(panel::HistoryBounds{});
  for (const EventBatch& batch : game.batches()) {
    window->write(batch);
  }
  panel::LiveBlocks live(window);
  ASSERT_TRUE(live.refresh());
  const Bytes bytes = game.write();
  std::mt19937_64 random(7);
  expect_equal(provide(bytes)->figures(), live.figures());
  const auto add_up = [](panel::BlockProvider& provider, TimeRange range) {
    panel::SiteList::Gatherer gatherer(panel::ListKey(range), provider);
    for (std::size_t i = 0; i < provider.blocks()[0].blocks.size(); ++i) {
      gatherer.take(*provider.read(0, provider.first_block() + i, BatchParts::scopes), panel::ScannedBlock{});
    }
    gatherer.finish();
    return gatherer.result().sites;
  };
  const Timeline timeline = open_memory(bytes);
  for (int round = 0; round < 40; ++round) {
    const TimeRange range = random_range(random);
    const std::vector<SiteFigures> sites = add_up(*provide(bytes), range);
    expect_equal(sites, add_up(live, range));
    stats::StatisticsOptions options;
    SelectionOptions part;
    part.time = range;
    options.selection = stats::Selection(timeline, part);
    const stats::Statistics statistics = stats::gather_statistics(timeline, options);
    ASSERT_EQ(sites.size(), statistics.sites.size());
    for (const stats::SiteStatistics& site : statistics.sites) {
      const auto same =
          std::find_if(sites.begin(), sites.end(), [&](const SiteFigures& one) { return one.site == site.site; });
      ASSERT_NE(same, sites.end());
      EXPECT_EQ(same->count, site.durations.count);
      EXPECT_EQ(same->total_ns, site.durations.total_ns);
      EXPECT_EQ(same->self_ns, site.self_ns);
    }
  }
}

}  // namespace
}  // namespace kymo::test
