// kymo recover: what it refuses, what it keeps, and what it leaves behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/timeline.hpp>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "capture/recover/recovery.hpp"
#include "capture/write/block_ring.hpp"
#include "capture/write/capture_writer.hpp"
#include "record/pool/spool_layout.hpp"
#include "recover_fixture.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace {

bool is_on_network = false;
/// Called by whoever examines a file system.
std::function<void()> on_examination;

}  // namespace

/// Also kymo's calls come here: where the test says so, a file lies on a network's file system.
extern "C" int fstatfs(int file, struct statfs* status) noexcept {
  const long result = ::syscall(SYS_fstatfs, file, status);
  if (is_on_network) {
    status->f_type = NFS_SUPER_MAGIC;
  }
  if (on_examination) {
    std::exchange(on_examination, nullptr)();
  }
  return static_cast<int>(result);
}

namespace kymo::test {
namespace {

TEST_F(Recover, ALivingCaptureIsNotReplacedThoughItsSpoolCannotBeSeen) {
  set_environment({{"KYMO_RECORD", "run.kymo"}});
  ChildProcess process(shell({RECORDED_PROGRAM, "await", "ready"}, ">program.out 2>&1"));
  static_cast<void>(wait_for("ready"));
  struct stat before {};
  ASSERT_EQ(::stat(capture_path().c_str(), &before), 0);
  capture::RecoverOptions options;
  options.spool_directory = file_named("elsewhere");
  fs::create_directory(options.spool_directory);
  EXPECT_THROW(static_cast<void>(capture::recover(capture_path(), options)), capture::RecoveryError);
  options.is_forced = true;
  EXPECT_THROW(static_cast<void>(capture::recover(capture_path(), options)), capture::RecoveryError);
  EXPECT_EQ(kymo({"recover", "--force", "run.kymo"}).status, 1);
  struct stat after {};
  ASSERT_EQ(::stat(capture_path().c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 42);
  EXPECT_EQ(work_count("run.kymo"), 100U);
}

TEST_F(Recover, WhoFollowsAProcessUntilItIsKilledSeesWhatItLeft) {
  set_environment({{"KYMO_RECORD", "run.kymo"}, {"KYMO_KEEP", "60s"}});
  ChildProcess process(shell({RECORDED_PROGRAM, "await", "ready"}, ">program.out 2>&1"));
  static_cast<void>(wait_for("ready"));
  Timeline timeline(capture_path());
  const auto count = [&timeline] {
    std::size_t scopes = 0;
    timeline.visit_spans([&](const SpanList& list) {
      scopes += list.spans.size();
      return true;
    });
    return scopes;
  };
  timeline.refresh();
  EXPECT_EQ(count(), 0U) << "a flight recorder's scopes are in memory until its end";
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(timeline.refresh());
  EXPECT_EQ(count(), 100U);
  EXPECT_FALSE(timeline.refresh());
}

TEST_F(Recover, ALivingCaptureIsKnownByItsLockAloneAlsoToItsOwnProcess) {
  auto writer = std::make_unique<capture::CaptureWriter>(capture_path(), capture::CaptureWriterOptions());
  EXPECT_TRUE(capture::is_being_written(CaptureReader(capture_path())));
  // That the process reads its own capture does not end the lock.
  EXPECT_TRUE(capture::is_being_written(CaptureReader(capture_path())));
  writer.reset();
  EXPECT_FALSE(capture::is_being_written(CaptureReader(capture_path())));
}

/// Writes a capture of another boot that has one sync point. Returns where its block of events begins.
std::uint64_t write_of_another_boot(const std::string& path) {
  capture::CaptureWriterOptions options;
  options.header.owner_pid = 1;
  options.header.spool_id = "gone";
  ProcessDeclaration& process = options.declarations.processes.emplace_back();
  process.id = ProcessId{1};
  process.boot_id = "another";
  capture::CaptureWriter writer(path, std::move(options));
  EventBatch batch;
  batch.sync_points.push_back({1, TrackId{1}, 0});
  writer.write(batch);
  writer.finish();
  const CaptureReader written(path);
  return std::find_if(written.blocks().begin(), written.blocks().end(),
                      [](const BlockInfo& block) { return block.kind == BlockKind::events; })
      ->offset;
}

TEST_F(Recover, WhatIsWrittenWhileACaptureIsExaminedIsNotLost) {
  const std::uint64_t events_at = write_of_another_boot(capture_path());
  const std::string whole = read_text(capture_path());
  const auto cut = [&] { fs::resize_file(capture_path(), events_at); };
  const auto close_late = [&] {
    std::ofstream(capture_path(), std::ios::app | std::ios::binary)
        << whole.substr(static_cast<std::size_t>(events_at));
  };

  cut();
  on_examination = close_late;
  const capture::RecoveryReport report = capture::recover(capture_path());
  EXPECT_TRUE(report.was_closed);
  EXPECT_EQ(read_text(capture_path()), whole);

  cut();
  CaptureReader reader(capture_path());
  close_late();
  EXPECT_EQ(capture::find_writer(reader).kind, capture::WriterState::Kind::closed);
  EXPECT_TRUE(capture::read_unwritten(reader, [](const EventBatch&) {}).empty());
  EXPECT_TRUE(reader.is_closed()) << "one that reads what is unwritten has what was written";
}

TEST_F(Recover, WhetherTheWriterIsGoneIsDecidedByWhatTheCaptureSaysOfIt) {
  using Kind = capture::WriterState::Kind;
  struct Case {
    std::uint64_t pid;
    std::string boot_id;
    std::string device;
    std::string pid_namespace;
    Kind expected;
    const char* why;
  };
  ChildProcess ended({"/bin/true"});
  ended.wait();
  const auto dead = static_cast<std::uint64_t>(ended.pid());
  const auto living = static_cast<std::uint64_t>(::getppid());
  const std::string boot = base::boot_id();
  const std::string here = capture::own_pid_namespace();
  for (const Case& at : {
           Case{0, "", "", "", Kind::gone, "a merge ends with its command"},
           Case{dead, "", "", "", Kind::unknown, "of which machine?"},
           Case{dead, "another", "", "", Kind::gone, "a local file of another boot"},
           Case{living, boot, "7", "1", Kind::gone, "its recorder would hold a lock on the file"},
           Case{dead, boot, capture::private_memory, "1", Kind::unknown, "in another container"},
           Case{living, boot, capture::private_memory, here, Kind::unknown, "it runs, or its number was given again"},
           Case{dead, boot, capture::private_memory, here, Kind::gone, "nobody has its number"},
           Case{living, boot, "", here, Kind::unknown, "as private memory"},
       }) {
    capture::CaptureWriterOptions options;
    options.header.owner_pid = at.pid;
    ProcessDeclaration& process = options.declarations.processes.emplace_back();
    process.id = ProcessId{1};
    process.boot_id = at.boot_id;
    options.declarations.infos.push_back({ProcessId{1}, capture::spool_device_key, at.device});
    options.declarations.infos.push_back({ProcessId{1}, capture::pid_namespace_key, at.pid_namespace});
    fs::remove(capture_path());
    { const capture::CaptureWriter writer(capture_path(), std::move(options)); }
    const CaptureReader capture(capture_path());
    ASSERT_FALSE(capture.is_closed());
    const capture::WriterState state = capture::find_writer(capture);
    EXPECT_EQ(state.kind, at.expected) << at.why << ": " << state.why;
    EXPECT_EQ(state.why.empty(), state.kind == Kind::gone);
  }
}

TEST_F(Recover, ACaptureOfAnotherMachineOnASharedFileSystemIsRefused) {
  capture::CaptureWriterOptions options;
  options.header.owner_pid = 1;
  ProcessDeclaration& process = options.declarations.processes.emplace_back();
  process.id = ProcessId{1};
  process.boot_id = "another";
  { const capture::CaptureWriter writer(capture_path(), std::move(options)); }
  const std::string before = read_text(capture_path());
  is_on_network = true;
  EXPECT_THROW(static_cast<void>(capture::recover(capture_path())), capture::RecoveryError);
  EXPECT_EQ(read_text(capture_path()), before);
  is_on_network = false;
  EXPECT_NO_THROW(static_cast<void>(capture::recover(capture_path())));
  EXPECT_TRUE(CaptureReader(capture_path()).is_closed());
}

TEST_F(Recover, AForkedChildDoesNotKeepItsParentsCaptureAlive) {
  auto writer = std::make_unique<capture::CaptureWriter>(capture_path(), capture::CaptureWriterOptions());
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  writer.reset();
  // The child closes its copy as soon as it runs.
  EXPECT_TRUE(test::wait_until([&] { return !capture::is_being_written(CaptureReader(capture_path())); }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(Recover, WhereASpoolMayBeElsewhereItIsRefusedUnlessForced) {
  kill_program();
  const std::string before = read_text(capture_path());
  capture::RecoverOptions options;
  options.spool_directory = file_named("elsewhere");
  fs::create_directory(options.spool_directory);
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(::stat("/dev/shm", &here), 0);
  ASSERT_EQ(::stat(options.spool_directory.c_str(), &there), 0);
  ASSERT_NE(here.st_dev, there.st_dev);
  EXPECT_THROW(static_cast<void>(capture::recover(capture_path(), options)), capture::RecoveryError);
  EXPECT_EQ(read_text(capture_path()), before);
  options.is_forced = true;
  options.output = file_named("forced.kymo");
  const capture::RecoveryReport report = capture::recover(capture_path(), options);
  EXPECT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, WhereTheProcessCannotBeSeenItIsRefusedUnlessForced) {
  const std::vector<std::string> in_namespace{"unshare", "--pid", "--fork", "sh", "-c"};
  const auto run_in_namespace = [&](const std::string& script) {
    std::vector<std::string> words = in_namespace;
    words.push_back(script);
    return run_any(words, {{"KYMO_RECORD", "run.kymo"}});
  };
  if (run_in_namespace("true").status != 0) {
    GTEST_SKIP() << "no namespace of process ids can be made here";
  }
  run_in_namespace(RECORDED_PROGRAM " kill 3000; true");
  const std::string before = read_text(capture_path());
  const CommandResult refused = kymo({"recover", "run.kymo"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("cannot be seen from here"), std::string::npos) << refused.err;
  EXPECT_EQ(read_text(capture_path()), before);
  EXPECT_EQ(kymo({"recover", "--force", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, ItSaysWhatTheFileLacked) {
  const auto recovered = [this] { return kymo({"recover", "run.kymo"}).out; };
  kill_program();
  EXPECT_NE(recovered().find(" scope events were only in shared memory and are in "), std::string::npos);
  EXPECT_NE(recovered().find(": was closed; there is nothing to recover\n"), std::string::npos);
  fs::remove(capture_path());
  set_environment({{"KYMO_RECORD", "run.kymo"}});
  ChildProcess process(shell({RECORDED_PROGRAM, "await", "ready"}, ">program.out 2>&1"));
  static_cast<void>(wait_for("ready"));
  ASSERT_TRUE(test::wait_until([this] { return work_count("run.kymo") == 100; }));
  process.signal(SIGKILL);
  process.wait();
  const std::string words = recovered();
  EXPECT_NE(words.find(": shared memory has no scope that the file lacks; "), std::string::npos) << words;
}

TEST_F(Recover, WhatATornCaptureLacksIsToldOfTheRecoveredOneToo) {
  kill_program();
  const std::string spool = spool_path();
  EXPECT_EQ(kymo({"recover", "-o", "whole.kymo", "--keep-spool", "run.kymo"}).status, 0);
  EXPECT_EQ(kymo({"stats", "whole.kymo"}).err, "");
  fs::remove(spool);
  fs::resize_file(capture_path(), fs::file_size(capture_path()) - 10);
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 3);
  for (const char* const capture : {"run.kymo", "merged.kymo"}) {
    const std::string said = kymo({"stats", capture}).err;
    EXPECT_NE(said.find("could not be read"), std::string::npos) << said;
    EXPECT_NE(said.find("had not been closed"), std::string::npos) << said;
    EXPECT_EQ(kymo({"info", capture}).err, said);
    EXPECT_EQ(kymo({"merge", "-o", "merged.kymo", "run.kymo"}).status, 0);
  }
}

TEST_F(Recover, SeveralAtOnceLoseNothingAndLeaveNothing) {
  for (int round = 0; round < test::rounds(6); ++round) {
    fs::remove(capture_path());
    kill_program();
    std::vector<std::unique_ptr<ChildProcess>> recoveries;
    for (int i = 0; i < 4; ++i) {
      const std::string out = ">out" + std::to_string(i) + " 2>&1";
      recoveries.push_back(std::make_unique<ChildProcess>(shell(kymo_words({"recover", "run.kymo"}), out)));
    }
    for (std::size_t i = 0; i < recoveries.size(); ++i) {
      EXPECT_EQ(recoveries[i]->wait(), 0) << read_text(file_named("out" + std::to_string(i)));
    }
    ASSERT_EQ(work_count("run.kymo"), 3000U) << "round " << round;
    EXPECT_FALSE(has_partial());
  }
}

TEST_F(Recover, WhereDescriptorsRunOutNothingIsLost) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "sanitizers and emulators need descriptors of their own";
  }
  kill_program();
  int refused = 0;
  for (int limit = 4; limit < 40; ++limit) {
    const CommandResult result = run_any({"/bin/sh", "-c", "ulimit -n \"$0\" && exec \"$@\"", std::to_string(limit),
                                          KYMO_COMMAND, "recover", "run.kymo"},
                                         {});
    if (result.status == 0) {
      break;
    }
    ++refused;
    EXPECT_TRUE(fs::exists(spool_path())) << "with " << limit << " descriptors: " << result.err;
    EXPECT_FALSE(has_partial()) << limit;
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, WhatAKilledRecoveryLeftGoesAndAUsersFileStays) {
  kill_program();
  fs::copy_file(capture_path(), file_named("run.kymo.recovering"));
  fs::copy_file(capture_path(), file_named("run.kymo-3.recovering"));
  std::ofstream(file_named("run.kymo-1.recovering")) << "a user's";
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_FALSE(fs::exists(file_named("run.kymo.recovering")));
  EXPECT_FALSE(fs::exists(file_named("run.kymo-3.recovering")));
  EXPECT_EQ(read_text(file_named("run.kymo-1.recovering")), "a user's");
}

TEST_F(Recover, ASpoolThatCannotBeReadIsKeptAndTheCaptureLeftAsItIs) {
  kill_program();
  const std::string spool = spool_path();
  const base::FileDescriptor file(::open(spool.c_str(), O_RDWR | O_CLOEXEC));
  const std::uint32_t strange = record::spool_version + 1;
  constexpr off_t version_at = offsetof(record::SpoolHeader, version);
  ASSERT_EQ(::pwrite(file.get(), &strange, sizeof strange, version_at), 4);
  const std::string before = read_text(capture_path());
  const CommandResult result = kymo({"recover", "run.kymo"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find(spool), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(spool));
  EXPECT_EQ(read_text(capture_path()), before);
  EXPECT_EQ(kymo({"recover", "--force", "-o", "forced.kymo", "run.kymo"}).status, 3);
  EXPECT_TRUE(fs::exists(spool)) << "forced or not";
  const CommandResult merged = kymo({"merge", "-o", "merged.kymo", "run.kymo"});
  EXPECT_EQ(merged.status, 3);
  const std::size_t complaint = merged.err.find(spool);
  ASSERT_NE(complaint, std::string::npos) << merged.err;
  EXPECT_EQ(merged.err.find(spool, complaint + 1), std::string::npos) << "once: " << merged.err;
  ASSERT_EQ(::pwrite(file.get(), &record::spool_version, sizeof strange, version_at), 4);
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_FALSE(fs::exists(spool));
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, AnotherUsersSpoolIsNotTakenForOneThatIsGone) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  kill_program();
  const std::string spool = spool_path();
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0777), 0);
  ASSERT_EQ(::chmod(capture_path().c_str(), 0666), 0);
  ASSERT_EQ(::seteuid(65534), 0);
  EXPECT_THROW(static_cast<void>(capture::recover(capture_path())), capture::RecoveryError);
  CaptureReader capture(capture_path());
  std::vector<std::string> notes = capture::read_unwritten(capture, [](const EventBatch&) {});
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(notes.size(), 1U) << "readers say that there is more";
  EXPECT_TRUE(fs::exists(spool));
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, AReadableSpoolIsBelievedOfTheCapturesOwnerAndNotOfAStranger) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  constexpr uid_t owner = 1234;
  constexpr uid_t stranger = 4321;
  kill_program();
  const std::string spool = spool_path();
  const std::string id = CaptureReader(capture_path()).header().spool_id;
  const std::string planted = fs::path(spool).parent_path() / ("kymo-1-" + id + ".spool");
  std::ofstream(planted, std::ios::binary) << std::string(100'000, 'x');
  ASSERT_EQ(::chown(planted.c_str(), stranger, stranger), 0);
  ASSERT_EQ(::chmod(planted.c_str(), 0666), 0);
  for (const std::string& path : {capture_path(), spool}) {
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
  }
  EXPECT_EQ(kymo({"recover", "--keep-spool", "-o", "whole.kymo", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("whole.kymo"), 3000U);
  EXPECT_EQ(fs::file_size(planted), 100'000U) << "it is not kymo's to touch";
  fs::remove(planted);
  ASSERT_EQ(::chown(spool.c_str(), stranger, stranger), 0);
  EXPECT_EQ(capture::find_spool_file(id, fs::path(spool).parent_path(), owner).state, SpoolFile::State::absent);
  ASSERT_EQ(::chown(spool.c_str(), 0, 0), 0) << "or TearDown takes it for a stranger's";
}

TEST_F(Recover, ModeOwnerAndLinksStayAsTheyWere) {
  kill_program();
  fs::create_directory(file_named("deep"));
  fs::rename(capture_path(), file_named("deep/real.kymo"));
  fs::create_symlink("deep/real.kymo", capture_path());
  ASSERT_EQ(::chmod(capture_path().c_str(), 0600), 0);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown(capture_path().c_str(), 1234, 4321), 0);
  }
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_TRUE(fs::is_symlink(capture_path()));
  EXPECT_TRUE(CaptureReader(file_named("deep/real.kymo")).is_closed());
  struct stat status {};
  ASSERT_EQ(::stat(file_named("deep/real.kymo").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_TRUE(!is_root || (status.st_uid == 1234 && status.st_gid == 4321));
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, AnOutputThatExistsIsNotReplacedUnlessForced) {
  kill_program();
  std::ofstream(file_named("mine")) << "a user's";
  EXPECT_EQ(kymo({"recover", "--keep-spool", "-o", "mine", "run.kymo"}).status, 1);
  EXPECT_EQ(read_text(file_named("mine")), "a user's");
  EXPECT_EQ(kymo({"recover", "--keep-spool", "-o", "new.kymo", "run.kymo"}).status, 0);
  EXPECT_EQ(kymo({"recover", "--keep-spool", "-o", "new.kymo", "run.kymo"}).status, 1) << "nor its own";
  EXPECT_EQ(kymo({"recover", "--keep-spool", "--force", "-o", "mine", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("mine"), 3000U);
  EXPECT_FALSE(has_partial());
}

TEST_F(Recover, ItsOwnInputAsTheOutputIsRecoveredInPlace) {
  kill_program();
  fs::create_symlink("run.kymo", file_named("link.kymo"));
  EXPECT_EQ(kymo({"recover", "-o", "link.kymo", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
  const std::string whole = read_text(capture_path());
  EXPECT_EQ(kymo({"recover", "--force", "-o", "run.kymo", "run.kymo"}).status, 0);
  EXPECT_EQ(read_text(capture_path()), whole) << "there was nothing to do";
  EXPECT_TRUE(fs::is_symlink(file_named("link.kymo")));
}

TEST_F(Recover, AClosedCaptureLeavesTheSpoolToTheOneThatItsProcessWroteNext) {
  kill_program();
  const std::string spool = spool_path();
  // What an earlier capture of the process would be: closed, of the same spool.
  capture::CaptureWriterOptions options;
  options.header = CaptureReader(capture_path()).header();
  capture::CaptureWriter(file_named("earlier.kymo"), std::move(options)).finish();
  EXPECT_EQ(kymo({"recover", "earlier.kymo"}).status, 0);
  EXPECT_EQ(kymo({"recover", "-o", "copy.kymo", "earlier.kymo"}).status, 0);
  EXPECT_TRUE(fs::exists(spool));
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, APlantedSpoolOfManyGigabytesCostsNoMemoryAndAPipeForARingDoesNotHang) {
  kill_program();
  const std::string spool = spool_path();
  const std::string id = CaptureReader(capture_path()).header().spool_id;
  ASSERT_EQ(::mkfifo(capture::block_ring_path(id).c_str(), 0600), 0);
  ASSERT_EQ(::truncate(spool.c_str(), off_t{12} << 30U), 0);
  if (has_sanitizer || is_emulated) {
    GTEST_SKIP() << "their memory cannot be bounded";
  }
  const std::string bounded = "ulimit -v 2000000; exec \"$@\"";
  std::vector<std::string> words{"/bin/sh", "-c", bounded, "sh"};
  for (const std::string& word : kymo_words({"recover", "run.kymo"})) {
    words.push_back(word);
  }
  EXPECT_EQ(run_any(words).status, 0);
  EXPECT_EQ(work_count("run.kymo"), 3000U);
}

TEST_F(Recover, OptionsThatDoNotGoTogetherAreRefusedAndChangeNothing) {
  kill_program();
  const std::string before = read_text(capture_path());
  const std::string spool = spool_path();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"recover", "--dry-run", "run.kymo"},
                                             {"recover", "--all", "--dry-run", "run.kymo"},
                                             {"recover", "--all", "--dry-run", "--keep-spool"},
                                             {"recover", "--all", "--dry-run", "-o", "new.kymo"},
                                             {"recover", "--all", "--dry-run", "--to", "nvmt"}}) {
    const CommandResult result = kymo(words);
    EXPECT_EQ(result.status, 2) << ::testing::PrintToString(words);
    EXPECT_NE(result.err.find("--all"), std::string::npos) << result.err;
    EXPECT_EQ(read_text(capture_path()), before) << ::testing::PrintToString(words);
    ASSERT_TRUE(fs::exists(spool)) << ::testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace kymo::test
