// Captures that grow, several on one axis, and data that a thread decodes.
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "game_capture.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "screen.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

TEST(Replay, FollowsAFileThatGrows) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  Game game;
  const std::vector<EventBatch> batches = game.batches();
  capture::CaptureWriter writer(path, sample_options());
  for (int i = 0; i < 4; ++i) {
    writer.write(batches[static_cast<std::size_t>(i)]);
  }
  panel::PanelView view(std::make_shared<panel::TimelineBlocks>(Timeline(path)), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  EXPECT_TRUE(view.state().follows());
  EXPECT_EQ(view.state().flame().range().start_ns, Game::start_of(38));
  for (std::size_t i = 4; i < batches.size(); ++i) {
    writer.write(batches[i]);
  }
  EXPECT_TRUE(wait_until([&] {
    screen.frames(2);
    return view.state().flame().range().start_ns == Game::start_of(98);
  }));
  EXPECT_EQ(view.state().overview().range().end_ns, view.state().data().range().end_ns);
}

void write_front(const std::string& path, const Bytes& bytes, std::size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
}

TEST(Replay, WhatCannotBeReadForAMomentIsFollowedAgain) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const Bytes bytes = Game().write();
  write_front(path, bytes, bytes.size() / 2);
  panel::TimelineBlocks blocks{Timeline(path)};
  ASSERT_TRUE(blocks.is_live());
  const std::int64_t end_ns = blocks.range().end_ns;
  write_front(path, bytes, bytes.size() / 8);
  EXPECT_FALSE(blocks.refresh());
  EXPECT_EQ(blocks.range().end_ns, end_ns) << "what was read stays";
  write_front(path, bytes, bytes.size());
  EXPECT_TRUE(wait_until([&blocks] { return blocks.refresh(); }));
  EXPECT_GT(blocks.range().end_ns, end_ns);
  EXPECT_FALSE(blocks.is_live());
}

TEST(Replay, SaysThatAProgramDiedOrItsServerIsAway) {
  panel::Arrival arrival = panel::Arrival::recording;
  std::vector<CaptureReader> readers;
  const Bytes bytes = write_capture(Game().batches(), false);
  readers.push_back(open_bytes(bytes));
  panel::PanelView view(std::make_shared<panel::TimelineBlocks>(Timeline(std::move(readers)),
                                                                [&arrival](const CaptureReader&) { return arrival; }),
                        {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frames(3);
  const auto says = [&](const char* text) {
    return wait_until([&] {
      screen.frame();
      return view.header().find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("live, following\nnothing dropped\n"));
  arrival = panel::Arrival::unreachable;
  EXPECT_TRUE(says("capture so far\n! the server does not answer\nnothing dropped up to there\n"));
  EXPECT_FALSE(view.state().follows());
  arrival = panel::Arrival::recording;
  EXPECT_TRUE(says("live, "));
  arrival = panel::Arrival::cut_off;
  EXPECT_TRUE(says("! the program ended without closing it\nnothing dropped up to there\n"));
  EXPECT_FALSE(view.state().data().provider().is_live());
}

TEST(Replay, SeveralCapturesShareOneAxis) {
  const Bytes bytes = Game().write();
  std::vector<CaptureReader> readers;
  readers.push_back(open_bytes(bytes));
  readers.push_back(open_bytes(bytes));
  panel::PanelView view(std::make_shared<panel::TimelineBlocks>(Timeline(std::move(readers))), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  screen.frames(3);
  const auto& layout = view.state().flame_layout({});
  EXPECT_EQ(layout.tracks.size(), 6U);
  EXPECT_EQ(view.state().metrics(3).size(), 2U);
}

TEST(Replay, AThreadDecodesWhatIsLookedAt) {
  Game game;
  game.frames = 2000;
  const Bytes bytes = game.write();
  panel::DataOptions options;
  options.cache_bytes = 300'000;  // far less than all of it
  panel::PanelView view(provide(bytes), {}, options);
  Screen screen([&view] { view.draw(); });
  for (const unsigned frame : {100U, 1500U, 700U, 100U}) {
    view.state().pin({Game::start_of(frame), Game::frame_ns});
    ASSERT_TRUE(wait_until([&] {
      screen.frame();
      return !view.state().data().is_busy();
    }));
    screen.frames(2);
    const auto& layout = view.state().flame_layout({});
    ASSERT_EQ(layout.tracks.size(), 3U);
    const panel::FlameBox* box = panel::find_box(layout, 1, view.state().flame().width() / 2);
    ASSERT_NE(box, nullptr);
    EXPECT_EQ(box->start_ns, Game::start_of(frame));
    EXPECT_TRUE(box->is_one);
  }
}

}  // namespace
}  // namespace kymo::test
