// The explain tab says what kymo::explain() says of the selection, and lights its evidence.
#include <algorithm>

#include <kymo/explain.hpp>
#include <kymo/explain_energy.hpp>

#include "panel/draw/text.hpp"
#include "selection_tabs.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

class ExplainTab : public SelectionTabs {
 protected:
  ExplainTab() : SelectionTabs(Game().batches()) {}

  /// What the library says of the same.
  [[nodiscard]] std::vector<Explanation> expected(const ExplainOptions& options = {}) const {
    std::vector<CaptureReader> readers;
    readers.push_back(open_bytes(bytes_));
    return explain(Timeline(std::move(readers)), options);
  }
  /// In a test nothing runs on a thread: it is asked for, as on a page.
  void ask() {
    screen_.key(ImGuiKey_DownArrow);
    screen_.frames(3);
  }
  [[nodiscard]] std::string text() { return view_.copied_tab(panel::CopyAs::text); }
};

TEST_F(ExplainTab, SaysWhatIsSaidOfTheWholeCaptureAndLightsAFindingsFrames) {
  open("explain");
  EXPECT_EQ(view_.state().data().explained().state, panel::Explained::State::none);
  ask();
  const Explanation why = expected().front();
  ASSERT_FALSE(why.findings.empty());
  EXPECT_TRUE(has_text(text(), describe(why).c_str())) << text();
  const auto listed = rows();
  // The game's load is in watts: rows of joules follow.
  const std::size_t of_time = why.findings.size() + why.shorter.size() + 1;
  ASSERT_GE(listed.size(), of_time);
  for (std::size_t i = 0; i < why.findings.size(); ++i) {
    EXPECT_TRUE(has_text(text(), why.findings[i].text.c_str())) << text();
  }
  EXPECT_EQ(listed[of_time - 1][0], "unexplained");
  EXPECT_TRUE(view_.state().lit().empty());
  screen_.key(ImGuiKey_DownArrow);
  ASSERT_EQ(view_.state().lit().size(), why.findings.front().slow.size());
  EXPECT_EQ(view_.state().lit().front().start_ns, Game::start_of(Game::slow_frame));
  EXPECT_EQ(view_.state().data().provider().site(view_.state().marked_site()).name,
            why.findings.front().parts.front().subject.name);
  screen_.key(ImGuiKey_Escape);
  EXPECT_TRUE(view_.state().lit().empty());
}

TEST_F(ExplainTab, IsOfThePinnedFrameTheMeasuredRangeAndTheFocusedSite) {
  open("explain");
  click_bar(Game::slow_frame);
  screen_.frames(3);
  ask();
  ExplainOptions of_frame;
  of_frame.slow.time = TimeRange{Game::start_of(Game::slow_frame), Game::start_of(Game::slow_frame + 1)};
  EXPECT_TRUE(has_text(text(), describe(expected(of_frame).front()).c_str())) << text();
  ExplainOptions of_range;
  of_range.slow.time = TimeRange{Game::start_of(10), Game::start_of(13)};
  view_.state().measure(of_range.slow.time);
  screen_.frames(2);
  EXPECT_FALSE(has_text(text(), describe(expected(of_frame).front()).c_str())) << "the answer is not shown any more";
  EXPECT_EQ(rows().size(), 0U);
  ask();
  EXPECT_TRUE(has_text(text(), describe(expected(of_range).front()).c_str())) << text();
  view_.state().measure(std::nullopt);
  view_.state().resume();
  view_.state().mark_site(Game::update_site);
  view_.state().focus_marked_site();
  screen_.frames(2);
  ask();
  ExplainOptions of_site;
  of_site.site = "update";
  EXPECT_TRUE(has_text(text(), describe(expected(of_site).front()).c_str())) << text();
}

TEST_F(ExplainTab, IsSortedByAColumnThatWasChosenBeforeItWasAsked) {
  const auto causes = [this] {
    std::vector<std::string> texts;
    for (const auto& row : rows()) {
      texts.push_back(row[0]);
    }
    return texts;
  };
  open("explain");
  screen_.type("1");
  ask();
  const std::vector<std::string> by_cause = causes();
  ASSERT_GT(by_cause.size(), 2U);
  EXPECT_TRUE(std::is_sorted(by_cause.begin(), by_cause.end())) << text();
  screen_.type("1");
  screen_.frames(2);
  EXPECT_EQ(causes(), std::vector<std::string>(by_cause.rbegin(), by_cause.rend()));
}

TEST_F(ExplainTab, LightsWhatIsOutOfViewByGoingThere) {
  view_.state().flame().show({Game::start_of(80), Game::start_of(90)});
  open("explain");
  ask();
  screen_.key(ImGuiKey_DownArrow);
  const TimeRange seen = view_.state().flame().range();
  EXPECT_LE(seen.start_ns, Game::start_of(Game::slow_frame));
  EXPECT_GE(seen.end_ns, Game::start_of(Game::slow_frame + 1));
}

TEST(ExplainThreadTab, CopiesNoRowsWhileSomethingElseIsRead) {
  const Bytes bytes = Game().write();
  panel::PanelView view(provide(bytes), {}, {});
  Screen screen([&view] { view.draw(); });
  ASSERT_TRUE(view.open_tab("explain"));
  view.state().measure(TimeRange{Game::start_of(36), Game::start_of(39)});
  const std::string heads = "cause,excess,share,95 % interval,slow with it\n";
  ASSERT_TRUE(wait_until([&] {
    screen.frame();
    return view.state().data().explained().state == panel::Explained::State::known &&
           view.copied_tab(panel::CopyAs::csv).size() > heads.size();
  }));
  const ImVec2 at = place_in(view.marks().copy[1]);
  screen.move(at.x, at.y);
  screen.frame();
  screen.press();
  // In the frame of the click the tab asks about the range, and forgets what it was told before.
  view.state().measure(TimeRange{Game::start_of(37), Game::start_of(40)});
  screen.let_go();
  EXPECT_EQ(std::string(ImGui::GetClipboardText()), heads);
  view.state().measure(TimeRange{Game::start_of(36), Game::start_of(40)});
  screen.frame();
  ASSERT_EQ(view.state().data().explained().state, panel::Explained::State::reading);
  EXPECT_EQ(view.copied_tab(panel::CopyAs::csv), heads);
  EXPECT_EQ(view.copied_tab(panel::CopyAs::text), "cause  excess  share  95 % interval  slow with it\n");
}

/// The game on a machine that takes 20 W, and 100 W more in every tenth frame.
std::vector<EventBatch> powered_game() {
  std::vector<EventBatch> batches = Game().batches();
  MetricDeclaration power;
  power.id = MetricId{2};
  power.name = "machine_power";
  power.unit = "W";
  batches.front().declarations.metrics.push_back(power);
  unsigned frame = 0;
  for (EventBatch& batch : batches) {
    SampleRun& run = batch.samples.emplace_back();
    run.metric = power.id;
    for (; frame < Game().frames && Game::start_of(frame) < batch.end_ns; ++frame) {
      for (std::int64_t at_ns = Game::start_of(frame); at_ns < Game::start_of(frame + 1); at_ns += 1'000'000) {
        run.times_ns.push_back(at_ns);
        run.values.push_back(20 + 0.1 * (frame * 7 % 5) + (frame % 10 == 4 ? 100 : 0));
      }
    }
  }
  return batches;
}

class ExplainJoulesTab : public SelectionTabs {
 protected:
  ExplainJoulesTab() : SelectionTabs(powered_game()) {}
};

TEST_F(ExplainJoulesTab, SaysWhoUsedTheJoulesToo) {
  open("explain");
  screen_.key(ImGuiKey_DownArrow);
  screen_.frames(3);
  std::vector<CaptureReader> readers;
  readers.push_back(open_bytes(bytes_));
  const Timeline timeline(std::move(readers));
  const EnergyExplanation why = explain_energy(timeline);
  ASSERT_FALSE(why.findings.empty());
  EXPECT_TRUE(has_text(view_.copied_tab(panel::CopyAs::text), describe(why).c_str()));
  const auto listed = rows();
  const std::size_t of_time = listed.size() - (why.findings.size() + why.less.size() + 1);
  EXPECT_EQ(listed[of_time - 1][0], "unexplained") << "that of time";
  EXPECT_TRUE(has_text(view_.copied_tab(panel::CopyAs::text), why.findings.front().text.c_str()));
  EXPECT_EQ(listed.back()[0], "unexplained");
  for (std::size_t row = 0; row <= of_time; ++row) {
    screen_.key(ImGuiKey_DownArrow);
  }
  ASSERT_EQ(view_.state().lit().size(), why.costly);
  EXPECT_EQ(view_.state().lit().front().start_ns, why.findings.front().costly.front().instance.start_ns);
}

TEST(ExplainThread, AnswersInTheBackgroundAndGivesUpWhatIsNoLongerAsked) {
  const Bytes bytes = Game().write();
  panel::PanelData data(provide(bytes), {});
  ExplainOptions of_site;
  of_site.site = "update";
  data.ask_to_explain(of_site);
  data.ask_to_explain({});
  while (data.is_busy()) {
    data.wait();
    data.poll();
  }
  ASSERT_EQ(data.explained().state, panel::Explained::State::known);
  EXPECT_EQ(data.explained().explanations.front().name, "") << "of frames, not of the site asked for before";
  of_site.site = "no such site";
  data.ask_to_explain(of_site);
  while (data.is_busy()) {
    data.wait();
    data.poll();
  }
  EXPECT_EQ(data.explained().state, panel::Explained::State::failed);
  EXPECT_FALSE(data.explained().failure.empty());
  data.ask_to_explain({});  // and ends while it is asked
}

/// A recorded command without scopes: "make" runs for 20 ms and waits for "cc" for 80.
std::vector<EventBatch> command_without_scopes() {
  EventBatch batch;
  batch.start_ns = 1'000'000'000;
  batch.end_ns = batch.start_ns + 100'000'000;
  batch.declarations.processes = {{ProcessId{1}, 100, "host", "boot", "", "make"}};
  batch.declarations.threads = {{ThreadId{1}, ProcessId{1}, 100, 100, "make"},
                                {ThreadId{2}, ProcessId{1}, 101, 101, "cc"}};
  batch.declarations.infos = {{ProcessId{1}, "threads.wakes", "recorded"}};
  const std::int64_t forked_ns = batch.start_ns + 20'000'000;
  batch.states = {{ThreadId{1},
                   {{batch.start_ns, 20'000'000, 0, RunState::running}, {forked_ns, 80'000'000, 0, RunState::blocked}}},
                  {ThreadId{2}, {{forked_ns, 80'000'000, 1, RunState::running}}}};
  batch.wakes = {{ThreadId{1}, ThreadId{2}, batch.end_ns}};
  return {batch};
}

class ExplainRunTab : public SelectionTabs {
 protected:
  ExplainRunTab() : SelectionTabs(command_without_scopes()) {}
};

TEST_F(ExplainRunTab, SaysWhereTheTimeOfTheRunWentWhereNothingCanBeCompared) {
  open("explain");
  screen_.key(ImGuiKey_DownArrow);
  screen_.frames(3);
  const std::string text = view_.copied_tab(panel::CopyAs::text);
  EXPECT_TRUE(has_text(text, "make (process 100) took 100 ms;")) << text;
  EXPECT_EQ(rows(), (std::vector<std::vector<std::string>>{
                        {"waiting for cc", "80000000", "0.8"}, {"computing", "20000000", "0.2"}, {"other", "0", "0"}}));
  screen_.key(ImGuiKey_DownArrow);
  screen_.key(ImGuiKey_DownArrow);
  EXPECT_TRUE(view_.state().lit().empty());
  view_.state().measure(TimeRange{1'000'000'000, 1'050'000'000});
  screen_.frames(2);
  screen_.key(ImGuiKey_DownArrow);
  screen_.frames(3);
  EXPECT_EQ(view_.state().data().explained().state, panel::Explained::State::failed) << "a part of a run is not one";
}

}  // namespace
}  // namespace kymo::test
