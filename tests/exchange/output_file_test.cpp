#include "exchange/output_file.hpp"

#include <csignal>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chrome_fixture.hpp"
#include "exchange/replacing_file.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::exchange {
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
  OutputFile file(base::FileDescriptor(ends[1]), "the pipe");
  file.buffer() = "text";
  const std::string message = error_of([&] { file.flush(); });
  EXPECT_NE(message.find("the pipe: Broken pipe"), std::string::npos) << message;
  sigset_t pending;
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST(OutputFile, WhatADescriptorStandsForIsWrittenOnAndNotReplaced) {
  const kymo::test::TemporaryDirectory directory;
  const std::string path = directory / "log";
  const base::FileDescriptor log(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(log.get(), "before ", 7), 7);
  const auto append = [](const std::string& to, const char* text) {
    replace_file(to, [text](OutputFile file) {
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
  test::ScratchDirectory directory;
  const std::string path = directory.file("full.txt");
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

TEST(OutputFile, AFileThatIsBeingWrittenIsNotWrittenASecondTime) {
  test::ScratchDirectory directory;
  const std::string path = directory.file("shared.txt");
  OutputFile first = OutputFile::create(path);
  first.buffer() = "first";
  first.flush();
  const std::string message = error_of([&] { static_cast<void>(OutputFile::create(path)); });
  EXPECT_NE(message.find(path), std::string::npos) << message;
  EXPECT_EQ(test::read_file(path), "first");
  first.close();
  OutputFile::create(path).close();
  EXPECT_EQ(test::read_file(path), "");
}

}  // namespace
}  // namespace kymo::exchange
