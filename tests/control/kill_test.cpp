// kill -9 at any instant: every scope that was closed before it is in the recovered capture, once, or was counted as
// dropped.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kymo/capture.hpp>

#include "base/system/file.hpp"
#include "capture/recover/recovery.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "support/child_process.hpp"
#include "support/kill_tally.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

using test::ChildProcess;
using test::KillTally;
using test::tally_threads;
using test::TemporaryDirectory;

constexpr int threads = 4;

/// The mapping in which the victim's threads write down what they have done.
class TallySheet {
 public:
  explicit TallySheet(const std::string& path) {
    const base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    constexpr std::size_t size = sizeof(KillTally) * tally_threads;
    if (!file || ::ftruncate(file.get(), size) != 0) {
      throw std::runtime_error("cannot create " + path);
    }
    tallies_ = static_cast<KillTally*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  }
  TallySheet(const TallySheet&) = delete;
  TallySheet& operator=(const TallySheet&) = delete;
  ~TallySheet() { ::munmap(tallies_, sizeof(KillTally) * tally_threads); }

  [[nodiscard]] const KillTally& operator[](int index) const { return tallies_[index]; }

 private:
  KillTally* tallies_;
};

/// What a capture holds of each thread and fiber.
struct Recovered {
  std::uint64_t closed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t sequence = 0;
  std::uint64_t last_number = 0;
};

/// Those of threads and fibers by their number, and what was dropped of those whose names did not make it.
struct Everything {
  std::map<std::uint64_t, Recovered> by_number;
  std::uint64_t unnamed_dropped = 0;
};

Everything read_tracks(const std::string& path) {
  const CaptureReader capture(path);
  EXPECT_TRUE(capture.is_closed());
  std::map<TrackId, Recovered> tracks;
  std::map<TrackId, capture::ScopeStack> stacks;
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind != BlockKind::events) {
      continue;
    }
    EXPECT_TRUE(capture.read(block, batch));
    for (const ScopeRun& run : batch.runs) {
      Recovered& recovered = tracks[run.track];
      EXPECT_EQ(run.first_sequence, recovered.sequence) << "track " << run.track.value();
      recovered.sequence = run.end_sequence;
      recovered.dropped = run.dropped_scopes;
      capture::match(run, stacks[run.track], [&](const capture::ScopeSpan&) { ++recovered.closed; });
      for (const ScopeArgument& argument : run.arguments) {
        EXPECT_GT(argument.value.bits, recovered.last_number) << "an event came twice";
        recovered.last_number = argument.value.bits;
      }
    }
  }
  Everything everything;
  for (const TrackDeclaration& track : capture.declarations().tracks) {
    const bool is_fiber = track.role == TrackRole::fiber;
    everything.by_number[is_fiber ? std::stoull(track.name) : track.os_thread_id] = tracks[track.id];
    tracks.erase(track.id);
  }
  for (const auto& [track, unnamed] : tracks) {
    EXPECT_EQ(unnamed.closed, 0U) << "track " << track.value() << " was not declared";
    everything.unnamed_dropped += unnamed.dropped;
  }
  return everything;
}

/// Recovers the capture of a killed victim and holds it against the sheet.
void expect_everything_recovered(const std::string& path, const TallySheet& sheet) {
  if (!std::filesystem::exists(path)) {
    for (int i = 0; i < threads; ++i) {
      EXPECT_EQ(sheet[i].closed.load(), 0U);
    }
    return;
  }
  const capture::RecoveryReport report = capture::recover(path);
  EXPECT_TRUE(report.notes.empty()) << report.notes.front();
  const Everything recovered = read_tracks(path);
  std::uint64_t missing_closed = 0;
  for (int i = 0; i < threads; ++i) {
    const std::uint64_t closed = sheet[i].closed.load();
    const auto found = recovered.by_number.find(sheet[i].track.load());
    if (found == recovered.by_number.end()) {
      // The pool never had a chunk for it: its drops are in the capture, its name is not.
      missing_closed += closed;
      continue;
    }
    const std::uint64_t accounted = found->second.closed + found->second.dropped;
    // The scope that was under way may have closed without being written down.
    EXPECT_GE(accounted, closed);
    EXPECT_LE(accounted, sheet[i].opened.load());
  }
  EXPECT_LE(missing_closed, recovered.unnamed_dropped) << "a thread is missing altogether";
}

class KillTest : public ::testing::Test {
 protected:
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{KILL_VICTIM, capture_path_, sheet_path_, std::to_string(threads)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void clear() const { std::filesystem::remove(capture_path_); }

  TemporaryDirectory directory_;
  std::string capture_path_ = directory_ / "run.kymo";
  std::string sheet_path_ = directory_ / "sheet";
};

TEST_F(KillTest, AtRandomMomentsNothingIsLostAndNothingComesTwice) {
  std::mt19937 random(20240601);
  for (int round = 0; round < test::rounds(200); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    clear();
    const TallySheet sheet(sheet_path_);
    ChildProcess victim(command());
    // Moments at which the first thread has closed so many scopes, from the very first to many blocks later.
    const std::uint64_t goal = std::uint64_t{1} << std::uniform_int_distribution<unsigned>(0, 19)(random);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (sheet[0].closed.load(std::memory_order_relaxed) < goal && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    victim.signal(SIGKILL);
    ASSERT_EQ(victim.wait(), -SIGKILL);
    expect_everything_recovered(capture_path_, sheet);
    if (HasFailure()) {
      return;
    }
  }
}

class KillAtStepTest : public KillTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KillAtStepTest, NothingIsLostAndNothingComesTwice) {
  for (const int count : {1, 2, 3, 7, 20, 50}) {
    SCOPED_TRACE(count);
    clear();
    const TallySheet sheet(sheet_path_);
    ChildProcess victim(command({GetParam(), std::to_string(count)}));
    ASSERT_EQ(victim.wait(), -SIGKILL);
    expect_everything_recovered(capture_path_, sheet);
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, KillAtStepTest, ::testing::Values("decoded", "written", "released"),
                         [](const auto& step) { return std::string(step.param); });

}  // namespace
}  // namespace kymo
