// The code of docs/panel.md, compiled as it stands there and run.
#include <chrono>

#include "support/unseen_screen.hpp"

/// What the document leaves to its reader: a window, here without pixels. It is closed once there is something to see,
/// which what is read in the background needs some time for.
class Window {
 public:
  static constexpr int text_and_bars = 300;  // vertices, of which four make a letter
  static constexpr int least_frames = 8;

  bool begin_frame() {
    const bool shows_something = frames_ >= least_frames && vertices_ > text_and_bars;
    if (shows_something || std::chrono::steady_clock::now() > deadline_) {
      return false;
    }
    ++frames_;
    ImGui::NewFrame();
    return true;
  }
  void end_frame() {
    ImGui::Render();
    vertices_ = ImGui::GetDrawData()->TotalVtxCount;
  }
  [[nodiscard]] int vertices() const { return vertices_; }

 private:
  kymo::test::UnseenScreen screen_{ImVec2(1280, 720)};
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int frames_ = 0;
  int vertices_ = 0;
};

void step();

#include "panel_document.inc"

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace {

int steps = 0;

}  // namespace

void step() {
  KYMO_SCOPE("step");
  ++steps;
}

Frame render() {
  step();
  return {static_cast<std::uint32_t>(steps), 0.5F};
}

namespace kymo::test {
namespace {

TEST(PanelDocument, ItsFirstProgramShowsThePanel) {
  Window window;
  steps = 0;
  run(window);
  EXPECT_GE(steps, Window::least_frames);
  EXPECT_GT(window.vertices(), Window::text_and_bars);
}

TEST(PanelDocument, RecordsOfAProgramHaveRows) {
  Window window;
  run_with_records(window);
  EXPECT_GT(window.vertices(), Window::text_and_bars);
}

TEST(PanelDocument, CapturesAreShownInAWindowOfTheProgram) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "run.kymo";
  ASSERT_TRUE(start_capture({path}));
  for (int i = 0; i < 20; ++i) {
    step();
    frame_mark();
  }
  ASSERT_TRUE(stop_capture());
  Window window;
  look_at(window, path);
  EXPECT_GT(window.vertices(), Window::text_and_bars);
}

}  // namespace
}  // namespace kymo::test
