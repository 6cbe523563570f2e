// Arrow streams: whatever is released first, what is held stays good.
#include <kymo/arrow.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <kymo/import.hpp>

#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

class ArrowStream : public ::testing::Test {
 protected:
  ArrowStream() {
    std::ofstream(directory_ / "run.json")
        << R"([{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"args":{"x":1,"s":"t"}},{"name":"b","ph":"X","ts":5,"dur":1},
               {"name":"open","ph":"B","ts":7}])";
    static_cast<void>(import_chrome_trace(directory_ / "run.json", directory_ / "run.kymo"));
  }

  test::TemporaryDirectory directory_;
};

/// Takes a thing out of where it stands, as consumers do.
template <typename Thing>
Thing move_out(Thing& thing) {
  const Thing moved = thing;
  thing.release = nullptr;
  return moved;
}

TEST_F(ArrowStream, PartsOutliveTheWholeAndTheStream) {
  ArrowArrayStream stream{};
  open_arrow_stream({directory_ / "run.kymo"}, ArrowTable::spans, &stream);
  ArrowSchema schema{};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  ArrowArray batch{};
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ASSERT_NE(batch.release, nullptr);
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
  ArrowSchema name_schema = move_out(*schema.children[3]);
  ArrowArray names = move_out(*batch.children[3]);
  ArrowArray texts = move_out(*names.dictionary);
  schema.release(&schema);
  batch.release(&batch);
  EXPECT_EQ(batch.release, nullptr);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);

  EXPECT_STREQ(name_schema.name, "name");
  EXPECT_STREQ(name_schema.format, "I");
  EXPECT_STREQ(name_schema.dictionary->format, "u");
  ASSERT_EQ(names.length, 3);
  std::uint32_t number = 0;
  std::memcpy(&number, static_cast<const std::uint32_t*>(names.buffers[1]) + 1, sizeof number);
  names.release(&names);
  const auto* const offsets = static_cast<const std::int32_t*>(texts.buffers[1]);
  const auto* const bytes = static_cast<const char*>(texts.buffers[2]);
  EXPECT_EQ(std::string_view(bytes + offsets[number], static_cast<std::size_t>(offsets[number + 1] - offsets[number])),
            "b");
  texts.release(&texts);
  name_schema.release(&name_schema);
}

TEST_F(ArrowStream, OpenSpansComeLastAndTheEndIsAReleasedArray) {
  ArrowArrayStream stream{};
  open_arrow_stream({directory_ / "run.kymo"}, ArrowTable::spans, &stream);
  std::int64_t rows = 0;
  ArrowArray batch{};
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  while (batch.release != nullptr) {
    rows += batch.length;
    batch.release(&batch);
    ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  }
  EXPECT_EQ(rows, 3);
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  EXPECT_EQ(batch.release, nullptr);
  stream.release(&stream);
}

/// The numbers in a column of 64-bit integers of all batches, or of 32-bit codes. The stream outlives the query.
template <typename Number>
std::vector<Number> read_column(const std::shared_ptr<const Timeline>& timeline, const ArrowQuery& query) {
  ArrowArrayStream stream{};
  open_arrow_stream(timeline, *std::make_unique<ArrowQuery>(query), &stream);
  std::vector<Number> numbers;
  ArrowArray batch{};
  while (stream.get_next(&stream, &batch) == 0 && batch.release != nullptr) {
    const auto* const values = static_cast<const Number*>(batch.children[0]->buffers[1]);
    numbers.insert(numbers.end(), values, values + batch.length);
    batch.release(&batch);
  }
  stream.release(&stream);
  return numbers;
}

TEST_F(ArrowStream, AQueryChoosesColumnsNamesTimesAndBlocks) {
  const auto timeline = std::make_shared<const Timeline>(directory_ / "run.kymo");
  ArrowQuery query;
  query.columns = {"start_ns"};
  EXPECT_EQ(read_column<std::int64_t>(timeline, query), (std::vector<std::int64_t>{1000, 5000, 7000}));
  query.names = {"b", "o?en"};
  EXPECT_EQ(read_column<std::int64_t>(timeline, query), (std::vector<std::int64_t>{5000, 7000}));
  query.range = {0, 6000};
  EXPECT_EQ(read_column<std::int64_t>(timeline, query), (std::vector<std::int64_t>{5000}));
  query = {};
  query.columns = {"duration_ns"};
  query.blocks = {{0, 1000, 2000}};
  EXPECT_TRUE(read_column<std::int64_t>(timeline, query).empty());
  query = {};
  query.table = ArrowTable::tracks;
  query.columns = {"track_id"};
  EXPECT_EQ(read_column<std::uint32_t>(timeline, query).size(), timeline->tracks().size());
  query.processes = {ProcessId{77}};
  EXPECT_TRUE(read_column<std::uint32_t>(timeline, query).empty());
  query.columns = {"moon"};
  ArrowArrayStream stream{};
  EXPECT_THROW(open_arrow_stream(timeline, query, &stream), std::invalid_argument);
  EXPECT_EQ(stream.release, nullptr);
}

TEST_F(ArrowStream, SampledStacksAndWaitsAreRows) {
  capture::CaptureWriterOptions options;
  options.declarations.processes.push_back({ProcessId{1}, 50, "here", "boot", "", "program"});
  options.declarations.threads.push_back({ThreadId{1}, ProcessId{1}, 50, 51, "main"});
  options.declarations.functions.push_back({FunctionId{1}, ModuleId{}, 0, "f"});
  options.declarations.stacks.push_back({StackId{1}, StackId{}, FunctionId{1}});
  EventBatch batch;
  batch.end_ns = 4'000;
  batch.stack_samples = {{ThreadId{1}, StackId{1}, 0, 1'000, 0, 0},
                         {ThreadId{1}, StackId{1}, 0, 2'000, 300},
                         {ThreadId{1}, StackId{1}, 0, 3'000, 0, 70, 1}};
  capture::CaptureWriter writer(directory_ / "stacks.kymo", std::move(options));
  writer.write(batch);
  writer.finish();
  const auto timeline = std::make_shared<const Timeline>(directory_ / "stacks.kymo");
  ArrowQuery query;
  query.table = ArrowTable::stacks;
  const auto column = [&](const char* name) {
    query.columns = {name};
    return read_column<std::int64_t>(timeline, query);
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(column("time_ns"), (Numbers{1'000, 2'000, 3'000}));
  EXPECT_EQ(column("blocked_ns"), (Numbers{0, 300, 0}));
  EXPECT_EQ(column("unsampled_ns"), (Numbers{0, 0, 70}));
  query.range = {1'500, 2'500};
  EXPECT_EQ(column("time_ns"), (Numbers{2'000}));
}

TEST_F(ArrowStream, SamplesOfATimeAreAllWithinItThoughAFileHasThemThreadByThread) {
  capture::CaptureWriterOptions options;
  options.declarations.processes.push_back({ProcessId{1}, 50, "here", "boot", "", "program"});
  options.declarations.metrics.push_back({MetricId{1}, MetricKind::gauge, ProcessId{1}, "load", "1", "", {}});
  EventBatch batch;
  batch.end_ns = 600;
  batch.samples = {{MetricId{1}, {100, 300, 500, 200, 400, 600}, {1, 3, 5, 2, 4, 6}, {}}};
  capture::CaptureWriter writer(directory_ / "threads.kymo", std::move(options));
  writer.write(batch);
  writer.finish();
  ArrowQuery query;
  query.table = ArrowTable::metrics;
  query.columns = {"time_ns"};
  query.range = {200, 401};
  EXPECT_EQ(read_column<std::int64_t>(std::make_shared<const Timeline>(directory_ / "threads.kymo"), query),
            (std::vector<std::int64_t>{200, 300, 400}));
}

TEST_F(ArrowStream, WhatCannotBeOpenedIsToldToC) {
  ArrowArrayStream stream{};
  std::array<char, 16> error{};
  const std::string missing = directory_ / "none.kymo";
  const char* const path = missing.c_str();
  EXPECT_EQ(kymo_open_arrow_stream_v1(&path, 1, 0, &stream, error.data(), error.size()), EIO);
  EXPECT_EQ(std::string(error.data()), missing.substr(0, 15));
  EXPECT_EQ(stream.release, nullptr);
  EXPECT_EQ(kymo_open_arrow_stream_v1(&path, 1, 99, &stream, nullptr, 0), EINVAL);
}

}  // namespace
}  // namespace kymo
