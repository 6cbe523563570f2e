// Run states in the panel: lanes of threads and CPUs are what the timeline says, and say so to the pointer.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <kymo/thread_states.hpp>

#include "interaction.hpp"
#include "panel/data/live_window.hpp"
#include "panel/data/time_math.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

constexpr std::uint32_t observed = 3;
constexpr std::uint32_t with_scopes = 2;  // the others have no tracks
constexpr std::uint32_t cpus = 3;

/// A capture of threads whose states last anything from nanoseconds to seconds, in blocks and summaries of random
/// sizes.
Bytes make_observed(std::mt19937& random) {
  const auto below = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::vector<EventBatch> batches(static_cast<std::size_t>(8 + below(60)));
  Declarations& declared = batches.front().declarations;
  declared.processes = {{ProcessId{1}, 1, "host", "boot", "", "observed"}};
  std::vector<std::int64_t> now(observed, 1'000'000'000);
  for (std::uint32_t i = 0; i < observed; ++i) {
    if (i < with_scopes) {
      declared.tracks.push_back({TrackId{i + 1}, TrackKind::thread, ProcessId{1}, 100 + std::uint64_t{i}, "thread"});
    }
    declared.threads.push_back({ThreadId{i + 1}, ProcessId{1}, 1, 100 + std::uint64_t{i}, "thread"});
  }
  declared.sites.resize(1);
  declared.sites[0].id = SiteId{1};
  declared.sites[0].name = "main";
  const std::int64_t most_ns = std::vector<std::int64_t>{2'000, 100'000, 5'000'000}[random() % 3];
  const std::int64_t block_ns = std::vector<std::int64_t>{50'000, 5'000'000}[random() % 2];
  for (std::size_t block = 0; block < batches.size(); ++block) {
    EventBatch& batch = batches[block];
    batch.end_ns = 1'000'000'000 + static_cast<std::int64_t>(block + 1) * block_ns;
    batch.start_ns = batch.end_ns - block_ns;
    for (std::uint32_t i = 0; i < observed; ++i) {
      StateRun run{ThreadId{i + 1}, {}};
      while (now[i] < batch.end_ns && run.states.size() < 400) {
        const ThreadState state{now[i], 1 + below(most_ns), static_cast<std::uint32_t>(below(cpus)),
                                static_cast<RunState>(below(3))};
        if (state.end_ns() > batch.end_ns) {
          break;  // handed in where it ends
        }
        now[i] = state.end_ns() + (below(9) == 0 ? below(most_ns) : 0);
        run.states.push_back(state);
      }
      if (!run.states.empty()) {
        batch.start_ns = std::min(batch.start_ns, run.states.front().start_ns);
        batch.states.push_back(std::move(run));
      }
      if (i >= with_scopes) {
        continue;
      }
      ScopeRun scopes;
      scopes.track = TrackId{i + 1};
      scopes.first_sequence = 2 * block;
      scopes.end_sequence = 2 * block + 2;
      scopes.events = {{batch.end_ns - block_ns, SiteId{1}, 0, 0}, {batch.end_ns - 1, {}, 0, 0}};
      batch.runs.push_back(std::move(scopes));
    }
  }
  capture::CaptureWriterOptions options = sample_options();
  options.with_summaries = random() % 4 != 0;
  options.summary_intervals.most_blocks = 1 + random() % 8;
  options.summary_intervals.merged = 2 + static_cast<unsigned>(random() % 3);
  return write_capture(batches, random() % 2 == 0, std::move(options));
}

/// What the timeline says of each state of a thread, and of each CPU, in a range.
class Truth {
 public:
  explicit Truth(const Bytes& bytes) : timeline_(readers_of(bytes)), states_(timeline_) {}

  [[nodiscard]] TimeRange range() const { return timeline_.range(); }
  [[nodiscard]] std::vector<ThreadState> states(ThreadId thread, TimeRange range) const {
    return states_.states(thread, range);
  }
  [[nodiscard]] std::array<double, 3> of_thread(ThreadId thread, TimeRange range) const {
    std::array<double, 3> sums{};
    for (const ThreadState& state : states_.states(thread, range)) {
      sums[static_cast<std::size_t>(state.state)] += overlap(state, range);
    }
    return sums;
  }
  [[nodiscard]] double of_cpu(std::uint32_t cpu, TimeRange range) const {
    double sum = 0;
    for (std::uint32_t thread = 1; thread <= observed; ++thread) {
      for (const ThreadState& state : states_.states(ThreadId{thread}, range)) {
        sum += state.cpu == cpu && state.state == RunState::running ? overlap(state, range) : 0;
      }
    }
    return sum;
  }

 private:
  static std::vector<CaptureReader> readers_of(const Bytes& bytes) {
    std::vector<CaptureReader> readers;
    readers.push_back(open_bytes(bytes));
    return readers;
  }
  static double overlap(const ThreadState& state, TimeRange range) {
    return static_cast<double>(
        std::max<std::int64_t>(std::min(state.end_ns(), range.end_ns) - std::max(state.start_ns, range.start_ns), 0));
  }

  Timeline timeline_;
  ThreadStates states_;
};

/// The time of a lane's boxes in a range, by state.
std::array<double, 3> drawn(const panel::StateLane& lane, const panel::TimeAxis& axis, TimeRange range) {
  std::array<double, 3> sums{};
  const double from = axis.to_pixel(range.start_ns);
  const double to = axis.to_pixel(range.end_ns);
  for (const panel::StateBox& box : lane.boxes) {
    const double pixels = std::max(std::min(double{box.right}, to) - std::max(double{box.left}, from), 0.0);
    for (std::size_t state = 0; state < sums.size(); ++state) {
      sums[state] += pixels * static_cast<double>(box.shares[state]) * axis.ns_per_pixel();
    }
  }
  return sums;
}

TEST(States, LanesOfThreadsAndCpusAreWhatTheTimelineSaysInEveryRange) {
  std::mt19937 random(20);
  int windows = 0;
  for (int round = 0; round < rounds(12); ++round) {
    const Bytes bytes = make_observed(random);
    const Truth truth(bytes);
    panel::ViewState state(provide(bytes), immediate_data());
    state.flame().set_width(2000);
    for (int window = 0; window < 8; ++window) {
      const std::int64_t all_ns = truth.range().end_ns - truth.range().start_ns;
      const auto length =
          std::max<std::int64_t>(static_cast<std::int64_t>(std::pow(static_cast<double>(all_ns),
                                                                    std::uniform_real_distribution(0.4, 1.0)(random))),
                                 2000);
      const std::int64_t start =
          truth.range().start_ns +
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max<std::int64_t>(all_ns - length, 1)));
      state.flame().show({start, start + length});
      for (int frame = 0; frame < 3; ++frame) {
        state.begin_frame();
        static_cast<void>(state.flame_layout({}));
        state.end_frame();
      }
      const TimeRange range = state.flame().range();
      // Where no piece has states, there are no lanes.
      const bool is_known = !state.states().threads.empty();
      std::vector<std::pair<ThreadId, panel::StateLane>> lanes;
      for (const panel::StateLane& lane : state.states().threads) {
        lanes.emplace_back(ThreadId{lane.track.value()}, lane);
      }
      for (const panel::StateLane& lane : state.states().scopeless) {
        lanes.emplace_back(lane.thread, lane);
      }
      ASSERT_EQ(lanes.size(), is_known ? observed : 0U);
      for (std::uint32_t thread = 1; thread <= observed && !is_known; ++thread) {
        ASSERT_EQ(truth.of_thread(ThreadId{thread}, range), (std::array<double, 3>{})) << "round " << round;
      }
      windows += is_known ? 1 : 0;
      // All of the range, and each quarter.
      for (int part = -1; part < 4; ++part) {
        const std::int64_t part_ns = part < 0 ? length : length / 4;
        const std::int64_t from_ns = range.start_ns + std::max(part, 0) * part_ns;
        const TimeRange quarter{from_ns, from_ns + part_ns};
        // A bin of up to two pixels may reach out of it at each end; shares are coded in 1/254.
        const double tolerance = 5 * state.flame().ns_per_pixel() + 0.006 * static_cast<double>(part_ns);
        for (const auto& [thread, lane] : lanes) {
          const auto expected = truth.of_thread(thread, quarter);
          const auto shown = drawn(lane, state.flame(), quarter);
          for (std::size_t i = 0; i < 3; ++i) {
            ASSERT_NEAR(shown[i], expected[i], tolerance) << "round " << round << " state " << i;
          }
        }
        for (const panel::StateLane& lane : state.states().cpus) {
          // Threads may overlap on a CPU here, which a lane cannot show.
          ASSERT_LT(drawn(lane, state.flame(), quarter)[0], truth.of_cpu(lane.cpu, quarter) + tolerance);
        }
      }
      for (const auto& [thread, lane] : lanes) {
        const std::vector<ThreadState> known = truth.states(thread, range);
        for (const panel::StateBox& box : lane.boxes) {
          const bool was = std::any_of(known.begin(), known.end(), [&box](const ThreadState& one) {
            return one.start_ns == box.start_ns && one.end_ns() == box.end_ns && one.state == box.state() &&
                   one.cpu + 1 == box.what;
          });
          ASSERT_TRUE(was || !box.is_one) << "round " << round << ": a state that never was";
        }
      }
    }
  }
  EXPECT_GT(windows, rounds(12) * 4);
}

/// In each frame main runs for half of it on CPU 0, is pushed off by the worker for a tenth and then blocked, in
/// "render". The worker runs on CPU 1 for a quarter, and on CPU 0 where main is pushed off.
std::vector<EventBatch> stated_game() {
  std::vector<EventBatch> all = Game().batches();
  Declarations& declared = all.front().declarations;
  declared.processes = {{ProcessId{1}, 1, "host", "boot", "", "game"}};
  declared.threads = {{ThreadId{1}, ProcessId{1}, 1, 100, "main"}, {ThreadId{2}, ProcessId{1}, 1, 101, "worker"}};
  declared.sites[2].role = SiteRole::wait;
  declared.sites[2].function = "worker in job";
  for (unsigned frame = 0; frame < Game().frames; ++frame) {
    const std::int64_t start = Game::start_of(frame);
    const std::int64_t length = Game::start_of(frame + 1) - start;
    std::vector<StateRun>& runs = all[frame / Game().frames_in_block].states;
    runs.resize(2);
    const auto add = [&](std::size_t run, int from, int to, std::uint32_t cpu, RunState state) {
      runs[run].thread = ThreadId::from_index(run);
      runs[run].states.push_back({start + length * from / 100, length * (to - from) / 100, cpu, state});
    };
    add(0, 0, 50, 0, RunState::running);
    add(0, 50, 60, 0, RunState::runnable);
    add(0, 60, 100, 0, RunState::blocked);
    add(1, 0, 25, 1, RunState::running);
    add(1, 25, 50, 1, RunState::blocked);
    add(1, 50, 60, 0, RunState::running);
    add(1, 60, 100, 0, RunState::blocked);
    std::vector<ThreadWake>& wakes = all[frame / Game().frames_in_block].wakes;
    wakes.push_back({ThreadId{2}, ThreadId{1}, start + length * 49 / 100});
    wakes.push_back({ThreadId{1}, ThreadId{2}, start + length * 99 / 100});
  }
  return all;
}

TEST(LiveStates, OfARunningProgramHaveLanesToo) {
  const auto window = std::make_shared<panel::LiveWindow>(panel::HistoryBounds{60, std::size_t{1} << 30U, 1000});
  panel::PanelView view(std::make_shared<panel::LiveBlocks>(window), {}, immediate_data());
  Screen screen([&view] { view.draw(); });
  std::size_t states_bytes = 0;
  for (EventBatch& batch : stated_game()) {
    for (ThreadDeclaration& thread : batch.declarations.threads) {
      thread.pid = static_cast<std::uint64_t>(::getpid());
    }
    batch.declarations.processes.clear();
    window->write(batch);
    for (const StateRun& run : batch.states) {
      states_bytes += run.states.size() * sizeof(ThreadState);
    }
  }
  EXPECT_GT(window->bytes(), states_bytes) << "they count as history";
  screen.frames(3);
  ASSERT_EQ(view.state().states().threads.size(), 2U);
  EXPECT_EQ(view.state().states().cpus.size(), 2U);
  for (const panel::StateLane& lane : view.state().states().threads) {
    EXPECT_FALSE(lane.boxes.empty()) << lane.track.value();
  }
}

class StateLanes : public Interaction {
 protected:
  explicit StateLanes(const std::vector<EventBatch>& batches = stated_game()) : Interaction(batches) {}

  [[nodiscard]] const std::string& tip_at(int percent, unsigned line, float down) {
    const float height = std::floor(ImGui::GetTextLineHeight() * 1.25F);
    const std::int64_t time_ns = Game::start_of(20) + Game::frame_ns * percent / 100;
    screen_.move(flame_x(time_ns), flame_y(line) + (down - 0.5F) * height);
    screen_.frame();
    return view_.tip();
  }
};

// Lines: "main", "frame", "update" and "render", "worker", "job", "gpu", "draw", "CPUs", then the CPUs.
TEST_F(StateLanes, SayWhatAThreadDidAndWhereAndWhatItWaitedFor) {
  click_bar(20);
  EXPECT_EQ(tip_at(25, 0, 0.2F), "running for 5 ms, on CPU 0");
  EXPECT_EQ(tip_at(55, 0, 0.2F), "pushed off the CPU for 1 ms; before, on CPU 0\nthere ran worker");
  const std::string blocked = tip_at(80, 0, 0.2F);
  EXPECT_TRUE(has_text(blocked, "blocked for 4 ms; before, on CPU 0\nin render")) << blocked;
  EXPECT_TRUE(has_text(blocked, "worker in job")) << "its holder: " << blocked;
  EXPECT_TRUE(has_text(blocked, "ended by worker, 100 us before it ran")) << blocked;
  EXPECT_EQ(tip_at(12, 3, 0.2F), "running for 2.5 ms, on CPU 1");
  EXPECT_EQ(tip_at(25, 0, 0.8F), "") << "below the lane";
}

TEST_F(StateLanes, CpusSayWhichThreadRanOnThem) {
  click_bar(20);
  EXPECT_EQ(tip_at(25, 8, 0.5F), "main\nran here for 5 ms");
  EXPECT_EQ(tip_at(55, 8, 0.5F), "worker\nran here for 1 ms");
  EXPECT_EQ(tip_at(12, 9, 0.5F), "worker\nran here for 2.5 ms");
  EXPECT_EQ(tip_at(80, 8, 0.5F), "") << "idle";
  // A click on their title folds them.
  screen_.click(view_.marks().titles.left + 20, flame_y(7));
  EXPECT_EQ(tip_at(25, 8, 0.5F), "");
  screen_.click(view_.marks().titles.left + 20, flame_y(7));
  EXPECT_EQ(tip_at(25, 8, 0.5F), "main\nran here for 5 ms");
}

/// The game with a loader, which runs through the first half of each frame and waits for the worker then, and a process
/// of its own that only waits.
std::vector<EventBatch> game_with_a_loader() {
  std::vector<EventBatch> all = stated_game();
  std::vector<ThreadDeclaration>& threads = all.front().declarations.threads;
  threads.push_back({ThreadId{3}, ProcessId{1}, 7, 7, "tool"});
  threads.push_back({ThreadId{4}, ProcessId{1}, 1, 102, "loader"});
  for (unsigned frame = 0; frame < Game().frames; ++frame) {
    const std::int64_t start = Game::start_of(frame);
    const std::int64_t half = (Game::start_of(frame + 1) - start) / 2;
    EventBatch& batch = all[frame / Game().frames_in_block];
    batch.states.resize(4);
    batch.states[2].thread = ThreadId{3};
    batch.states[2].states.push_back({start, 2 * half, 0, RunState::blocked});
    batch.states[3].thread = ThreadId{4};
    batch.states[3].states.push_back({start, half, 2, RunState::running});
    batch.states[3].states.push_back({start + half, half, 2, RunState::blocked});
    batch.wakes.push_back({ThreadId{4}, ThreadId{2}, start + 2 * half - 100'000});
  }
  return all;
}

class ScopelessLanes : public StateLanes {
 protected:
  ScopelessLanes() : StateLanes(game_with_a_loader()) {}
};

// Lines: those above up to three CPUs at 8, 9 and 10, the title of the threads, "loader", "tool 7".
TEST_F(ScopelessLanes, SayWhatThreadsDidThatRecordedNoScopes) {
  click_bar(20);
  ASSERT_EQ(view_.state().scopeless_threads(), (std::vector{ThreadId{4}, ThreadId{3}})) << "by process";
  EXPECT_EQ(tip_at(25, 12, 0.5F), "running for 5 ms, on CPU 2");
  EXPECT_EQ(tip_at(75, 12, 0.9F), "blocked for 5 ms; before, on CPU 2\nended by worker, 100 us before it ran");
  EXPECT_TRUE(has_text(tip_at(75, 13, 0.5F), "blocked for ")) << view_.tip();
  screen_.click(view_.marks().titles.left + 20, flame_y(11));
  EXPECT_EQ(tip_at(25, 12, 0.5F), "") << "a click on their title folds them";
  screen_.click(view_.marks().titles.left + 20, flame_y(7));
  screen_.click(view_.marks().titles.left + 20, flame_y(8));
  EXPECT_EQ(tip_at(25, 9, 0.5F), "running for 5 ms, on CPU 2") << "they follow the CPUs, which are folded";
}

TEST_F(StateLanes, StatesOfAPixelOrLessAreShownByTheirShares) {
  view_.state().flame().fit();
  view_.state().hold();
  screen_.frames(3);
  const panel::StateLane& lane = view_.state().states().threads.front();
  const auto box = std::find_if(lane.boxes.begin(), lane.boxes.end(), [](const panel::StateBox& one) {
    return !one.is_one && one.left > 20 && one.shares[1] > 0;
  });
  ASSERT_NE(box, lane.boxes.end());
  screen_.move(view_.marks().flame.left + (box->left + box->right) / 2, view_.marks().flame.top + 4);
  screen_.frame();
  EXPECT_TRUE(has_text(view_.tip(), "pushed off the CPU ")) << view_.tip();
  EXPECT_TRUE(has_text(view_.tip(), " % of the time")) << view_.tip();
}

}  // namespace
}  // namespace kymo::test
