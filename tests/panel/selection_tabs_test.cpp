// Tabs of a selection: the tree, the flame graph and the metrics; and the bars of histograms, which light what they
// count.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "panel/lists/lists.hpp"
#include "panel/lists/tree_gatherer.hpp"
#include "panel/tabs/focused_tree.hpp"
#include "selection_tabs.hpp"
#include "stats/statistics/call_tree.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

/// Count and total by path.
using Paths = std::map<std::vector<SiteId>, std::pair<std::uint64_t, std::uint64_t>>;

Paths paths_of(const panel::TreeList& list) {
  Paths paths;
  std::vector<std::vector<SiteId>> known(list.nodes.size());
  for (std::size_t i = 1; i < list.nodes.size(); ++i) {
    const panel::TreeList::Node& node = list.nodes[i];
    EXPECT_LT(node.parent, i);
    known[i] = known[node.parent];
    known[i].push_back(node.site);
    EXPECT_EQ(known[i].size(), node.depth + 1U);
    if (node.count != 0) {
      paths[known[i]] = {node.count, node.total_ns};
    }
  }
  return paths;
}

Paths paths_of(const stats::CallTree& tree) {
  Paths paths;
  std::vector<std::vector<SiteId>> known(tree.rows.size());
  for (std::size_t i = 0; i < tree.rows.size(); ++i) {
    if (tree.rows[i].parent != i) {
      known[i] = known[tree.rows[i].parent];
    }
    known[i].push_back(tree.rows[i].site);
    paths[known[i]] = {tree.rows[i].count, tree.rows[i].total_ns};
  }
  return paths;
}

/// The tree of a range, as the tab has it.
panel::TreeList tree_of(const Bytes& bytes, TimeRange range) {
  panel::PanelData data(provide(bytes), immediate_data());
  panel::KeptList<panel::TreeList> list;
  for (int i = 0; i < 1000 && (i == 0 || list.is_reading()); ++i) {
    list.keep_fresh(data, panel::ListKey(range));
    data.request_missing();
    data.poll();
  }
  EXPECT_FALSE(list.is_reading());
  return list.list();
}

TEST(Tree, IsThatOfTheStatisticsInAnyRange) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < rounds(40U); ++round) {
    Game game;
    game.frames = 1 + static_cast<unsigned>(random() % 60);
    game.frames_in_block = 1 + static_cast<unsigned>(random() % 9);
    const Bytes bytes = game.write();
    std::vector<CaptureReader> readers;
    readers.push_back(open_bytes(bytes));
    const Timeline timeline(std::move(readers));
    const std::int64_t length = Game::start_of(game.frames) - Game::start_ns;
    TimeRange range;
    if (round % 4 != 0) {
      const std::int64_t a = Game::start_ns + static_cast<std::int64_t>(random() % static_cast<unsigned>(length));
      const std::int64_t b = Game::start_ns + static_cast<std::int64_t>(random() % static_cast<unsigned>(length));
      range = {std::min(a, b), std::max(a, b) + 1};
    }
    stats::CallTreeOptions options;
    if (round % 4 != 0) {
      SelectionOptions part;
      part.time = range;
      options.selection = stats::Selection(timeline, part);
    }
    EXPECT_EQ(paths_of(tree_of(bytes, range)), paths_of(stats::gather_call_tree(timeline, options)))
        << round << ": " << range.start_ns << ".." << range.end_ns;
  }
}

TEST_F(SelectionTabs, TheTreeIsFoldedByClicks) {
  open("tree");
  ASSERT_EQ(rows().size(), 4U);
  EXPECT_EQ(rows()[0][0], "- frame");
  EXPECT_EQ(rows()[1][0].find_first_not_of(' '), 4U) << "what lies in it stands further right";
  EXPECT_EQ(rows()[0][1], "100");
  screen_.type("1");
  screen_.frame();
  EXPECT_EQ(rows()[0][0], "- frame");
  EXPECT_EQ(rows()[1][0], "    render") << "sorted by name, those inside below what they are in";
  EXPECT_EQ(rows()[3][0], "  job");
  const panel::Area dock = view_.marks().dock;
  for (float y = dock.top + 2 * ImGui::GetFrameHeight(); y < dock.bottom && rows().size() == 4; y += 6) {
    screen_.click(dock.left + 40, y);
  }
  EXPECT_EQ(rows().size(), 2U) << "frame is folded";
  EXPECT_EQ(rows()[0][0], "+ frame");
  EXPECT_EQ(view_.state().marked_site(), Game::frame_site);
  view_.state().measure(TimeRange{Game::start_of(10), Game::start_of(12)});
  screen_.frames(4);
  EXPECT_EQ(rows()[0][1], "2") << "of what is measured";
}

TEST_F(SelectionTabs, TheFlameGraphHasAPathARowAndMarksWhatIsClicked) {
  open("flame-graph");
  ASSERT_EQ(rows().size(), 4U);
  std::map<std::string, std::string> counts;
  for (const auto& row : rows()) {
    counts[row[0]] = row[1];
  }
  EXPECT_EQ(counts, (std::map<std::string, std::string>{
                        {"frame", "100"}, {"frame;render", "100"}, {"frame;update", "100"}, {"job", "100"}}));
  const panel::Area dock = view_.marks().dock;
  screen_.click(dock.left + dock.width() * 0.02F, dock.top + ImGui::GetTextLineHeight() * 1.9F);
  EXPECT_EQ(view_.state().marked_site(), Game::frame_site);
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view_.state().marked_site(), Game::update_site) << "the first of the widest inside";
}

TEST_F(SelectionTabs, MetricsHaveTheFiguresOfTheirSamples) {
  open("metrics");
  const TimeRange range{Game::start_of(10), Game::start_of(20)};
  view_.state().measure(range);
  screen_.frames(4);
  bool is_found = false;
  for (const auto& row : rows()) {
    if (row[0] == "load") {
      is_found = true;
      EXPECT_EQ(row[1], "10");
      EXPECT_DOUBLE_EQ(std::stod(row[2]), 14.5);
      EXPECT_NEAR(std::stod(row[3]), std::sqrt(82.5 / 9), 1e-4);
      EXPECT_EQ(row[4], "10");
      EXPECT_EQ(row[5], "19");
      EXPECT_EQ(row[6], "9");
    }
  }
  EXPECT_TRUE(is_found);
}

TEST_F(SelectionTabs, ABarOfAHistogramLightsExactlyWhatItCounts) {
  view_.state().mark_site(Game::update_site);
  open("statistics");
  const auto& all = view_.state().data().figures();
  const auto figures =
      std::find_if(all.begin(), all.end(), [](const stats::SiteFigures& one) { return one.site == Game::update_site; });
  ASSERT_NE(figures, all.end());
  const stats::SiteFigures update = *figures;
  // The slow frame's is in the last bar.
  const panel::Area dock = view_.marks().dock;
  screen_.click(dock.right - 3, dock.bottom - ImGui::GetTextLineHeight() * 2);
  const panel::LengthRange lengths = view_.state().marked_lengths();
  ASSERT_FALSE(lengths == panel::LengthRange{});
  EXPECT_TRUE(lengths.holds(Game::slow_ns * 4 / 10));
  EXPECT_FALSE(lengths.holds(Game::frame_ns * 4 / 10));
  open("spans");
  EXPECT_EQ(rows().size(), update.bars.back());
  open("statistics");
  screen_.click(dock.right - 3, dock.bottom - ImGui::GetTextLineHeight() * 2);
  EXPECT_TRUE(view_.state().marked_lengths() == panel::LengthRange{}) << "a second click ends it";
}

TEST_F(SelectionTabs, ABarOfFrameTimesListsItsFrames) {
  open("frames");
  ASSERT_EQ(rows().size(), 99U);
  const panel::Area dock = view_.marks().dock;
  screen_.click(dock.right - 3, dock.bottom - ImGui::GetTextLineHeight() * 2);
  screen_.frames(3);
  EXPECT_EQ(rows().size(), 1U) << "the slow one";
  screen_.key(ImGuiKey_Escape);
  screen_.frames(3);
  EXPECT_EQ(rows().size(), 99U);
  screen_.type("b");
  screen_.frames(3);
  EXPECT_EQ(rows().size(), 98U) << "the first bar";
  screen_.type("b");
  screen_.frames(3);
  EXPECT_EQ(rows().size(), 1U) << "the next that counts something";
  screen_.type("b");
  screen_.frames(3);
  EXPECT_EQ(rows().size(), 99U);
}

TEST_F(SelectionTabs, TheTargetIsSetInFramesASecond) {
  open("frames");
  EXPECT_NEAR(std::stod(rows().back()[3]), 10 / 16.7, 1e-3);
  const panel::Area dock = view_.marks().dock;
  screen_.double_click(dock.left + 20, dock.top + ImGui::GetFrameHeight() / 2);
  screen_.type("200");
  screen_.key(ImGuiKey_Enter);
  screen_.frames(2);
  EXPECT_NEAR(std::stod(rows().back()[3]), 2, 1e-3) << "10 ms are two frames at 200 fps";
}

TEST_F(SelectionTabs, TheSelectedSpanTellsWhatIsInsideAndHasButtons) {
  click_bar(20);
  screen_.click(flame_x(Game::start_of(20) + Game::frame_ns / 20), flame_y(1));
  screen_.frames(3);
  EXPECT_TRUE(has_text(view_.facts(), "inside: update 4 ms (40 %), render 4 ms (40 %)")) << view_.facts();
  click(view_.marks().span_buttons.at(2));  // next
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(21));
  click(view_.marks().span_buttons.at(1));  // previous
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(20));
  click(view_.marks().span_buttons.at(3));
  EXPECT_EQ(view_.tab(), "spans");
}

TEST_F(SelectionTabs, SearchFindsArgumentsAndNamedSpans) {
  open("search");
  screen_.type("F");
  screen_.type("OBJECTS");
  screen_.frames(4);
  ASSERT_EQ(rows().size(), 100U);
  EXPECT_EQ(rows()[7][0], "span");
  EXPECT_EQ(rows()[7][1], "update   objects=7");
  screen_.key(ImGuiKey_DownArrow);
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(0) + Game::frame_ns / 10);
  EXPECT_EQ(view_.state().selected()->depth, 1);
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view_.state().selected()->start_ns, Game::start_of(1) + Game::frame_ns / 10);
  for (int i = 0; i < 7; ++i) {
    screen_.key(ImGuiKey_Backspace);
  }
  screen_.type("draw");
  screen_.frames(4);
  ASSERT_EQ(rows().size(), 100U) << "spans of the queue";
  EXPECT_EQ(rows()[0][1], "draw");
  // Where no scope has the text, enter goes from hit to hit.
  const auto start_after = [this](bool shift) {
    screen_.key(ImGuiKey_Enter, shift);
    return view_.state().selected().value_or(panel::SpanKey{}).start_ns;
  };
  const std::int64_t first = start_after(false);
  EXPECT_TRUE(base::is_name(view_.state().selected().value_or(panel::SpanKey{}).what));
  const std::int64_t second = start_after(false);
  EXPECT_GT(second, first);
  EXPECT_GT(start_after(false), second);
  EXPECT_EQ(start_after(true), second);
}

TEST_F(SelectionTabs, NothingIsCopiedOfASearchThatWasCleared) {
  open("search");
  screen_.type("F");
  screen_.type("ob");
  screen_.frames(4);
  ASSERT_GT(rows().size(), 100U) << "the arguments, and job";
  screen_.key(ImGuiKey_Backspace);
  screen_.key(ImGuiKey_Backspace);
  click(view_.marks().copy[1]);
  EXPECT_EQ(std::string(ImGui::GetClipboardText()), "kind,name,where\n");
  click(view_.marks().copy[0]);
  EXPECT_EQ(std::string(ImGui::GetClipboardText()), "kind  name  where\n");
}

TEST_F(SelectionTabs, EnterGoesOnAmongHitsThatAreNoScopes) {
  open("search");
  screen_.type("F");
  screen_.type("r");  // in "render", "frame" and "draw"
  screen_.frames(4);
  const auto hits = rows();
  const auto first_span = std::find_if(hits.begin(), hits.end(), [](const auto& row) { return row[0] == "span"; });
  ASSERT_NE(first_span, hits.end());
  for (auto row = hits.begin(); row <= first_span; ++row) {
    screen_.key(ImGuiKey_DownArrow);
  }
  ASSERT_TRUE(view_.state().selected() && base::is_name(view_.state().selected()->what));
  const std::int64_t first = view_.state().selected()->start_ns;
  screen_.key(ImGuiKey_Enter);
  ASSERT_TRUE(view_.state().selected() && base::is_name(view_.state().selected()->what)) << "not the next scope";
  EXPECT_EQ(view_.state().selected()->start_ns, first + Game::frame_ns);
  screen_.key(ImGuiKey_Enter, true);
  EXPECT_EQ(view_.state().selected()->start_ns, first);
  // A row of a scope goes on among the scopes.
  screen_.key(ImGuiKey_UpArrow);
  screen_.key(ImGuiKey_Enter);
  screen_.frames(3);
  ASSERT_TRUE(view_.state().selected().has_value());
  EXPECT_FALSE(base::is_name(view_.state().selected()->what));
}

TEST_F(SelectionTabs, TreesAreFocusedOnASite) {
  view_.state().mark_site(Game::update_site);
  open("tree");
  ASSERT_EQ(rows().size(), 4U);
  screen_.type("o");
  screen_.frames(3);
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0][0].substr(2), "update");
  EXPECT_EQ(rows()[0][1], "100");
  EXPECT_EQ(rows()[0][4], "1") << "all of the time is its own";
  open("flame-graph");
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0][0], "update");
  screen_.type("o");
  screen_.frames(3);
  EXPECT_EQ(rows().size(), 4U);
}

TEST(FocusedTree, ChangesOnlyWhereItIsKeptFresh) {
  const Bytes bytes = Game().write();
  const auto provider = provide(bytes);
  panel::ViewState state(provider, immediate_data());
  panel::Names names(*provider);
  const panel::Theme theme{};
  panel::FrameTargets targets;
  panel::TabContext context{state, names, theme, targets, false, {}};
  panel::FocusedTree tree;
  tree.keep_fresh(context);
  const std::uint64_t before = tree.version();
  for (int i = 0; i < 1000 && tree.is_reading(); ++i) {
    static_cast<void>(state.data().poll());
  }
  ASSERT_FALSE(tree.is_reading());
  EXPECT_TRUE(tree.list().nodes.empty()) << "what arrived waits for the tab";
  EXPECT_EQ(tree.version(), before);
  tree.keep_fresh(context);
  EXPECT_EQ(tree.list().nodes.size(), 5U) << "four paths, and what is around them";
  EXPECT_GT(tree.version(), before);
}

TEST(FocusedTree, HoldsExactlyWhatLiesInsideTheSite) {
  std::mt19937 random(8);
  for (unsigned round = 0; round < rounds(50U); ++round) {
    // A tree of five sites, which may lie in themselves.
    panel::TreeList whole;
    whole.nodes.emplace_back();
    for (std::uint32_t i = 1; i < 60; ++i) {
      const auto parent = static_cast<std::uint32_t>(random() % i);
      const auto site = SiteId(static_cast<std::uint32_t>(1 + random() % 5));
      const auto depth = static_cast<std::uint16_t>(parent == 0 ? 0 : whole.nodes[parent].depth + 1);
      whole.nodes.push_back({site, parent, depth, 1 + random() % 9, 1000 + random() % 1000, random() % 1000});
    }
    constexpr SiteId focus(3);
    // By paths from the outermost scope of the site on.
    std::map<std::vector<SiteId>, std::array<std::uint64_t, 3>> expected;
    for (std::size_t i = 1; i < whole.nodes.size(); ++i) {
      std::vector<SiteId> path;
      for (std::size_t node = i; node != 0; node = whole.nodes[node].parent) {
        path.insert(path.begin(), whole.nodes[node].site);
      }
      path.erase(path.begin(), std::find(path.begin(), path.end(), focus));
      if (!path.empty()) {
        auto& sums = expected[path];
        sums[0] += whole.nodes[i].count;
        sums[1] += whole.nodes[i].total_ns;
        sums[2] += whole.nodes[i].inner_ns;
      }
    }
    const panel::TreeList inside = panel::inside_of(whole, focus);
    std::map<std::vector<SiteId>, std::array<std::uint64_t, 3>> found;
    std::uint64_t top_ns = 0;
    for (std::size_t i = 1; i < inside.nodes.size(); ++i) {
      std::vector<SiteId> path;
      for (std::size_t node = i; node != 0; node = inside.nodes[node].parent) {
        path.insert(path.begin(), inside.nodes[node].site);
      }
      EXPECT_EQ(path.size(), inside.nodes[i].depth + 1U);
      found[path] = {inside.nodes[i].count, inside.nodes[i].total_ns, inside.nodes[i].inner_ns};
      top_ns += inside.nodes[i].parent == 0 ? inside.nodes[i].total_ns : 0;
    }
    EXPECT_EQ(found, expected) << round;
    EXPECT_EQ(inside.nodes.front().inner_ns, top_ns);
  }
}

TEST(Found, SpansAreThoseWhoseArgumentsHoldTheText) {
  const Bytes bytes = Game().write();
  panel::PanelData data(provide(bytes), immediate_data());
  for (const char* const text : {"1", "42", "objects", "9"}) {
    panel::KeptList<panel::FoundList> list;
    for (int i = 0; i < 1000 && (i == 0 || list.is_reading()); ++i) {
      list.keep_fresh(data, panel::ListKey({}, 0, {}, 0, text));
      data.request_missing();
      data.poll();
    }
    std::vector<std::string> expected;
    for (unsigned frame = 0; frame < 100; ++frame) {
      if (std::string("objects").find(text) == 0 || std::to_string(frame).find(text) != std::string::npos) {
        expected.push_back(std::to_string(frame));
      }
    }
    std::vector<std::string> values;
    for (const panel::FoundList::Row& row : list.list().first) {
      values.push_back(row.value);
    }
    EXPECT_EQ(values, expected) << text;
    EXPECT_EQ(list.list().count, expected.size());
  }
}

/// A view with a source file at hand, an editor and a place for notes.
TEST(Hooks, SourceEditorAndNotesAreTheProgramsOwn) {
  const Bytes bytes = Game().write();
  std::string saved;
  std::string edited;
  panel::ViewOptions options;
  options.read_source = [](const std::string& file) {
    std::string text;
    for (int line = 1; line < 30; ++line) {
      text += file + " line " + std::to_string(line) + "\n";
    }
    return text;
  };
  options.open_source = [&edited](const std::string& file, std::uint32_t line) {
    edited = file + ":" + std::to_string(line);
  };
  options.load_notes = [] { return std::string("5 7 of before\nno note\n9 3 x\n"); };
  options.save_notes = [&saved](const std::string& text) { saved = text; };
  panel::PanelView view(provide(bytes), options, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frames(5);
  EXPECT_EQ(saved, "") << "nothing changed";
  ASSERT_EQ(view.state().notes().all().size(), 2U);
  view.state().pin({Game::start_of(20), Game::frame_ns});
  screen.frames(3);
  view.state().select({Game::main_track, Game::frame_site, 0, Game::start_of(20), Game::start_of(21) - 1});
  screen.frames(3);
  const auto press = [&](std::size_t button) {
    const ImVec2 at = place_in(view.marks().span_buttons.at(button));
    screen.click(at.x, at.y);
  };
  press(4);
  EXPECT_TRUE(has_text(view.facts(), "   10 > game.cpp line 10\n")) << view.facts();
  EXPECT_TRUE(has_text(view.facts(), "   11   game.cpp line 11\n")) << view.facts();
  press(5);
  EXPECT_EQ(edited, "game.cpp:10");

  screen.type("N");
  screen.type("slow here");
  screen.key(ImGuiKey_Enter);
  screen.frames(2);
  const std::int64_t from = Game::start_of(20) - Game::start_ns;
  EXPECT_EQ(saved, "5 7 of before\n9 9 x\n" + std::to_string(from) + " " + std::to_string(from + Game::frame_ns - 1) +
                       " slow here\n");
  screen.click(place_in(view.marks().flame).x, view.marks().flame.bottom - 3);
  screen.type("B");
  EXPECT_EQ(view.state().notes().all().size(), 4U);
  EXPECT_TRUE(has_text(saved, " a view\n")) << saved;
}

TEST(NotesTest, AreReadAsTheyWereWritten) {
  panel::Notes notes;
  notes.add({70, 90, "later"});
  notes.add({7, 3, "two\nlines\tand \xFF"});
  for (std::size_t i = 0; i < panel::Notes::most_notes + 5; ++i) {
    notes.add({100, 100, std::string(1000, 'x')});
  }
  const panel::Notes read = panel::Notes::parse(notes.format());
  ASSERT_EQ(read.all().size(), panel::Notes::most_notes);
  EXPECT_EQ(read.format(), notes.format());
  EXPECT_EQ(read.all()[0].text, "two lines and ?");
  EXPECT_EQ(read.all()[0].end_ns, 7);
  notes.remove(0);
  EXPECT_EQ(notes.all()[0].text, "later");
}

TEST(Histograms, BarsCountTheDurationsOfTheirRange) {
  std::mt19937_64 random(11);
  for (unsigned round = 0; round < rounds(30U); ++round) {
    stats::DurationCounter counter;
    std::vector<std::int64_t> durations;
    const unsigned spread = 1 + static_cast<unsigned>(random() % 40);
    for (int i = 0; i < 300; ++i) {
      durations.push_back(static_cast<std::int64_t>(random() >> (63 - random() % spread)));
      counter.add(durations.back());
    }
    const stats::SiteFigures figures = counter.figures();
    for (std::size_t bar = 0; bar < figures.bars.size(); ++bar) {
      const auto [least, most] = figures.bar_lengths_ns(bar);
      const auto count =
          std::count_if(durations.begin(), durations.end(),
                        [least = least, most = most](std::int64_t d) { return d >= least && d <= most; });
      ASSERT_EQ(static_cast<std::uint64_t>(count), figures.bars[bar]) << round << ' ' << bar;
    }
  }
}

}  // namespace
}  // namespace kymo::test
