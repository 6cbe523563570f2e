// Sampled stacks in the panel: the functions tab, and samples on the tracks.
#include <map>
#include <string>
#include <vector>

#include "sampled_game.hpp"
#include "selection_tabs.hpp"

namespace kymo::test {
namespace {

class Functions : public SelectionTabs {
 protected:
  Functions() : SelectionTabs(SampledGame::batches()) {}

  /// Of each path, the columns behind it.
  [[nodiscard]] std::map<std::string, std::vector<std::uint64_t>> paths() {
    std::map<std::string, std::vector<std::uint64_t>> paths;
    for (const auto& row : rows()) {
      for (std::size_t i = 1; i < row.size(); ++i) {
        paths[row[0]].push_back(std::stoull(row[i]));
      }
    }
    return paths;
  }
  /// Where the boxes of the outermost functions are, or those deeper in.
  [[nodiscard]] float box_y(int depth) {
    const panel::Area dock = view_.marks().dock;
    return dock.top + ImGui::GetTextLineHeight() * (1.9F + 1.25F * static_cast<float>(depth));
  }
};

using Columns = std::vector<std::uint64_t>;  // total, self, and both of waits in ns

TEST_F(Functions, HaveTheSamplesAndWaitsOfTheirPaths) {
  open("functions");
  const std::uint64_t waited = 99 * Game::frame_ns * 6 / 10 + Game::slow_ns * 6 / 10;
  EXPECT_EQ(paths(), (std::map<std::string, Columns>{{"main", {300, 0, 0, 0}},
                                                     {"main;step", {300, 0, 0, 0}},
                                                     {"main;step;simulate", {200, 200, 0, 0}},
                                                     {"main;step;paint", {100, 100, 0, 0}},
                                                     {"pool", {100, 0, waited, 0}},
                                                     {"pool;simulate", {100, 100, 0, 0}},
                                                     {"pool;sleep", {0, 0, waited, waited}},
                                                     {"[unknown]", {1, 1, 0, 0}}}));
  EXPECT_TRUE(has_text(view_.copied_tab(panel::CopyAs::text), "main;step;paint 100\n")) << "collapsed stacks";
  screen_.type("2");
  screen_.frame();
  EXPECT_EQ(view_.copied_tab(panel::CopyAs::text), "pool;sleep " + std::to_string(waited) + "\n");
  screen_.type("1");
  screen_.frame();
  EXPECT_FALSE(has_text(view_.copied_tab(panel::CopyAs::text), "sleep"));
}

TEST_F(Functions, AreTurnedOverToTheirCallers) {
  open("functions");
  screen_.type("3");
  screen_.frames(2);
  const std::uint64_t waited = 99 * Game::frame_ns * 6 / 10 + Game::slow_ns * 6 / 10;
  const std::map<std::string, Columns> callers = {
      {"simulate", {300, 300, 0, 0}},      {"simulate;step", {200, 0, 0, 0}}, {"simulate;step;main", {200, 0, 0, 0}},
      {"simulate;pool", {100, 0, 0, 0}},   {"paint", {100, 100, 0, 0}},       {"paint;step", {100, 0, 0, 0}},
      {"paint;step;main", {100, 0, 0, 0}}, {"sleep", {0, 0, waited, waited}}, {"sleep;pool", {0, 0, waited, 0}},
      {"[unknown]", {1, 1, 0, 0}}};
  EXPECT_EQ(paths(), callers);
  const panel::Area dock = view_.marks().dock;
  screen_.click(dock.left + dock.width() * 0.1F, box_y(0));
  EXPECT_EQ(view_.state().marked_functions(), std::unordered_set<FunctionId>{FunctionId{3}}) << "simulate";
  screen_.type("3");
  screen_.frames(2);
  EXPECT_EQ(paths()["main;step;simulate"], (Columns{200, 200, 0, 0}));
}

TEST_F(Functions, ACopyInTheFrameInWhichTheyArriveHasAllOfThem) {
  open("statistics");
  const ImVec2 at = place_in(view_.marks().copy[1]);
  screen_.move(at.x, at.y);
  screen_.frame();
  screen_.press();
  ASSERT_TRUE(view_.open_tab("functions"));
  screen_.frame();
  ASSERT_TRUE(paths().empty()) << "they are being read";
  screen_.let_go();
  const std::string copied = ImGui::GetClipboardText();
  EXPECT_EQ(copied, view_.copied_tab(panel::CopyAs::csv));
  EXPECT_TRUE(has_text(copied, "main;step;simulate,200,200,0,0\n")) << copied;
}

TEST_F(Functions, AreThoseOfTheSelection) {
  click_bar(20);
  open("functions");
  screen_.frames(3);
  EXPECT_EQ(paths()["main;step;simulate"][0], 2U) << "of the pinned frame";
  view_.state().measure(TimeRange{Game::start_of(10), Game::start_of(15)});
  screen_.frames(4);
  EXPECT_EQ(paths()["main;step;simulate"][0], 10U) << "of what is measured";
  // Inside a site: only what its own threads did.
  for (const auto& [site, expected] : std::map<SiteId, std::map<std::string, Columns>>{
           {Game::update_site,
            {{"main", {10, 0, 0, 0}}, {"main;step", {10, 0, 0, 0}}, {"main;step;simulate", {10, 10, 0, 0}}}},
           {Game::job_site, {{"pool", {5, 0, 0, 0}}, {"pool;simulate", {5, 5, 0, 0}}}}}) {
    view_.state().mark_site(site);
    screen_.type("o");
    screen_.frames(4);
    EXPECT_EQ(paths(), expected);
    screen_.type("o");
    screen_.frames(4);
  }
}

TEST_F(Functions, AClickMarksAFunctionInAllBoxesAndADoubleClickWidensIt) {
  open("functions");
  const panel::Area dock = view_.marks().dock;
  screen_.click(dock.left + dock.width() * 0.1F, box_y(2));
  EXPECT_EQ(view_.state().marked_functions(), std::unordered_set<FunctionId>{FunctionId{3}}) << "simulate";
  screen_.key(ImGuiKey_UpArrow);
  EXPECT_EQ(view_.state().marked_functions(), std::unordered_set<FunctionId>{FunctionId{2}}) << "its caller";
  // The boxes of "main" end at three quarters; what is widened fills all.
  screen_.click(dock.left + dock.width() * 0.9F, box_y(1));
  EXPECT_EQ(view_.state().marked_functions(), std::unordered_set<FunctionId>{FunctionId{3}}) << "of the worker";
  screen_.double_click(dock.left + dock.width() * 0.1F, box_y(1));
  screen_.frames(2);
  screen_.click(dock.left + dock.width() * 0.9F, box_y(1));
  EXPECT_EQ(view_.state().marked_functions(), std::unordered_set<FunctionId>{FunctionId{4}}) << "paint";
  screen_.key(ImGuiKey_Escape);
  EXPECT_TRUE(view_.state().marked_functions().empty());
}

/// Where "step" calls: "simulate" and half of "paint" on line 12, the other half on line 20.
class LinesOfFunctions : public SelectionTabs {
 protected:
  LinesOfFunctions() : SelectionTabs(batches()) {}

  [[nodiscard]] static std::vector<EventBatch> batches() {
    std::vector<EventBatch> all = SampledGame::batches();
    Declarations& declared = all.front().declarations;
    declared.functions[1].file = "/src/step.cpp";
    declared.stacks[1].line = 12;
    declared.stacks.push_back({StackId{8}, StackId{1}, FunctionId{2}, 20});
    declared.stacks.push_back({StackId{9}, StackId{8}, FunctionId{4}, 31});
    bool is_other = false;
    for (EventBatch& batch : all) {
      for (StackSample& sample : batch.stack_samples) {
        if (sample.stack == SampledGame::paint && (is_other = !is_other)) {
          sample.stack = StackId{9};
        }
      }
    }
    return all;
  }

  [[nodiscard]] std::string tip_at(double share, int depth) {
    const panel::Area dock = view_.marks().dock;
    screen_.move(dock.left + dock.width() * static_cast<float>(share),
                 dock.top + ImGui::GetTextLineHeight() * (1.9F + 1.25F * static_cast<float>(depth)));
    screen_.frames(2);
    return view_.tip();
  }
};

TEST_F(LinesOfFunctions, StandInTheTipOfABoxWithTheirSharesOfIt) {
  open("functions");
  EXPECT_EQ(tip_at(0.1, 0), "main\n/opt/game\n300 samples, 74.81 % of all; self 0 samples") << "no lines are known";
  EXPECT_EQ(tip_at(0.1, 1),
            "step\n/opt/game\n/src/step.cpp\n300 samples, 74.81 % of all; self 0 samples\n"
            "step.cpp:12   83.33 %\nstep.cpp:20   16.67 %");
  EXPECT_EQ(tip_at(0.6, 2),
            "paint\n/opt/game\n/src/paint.cpp\n100 samples, 24.94 % of all; self 100 samples\npaint.cpp:31   100 %");
  EXPECT_EQ(tip_at(0.95, 3), "") << "no box";
}

TEST_F(Functions, SamplesStandOnTheirThreadsTracksWithTheirStacks) {
  click_bar(20);
  const std::int64_t start = Game::start_of(20);
  // Lines: "main", "frame", "update" and "render", "worker", "job".
  screen_.move(flame_x(start + Game::frame_ns / 5), flame_y(0));
  screen_.frame();
  EXPECT_EQ(view_.tip(), "on the CPU in\nsimulate\nstep\nmain");
  screen_.move(flame_x(start + Game::frame_ns * 7 / 10), flame_y(0));
  screen_.frame();
  EXPECT_EQ(view_.tip(), "on the CPU in\npaint  paint.cpp:31\nstep\nmain");
  screen_.move(flame_x(start + Game::frame_ns / 2), flame_y(3));
  screen_.frame();
  EXPECT_EQ(view_.tip(), "waited 6 ms in\nsleep\npool") << "anywhere in the wait";
  screen_.move(flame_x(start + Game::frame_ns / 2), flame_y(0));
  screen_.frame();
  EXPECT_EQ(view_.tip(), "") << "between samples";
  view_.state().reset_flame();
  view_.state().flame().show({Game::start_of(0), Game::start_of(99)});
  screen_.frames(3);
  ASSERT_FALSE(view_.state().marks().samples.empty());
  std::uint64_t all = 0;
  for (const panel::SampleMark& mark : view_.state().marks().samples) {
    all += mark.count;
  }
  EXPECT_EQ(all, 99 * 5 + 1U) << "those that are close are counted";
}

TEST_F(Functions, SamplesOfTheMarkedFunctionAreLit) {
  click_bar(20);
  open("functions");
  screen_.frames(3);
  const auto tick_height = [this] {
    float height = 0;
    const ImDrawData* const drawn = ImGui::GetDrawData();
    const float x = flame_x(Game::start_of(20) + Game::frame_ns / 5);
    for (int list = 0; list < drawn->CmdListsCount; ++list) {
      const ImVector<ImDrawVert>& vertices = drawn->CmdLists[list]->VtxBuffer;
      for (int i = 0; i + 2 < vertices.Size; ++i) {
        const ImVec2 corner = vertices[i].pos;  // then right, then below
        const bool is_tick = std::abs(corner.x - x) < 1 && std::abs(vertices[i + 1].pos.x - corner.x - 1) < 0.01F &&
                             corner.y > view_.marks().flame.top && corner.y < flame_y(1);
        height = is_tick ? std::max(height, vertices[i + 2].pos.y - corner.y) : height;
      }
    }
    return height;
  };
  const float before = tick_height();
  EXPECT_GT(before, 2);
  view_.state().mark_functions({FunctionId{3}});
  screen_.frame();
  EXPECT_GT(tick_height(), before * 1.4F);
}

}  // namespace
}  // namespace kymo::test
