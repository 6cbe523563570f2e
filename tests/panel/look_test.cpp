// How the panel looks: readable in light and dark, sized by the font, with nothing that colour alone says; and what its
// header says.
#include <algorithm>
#include <cmath>

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
  for (int i = 0; i < 200; ++i) {
    const ImU32 box = panel::colour_of_name("name " + std::to_string(i), theme);
    EXPECT_GT(contrast(theme.text, box), 4.5) << i;
  }
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
    panel::PanelView view(provide(bytes), {slow_ms, slow_ms}, immediate_data());
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
  const std::string path = directory.file("run.kymo");
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
  writer.finish();
  const std::string closed = header_of();
  EXPECT_TRUE(has_text(closed, "! dropped: 1,234 scopes, 5 others")) << closed;
  EXPECT_TRUE(has_text(closed, "collector 1 % of a core")) << closed;
  EXPECT_TRUE(has_text(closed, "a scope costs 12.5 ns")) << closed;
}

}  // namespace
}  // namespace kymo::test
