// What the viewer's window shows, without a window: files that are dropped on it, and what it says about them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "beside.hpp"
#include "panel/game_capture.hpp"
#include "shown.hpp"
#include "support/rounds.hpp"
#include "support/unseen_screen.hpp"

namespace kymo::test {
namespace {

/// A directory of captures, and ImGui without a renderer.
class ShownTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, const Bytes& bytes = Game().write()) const {
    write_file(directory_ / name, bytes);
    return directory_ / name;
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

  /// Clicks a button of the line at the top, the first one by default.
  void click_notice_button(int number = 0) {
    ImGuiIO& io = ImGui::GetIO();
    const float middle = ImGui::GetStyle().WindowPadding.y + ImGui::GetFontSize() / 2;
    bool was_over = false;
    for (float x = 0; x < io.DisplaySize.x && number >= 0; x += 4) {
      io.MousePos = ImVec2(x, middle);
      frames(1);
      number -= ImGui::IsAnyItemHovered() && !was_over ? 1 : 0;
      was_over = ImGui::IsAnyItemHovered();
    }
    for (const bool is_down : {true, false}) {
      io.MouseDown[0] = is_down;
      frames(2);
    }
    io.MousePos = ImVec2(-1, -1);
  }

  void press(ImGuiKey key) {
#if IMGUI_VERSION_NUM >= 18700
    ImGui::GetIO().AddKeyEvent(key, true);
    frames(2);
    ImGui::GetIO().AddKeyEvent(key, false);
#else
    ImGui::GetIO().KeyMap[key] = key;
    ImGui::GetIO().KeysDown[key] = true;
    frames(2);
    ImGui::GetIO().KeysDown[key] = false;
#endif
    frames(2);
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

TEST_F(ShownTest, ADroppedCaptureIsComparedWithTheOneBefore) {
  shown_.open({write("one.kymo")});
  frames(2);
  shown_.open_dropped({write("two.kymo")});
  frames(2);
  click_notice_button(1);
  EXPECT_EQ(shown_.title(), "one.kymo and two.kymo");
  const int compared = vertices();
  EXPECT_GT(compared, 1000);
  EXPECT_EQ(shown_.file_menu().recent().size(), 2U);
  shown_.open_dropped({directory_ / "missing.kymo"});
  EXPECT_EQ(shown_.title(), "one.kymo and two.kymo") << "what is no capture changes nothing";
  viewer::Options options;
  options.align = panel::Align::frame;
  options.at_ns = Game::frame_ns * 3;
  shown_.go_to(options);
  EXPECT_NE(vertices(), compared);
  shown_.open({directory_ / "one.kymo"});
  EXPECT_EQ(shown_.title(), "one.kymo");
  EXPECT_GT(vertices(), 300);
}

TEST_F(ShownTest, TheMenusDialogComparesWithThePathThatIsEntered) {
  static_cast<void>(write("before.kymo"));
  shown_.open({write("after.kymo")});
  frames(3);
  shown_.file_menu().open_dialog(true);
  frames(3);
  ImGuiIO& io = ImGui::GetIO();
  press(ImGuiKey_End);
  io.AddInputCharactersUTF8("/before.kymo");
  frames(2);
  press(ImGuiKey_Enter);
  EXPECT_EQ(shown_.title(), "before.kymo and after.kymo");
}

TEST_F(ShownTest, ACaptureThatCannotBeComparedIsTold) {
  const std::string path = write("one.kymo");
  EXPECT_THROW(shown_.compare({directory_ / "missing.kymo"}, {path}), std::exception);
  EXPECT_EQ(shown_.title(), "");
  shown_.compare({path}, {path});
  EXPECT_GT(vertices(), 1000) << "with itself";
}

TEST_F(ShownTest, ADropOfWhatIsNoCaptureIsToldAndChangesNothing) {
  const std::string text = write("notes\nwith a %s.txt", Bytes(100, std::byte{'x'}));
  const int empty = vertices();
  shown_.open_dropped({text});
  EXPECT_EQ(shown_.title(), "");
  EXPECT_GT(vertices(), empty + 40) << "that it is no capture";
  shown_.open({write("one.kymo")});
  const int calm = vertices();
  shown_.open_dropped({directory_ / "missing.kymo"});
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
  options.tab = "statistics";
  shown_.go_to(options);
  EXPECT_GT(vertices(), 300);
}

TEST_F(ShownTest, TheDialogOpensThePathThatIsEntered) {
  const std::string path = write("one.kymo");
  frames(3);
  ImGuiIO& io = ImGui::GetIO();
  for (float y = io.DisplaySize.y / 3; y < io.DisplaySize.y && !ImGui::IsAnyItemHovered(); y += 4) {
    io.MousePos = ImVec2(io.DisplaySize.x / 2, y);
    frames(1);
  }
  for (const bool is_down : {true, false}) {
    io.MouseDown[0] = is_down;
    frames(3);
  }
  io.AddInputCharactersUTF8(path.c_str());
  frames(2);
  press(ImGuiKey_Enter);
  EXPECT_EQ(shown_.title(), "one.kymo");
  ASSERT_EQ(shown_.file_menu().recent().size(), 1U);
  EXPECT_EQ(shown_.file_menu().recent().front(), path);
}

TEST_F(ShownTest, NotesStandBesideTheCaptureAndNeverReplaceAnotherFile) {
  const std::string path = write("one.kymo");
  const auto add_bookmark = [this] {
    frames(4);
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = ImVec2(io.DisplaySize.x / 2, io.DisplaySize.y * 0.8F);
    for (const bool is_down : {true, false}) {
      io.MouseDown[0] = is_down;
      frames(3);
    }
    io.AddInputCharactersUTF8("B");
    frames(3);
  };
  shown_.open({path});
  add_bookmark();
  const std::string notes = viewer::read_small_file(path + ".notes");
  EXPECT_NE(notes.find(" a view\n"), std::string::npos) << notes;
  shown_.open({path});
  add_bookmark();
  const std::string more = viewer::read_small_file(path + ".notes");
  EXPECT_GT(more.size(), notes.size()) << "those of before are kept";

  const std::string other = write("two.kymo");
  write_file(other + ".notes", Bytes(20, std::byte{'x'}));
  shown_.open({other});
  add_bookmark();
  EXPECT_EQ(viewer::read_small_file(other + ".notes"), std::string(20, 'x'));
}

TEST_F(ShownTest, RowsAreArrangedAsInTheLastSessionWithTheProgram) {
  capture::CaptureWriterOptions options = sample_options();
  options.declarations.processes.front().command_line = "/opt/../game --level 3";
  const std::string path = write("one.kymo", write_capture(Game().batches(), true, std::move(options)));
  const std::string config = directory_ / "config";
  shown_.set_config_folder(config);
  shown_.open({path});
  EXPECT_GT(vertices(), 0);  // everything is read
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = ImVec2(io.DisplaySize.x / 2, io.DisplaySize.y * 0.8F);
  for (const bool is_down : {true, false}) {
    io.MouseDown[0] = is_down;
    frames(3);
  }
  // Down the titles, as far as that of a track.
  std::string arrangement;
  for (float y = io.DisplaySize.y / 3; y < io.DisplaySize.y && arrangement.find("track p") == std::string::npos;
       y += 8) {
    io.MousePos = ImVec2(20, y);
    frames(3);
    io.AddInputCharactersUTF8("P");
    frames(3);
    arrangement = viewer::read_small_file(config + "/rows-game.txt");
  }
  EXPECT_NE(arrangement.find("\ntrack p 0 "), std::string::npos) << arrangement;
  shown_.open({path});
  EXPECT_GT(vertices(), 0);  // everything is read
  io.AddInputCharactersUTF8("P");
  frames(3);
  EXPECT_EQ(viewer::read_small_file(config + "/rows-game.txt").find("track p"), std::string::npos)
      << "it was pinned already";
}

TEST(Beside, NoProgramsNameLeadsOutOfTheConfigFolder) {
  EXPECT_EQ(viewer::arrangement_path("/c", "/usr/bin/game -x"), "/c/rows-game.txt");
  EXPECT_EQ(viewer::arrangement_path("/c", "/usr/bin/python3.11 /home/me/train.py 7"),
            "/c/rows-python3.11-train.py.txt");
  EXPECT_EQ(viewer::arrangement_path("/c", "python3 .."), "/c/rows-python3-...txt");
  EXPECT_EQ(viewer::arrangement_path("/c", "a\x1b*\xC3\xA4"), "/c/rows-a____.txt");
  EXPECT_EQ(viewer::arrangement_path("/c", std::string(5000, 'a')), "/c/rows-" + std::string(100, 'a') + ".txt");
  for (const char* const none : {"", "  ", "/"}) {
    EXPECT_EQ(viewer::arrangement_path("/c", none), "");
  }
  EXPECT_EQ(viewer::arrangement_path("", "game"), "");
}

TEST(Beside, TheEditorsCommandHasThePlaceAndNoOptionsFromCaptures) {
  const TemporaryDirectory directory;
  const std::string file = directory / "a b.cpp";
  write_file(file, Bytes(1, std::byte{'x'}));
  using Words = std::vector<std::string>;
  EXPECT_EQ(viewer::editor_words("code  -g %f:%l", file, 12), (Words{"code", "-g", file + ":12"}));
  EXPECT_EQ(viewer::editor_words("vim +%l", file, 7), (Words{"vim", "+7", file}));
  EXPECT_EQ(viewer::editor_words("  ", file, 7), Words{});
  EXPECT_EQ(viewer::editor_words("vim", "--cmd=!rm", 7), Words{}) << "no such file";
  EXPECT_EQ(viewer::editor_words("vim", directory / "", 7), Words{});
  if (!is_emulated) {  // qemu-user tells the parent of a failed exec nothing
    EXPECT_THROW(viewer::start_program({"/no/such/program"}), std::runtime_error);
  }
}

TEST(Beside, NotesOfADirectoryStandInIt) {
  const TemporaryDirectory directory;
  EXPECT_EQ(viewer::notes_path({directory / ""}), directory / "kymo.notes");
  EXPECT_EQ(viewer::notes_path({"a.kymo", "b.kymo"}), "a.kymo.notes");
  EXPECT_EQ(viewer::notes_path({}), "");
}

}  // namespace
}  // namespace kymo::test
