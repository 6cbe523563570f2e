// Damaged captures and captures of any times are drawn as far as they can be read, and crash nothing.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "game_capture.hpp"
#include "screen.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

/// Draws a few frames and uses what there is.
void use_panel(const Bytes& bytes) {
  std::shared_ptr<panel::BlockProvider> provider;
  try {
    provider = provide(bytes);
  } catch (const CaptureError&) {
    return;  // it says so; there is nothing to draw
  }
  panel::PanelView view(provider, {}, immediate_data());
  Screen screen([&view] { view.draw(); }, ImVec2(640, 480));
  screen.click(place_in(view.marks().bars).x, place_in(view.marks().bars).y);
  const panel::Area flame = view.marks().flame;
  screen.wheel(place_in(flame).x, place_in(flame).y, 2);
  screen.click(place_in(flame, 0.5F, 0.1F).x, place_in(flame, 0.5F, 0.1F).y);
  screen.type("n0p");
  screen.drag(place_in(flame, 0.2F), place_in(flame, 0.6F), 0, true);
  screen.key(ImGuiKey_RightArrow);
}

TEST(Damage, FlippedBytesCrashNothing) {
  Game game;
  game.frames = 30;
  const Bytes sound = game.write();
  std::mt19937 random(7);
  for (unsigned round = 0; round < rounds(25U); ++round) {
    Bytes bytes = sound;
    for (unsigned i = 0; i < 1 + round % 8; ++i) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
    }
    if (round % 4 == 0) {
      bytes.resize(random() % bytes.size());
    }
    use_panel(bytes);
  }
}

TEST(Damage, TimesAndDepthsOfAnySizeAreDrawn) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  std::vector<EventBatch> batches = Game().batches();
  batches.resize(2);
  EventBatch& batch = batches[1];
  for (const std::int64_t time : {least, most, std::int64_t{0}, most - 1, least + 1}) {
    batch.start_ns = std::min(batch.start_ns, time);
    batch.end_ns = std::max(batch.end_ns, time);
    batch.runs[0].events.push_back({time, Game::update_site, 3, 0});
    batch.runs[0].events.push_back({time, {}, 60000, 0});
    SpanEvent span;
    span.track = Game::gpu_track;
    span.name = NameId{2};
    span.start_ns = time;
    span.duration_ns = most;
    batch.spans.push_back(span);
    batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, time});
    batch.samples[0].times_ns.push_back(time);
    batch.samples[0].values.push_back(std::numeric_limits<double>::infinity());
    batch.samples[0].flags.push_back(0);
  }
  // As details of their own: a capture's coding would refuse some of it.
  const auto detail = timeline::make_detail(batch, true);
  const auto overview = timeline::make_detail(batch, false);
  for (const TimeRange range : {TimeRange{least, most}, TimeRange{0, 1000}, TimeRange{most - 5, most}}) {
    panel::TimeAxis axis;
    axis.set_bounds({least, most});
    axis.set_width(500);
    axis.show(range);
    const std::vector<panel::Piece> pieces = {std::make_shared<timeline::Detail>(detail),
                                              std::make_shared<timeline::Detail>(overview)};
    EXPECT_LE(panel::lay_out_flame(pieces, axis, {}).boxes, 20000U);
    panel::FrameCover frames(FrameStreamId{1});
    frames.add(pieces[0]);
    frames.add(pieces[1]);
    frames.finish();
    EXPECT_LE(panel::lay_out_frames(frames, axis, 3).bars.size(), 1000U);
    EXPECT_LE(panel::lay_out_metrics(pieces, pieces, {}, {}, axis, 3).size(), 1U);
  }
}

TEST(Damage, AnEmptyCaptureIsAnEmptyPanel) {
  use_panel(write_capture({}));
  use_panel(write_capture({EventBatch{}}, false));
}

}  // namespace
}  // namespace kymo::test
