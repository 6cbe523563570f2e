// The explain tab says what kymo::explain() says of the selection, and lights its evidence.
#include <algorithm>

#include <kymo/explain.hpp>

#include "panel/draw/text.hpp"
#include "selection_tabs.hpp"

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
  ASSERT_EQ(listed.size(), why.findings.size() + why.shorter.size() + 1);
  for (std::size_t i = 0; i < why.findings.size(); ++i) {
    EXPECT_TRUE(has_text(text(), why.findings[i].text.c_str())) << text();
  }
  EXPECT_EQ(listed.back()[0], "unexplained");
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
  EXPECT_FALSE(has_text(text(), "3 slowest")) << "not yet asked";
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

TEST_F(ExplainTab, LightsWhatIsOutOfViewByGoingThere) {
  view_.state().flame().show({Game::start_of(80), Game::start_of(90)});
  open("explain");
  ask();
  screen_.key(ImGuiKey_DownArrow);
  const TimeRange seen = view_.state().flame().range();
  EXPECT_LE(seen.start_ns, Game::start_of(Game::slow_frame));
  EXPECT_GE(seen.end_ns, Game::start_of(Game::slow_frame + 1));
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

}  // namespace
}  // namespace kymo::test
