#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <kymo/thread_states.hpp>
#include <kymo/timeline.hpp>

#include "capture/merge/merge.hpp"
#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

/// The states of some threads, in rows that may be cut, and in batches that overlap as those of an observer do.
class StatesModel {
 public:
  static constexpr std::uint32_t threads = 3;

  explicit StatesModel(std::uint32_t seed) : random_(seed) {
    for (std::uint32_t thread = 1; thread <= threads; ++thread) {
      std::int64_t now_ns = 1'000 + below(500);
      while (now_ns < 100'000) {
        const ThreadState state{now_ns, 1 + below(3'000), static_cast<std::uint32_t>(below(4)),
                                static_cast<RunState>(below(3))};
        now_ns = state.end_ns() + (below(20) == 0 ? 1 + below(500) : 0);
        all_[thread].push_back(state);
      }
    }
  }

  [[nodiscard]] const std::vector<ThreadState>& of(std::uint32_t thread) const { return all_.at(thread); }

  /// What the timeline has to say, instant by instant.
  [[nodiscard]] std::map<RunState, std::int64_t> count(std::uint32_t thread, std::int64_t from_ns,
                                                       std::int64_t to_ns) const {
    std::map<RunState, std::int64_t> counts;
    for (const ThreadState& state : of(thread)) {
      for (std::int64_t time_ns = std::max(from_ns, state.start_ns); time_ns < std::min(to_ns, state.end_ns());
           ++time_ns) {
        ++counts[state.state];
      }
    }
    return counts;
  }

  /// How often the thread begins to run in [from, to) elsewhere than it ran before.
  [[nodiscard]] std::uint64_t migrations(std::uint32_t thread, std::int64_t from_ns, std::int64_t to_ns) const {
    std::vector<ThreadState> running;
    std::copy_if(of(thread).begin(), of(thread).end(), std::back_inserter(running),
                 [](const ThreadState& state) { return state.state == RunState::running; });
    std::uint64_t count = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      const bool is_inside = running[i].start_ns >= from_ns && running[i].start_ns < to_ns;
      count += is_inside && running[i].cpu != running[i - 1].cpu ? 1U : 0U;
    }
    return count;
  }

  void write(const std::string& path, const std::string& boot_id) {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 50, "here", boot_id, "", "observer"});
    for (std::uint32_t thread = 1; thread <= threads; ++thread) {
      options.declarations.threads.push_back({ThreadId{thread}, ProcessId{1}, 100, 100 + std::uint64_t{thread}, "t"});
    }
    capture::CaptureWriter writer(path, std::move(options));
    std::map<std::uint32_t, std::size_t> next;
    for (std::int64_t until_ns = 10'000; until_ns <= 110'000; until_ns += 10'000) {
      EventBatch batch;
      batch.start_ns = batch.end_ns = until_ns;
      for (std::uint32_t thread = 1; thread <= threads; ++thread) {
        StateRun run{ThreadId{thread}, {}};
        for (std::size_t& i = next[thread]; i < of(thread).size() && of(thread)[i].end_ns() <= until_ns; ++i) {
          append_in_pieces(of(thread)[i], run);
        }
        if (!run.states.empty()) {
          batch.start_ns = std::min(batch.start_ns, run.states.front().start_ns);
          batch.states.push_back(std::move(run));
        }
      }
      writer.write(batch);
    }
    writer.finish();
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  void append_in_pieces(ThreadState state, StateRun& run) {
    if (state.duration_ns > 1'000) {
      run.states.push_back({state.start_ns, 400, state.cpu, state.state});
      state = {state.start_ns + 400, state.duration_ns - 400, state.cpu, state.state};
    }
    run.states.push_back(state);
  }

  std::mt19937 random_;
  std::map<std::uint32_t, std::vector<ThreadState>> all_;
};

/// A capture of the observed process, with a thread's track for each observed thread, and a fiber's.
void write_program(const std::string& path, const std::string& boot_id) {
  capture::CaptureWriterOptions options;
  options.declarations.processes.push_back({ProcessId{1}, 100, "here", boot_id, "", "program"});
  for (std::uint32_t track = 1; track <= StatesModel::threads; ++track) {
    options.declarations.tracks.push_back(
        {TrackId{track}, TrackKind::thread, ProcessId{1}, 100 + std::uint64_t{track}, "thread"});
  }
  options.declarations.tracks.push_back({TrackId{4}, TrackKind::thread, ProcessId{1}, 101, "fiber", TrackRole::fiber});
  options.declarations.tracks.push_back({TrackId{5}, TrackKind::thread, ProcessId{1}, 999, "not observed"});
  capture::CaptureWriter writer(path, std::move(options));
  EventBatch batch;
  batch.start_ns = 1'000;
  batch.end_ns = 100'000;
  writer.write(batch);
  writer.finish();
}

class ThreadStatesTest : public ::testing::Test {
 protected:
  void expect_model(const Timeline& timeline) {
    const ThreadStates states(timeline);
    ASSERT_FALSE(states.empty());
    std::mt19937 random(5);
    std::size_t known = 0;
    for (int round = 0; round < 300; ++round) {
      const auto track = TrackId::from_index(random() % StatesModel::threads);
      const auto from_ns = static_cast<std::int64_t>(random() % 105'000);
      const auto length_ns = static_cast<std::int64_t>(random() % (round % 3 == 0 ? 40'000 : 2'000));
      const auto counts = model_.count(timeline_thread(timeline, track), from_ns, from_ns + length_ns);
      std::int64_t covered_ns = 0;
      for (const auto& [state, time_ns] : counts) {
        covered_ns += time_ns;
      }
      const auto of = [&counts](RunState state) { return counts.count(state) != 0 ? counts.at(state) : 0; };
      const auto times = states.times(track, {from_ns, from_ns + length_ns});
      const KnownStates found = states.known(states.threads_of(track).front(), {from_ns, from_ns + length_ns});
      EXPECT_EQ(found.times.running_ns, of(RunState::running)) << round;
      EXPECT_EQ(found.times.runnable_ns, of(RunState::runnable)) << round;
      EXPECT_EQ(found.times.blocked_ns, of(RunState::blocked)) << round;
      EXPECT_EQ(found.migrations, model_.migrations(timeline_thread(timeline, track), from_ns, from_ns + length_ns))
          << round;
      if (length_ns == 0) {
        continue;
      }
      ASSERT_EQ(times.has_value(), covered_ns == length_ns) << round;
      if (times) {
        ++known;
        EXPECT_EQ(times->running_ns, of(RunState::running)) << round;
        EXPECT_EQ(times->runnable_ns, of(RunState::runnable)) << round;
        EXPECT_EQ(times->blocked_ns, of(RunState::blocked)) << round;
      }
    }
    EXPECT_GT(known, 50U);
    const KnownStates all = states.known(states.threads_of(TrackId{1}).front());
    EXPECT_EQ(all.migrations, model_.migrations(timeline_thread(timeline, TrackId{1}), 0, 110'000));
    EXPECT_GT(all.migrations, 5U);
    EXPECT_EQ(states.known(ThreadId{99}).migrations, 0U);
    EXPECT_FALSE(states.times(TrackId{4}, {20'000, 20'010})) << "a fiber is on several threads";
    EXPECT_FALSE(states.times(TrackId{5}, {20'000, 20'010}));
    EXPECT_TRUE(states.threads_of(TrackId{5}).empty());
  }

  /// The model's thread behind a track.
  static std::uint32_t timeline_thread(const Timeline& timeline, TrackId track) {
    return static_cast<std::uint32_t>(timeline.track(track).os_thread_id - 100);
  }

  test::TemporaryDirectory directory_;
  StatesModel model_{7};
};

TEST_F(ThreadStatesTest, TimesAndMigrationsOfATrackAreThoseOfItsThreadInstantByInstant) {
  write_program(directory_ / "a.kymo", "boot");
  model_.write(directory_ / "b.kymo", "boot");
  expect_model(Timeline({directory_ / "a.kymo", directory_ / "b.kymo"}));
}

TEST_F(ThreadStatesTest, AMergeKeepsThem) {
  write_program(directory_ / "a.kymo", "boot");
  model_.write(directory_ / "b.kymo", "boot");
  capture::MergeOptions options;
  options.redacts = true;
  const std::vector<std::filesystem::path> inputs{directory_ / "a.kymo", directory_ / "b.kymo"};
  capture::merge(inputs, directory_ / "merged.kymo", options);
  const Timeline merged(directory_ / "merged.kymo");
  expect_model(merged);
  for (const ThreadDeclaration& thread : merged.declarations().threads) {
    EXPECT_EQ(thread.name, "") << "redacted: it is mostly a program's";
  }
}

TEST_F(ThreadStatesTest, RowsThatTouchAndAgreeAreOneState) {
  model_.write(directory_ / "b.kymo", "boot");
  const Timeline timeline(directory_ / "b.kymo");
  const ThreadStates states(timeline);
  std::vector<ThreadState> expected;
  for (const ThreadState& state : model_.of(2)) {
    if (!expected.empty() && expected.back().end_ns() == state.start_ns && expected.back().state == state.state &&
        expected.back().cpu == state.cpu) {
      expected.back().duration_ns += state.duration_ns;
    } else {
      expected.push_back(state);
    }
  }
  const std::vector<ThreadState> found = states.states(ThreadId{2});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].start_ns, expected[i].start_ns);
    EXPECT_EQ(found[i].duration_ns, expected[i].duration_ns);
    EXPECT_EQ(found[i].state, expected[i].state);
  }
}

TEST_F(ThreadStatesTest, OfAnotherBootNothingIsKnown) {
  write_program(directory_ / "a.kymo", "boot");
  model_.write(directory_ / "b.kymo", "another");
  const Timeline timeline({directory_ / "a.kymo", directory_ / "b.kymo"});
  EXPECT_TRUE(ThreadStates(timeline).threads_of(TrackId{1}).empty());
}

TEST_F(ThreadStatesTest, ACaptureWithoutStatesSaysSo) {
  write_program(directory_ / "a.kymo", "boot");
  const Timeline timeline(directory_ / "a.kymo");
  EXPECT_TRUE(ThreadStates(timeline).empty());
  EXPECT_FALSE(ThreadStates(timeline).times(TrackId{1}, {1'000, 2'000}));
}

TEST_F(ThreadStatesTest, WhatAProcessObservedJoinsTheCaptureThatItRecordedBeside) {
  const auto write_machine = [this] {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 50, "here", "boot", "", "observer"});
    options.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 50, "main"});
    capture::CaptureWriter writer(directory_ / "machine.kymo", std::move(options));
    writer.finish();
  };
  write_machine();
  model_.write(directory_ / "b.kymo", "boot");
  const std::vector<std::filesystem::path> inputs{directory_ / "machine.kymo", directory_ / "b.kymo"};
  capture::merge(inputs, directory_ / "merged.kymo");
  EXPECT_EQ(Timeline(directory_ / "merged.kymo").processes().size(), 1U);
}

TEST_F(ThreadStatesTest, WhatAProcessRecordedBeforeAnExecStaysApartIfItsThreadsAreInMemoryOnly) {
  for (const bool is_closed : {true, false}) {
    capture::CaptureWriterOptions options;
    options.header.owner_pid = 50;
    options.declarations.processes.push_back({ProcessId{1}, 50, "here", "boot", "", "program"});
    if (is_closed) {
      options.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 50, "main"});
    }
    capture::CaptureWriter writer(directory_ / (is_closed ? "after.kymo" : "before.kymo"), std::move(options));
    if (is_closed) {
      writer.finish();
    }
  }
  const std::vector<std::filesystem::path> inputs{directory_ / "after.kymo", directory_ / "before.kymo"};
  capture::merge(inputs, directory_ / "merged.kymo");
  EXPECT_EQ(Timeline(directory_ / "merged.kymo").processes().size(), 2U);
}

}  // namespace
}  // namespace kymo
