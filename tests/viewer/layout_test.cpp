// What the viewer's window remembers: as it was written, or as nothing where somebody else wrote it.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <imgui.h>

#include "capture/capture_fixture.hpp"
#include "layout.hpp"

namespace kymo::test {
namespace {

using viewer::Layout;
using viewer::parse_layout;

constexpr const char* table =
    "[Table][0xB27A3C11,3]\n"
    "RefScale=15\n"
    "Column 0  Weight=3.0000 Visible=1 Order=2\n"
    "Column 1  Width=120 Visible=1 Order=0 Sort=0^\n"
    "Column 2  Weight=1.2500 Visible=0 Order=1\n";

constexpr const char* whole_text =
    "[kymo][window]\n"
    "place=100,-50\n"
    "size=1600,900\n"
    "maximised=1\n"
    "theme=light\n";

/// ImGui's settings after it read these.
std::string as_imgui_writes(const std::string& text) {
  ImGuiContext* const context = ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  ImGui::LoadIniSettingsFromMemory(text.data(), text.size());
  const std::string written = ImGui::SaveIniSettingsToMemory();
  ImGui::DestroyContext(context);
  return written;
}

TEST(ViewerLayout, WhatWasRememberedComesBack) {
  Layout layout = parse_layout(std::string(whole_text) + "\n" + table);
  ASSERT_TRUE(layout.place && layout.size && layout.theme);
  EXPECT_EQ(layout.place->width, 100);
  EXPECT_EQ(layout.place->height, -50);
  EXPECT_EQ(layout.size->width, 1600);
  EXPECT_EQ(layout.size->height, 900);
  EXPECT_TRUE(layout.is_maximised);
  EXPECT_EQ(*layout.theme, viewer::Theme::light);
  EXPECT_EQ(layout.imgui, table);

  const TemporaryDirectory directory;
  const std::string path = directory / "made/by the way/viewer.ini";
  viewer::write_layout(path, layout);
  const Layout read = viewer::read_layout(path);
  EXPECT_EQ(viewer::format_layout(read), viewer::format_layout(layout));
}

TEST(ViewerLayout, CapturesOpenedLatelyComeBack) {
  Layout layout;
  layout.recent = {"/a/run.kymo", "/b with a blank/=#", "/c\nsize=1,1"};
  Layout read = parse_layout(viewer::format_layout(layout));
  EXPECT_EQ(read.recent, (std::vector<std::string>{"/a/run.kymo", "/b with a blank/=#"})) << "one line each";
  EXPECT_FALSE(read.size.has_value());
  read = parse_layout("[kymo][window]\nrecent=relative\nrecent=\n");
  EXPECT_TRUE(read.recent.empty());
}

TEST(ViewerLayout, AllThatImGuiWritesOfTablesIsTaken) {
  const std::string written = as_imgui_writes(table);
  ASSERT_NE(written.find("Column 1  Width=120 Visible=1 Order=0 Sort=0^"), std::string::npos) << written;
  EXPECT_EQ(as_imgui_writes(parse_layout(written).imgui), written);
}

TEST(ViewerLayout, WhatIsOddIsLeftOut) {
  for (const char* const line :
       {"size=0,0", "size=1600", "size=1600,900,1", "size=99999999999,900", "size=-5,900", "size=1e3,900", "size=,",
        "place=a,b", "place=30000,0", "theme=blue", "maximised=yes", "[kymo][window", "size=1600,900 "}) {
    const Layout layout = parse_layout(std::string("[kymo][window]\n") + line + "\n");
    EXPECT_FALSE(layout.size || layout.place || layout.theme || layout.is_maximised) << line;
  }
  // What ImGui itself would take as an index, a size or a count.
  for (const char* const line :
       {"Column 3  Order=1", "Column -1  Order=1", "Column 0  Order=3", "Column 0  Order=192", "Column 0  Order=-1",
        "Column 0  Sort=3v", "Column 0  Sort=256v", "Column 0  Sort=0", "Column 0  Weight=nan",
        "Column 0  Weight=0.0000", "Column 0  Weight=-1.0", "Column 0  Weight=1e30", "Column 0  Width=2000000000",
        "Column 0  Visible=77", "Column 0  Other=1", "RefScale=0.0001", "RefScale=inf", "UserID=0x1"}) {
    EXPECT_EQ(parse_layout(std::string("[Table][0xB27A3C11,3]\n") + line + "\n").imgui, "[Table][0xB27A3C11,3]\n")
        << line;
  }
  for (const char* const line :
       {"[Table][0xB27A3C11,0]", "[Table][0xB27A3C11,65]", "[Table][0xB27A3C11,-1]", "[Table][0xB27A3C1,3]",
        "[Table][0xB27A3C11,3", "[Table][0xB27A3C11]", "[Window][Debug##Default]", "[Table][0xB27A3C11,99999999999]"}) {
    EXPECT_EQ(parse_layout(std::string(line) + "\nColumn 0  Order=0\nPos=60,60\n").imgui, "") << line;
  }
}

/// The number behind a word of a line; -1 where there is none.
int number_behind(const std::string& line, const char* word) {
  const std::size_t at = line.find(word);
  int number = -1;
  return at != std::string::npos &&
                 std::sscanf(line.c_str() + at + std::char_traits<char>::length(word), "%d", &number) == 1
             ? number
             : -1;
}

TEST(ViewerLayout, DamageNeverReachesImGui) {
  std::minstd_rand random(6);
  const std::string good = std::string(whole_text) + "\n" + table;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = static_cast<char>('0' + random() % 10);
          break;
        case 2:
          text.erase(at, random() % 20);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
    }
    const Layout layout = parse_layout(text);
    if (layout.size) {
      EXPECT_TRUE(layout.size->width >= 64 && layout.size->width <= 20000) << text;
    }
    std::istringstream lines(layout.imgui);
    int columns = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line[0] == '[') {
        ASSERT_EQ(std::sscanf(line.c_str(), "[Table][0x%*8x,%d]", &columns), 1) << line;
        ASSERT_TRUE(columns >= 1 && columns <= 64) << line;
        continue;
      }
      for (const char* const index : {"Column ", "Order=", "Sort="}) {
        ASSERT_LT(number_behind(line, index), columns) << line;
      }
      ASSERT_EQ(line.find('-'), std::string::npos) << line;
      ASSERT_LE(number_behind(line, "Width="), 20000) << line;
    }
  }
}

TEST(ViewerLayout, AFileThatCannotBeReadIsAnEmptyOne) {
  const TemporaryDirectory directory;
  const std::string nothing = viewer::format_layout({});
  EXPECT_EQ(viewer::format_layout(viewer::read_layout(directory / "missing.ini")), nothing);
  EXPECT_EQ(viewer::format_layout(viewer::read_layout(directory / "")), nothing);
  EXPECT_EQ(viewer::format_layout(viewer::read_layout("")), nothing);
  const std::string large = directory / "large.ini";
  std::ofstream(large) << std::string(1 << 20, 'x') << "\n" << whole_text;
  EXPECT_EQ(viewer::format_layout(viewer::read_layout(large)), nothing);
  // Nor is one complained of that cannot be written.
  viewer::write_layout(large + "/viewer.ini", {});
  viewer::write_layout("", {});
}

}  // namespace
}  // namespace kymo::test
