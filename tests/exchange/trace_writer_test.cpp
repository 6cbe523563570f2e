// TraceWriter: each clause of what it promises.
#include <kymo/trace_writer.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/system/file.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

using Json = nlohmann::json;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The events of a trace; fails the test where it is no array.
Json read_trace(const std::string& path) {
  const std::string text = read_text(path);
  Json trace = Json::parse(text, nullptr, false);
  EXPECT_TRUE(trace.is_array()) << text;
  return trace;
}

/// The name that a file gets whose own is taken.
std::string with_suffix(const std::filesystem::path& path) {
  return (path.parent_path() / (path.stem().string() + "-1" + path.extension().string())).string();
}

double now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// Runs it in a child; the child's exit status.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

class TraceWriterTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "trace.json";
};

TEST_F(TraceWriterTest, AnEventStandsWhereTheWorkRan) {
  const double before = now_us();
  {
    TraceWriter trace(path_, {false, 0});
    trace.push("load", "io", 0.123, 7);
    trace.push("long", "io", 1000, 8);
  }
  const double after = now_us();
  const Json events = read_trace(path_);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["name"], "load");
  EXPECT_EQ(events[0]["cat"], "io");
  EXPECT_EQ(events[0]["ph"], "X");
  EXPECT_EQ(events[0]["pid"], 0);
  EXPECT_EQ(events[0]["tid"], 7);
  EXPECT_EQ(events[0].count("args"), 0U);
  EXPECT_NE(read_text(path_).find("\"dur\":123,"), std::string::npos);
  EXPECT_NE(read_text(path_).find("\"dur\":1000000,"), std::string::npos);
  for (const Json& event : events) {
    const double end_us = event["ts"].get<double>() + event["dur"].get<double>();
    EXPECT_GE(end_us, before - 0.01);
    EXPECT_LE(end_us, after + 0.01);
  }
}

TEST_F(TraceWriterTest, TimesCountFromTheWritersStartAndNeverFromBeforeIt) {
  const double before = now_us();
  TraceWriter trace(path_);
  trace.push("now", "c", 0, 1);
  trace.push("older than the writer", "c", 5e9, 1);
  const double began = trace.now_us();
  trace.push_at("later", "c", began + 2.5, 0.0015, 1, {{"x", 1}});
  trace.push_at("impossible", "c", -7, 1, 1);
  trace.push_at("impossible", "c", std::nan(""), 1, 1);
  trace.flush();
  const double after = now_us();
  const Json events = read_trace(path_);
  ASSERT_EQ(events.size(), 5U);
  EXPECT_GE(events[0]["ts"].get<double>(), 0);
  EXPECT_LE(events[0]["ts"].get<double>(), after - before);
  EXPECT_EQ(events[1]["ts"], 0);
  EXPECT_EQ(events[1]["dur"], 5'000'000'000'000);
  EXPECT_LE(began, after - before);
  EXPECT_GE(began, 0);
  EXPECT_NEAR(events[2]["ts"].get<double>(), began + 2.5, 0.001);
  EXPECT_EQ(events[2]["dur"], 1.5);
  EXPECT_EQ(events[2]["args"], Json({{"x", 1}}));
  EXPECT_EQ(events[3]["ts"], 0);
  EXPECT_EQ(events[4]["ts"], 0);
}

TEST_F(TraceWriterTest, WholeMicrosecondsAreIntegersRoundedToTheNearest) {
  TraceWriter trace(path_, {true, std::nullopt});
  for (const double start_us : {0.4, 0.5, 12.3456, 1e12 + 0.75}) {
    trace.push_at("a", "c", start_us, 0.1235, 1);
  }
  trace.push("a", "c", 0.0001, 1);
  trace.flush();
  const Json events = read_trace(path_);
  std::vector<std::uint64_t> starts;
  for (const Json& event : events) {
    EXPECT_TRUE(event["ts"].is_number_unsigned() && event["dur"].is_number_unsigned()) << event;
    starts.push_back(event["ts"]);
  }
  starts.pop_back();
  EXPECT_EQ(starts, (std::vector<std::uint64_t>{0, 1, 12, 1'000'000'000'001}));
  EXPECT_EQ(events[0]["dur"], 124);
  EXPECT_EQ(events[4]["dur"], 0);
}

TEST_F(TraceWriterTest, ArgumentsAreMembersOfArgs) {
  TraceWriter trace(path_);
  trace.set_pid(12);
  const std::string text = "a \"b\"\n\xFF";
  trace.push(
      "x", "y", 1, 1,
      {{"int", -3}, {"big", ~std::uint64_t{0}}, {"ratio", 0.5}, {"yes", true}, {"text", text}, {"nan", std::nan("")}});
  trace.push("x", "y", 1, 1, {{"infinite", std::numeric_limits<double>::infinity()}});
  trace.flush();
  const Json events = read_trace(path_);
  EXPECT_EQ(events[0]["pid"], 12);
  EXPECT_EQ(
      events[0]["args"],
      Json(
          {{"int", -3}, {"big", ~std::uint64_t{0}}, {"ratio", 0.5}, {"yes", true}, {"text", "a \"b\"\n\xEF\xBF\xBD"}}));
  EXPECT_EQ(events[1].count("args"), 0U);
}

TEST_F(TraceWriterTest, AFlushLosesAndRepeatsNothing) {
  TraceWriter trace(path_);
  trace.flush();
  EXPECT_EQ(read_trace(path_), Json::array());
  std::size_t count = 0;
  for (const std::size_t more : {1U, 2U, 0U, 3U, 0U, 5000U, 1U}) {
    for (std::size_t i = 0; i < more; ++i) {
      trace.push("event " + std::to_string(count++), "c", 1, 1);
    }
    trace.flush();
    trace.flush();
    const Json events = read_trace(path_);
    ASSERT_EQ(events.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(events[i]["name"], "event " + std::to_string(i));
    }
  }
}

TEST_F(TraceWriterTest, DestructionFlushesAndLeavesAFileThatWasThereAlone) {
  const std::string users(1'000, 'x');
  std::ofstream(path_) << users;
  {
    TraceWriter first(path_);
    first.push("a", "c", 1, 1);
    const TraceWriter moved = std::move(first);
    EXPECT_TRUE(moved.is_enabled());
  }
  EXPECT_EQ(read_text(path_), users);
  EXPECT_EQ(read_trace(with_suffix(path_)).size(), 1U);
}

TEST_F(TraceWriterTest, ADisabledWriterDoesNothing) {
  TraceWriter disabled;
  TraceWriter of_nothing{std::string()};
  for (TraceWriter* const trace : {&disabled, &of_nothing}) {
    EXPECT_FALSE(trace->is_enabled());
    trace->set_pid(1);
    trace->push("a", "c", 1, 1, {{"x", 1}});
    trace->flush();
  }
}

TEST_F(TraceWriterTest, AnEmptyOrUnsetVariableMeansDisabled) {
  ::unsetenv("KYMO_TEST_WRITER");
  EXPECT_FALSE(TraceWriter::from_environment("KYMO_TEST_WRITER").is_enabled());
  ::setenv("KYMO_TEST_WRITER", "", 1);
  EXPECT_FALSE(TraceWriter::from_environment("KYMO_TEST_WRITER").is_enabled());
  ::setenv("KYMO_TEST_WRITER", "/nonexistent/trace.json", 1);
  EXPECT_FALSE(TraceWriter::from_environment("KYMO_TEST_WRITER").is_enabled());
  ::setenv("KYMO_TEST_WRITER", path_.c_str(), 1);
  EXPECT_TRUE(TraceWriter::from_environment("KYMO_TEST_WRITER").is_enabled());
  ::unsetenv("KYMO_TEST_WRITER");
}

TEST_F(TraceWriterTest, VariablesOfTheCallersOwnCountToo) {
  EXPECT_FALSE(TraceWriter::from_env_vars({}).is_enabled());
  EXPECT_FALSE(TraceWriter::from_env_vars({{"KYMO_TRACE_WRITER", ""}}).is_enabled());
  EXPECT_FALSE(TraceWriter::from_env_vars({{"OTHER", path_}}).is_enabled());
  EXPECT_FALSE(TraceWriter::from_env_vars({{"KYMO_TRACE_WRITER", "/nonexistent/trace.json"}}).is_enabled());
  {
    TraceWriter trace = TraceWriter::from_env_vars({{"KYMO_TRACE_WRITER", path_}, {"KYMO_TRACE_WRITER", "other"}});
    trace.push("a", "c", 1, 1);
  }
  EXPECT_EQ(read_trace(path_).size(), 1U);
  EXPECT_TRUE(TraceWriter::from_env_vars({{"MINE", path_}}, "MINE").is_enabled());
}

TEST_F(TraceWriterTest, DurationsThatMakeNoSenseCountAsNothing) {
  TraceWriter trace(path_);
  for (const double duration : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300, 1e-9}) {
    trace.push("a", "c", duration, 1);
  }
  trace.flush();
  const Json events = read_trace(path_);
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0]["dur"], 0);
  EXPECT_EQ(events[1]["dur"], 0);
  EXPECT_EQ(events[3]["dur"], 4'000'000'000'000'000);
  EXPECT_EQ(events[4]["dur"], 0);
}

TEST_F(TraceWriterTest, ThreadsPushAndFlushAtOnce) {
  TraceWriter trace(path_);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&trace, thread] {
      for (int i = 0; i < 500; ++i) {
        trace.push(std::to_string(i), "c", 0.001, thread);
        if (i % 50 == 0) {
          trace.flush();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  trace.flush();
  std::set<std::pair<std::uint64_t, std::string>> seen;
  for (const Json& event : read_trace(path_)) {
    EXPECT_TRUE(seen.emplace(event["tid"], event["name"]).second);
  }
  EXPECT_EQ(seen.size(), 2000U);
}

TEST_F(TraceWriterTest, WhatIsHeldBackStaysSmall) {
  TraceWriter trace(path_);
  for (int i = 0; i < 10'000; ++i) {
    trace.push("event", "category", 1, 1);
  }
  EXPECT_GT(std::filesystem::file_size(path_), 500'000U);
}

TEST_F(TraceWriterTest, AChildWritesNothingIntoItsParentsTrace) {
  TraceWriter trace(path_);
  trace.push("parent", "c", 1, 1);
  EXPECT_EQ(in_child([&trace] {
              trace.push("child", "c", 1, 1);
              trace.flush();
              const TraceWriter destroyed = std::move(trace);
            }),
            0);
  trace.flush();
  EXPECT_EQ(read_trace(path_).size(), 1U);
}

TEST_F(TraceWriterTest, WhatCannotBeWrittenIsAnError) {
  EXPECT_THROW(TraceWriter("/nonexistent/trace.json"), std::runtime_error);
  TraceWriter full("/dev/full");
  full.push("a", "c", 1, 1);
  EXPECT_THROW(full.flush(), std::runtime_error);
  EXPECT_THROW(full.flush(), std::runtime_error);
}

TEST_F(TraceWriterTest, ASecondWriterOfANameTakesASuffix) {
  {
    TraceWriter first(path_);
    TraceWriter second(path_);
    first.push("first", "c", 1, 1);
    second.push("second", "c", 1, 1);
  }
  EXPECT_EQ(read_trace(path_)[0]["name"], "first");
  EXPECT_EQ(read_trace(with_suffix(path_))[0]["name"], "second");
}

TEST_F(TraceWriterTest, APipeGetsOneArray) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  // A trace waits for no reader: there is one before.
  const base::FileDescriptor there(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  {
    TraceWriter trace(path_);
    trace.push("a", "c", 1, 1);
    trace.flush();
    trace.push("b", "c", 1, 1);
    trace.flush();
  }
  std::string text(4'096, '\0');
  const ssize_t size = ::read(there.get(), text.data(), text.size());
  ASSERT_GT(size, 0);
  EXPECT_EQ(Json::parse(text.substr(0, static_cast<std::size_t>(size))).size(), 2U);
}

/// Pushes while the process is being taken down.
struct LatePusher {
  LatePusher() = default;
  LatePusher(const LatePusher&) = delete;
  LatePusher& operator=(const LatePusher&) = delete;
  ~LatePusher() {
    if (is_armed) {
      trace_writer().push("late", "c", 1, 1);
    }
  }
  bool is_armed = false;
};
LatePusher late_pusher;

TEST_F(TraceWriterTest, TheWriterOfTheProcessIsFlushedWhenItExits) {
  ::setenv("KYMO_TRACE_WRITER", path_.c_str(), 1);
  EXPECT_EQ(in_child([this] {
              trace_writer().push("early", "c", 1, 1);
              const bool is_flushed = flush_trace_writer() && read_trace(path_).size() == 1;
              trace_writer().push("exit", "c", 1, 1);
              late_pusher.is_armed = true;
              if (!is_flushed) {
                ::_exit(1);
              }
            }),
            0);
  ::unsetenv("KYMO_TRACE_WRITER");
  const Json events = read_trace(path_);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1]["name"], "exit");
  EXPECT_EQ(events[2]["name"], "late");
}

TEST_F(TraceWriterTest, TheWriterOfTheProcessIsDisabledWithoutItsVariable) {
  ::unsetenv("KYMO_TRACE_WRITER");
  EXPECT_EQ(in_child([] { ::_exit(trace_writer().is_enabled() || !flush_trace_writer() ? 1 : 0); }), 0);
}

}  // namespace
}  // namespace kymo
