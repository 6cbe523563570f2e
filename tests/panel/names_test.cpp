// Names from a capture are shown, never interpreted.
#include <gtest/gtest.h>

#include <cmath>

#include "game_capture.hpp"
#include "panel/draw/text.hpp"
#include "screen.hpp"

namespace kymo::test {
namespace {

TEST(Names, AreMadeSafeToShow) {
  EXPECT_EQ(panel::clean_text("plain"), "plain");
  EXPECT_EQ(panel::clean_text("a\nb\tc\x7f"), "a b c ");
  EXPECT_EQ(panel::clean_text("\xc3\xa9\xe2\x82\xac"), "\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(panel::clean_text("\xff\xc3"), "??");
  EXPECT_EQ(panel::clean_text("\xed\xa0\x80"), "???") << "a surrogate is no character";
  EXPECT_EQ(panel::clean_text("\xc0\xaf"), "??") << "nor is an overlong form";
  EXPECT_EQ(panel::clean_text(std::string(500, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(panel::clean_text("abc\xe2\x82\xac", 4), "abc...") << "no character is cut apart";
}

TEST(Names, NumbersAreReadable) {
  EXPECT_EQ(panel::duration_text(0), "0 ns");
  EXPECT_EQ(panel::duration_text(1'234'567), "1.235 ms");
  EXPECT_EQ(panel::count_text(1234567), "1,234,567");
  EXPECT_EQ(panel::value_text(12.5, "W"), "12.5 W");
  EXPECT_EQ(panel::value_text(std::nan(""), "W"), "-");
}

TEST(Names, OfAnyBytesAreDrawnAndClicked) {
  Game game;
  game.site_names = {"%s%n%d %5000000d", "##id###same", std::string(100'000, 'W'), "\xff\xfe\xed\xa0\x80\n\r\x01"};
  const Bytes bytes = game.write();
  panel::PanelView view(provide(bytes), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frames(3);
  view.state().pin({Game::start_of(20), Game::frame_ns});
  screen.frames(3);
  const panel::Area flame = view.marks().flame;
  for (float y = flame.top + 4; y < flame.bottom && y < flame.top + 200; y += 14) {
    for (const float x : {0.02F, 0.3F, 0.7F, 0.9F}) {
      screen.click(place_in(flame, x).x, y);
    }
  }
  screen.type("/");
  screen.type("%s##");
  screen.key(ImGuiKey_Enter);
  screen.frames(5);
  EXPECT_LT(screen.checked_vertices(), 40000);
}

}  // namespace
}  // namespace kymo::test
