// How the panel looks: readable in light and dark, sized by the font, with nothing that colour alone says; and what its
// header says.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "capture/write/capture_writer.hpp"
#include "interaction.hpp"
#include "panel/data/timeline_blocks.hpp"

namespace kymo::test {
namespace {

/// Relative luminance and contrast as the Web Content Accessibility Guidelines define them.
double luminance(ImU32 colour) {
  const auto part = [colour](unsigned shift) {
    const double share = static_cast<double>((colour >> shift) & 0xFFU) / 255;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(IM_COL32_R_SHIFT) + 0.7152 * part(IM_COL32_G_SHIFT) + 0.0722 * part(IM_COL32_B_SHIFT);
}
double contrast(ImU32 a, ImU32 b) {
  const double light = std::max(luminance(a), luminance(b));
  const double dark = std::min(luminance(a), luminance(b));
  return (light + 0.05) / (dark + 0.05);
}

/// A colour that covers another, which is opaque.
ImU32 over(ImU32 colour, ImU32 behind) {
  const double share = static_cast<double>(colour >> IM_COL32_A_SHIFT) / 255;
  const auto part = [&](unsigned shift) {
    const double top = static_cast<double>((colour >> shift) & 0xFFU);
    const double bottom = static_cast<double>((behind >> shift) & 0xFFU);
    return static_cast<unsigned>(top * share + bottom * (1 - share));
  };
  return IM_COL32(part(IM_COL32_R_SHIFT), part(IM_COL32_G_SHIFT), part(IM_COL32_B_SHIFT), 255);
}

void expect_readable(bool is_light) {
  is_light ? ImGui::StyleColorsLight() : ImGui::StyleColorsDark();
  const panel::Theme theme = panel::current_theme();
  EXPECT_EQ(theme.is_light, is_light);
  const ImU32 window = ImGui::GetColorU32(ImGuiCol_WindowBg) | IM_COL32_A_MASK;
  for (const ImU32 behind : {over(theme.back, window), over(theme.band, window)}) {
    EXPECT_GT(contrast(theme.text, behind), 4.5);
    EXPECT_GT(contrast(over(theme.faint_text, behind), behind), 4.5);
    EXPECT_GT(contrast(theme.chosen, behind), 4.5);
  }
  for (const ImU32 bar : {theme.good, theme.slow, theme.bad, theme.metric}) {
    EXPECT_GT(contrast(bar, over(theme.back, window)), 2);
  }
  for (std::size_t i = 0; i < base::palette_size; ++i) {
    EXPECT_GT(contrast(theme.box_text, panel::palette_colour(i)), 4.5) << i;
  }
}

/// How far two colours are apart for eyes without one kind of cones, in CIE L*a*b* (1976).
std::array<double, 3> lab(const std::array<double, 3>& linear) {
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = (0.4124 * linear[0] + 0.3576 * linear[1] + 0.1805 * linear[2]) / 0.9505;
  const double y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  const double z = (0.0193 * linear[0] + 0.1192 * linear[1] + 0.9505 * linear[2]) / 1.089;
  return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}
/// As seen with deuteranopia: Machado, Oliveira and Fernandes (2009), severity 1.
std::array<double, 3> without_green(ImU32 colour) {
  std::array<double, 3> rgb{};
  for (unsigned i = 0; i < 3; ++i) {
    const double share = static_cast<double>((colour >> (8 * i)) & 0xFFU) / 255;
    rgb[i] = share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  }
  return {0.367322 * rgb[0] + 0.860646 * rgb[1] - 0.227968 * rgb[2],
          0.280085 * rgb[0] + 0.672501 * rgb[1] + 0.047413 * rgb[2],
          -0.011820 * rgb[0] + 0.042940 * rgb[1] + 0.968881 * rgb[2]};
}

TEST(Look, TheFirstNamesAreDistinctAlsoToColourBlindEyes) {
  const std::size_t first = base::palette_size / 2;
  for (std::size_t i = 0; i < first; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto a = lab(without_green(panel::palette_colour(i)));
      const auto b = lab(without_green(panel::palette_colour(j)));
      EXPECT_GT(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 8) << i << " and " << j;
    }
  }
}

TEST(Look, RunStatesAreDistinctAlsoToColourBlindEyes) {
  const Screen screen([] {});
  for (const bool is_light : {false, true}) {
    is_light ? ImGui::StyleColorsLight() : ImGui::StyleColorsDark();
    const panel::Theme theme = panel::current_theme();
    for (const auto& [a, b] :
         {std::pair(theme.good, theme.bad), std::pair(theme.good, theme.stale), std::pair(theme.bad, theme.stale)}) {
      const auto seen_a = lab(without_green(a));
      const auto seen_b = lab(without_green(b));
      EXPECT_GT(std::hypot(seen_a[0] - seen_b[0], seen_a[1] - seen_b[1], seen_a[2] - seen_b[2]), 20) << is_light;
    }
  }
}

TEST(Look, NamesShareAColourOnlyWhereThereAreMoreThanColours) {
  base::NamePalette palette;
  std::map<std::size_t, int> uses;
  std::map<std::size_t, int> hues;
  for (std::size_t i = 0; i < 2 * base::palette_size; ++i) {
    const std::size_t place = palette.place_of("name " + std::to_string(i));
    ++uses[place];
    ++hues[place % base::palette_hues];
    if (i < base::palette_hues) {
      EXPECT_EQ(hues.size(), i + 1) << "the first names have hues of their own";
    }
    EXPECT_LE(uses.size(), i + 1);
    if (i + 1 == base::palette_size) {
      EXPECT_EQ(uses.size(), base::palette_size);
    }
  }
  for (const auto& [place, count] : uses) {
    EXPECT_EQ(count, 2) << place;
  }
}

TEST(Look, ASiteHasItsColourWhateverTheOrderOfDeclarations) {
  const UnseenScreen screen(ImVec2(100, 100));
  Game game;
  game.site_names.clear();
  for (int i = 0; i < 12; ++i) {
    game.site_names.push_back("site " + std::to_string(i * 7919 % 1000));
  }
  const auto colours_of = [](const Game& of) {
    const Bytes bytes = of.write();
    const auto provider = provide(bytes);
    panel::Names names(*provider);
    std::map<std::string, ImU32> colours;
    for (const SiteDeclaration& site : provider->declarations().sites) {
      const panel::NameLook look = names.look(site.id, panel::current_theme());
      colours[look.text] = look.colour;
    }
    return colours;
  };
  const std::map<std::string, ImU32> usual = colours_of(game);
  EXPECT_EQ(usual.size(), 12U);
  std::reverse(game.site_names.begin(), game.site_names.end());
  EXPECT_EQ(colours_of(game), usual);
}

TEST(Look, TextIsReadableInLightAndDark) {
  const Screen screen([] {});
  expect_readable(false);
  expect_readable(true);
}

/// Where everything stands, whatever its colour.
std::vector<std::pair<float, float>> shapes() {
  std::vector<std::pair<float, float>> all;
  const ImDrawData* data = ImGui::GetDrawData();
  for (int i = 0; i < data->CmdListsCount; ++i) {
    for (const ImDrawVert& vertex : data->CmdLists[i]->VtxBuffer) {
      all.emplace_back(vertex.pos.x, vertex.pos.y);
    }
  }
  return all;
}

TEST(Look, ThemesDifferInColoursAlone) {
  const Bytes bytes = Game().write();
  panel::PanelView view(provide(bytes), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frames(3);
  const auto dark = shapes();
  ImGui::StyleColorsLight();
  screen.frames(3);
  EXPECT_EQ(shapes(), dark);
}

TEST(Look, WhatIsStaleOrSlowHasAnotherShape) {
  const auto shapes_of = [](std::uint8_t flags, double slow_ms) {
    std::vector<EventBatch> batches = Game().batches();
    for (EventBatch& batch : batches) {
      std::fill(batch.samples[0].flags.begin(), batch.samples[0].flags.end(), flags);
    }
    const Bytes bytes = write_capture(batches, true);
    // No line of a threshold is in view: the first lies above all frames, or far below the lowest pixel.
    panel::ViewOptions options;
    options.targets = {slow_ms, slow_ms};
    panel::PanelView view(provide(bytes), options, immediate_data());
    Screen screen([&view] { view.draw(); });
    screen.frames(3);
    return shapes();
  };
  const auto plain = shapes_of(0, 500);
  EXPECT_EQ(shapes_of(0, 500), plain);
  EXPECT_NE(shapes_of(SampleRun::stale, 500), plain);
  EXPECT_GT(shapes_of(0, 44).size(), plain.size()) << "a cap on the bar of 45 ms";
}

TEST(Look, EverythingGrowsWithTheFont) {
  const Bytes bytes = Game().write();
  panel::PanelView view(provide(bytes), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  const panel::LayoutMarks before = view.marks();
  ImGui::GetIO().FontGlobalScale = 2;
  screen.frames(3);
  const panel::LayoutMarks after = view.marks();
  EXPECT_NEAR(after.bars.left - after.pause.left, 2 * (before.bars.left - before.pause.left), 2);
  EXPECT_NEAR(after.bars.height(), 2 * before.bars.height(), before.bars.height() * 0.3F);
  screen.click(place_in(after.bars).x, place_in(after.bars).y);
  EXPECT_TRUE(view.state().pinned().has_value());
}

TEST(Look, TheHeaderTellsWhatRecordingCostAndLost) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  std::vector<EventBatch> batches = Game().batches();
  batches.back().runs[0].dropped_scopes = 1234;
  batches.back().runs[1].dropped_others = 5;
  capture::CaptureWriter writer(path, sample_options());
  for (const EventBatch& batch : batches) {
    writer.write(batch);
  }
  const auto header_of = [&path] {
    panel::PanelView view(std::make_shared<panel::TimelineBlocks>(Timeline(path)), {}, immediate_data());
    Screen screen([&view] { view.draw(); });
    screen.frames(3);
    return view.header();
  };
  EXPECT_TRUE(has_text(header_of(), "! dropped: 1,234 scopes, 5 others")) << "while it grows: " << header_of();
  writer.set_closing_fact("empty_scope_ps", 12500);
  writer.set_closing_fact("collector_cpu_ns", 10'350'000);
  writer.set_closing_fact("stacks_lost", 40);
  writer.set_closing_fact("stacks_left_out", 2);
  writer.finish();
  const std::string closed = header_of();
  EXPECT_TRUE(has_text(closed, "! dropped: 1,234 scopes, 5 others, 42 stacks")) << closed;
  EXPECT_TRUE(has_text(closed, "collector 1 % of a core")) << closed;
  EXPECT_TRUE(has_text(closed, "a scope costs 12.5 ns")) << closed;
}

TEST(Look, ANameThatIsCutEndsInThreeDots) {
  int letters = 0;
  std::vector<float> last;  // the left ends of the letters
  Screen screen([&] {
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const int before = list->VtxBuffer.Size;
    panel::Canvas(list).text(10, 10, ImGui::CalcTextSize("12345678").x + 1, 0xFFFFFFFF, "learning_rate");
    letters = (list->VtxBuffer.Size - before) / 4;
    last.clear();
    for (int i = before; i < list->VtxBuffer.Size; i += 4) {
      last.push_back(list->VtxBuffer[i].uv.x);
    }
  });
  screen.frame();
  EXPECT_EQ(letters, 8) << "learn...";
  ASSERT_GE(last.size(), 4U);
  EXPECT_EQ(last[last.size() - 1], last[last.size() - 3]);
  EXPECT_EQ(last[last.size() - 2], last[last.size() - 3]);
  EXPECT_NE(last[last.size() - 4], last[last.size() - 3]) << "the others are not dots";
}

}  // namespace
}  // namespace kymo::test
