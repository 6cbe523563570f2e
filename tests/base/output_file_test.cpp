#include "base/output/output_file.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output/replacing_file.hpp"
#include "support/programs.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::base {
namespace {

/// What the function's OutputError says; empty where there was none.
template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const OutputError& error) {
    return error.what();
  }
  return {};
}

TEST(OutputFile, AFullDiskIsAnErrorThatNamesTheFile) {
  OutputFile file = OutputFile::create("/dev/full");
  file.buffer() = "text";
  const std::string message = error_of([&] { file.flush(); });
  EXPECT_NE(message.find("/dev/full"), std::string::npos) << message;
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  file.buffer() = "more";
  EXPECT_NE(error_of([&] { file.flush(); }), "") << "an error must not be forgotten";
  EXPECT_NO_THROW(file.close());
}

TEST(OutputFile, AFileThatCannotBeCreatedIsAnErrorThatNamesIt) {
  const std::string message = error_of([] { static_cast<void>(OutputFile::create("/nonexistent/trace.json")); });
  EXPECT_NE(message.find("/nonexistent/trace.json: No such file"), std::string::npos) << message;
}

TEST(OutputFile, AClosedPipeIsAnErrorAndNoSignal) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  OutputFile file(FileDescriptor(ends[1]), "the pipe");
  file.buffer() = "text";
  const std::string message = error_of([&] { file.flush(); });
  EXPECT_NE(message.find("the pipe: Broken pipe"), std::string::npos) << message;
  sigset_t pending;
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST(OutputFile, WhatADescriptorStandsForIsWrittenOnAndNotReplaced) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "log";
  const FileDescriptor log(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(log.get(), "before ", 7), 7);
  const auto append = [](const std::string& to, const char* text) {
    replace_file(to, {}, [text](OutputFile file) {
      file.buffer() += text;
      file.close();
    });
  };
  append("/dev/fd/" + std::to_string(log.get()), "first ");
  // Even where nothing leads to the file any more.
  const std::string other = directory / "other";
  ASSERT_EQ(std::rename(path.c_str(), other.c_str()), 0);
  append("/proc/self/fd/" + std::to_string(log.get()), "second");
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_EQ(test::read_file(other), "before first second");
  EXPECT_THROW(append("/dev/fd/9999", "x"), OutputError);
}

TEST(OutputFile, AFileThatFillsUpEndsWithTheLastWholePiece) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "full.txt";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Stands in for a full disk: the second piece fits only in part.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{6, 6};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    OutputFile file = OutputFile::create(path);
    file.buffer() = "whole";
    file.flush();
    file.buffer() = "torn";
    ::_exit(error_of([&] { file.flush(); }).empty() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(test::read_file(path), "whole");
}

TEST(OutputFile, WhatIsThereIsLeftAndTheNameGetsASuffix) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  std::ofstream(path) << "of the user";
  OutputFile first = OutputFile::create(path);
  OutputFile second = OutputFile::create(path);
  second.buffer() = "second";
  second.close();
  EXPECT_EQ(test::read_file(path), "of the user");
  EXPECT_EQ(first.name(), (directory / "trace-1.json"));
  EXPECT_EQ(test::read_file(directory / "trace-2.json"), "second");
}

TEST(OutputFile, OfARecordedProgramIsForItsOwnerUnlessTheVariableSaysMore) {
  test::TemporaryDirectory directory;
  const mode_t umask_before = ::umask(022);
  const auto mode_of = [&](const char* name) {
    OutputFile::create(directory / name).close();
    struct stat status {};
    EXPECT_EQ(::stat((directory / name).c_str(), &status), 0);
    return status.st_mode & 0777U;
  };
  EXPECT_EQ(mode_of("private"), 0600U);
  ::setenv("KYMO_FILE_MODE", "0664", 1);
  EXPECT_EQ(mode_of("shared"), 0644U) << "the umask narrows";
  ::setenv("KYMO_FILE_MODE", "rw", 1);
  EXPECT_EQ(mode_of("not_understood"), 0600U);
  ::unsetenv("KYMO_FILE_MODE");
  ::umask(umask_before);
}

TEST(OutputFile, APipeThatNobodyReadsIsAnErrorAndNoWait) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string message = error_of([&] { static_cast<void>(OutputFile::create(path)); });
  EXPECT_NE(message.find("nobody reads"), std::string::npos) << message;
}

TEST(OutputFile, APipeWhoseReaderTakesNothingIsGivenUp) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const FileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  OutputFile file = OutputFile::create(path);
  file.buffer().assign(std::size_t{1} << 20U, 'x');
  const std::string message = error_of([&] { file.flush(); });
  EXPECT_NE(message.find("timed out"), std::string::npos) << message;
}

class ReplacingFile : public ::testing::Test {
 protected:
  static constexpr std::string_view mark = "%OURS%";

  [[nodiscard]] std::string file_with(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name);
  }
  static std::string replace(const std::string& path, const Replacing& replacing) {
    return error_of([&] {
      replace_file(path, replacing, [](OutputFile file) {
        file.buffer() = "new";
        file.close();
      });
    });
  }

  test::TemporaryDirectory directory_;
};

TEST_F(ReplacingFile, AForeignFileIsReplacedOnlyWhereThatWasAskedFor) {
  const std::string path = file_with("thesis", "years of work");
  EXPECT_NE(replace(path, {mark, false, {}}).find("--force"), std::string::npos);
  EXPECT_EQ(test::read_file(path), "years of work");
  EXPECT_EQ(replace(path, {mark, true, {}}), "");
  EXPECT_EQ(test::read_file(path), "new");
}

TEST_F(ReplacingFile, OnesOwnKindAndEmptyFilesAreRenewed) {
  const std::string own = file_with("own", "%OURS% of yesterday");
  EXPECT_EQ(replace(own, {mark, false, {}}), "");
  EXPECT_EQ(test::read_file(own), "new");
  EXPECT_EQ(replace(file_with("empty", ""), {{}, false, {}}), "");
  EXPECT_NE(replace(file_with("unmarked", "a;b 12"), {{}, false, {}}), "") << "nothing tells that it is ours";
}

TEST_F(ReplacingFile, AnInputIsNeverItsOwnOutput) {
  const std::string path = file_with("input", "%OURS%");
  const std::string link = directory_ / "link";
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_NE(replace(link, {mark, true, {path}}).find("being read"), std::string::npos);
  const FileDescriptor open(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  EXPECT_NE(replace("/dev/fd/" + std::to_string(open.get()), {mark, true, {path}}).find("being read"),
            std::string::npos);
  EXPECT_EQ(test::read_file(path), "%OURS%");
}

TEST_F(ReplacingFile, WhatIsRenewedKeepsItsMode) {
  const std::string path = file_with("own", "%OURS%");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(replace(path, {mark, false, {}}), "");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(ReplacingFile, WhatComesThereMeanwhileIsLeft) {
  const std::string path = directory_ / "late";
  const std::string message = error_of([&] {
    replace_file(path, {mark, false, {}}, [&](OutputFile file) {
      static_cast<void>(file_with("late", "of somebody else"));
      file.close();
    });
  });
  EXPECT_NE(message.find("late"), std::string::npos) << message;
  EXPECT_EQ(test::read_file(path), "of somebody else");
}

}  // namespace
}  // namespace kymo::base
