#include "exchange/chrome/export.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/output/replacing_file.hpp"
#include "chrome_fixture.hpp"

namespace kymo::exchange {
namespace {

using Json = nlohmann::json;

EventBatch one_scope() {
  EventBatch batch = test::first_batch(0, 100);
  batch.runs.emplace_back().track = TrackId{1};
  batch.runs[0].events = {test::open(10, 1, 0), test::close(20, 0)};
  return batch;
}

void export_chrome_trace(const NextBatch& next, const std::string& path) {
  base::replace_file(path, {{}, true, {}}, [&next](base::OutputFile file) {
    write_chrome_trace(next, std::move(file), [] { return SpanList(); });
  });
}

/// Gives one batch.
NextBatch once(const EventBatch& batch) {
  return [batch, given = false](EventBatch& next) mutable {
    next = batch;
    return !std::exchange(given, true);
  };
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* const directory = ::opendir(path.c_str());
  while (const dirent* const entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  ::closedir(directory);
  return names;
}

TEST(ChromeExport, TheWholeTraceTakesThePlaceOfTheOldFile) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  std::ofstream(path) << "old";
  export_chrome_trace(once(one_scope()), path);
  const Json trace = Json::parse(test::read_file(path));
  EXPECT_EQ(test::of_phase(trace.at("traceEvents"), "X").size(), 1U);
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"trace.json"});
}

TEST(ChromeExport, ASourceThatFailsLeavesTheOldFileAndNothingElse) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  std::ofstream(path) << "old";
  int calls = 0;
  const auto source = [&calls](EventBatch& next) -> bool {
    next = one_scope();
    if (++calls == 2) {
      throw std::runtime_error("damaged");
    }
    return true;
  };
  EXPECT_THROW(export_chrome_trace(source, path), std::runtime_error);
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"trace.json"});
}

TEST(ChromeExport, ALinkKeepsLeadingToTheTrace) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  const std::string link = directory / "link.json";
  std::ofstream(path) << "old";
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  export_chrome_trace(once(one_scope()), link);
  EXPECT_TRUE(Json::accept(test::read_file(path)));
  struct stat status {};
  ASSERT_EQ(::lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
}

TEST(ChromeExport, APipeIsWrittenDirectly) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] { text = test::read_file(path); });
  export_chrome_trace(once(one_scope()), path);
  reader.join();
  EXPECT_EQ(test::of_phase(Json::parse(text).at("traceEvents"), "X").size(), 1U);
}

TEST(ChromeExport, AFullDiskAndAMissingDirectoryAreErrors) {
  EXPECT_THROW(export_chrome_trace(once(one_scope()), "/dev/full"), base::OutputError);
  EXPECT_THROW(export_chrome_trace(once(one_scope()), "/nonexistent/trace.json"), base::OutputError);
}

TEST(ChromeExport, NoBatchesMakeAnEmptyTrace) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  export_chrome_trace([](EventBatch&) { return false; }, path);
  EXPECT_EQ(Json::parse(test::read_file(path)).at("traceEvents"), Json::array());
}

}  // namespace
}  // namespace kymo::exchange
