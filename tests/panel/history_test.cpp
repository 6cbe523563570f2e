// What is done again, and undone: searches and views.
#include <gtest/gtest.h>

#include "selection_tabs.hpp"

namespace kymo::test {
namespace {

TEST_F(SelectionTabs, ASearchThatIsBegunAgainReplacesItsText) {
  screen_.type("/");
  screen_.type("ob");
  screen_.frames(2);
  EXPECT_EQ(view_.state().search(), "ob");
  screen_.key(ImGuiKey_Escape);
  screen_.frames(2);
  screen_.type("/");
  screen_.frames(2);
  EXPECT_EQ(view_.state().search(), "ob") << "until something is typed";
  screen_.type("r");
  screen_.type("e");
  screen_.frames(2);
  EXPECT_EQ(view_.state().search(), "re");
}

TEST_F(SelectionTabs, GoingBackFromAZoomRestoresTheBarsAndRowsToo) {
  const TimeRange bars{Game::start_of(5), Game::start_of(95)};
  const TimeRange chart{Game::start_of(10), Game::start_of(60)};
  view_.state().overview().show(bars);
  view_.state().flame().show(chart);
  screen_.frames(60);
  view_.state().measure(TimeRange{Game::start_of(20), Game::start_of(30)});
  screen_.type("z");
  screen_.frames(60);
  EXPECT_EQ(view_.state().overview().range().start_ns, Game::start_of(20));
  screen_.type("u");
  screen_.frames(2);
  EXPECT_EQ(view_.state().flame().range().start_ns, chart.start_ns);
  EXPECT_EQ(view_.state().overview().range().start_ns, bars.start_ns);
  EXPECT_EQ(view_.state().overview().range().end_ns, bars.end_ns);
  screen_.type("U");
  screen_.frames(2);
  EXPECT_EQ(view_.state().overview().range().end_ns, Game::start_of(30));
}

}  // namespace
}  // namespace kymo::test
