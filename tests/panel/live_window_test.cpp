// The window on a running program: bounded, handed over whole, frozen by a pause.
#include "panel/data/live_window.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "game_capture.hpp"
#include "screen.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

using panel::HistoryBounds;
using panel::LiveBlocks;
using panel::LiveWindow;

std::vector<EventBatch> game_batches(unsigned frames) {
  Game game;
  game.frames = frames;
  return game.batches();
}

std::size_t marks_in(const LiveWindow::Contents& contents) {
  std::size_t marks = 0;
  for (const auto& batch : contents.batches) {
    marks += batch->frame_marks.size();
  }
  return marks;
}

TEST(LiveWindow, KeepsAtLeastTheFramesAskedForAndLittleMore) {
  LiveWindow window(HistoryBounds{95, std::size_t{1} << 30U, 1000});
  for (const EventBatch& batch : game_batches(1000)) {
    window.write(batch);
  }
  LiveWindow::Contents contents;
  ASSERT_TRUE(window.take(contents));
  EXPECT_EQ(marks_in(contents), 100U) << "batches of ten frames";
  EXPECT_EQ(contents.first_number, 90U);
  EXPECT_EQ(contents.declared.sites.size(), 4U) << "what was declared in a batch that is gone is known still";
  EXPECT_FALSE(window.take(contents)) << "nothing came since";
}

TEST(LiveWindow, ItsMemoryIsBounded) {
  LiveWindow window(HistoryBounds{1U << 30U, 100'000, 1000});
  for (const EventBatch& batch : game_batches(2000)) {
    window.write(batch);
    EXPECT_LE(window.bytes(), 100'000U);
  }
  LiveWindow few(HistoryBounds{1U << 30U, std::size_t{1} << 30U, 7});
  for (const EventBatch& batch : game_batches(200)) {
    few.write(batch);
  }
  LiveWindow::Contents contents;
  ASSERT_TRUE(few.take(contents));
  EXPECT_EQ(contents.batches.size(), 7U);
}

TEST(LiveWindow, OneThreadWritesWhileAnotherTakes) {
  const auto window = std::make_shared<LiveWindow>(HistoryBounds{200, std::size_t{1} << 30U, 1000});
  LiveBlocks blocks(window);
  const std::vector<EventBatch> batches = game_batches(3000);
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    for (const EventBatch& batch : batches) {
      window->write(batch);
    }
    is_done = true;
  });
  std::int64_t last_end = 0;
  bool was_done = false;
  while (!was_done) {
    was_done = is_done;
    blocks.refresh();
    EXPECT_GE(blocks.range().end_ns, last_end);
    last_end = blocks.range().end_ns;
    const std::size_t first = blocks.first_block();
    if (const auto batch = blocks.read(0, first, BatchParts::everything); batch != nullptr) {
      EXPECT_EQ(batch->start_ns, blocks.blocks()[0].blocks[0].start_ns);
    }
  }
  writer.join();
  EXPECT_EQ(last_end, batches.back().end_ns);
}

TEST(LiveWindow, FramesHaveNumbersUntilEarlierOnesAreGone) {
  const auto window = std::make_shared<LiveWindow>(HistoryBounds{60, std::size_t{1} << 30U, 1000});
  const std::vector<EventBatch> batches = game_batches(300);
  panel::PanelView view(std::make_shared<LiveBlocks>(window), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  ASSERT_TRUE(view.open_tab("frames"));
  const auto pin_and_look = [&](unsigned frame) {
    view.state().pin({Game::start_of(frame), Game::frame_ns});
    screen.frames(6);
    return view.header();
  };
  const auto numbers_in_table = [&view] {
    std::set<std::string> numbers;
    std::istringstream lines(view.copied_tab(panel::CopyAs::csv));
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
      numbers.insert(line.substr(0, line.find(',')));
    }
    return numbers;
  };
  for (unsigned i = 0; i < 5; ++i) {
    window->write(batches[i]);
    screen.frames(3);
  }
  EXPECT_NE(pin_and_look(41).find("frame 42, 10 ms"), std::string::npos) << view.header();
  EXPECT_TRUE(wait_until([&] {
    screen.frame();
    return numbers_in_table().count("42") != 0;
  })) << view.copied_tab(panel::CopyAs::csv);
  view.state().resume();
  for (unsigned i = 5; i < 20; ++i) {
    window->write(batches[i]);
    screen.frames(3);
  }
  EXPECT_NE(pin_and_look(190).find("frame of 10 ms"), std::string::npos) << view.header();
  EXPECT_TRUE(wait_until([&] {
    screen.frame();
    return numbers_in_table() == std::set<std::string>{""};
  })) << view.copied_tab(panel::CopyAs::csv);
}

TEST(LiveWindow, ThePanelFollowsItAndAPauseFreezesEveryRow) {
  const auto window = std::make_shared<LiveWindow>(HistoryBounds{60, std::size_t{1} << 30U, 1000});
  const std::vector<EventBatch> batches = game_batches(300);
  panel::PanelView view(std::make_shared<LiveBlocks>(window), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  EXPECT_TRUE(view.state().follows());
  for (unsigned i = 0; i < 10; ++i) {
    window->write(batches[i]);
    screen.frames(3);
  }
  EXPECT_EQ(view.state().flame().range().start_ns, Game::start_of(98)) << "the latest frame that has ended";
  EXPECT_EQ(view.state().flame().range().end_ns, Game::start_of(99));

  view.state().toggle_pause();
  screen.frames(2);
  const TimeRange frozen = view.state().overview().range();
  const TimeRange flame = view.state().flame().range();
  const int vertices = screen.checked_vertices();
  for (unsigned i = 10; i < 30; ++i) {
    window->write(batches[i]);
    screen.frame();
  }
  EXPECT_EQ(view.state().overview().range().end_ns, frozen.end_ns);
  EXPECT_EQ(view.state().flame().range().start_ns, flame.start_ns);
  EXPECT_EQ(screen.checked_vertices(), vertices) << "although all it shows has left the window";
  view.state().select({Game::main_track, Game::update_site, 1, Game::start_of(98) + Game::frame_ns / 10,
                       Game::start_of(98) + Game::frame_ns / 2});
  screen.frames(3);
  ASSERT_TRUE(view.state().data().span_facts().has_value());
  ASSERT_TRUE(view.state().data().span_facts()->is_found);
  EXPECT_EQ(view.state().data().span_facts()->arguments.at(0).second, "98");

  view.state().toggle_pause();
  screen.frames(3);
  EXPECT_EQ(view.state().flame().range().start_ns, Game::start_of(298));
}

}  // namespace
}  // namespace kymo::test
