// A storm: a program does to itself all that recording must survive, is killed at a random moment or not, and every
// process's capture accounts for every scope. KYMO_STORM_SECONDS says for how long (3).
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/capture.hpp>

#include "base/system/file.hpp"
#include "capture/recover/recovery.hpp"
#include "record/pool/spool_sweep.hpp"
#include "storm_tally.hpp"
#include "support/child_process.hpp"
#include "support/rounds.hpp"
#include "support/spools.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_until.hpp"

namespace kymo {
namespace {

namespace fs = std::filesystem;
using test::StormSheet;
using test::StormTally;

class MappedSheet {
 public:
  explicit MappedSheet(const std::string& path) {
    const base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), sizeof(StormSheet)) != 0) {
      throw std::runtime_error("cannot create " + path);
    }
    sheet_ = static_cast<StormSheet*>(
        ::mmap(nullptr, sizeof(StormSheet), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  }
  MappedSheet(const MappedSheet&) = delete;
  MappedSheet& operator=(const MappedSheet&) = delete;
  ~MappedSheet() { ::munmap(sheet_, sizeof(StormSheet)); }
  [[nodiscard]] const StormSheet& operator*() const { return *sheet_; }

 private:
  StormSheet* sheet_;
};

/// What was recorded and what was dropped.
std::uint64_t accounted_scopes(const CaptureReader& capture) {
  std::uint64_t scopes = 0;
  std::map<TrackId, std::uint64_t> dropped;
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind != BlockKind::events) {
      continue;
    }
    EXPECT_TRUE(capture.read(block, batch));
    for (const ScopeRun& run : batch.runs) {
      dropped[run.track] = run.dropped_scopes;
      for (const ScopeEvent& event : run.events) {
        scopes += event.is_open() ? 1U : 0U;
      }
    }
  }
  for (const auto& [track, count] : dropped) {
    scopes += count;
  }
  return scopes;
}

void expect_all_accounted(const fs::path& captures, const StormSheet& sheet) {
  std::map<std::uint64_t, std::uint64_t> accounted;
  for (const auto& entry : fs::directory_iterator(captures)) {
    if (fs::is_empty(entry.path())) {
      continue;  // killed before it had a header
    }
    const capture::RecoveryReport report = capture::recover(entry.path().string());
    EXPECT_TRUE(report.notes.empty()) << entry.path() << ": " << report.notes.front();
    const CaptureReader capture(entry.path().string());
    ASSERT_EQ(capture.declarations().processes.size(), 1U);
    accounted[capture.declarations().processes.front().pid] += accounted_scopes(capture);
  }
  ASSERT_LE(sheet.used.load(), StormSheet::most_processes);
  for (std::uint32_t i = 0; i < sheet.used.load(); ++i) {
    const StormTally& tally = sheet.processes[i];
    const std::uint64_t scopes = accounted[tally.pid.load()];
    EXPECT_GE(scopes, tally.closed.load()) << "process " << tally.pid.load();
    EXPECT_LE(scopes, tally.opened.load()) << "process " << tally.pid.load();
  }
}

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// Files of the sheet's processes, by number and, where they say so, by capture.
std::set<std::string> left_by(const StormSheet& sheet, const std::string& captures) {
  std::set<std::string> names;
  for (const std::string& name : shared_memory()) {
    const std::string capture = test::capture_of_spool("/dev/shm/" + name);
    if (!capture.empty() && capture.rfind(captures, 0) != 0) {
      continue;
    }
    for (std::uint32_t i = 0; i < sheet.used.load(); ++i) {
      if (name.rfind("kymo-" + std::to_string(sheet.processes[i].pid.load()) + "-", 0) == 0) {
        names.insert(name);
      }
    }
  }
  return names;
}

/// Who was killed before its capture was there leaves a spool that the next recording's sweep takes away, one that was
/// half made after ten seconds.
void expect_nothing_left(const StormSheet& sheet, const std::string& captures) {
  const auto is_clear = [&] { return left_by(sheet, captures).empty(); };
  EXPECT_TRUE(test::wait_until(
      [&] { return is_clear() || (record::SpoolSweep("/dev/shm", "").step(1'000'000'000) && is_clear()); }));
  EXPECT_EQ(left_by(sheet, captures), std::set<std::string>());
}

TEST(StormTest, EveryProcessAccountsForEveryScopeAndLeavesNothingBehind) {
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  if (test::has_sanitizer) {
    GTEST_SKIP() << test::no_fork_beside_allocations;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const char* const wanted = std::getenv("KYMO_STORM_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted != nullptr ? std::atoi(wanted) : 3);
  std::mt19937 random(20'261'123);
  unsigned round = 0;
  do {
    const unsigned seed = static_cast<unsigned>(random() % 1'000'000);
    SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(seed));
    const test::TemporaryDirectory directory;
    const std::string captures = directory / "captures";
    fs::create_directory(captures);
    const MappedSheet sheet(directory / "sheet");
    const unsigned length_ms = 200 + seed % 1'500;
    test::ChildProcess program(
        {STORM_PROGRAM, directory / "sheet", std::to_string(seed), std::to_string(length_ms), RECORDING_MODULE},
        {{"KYMO_RECORD", captures + "/"}, {"KYMO_SAMPLE", "0"}});
    const bool is_killed = round % 2 == 1;
    if (is_killed) {
      std::this_thread::sleep_for(std::chrono::milliseconds(seed % length_ms));  // any moment will do
      program.signal(SIGKILL);
    }
    const int status = program.wait();
    if (is_killed) {
      EXPECT_TRUE(status == -SIGKILL || status == 0) << status;
    } else {
      ASSERT_EQ(status, 0);
      EXPECT_GT((*sheet).signals.load(), 0U);
      EXPECT_GT((*sheet).restarts.load(), 0U);
    }
    // The children of one that was killed go on to their own ends.
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
    expect_all_accounted(captures, *sheet);
    expect_nothing_left(*sheet, captures);
    ++round;
  } while (!::testing::Test::HasFailure() && std::chrono::steady_clock::now() < end);
}

}  // namespace
}  // namespace kymo
