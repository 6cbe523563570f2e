// What the viewer's window shows, without a window: files that are dropped on it, and what it says about them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "panel/game_capture.hpp"
#include "shown.hpp"
#include "support/unseen_screen.hpp"

namespace kymo::test {
namespace {

/// A directory of captures, and ImGui without a renderer.
class ShownTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, const Bytes& bytes = Game().write()) const {
    write_file(directory_.file(name), bytes);
    return directory_.file(name);
  }

  void frames(int count) {
    for (int i = 0; i < count; ++i) {
      ImGui::NewFrame();
      shown_.draw();
      ImGui::Render();
    }
  }
  /// Of what is drawn when everything is read.
  [[nodiscard]] int vertices() {
    constexpr int calm_frames = 4;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int calm = 0; calm < calm_frames && std::chrono::steady_clock::now() < deadline; ++calm) {
      frames(1);
      if (shown_.is_busy()) {
        shown_.wait();
        calm = 0;
      }
    }
    return ImGui::GetDrawData()->TotalVtxCount;
  }

  /// Clicks the first button of the line at the top.
  void click_notice_button() {
    ImGuiIO& io = ImGui::GetIO();
    const float middle = ImGui::GetStyle().WindowPadding.y + ImGui::GetFontSize() / 2;
    for (float x = 0; x < io.DisplaySize.x && !ImGui::IsAnyItemHovered(); x += 4) {
      io.MousePos = ImVec2(x, middle);
      frames(1);
    }
    for (const bool is_down : {true, false}) {
      io.MouseDown[0] = is_down;
      frames(2);
    }
    io.MousePos = ImVec2(-1, -1);
  }

  TemporaryDirectory directory_;
  UnseenScreen screen_{ImVec2(1200, 800)};
  viewer::Shown shown_;
};

TEST_F(ShownTest, AnEmptyWindowSaysHowToFillIt) {
  EXPECT_GT(vertices(), 100);
  EXPECT_EQ(shown_.title(), "");
  EXPECT_FALSE(shown_.is_busy());
  EXPECT_FALSE(shown_.is_live());
}

TEST_F(ShownTest, ADroppedCaptureIsShown) {
  const int empty = vertices();
  shown_.open_dropped({write("one.kymo")});
  EXPECT_EQ(shown_.title(), "one.kymo");
  EXPECT_GT(vertices(), empty + 500);
}

TEST_F(ShownTest, ASecondCaptureTakesTheFirstOnesPlaceOrComesBesideIt) {
  shown_.open({write("one.kymo")});
  frames(2);
  shown_.open_dropped({write("two.kymo")});
  EXPECT_EQ(shown_.title(), "two.kymo");
  frames(2);
  click_notice_button();
  EXPECT_EQ(shown_.title(), "one.kymo and 1 more");
  EXPECT_GT(vertices(), 500);
}

TEST_F(ShownTest, ADropOfWhatIsNoCaptureIsToldAndChangesNothing) {
  const std::string text = write("notes\nwith a %s.txt", Bytes(100, std::byte{'x'}));
  const int empty = vertices();
  shown_.open_dropped({text});
  EXPECT_EQ(shown_.title(), "");
  EXPECT_GT(vertices(), empty + 40) << "that it is no capture";
  shown_.open({write("one.kymo")});
  const int calm = vertices();
  shown_.open_dropped({directory_.file("missing.kymo")});
  EXPECT_EQ(shown_.title(), "one.kymo");
  EXPECT_GT(vertices(), calm + 40);
  click_notice_button();
  EXPECT_LT(vertices(), calm + 40) << "the trouble is put away";
}

TEST_F(ShownTest, DamagedCapturesAreShownAsFarAsTheyGo) {
  const Bytes good = Game().write();
  for (std::size_t cut = 0; cut < good.size(); cut += good.size() / 40) {
    Bytes bytes = good;
    if (cut % 2 == 0) {
      bytes.resize(cut);
    } else {
      bytes[cut] ^= std::byte{0x5A};
    }
    shown_.open_dropped({write("damaged.kymo", bytes)});
    EXPECT_GT(vertices(), 0);
  }
  EXPECT_EQ(shown_.title(), "damaged.kymo");
}

TEST_F(ShownTest, TheCommandLineSaysWhereToLook) {
  shown_.open({write("one.kymo")});
  viewer::Options options;
  options.at_ns = 10'000'000'000'000'000;
  options.time = command::RelativeRange{4'000'000'000'000'000'000, std::nullopt};
  shown_.go_to(options);
  frames(3);
  options.at_ns = Game::frame_ns * 3;
  options.time = command::RelativeRange{0, Game::frame_ns * 10};
  options.shows_statistics = true;
  shown_.go_to(options);
  EXPECT_GT(vertices(), 300);
}

}  // namespace
}  // namespace kymo::test
