// What the start of a recording clears up, and kymo recover --all.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "capture/recover/leftovers.hpp"
#include "record/pool/spool_layout.hpp"
#include "recover_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

class Sweep : public Recover {
 protected:
  /// Any recording: its start clears up. Another test's may be at the same file already, so the results are waited for.
  /// That one may be killed at it, so there are more.
  void record_something() const {
    ASSERT_EQ(run_any({RECORDED_PROGRAM, "scopes", "10"}, {{"KYMO_RECORD", "other.kymo"}, {"KYMO_SAMPLE", "0"}}).status,
              0);
  }
  template <typename Condition>
  [[nodiscard]] bool is_swept_until(const Condition& condition) const {
    return wait_until([&] {
      record_something();
      return condition();
    });
  }
  [[nodiscard]] static std::uint64_t memory_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
  }
  /// The id of a process that was there and is not any more.
  [[nodiscard]] static std::string dead_pid() {
    ChildProcess process({"/bin/true"});
    process.wait();
    return std::to_string(process.pid());
  }
};

TEST_F(Sweep, ASpoolWhoseEventsAreAllInTheFileGoesWithTheNextRecording) {
  ASSERT_EQ(run_any({RECORDED_PROGRAM, "flush", "3000"}, {{"KYMO_RECORD", "run.kymo"}, {"KYMO_SAMPLE", "0"}}).status,
            -SIGKILL);
  // A recording of another test may be the next one.
  const std::string spool = spool_path();
  EXPECT_TRUE(is_swept_until([&] { return !fs::exists(spool); }));
  const CommandResult result = kymo({"recover", "run.kymo"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Sweep, AKillWithinAWriteThatHoldsNoEventIsNoLoss) {
  for (const std::string where : {"torn-begin", "torn-end"}) {
    fs::create_directory(file_named(where));
    ASSERT_EQ(run_any({RECORDED_PROGRAM, where, "3000"}, {{"KYMO_RECORD", where + "/"}, {"KYMO_SAMPLE", "0"}}).status,
              -SIGKILL);
    std::uint64_t scopes = 0;
    record_something();  // and sweeps
    for (const auto& entry : fs::directory_iterator(file_named(where))) {
      const CommandResult result = kymo({"recover", entry.path()});
      EXPECT_EQ(result.status, 0) << where << ": " << result.err;
      EXPECT_EQ(result.err, "") << where;
      EXPECT_TRUE(CaptureReader(entry.path()).is_closed());
      scopes += work_count(entry.path());
    }
    EXPECT_EQ(scopes, 3000U) << where;
  }
}

TEST_F(Sweep, ASpoolWithEventsThatAreInNoFileGivesTheRestOfItsMemoryBackAndIsStillRecovered) {
  kill_program();
  const std::string spool = spool_path();
  {
    // As if the kill had come while all of the pool was being reserved, and no other recording had swept yet.
    const base::FileDescriptor file(::open(spool.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(wait_until([&] { return base::lock_byte(file.get(), 0) == base::LockOutcome::taken; }));
    ASSERT_EQ(::posix_fallocate(file.get(), 0, static_cast<off_t>(fs::file_size(spool))), 0);
    constexpr std::uint32_t is_not_swept = 0;
    ASSERT_EQ(::pwrite(file.get(), &is_not_swept, sizeof is_not_swept, offsetof(record::SpoolHeader, is_swept)),
              static_cast<ssize_t>(sizeof is_not_swept));
  }
  EXPECT_TRUE(is_swept_until([&] { return memory_of(spool) < 2'000'000U; })) << memory_of(spool);
  EXPECT_EQ(work_count("run.kymo"), 3000U) << "an overlay reads it";
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
  EXPECT_FALSE(fs::exists(spool));
}

TEST_F(Sweep, HalfMadeSpoolsAndRingsOfTheDeadGoAndOtherFilesStay) {
  const std::string pid = dead_pid();
  const std::string id = "00112233445566778899aabbccdd" + std::to_string(1000 + ::getpid() % 9000);
  const std::string half_made = "/dev/shm/kymo-" + pid + "-" + id + ".spool";
  const std::string begun = "/dev/shm/kymo-" + pid + "-f" + id.substr(1) + ".spool";
  const std::string pipe = "/dev/shm/kymo-" + pid + "-e" + id.substr(1) + ".spool";
  const std::string ring = "/dev/shm/kymo-d" + id.substr(1) + ".keep";
  const std::string living_ring = "/dev/shm/kymo-c" + id.substr(1) + ".keep";
  const std::string zeros(100'000, '\0');
  std::ofstream(half_made) << zeros;
  std::ofstream(begun) << zeros;
  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, half_made.c_str(), long_ago, 0), 0);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto make_ring = [&](const std::string& path, std::uint64_t owner) {
    std::string bytes(4096, '\0');
    std::memcpy(bytes.data() + record::ring_owner_offset, &owner, sizeof owner);
    std::ofstream(path) << bytes;
  };
  make_ring(ring, std::stoull(pid));
  make_ring(living_ring, 1);
  EXPECT_TRUE(is_swept_until([&] { return !fs::exists(half_made) && !fs::exists(ring); }));
  EXPECT_TRUE(fs::exists(begun)) << "its process may be about to fill it in";
  EXPECT_TRUE(fs::exists(pipe));
  EXPECT_TRUE(fs::exists(living_ring));
  for (const std::string& path : {half_made, begun, pipe, ring, living_ring}) {
    fs::remove(path);
  }
}

TEST_F(Sweep, RecoverAllListsAndClearsUp) {
  kill_program();
  const std::string spool = spool_path();
  const auto row_of = [&](const std::string& json) {
    for (const auto& row : nlohmann::json::parse(json)) {
      if (row["path"] == spool) {
        return nlohmann::json(row);
      }
    }
    return nlohmann::json();
  };
  nlohmann::json row = row_of(kymo({"recover", "--all", "--dry-run", "--json"}).out);
  EXPECT_EQ(row["state"], "not recovered");
  EXPECT_EQ(row["capture"], fs::canonical(capture_path()).string());
  EXPECT_EQ(row["is_cleared"], false);
  EXPECT_TRUE(fs::exists(spool));
  const auto doctor = nlohmann::json::parse(kymo({"doctor", "--json", "--sensors", "cpu"}).out);
  const auto& memory = doctor["shared_memory"];
  EXPECT_TRUE(std::any_of(memory.begin(), memory.end(), [&](const auto& listed) { return listed["path"] == spool; }));
  // Other tests' files are theirs: --all would clear these too.
  std::vector<capture::Leftover> all = capture::list_leftovers();
  const auto mine =
      std::find_if(all.begin(), all.end(), [&](const capture::Leftover& leftover) { return leftover.path == spool; });
  ASSERT_NE(mine, all.end());
  EXPECT_GT(mine->scope_events, 0U);
  EXPECT_TRUE(capture::clear_leftover(*mine, false));
  EXPECT_FALSE(fs::exists(spool));
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Sweep, ASpoolWhoseCaptureIsGoneIsListedAndKeptUnlessForced) {
  kill_program();
  const std::string spool = spool_path();
  fs::rename(capture_path(), file_named("moved.kymo"));
  std::vector<capture::Leftover> all = capture::list_leftovers();
  const auto mine =
      std::find_if(all.begin(), all.end(), [&](const capture::Leftover& leftover) { return leftover.path == spool; });
  ASSERT_NE(mine, all.end());
  EXPECT_EQ(mine->state, capture::Leftover::State::no_capture);
  EXPECT_FALSE(capture::clear_leftover(*mine, false));
  EXPECT_TRUE(fs::exists(spool));
  EXPECT_EQ(kymo({"recover", "moved.kymo"}).status, 0);
  EXPECT_EQ(work_count("moved.kymo"), 3000U);
  EXPECT_FALSE(fs::exists(spool));
}

TEST_F(Sweep, ALivingProcessKeepsItsSpool) {
  set_environment({{"KYMO_RECORD", "run.kymo"}});
  ChildProcess process(shell({RECORDED_PROGRAM, "await", "ready"}, ">program.out 2>&1"));
  static_cast<void>(wait_for("ready"));
  const std::string spool = spool_path();
  const std::uint64_t memory = memory_of(spool);
  record_something();
  EXPECT_GE(memory_of(spool), memory);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 42);
}

}  // namespace
}  // namespace kymo::test
