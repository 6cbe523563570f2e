// Frames that several threads marked: the same frames, with the same numbers, however they are read.
#include <kymo/arrow.hpp>
#include <kymo/exchange.hpp>
#include <kymo/import.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <protozero/pbf_reader.hpp>

#include "capture/write/capture_writer.hpp"
#include "exchange/common/selected_timeline.hpp"
#include "stats/paths/instances.hpp"
#include "stats/statistics/statistics.hpp"
#include "support/programs.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

using protozero::pbf_reader;

struct FrameRow {
  std::uint64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;

  bool operator==(const FrameRow&) const = default;
};
using Rows = std::vector<FrameRow>;

class FramesOfSeveralThreads : public ::testing::Test {
 protected:
  static constexpr FrameStreamId stream{1};

  FramesOfSeveralThreads() {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 100, "here", "boot", "", "program"});
    options.declarations.frame_streams.push_back({stream, ProcessId{1}, ""});
    capture::CaptureWriter writer(path("run.kymo"), std::move(options));
    // Each block has the marks of one thread behind those of another. The first of the second one come late.
    write_block(writer, {100, 300, 500, 200, 400});
    write_block(writer, {600, 800, 450, 700});
    write_block(writer, {750, 1'000});
    writer.finish();
    timeline_ = std::make_unique<Timeline>(path("run.kymo"));
  }

  static void write_block(capture::CaptureWriter& writer, const std::vector<std::int64_t>& times_ns) {
    EventBatch batch;
    batch.start_ns = *std::min_element(times_ns.begin(), times_ns.end());
    batch.end_ns = *std::max_element(times_ns.begin(), times_ns.end());
    for (const std::int64_t time_ns : times_ns) {
      batch.frame_marks.push_back({stream, TrackId{1}, time_ns});
    }
    writer.write(batch);
  }

  [[nodiscard]] static Rows all_rows() {
    return {{1, 100, 100}, {2, 200, 100}, {3, 300, 100}, {4, 400, 100}, {5, 500, 0},
            {6, 500, 100}, {7, 600, 100}, {8, 700, 100}, {9, 800, 0},   {10, 800, 200}};
  }

  [[nodiscard]] std::string path(const char* name) const { return (directory_.path() / name).string(); }

  using Export = void (*)(const Timeline&, const std::string&, const ExportOptions&);
  [[nodiscard]] std::string exported(Export write, const SelectionOptions& part = {}) const {
    ExportOptions options;
    options.selection = part;
    write(*timeline_, path("exported"), options);
    return test::read_file(path("exported"));
  }

  [[nodiscard]] Rows csv_rows(const SelectionOptions& part = {}) const {
    return read_csv(exported(export_frames_csv, part));
  }
  [[nodiscard]] static Rows read_csv(const std::string& text) {
    Rows rows;
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream fields(line.substr(line.find(',', line.find(',') + 1) + 1));  // behind process and stream
      char comma = 0;
      FrameRow& row = rows.emplace_back();
      fields >> row.number >> comma >> row.start_ns >> comma >> row.duration_ns;
    }
    return rows;
  }

  [[nodiscard]] Rows chrome_rows(const SelectionOptions& part = {}) const {
    Rows rows;
    const auto trace = nlohmann::json::parse(exported(export_chrome_trace, part));
    for (const auto& event : trace.at("traceEvents")) {
      if (event.value("cat", "") == "frame") {
        const auto ns_of = [&event](const char* key) {
          return static_cast<std::int64_t>(event.at(key).get<double>() * 1000 + 0.5);
        };
        rows.push_back({event.at("args").at("number"), ns_of("ts"), ns_of("dur")});
      }
    }
    return rows;
  }

  /// The numbers in a Perfetto trace, which has no other annotations.
  [[nodiscard]] std::vector<std::uint64_t> perfetto_numbers(const SelectionOptions& part = {}) const {
    constexpr std::uint32_t track_event = 11;
    constexpr std::uint32_t debug_annotations = 4;
    constexpr std::uint32_t uint_value = 3;
    std::vector<std::uint64_t> numbers;
    const std::string trace = exported(export_perfetto_trace, part);
    for (pbf_reader packets(trace); packets.next();) {
      pbf_reader packet = packets.get_message();
      while (packet.next(track_event)) {
        pbf_reader event = packet.get_message();
        while (event.next(debug_annotations)) {
          pbf_reader annotation = event.get_message();
          while (annotation.next(uint_value)) {
            numbers.push_back(annotation.get_uint64());
          }
        }
      }
    }
    return numbers;
  }

  [[nodiscard]] static Rows arrow_rows(const Timeline& timeline) {
    ArrowQuery query;
    query.table = ArrowTable::frames;
    query.columns = {"number", "start_ns", "duration_ns"};
    ArrowArrayStream stream{};
    open_arrow_stream(std::shared_ptr<const Timeline>(std::shared_ptr<void>(), &timeline), query, &stream);
    Rows rows;
    ArrowArray batch{};
    while (stream.get_next(&stream, &batch) == 0 && batch.release != nullptr) {
      const auto number_at = [&batch](std::int64_t row, std::size_t column) {
        return static_cast<const std::int64_t*>(batch.children[column]->buffers[1])[row];
      };
      for (std::int64_t row = 0; row < batch.length; ++row) {
        rows.push_back({static_cast<std::uint64_t>(number_at(row, 0)), number_at(row, 1), number_at(row, 2)});
      }
      batch.release(&batch);
    }
    stream.release(&stream);
    return rows;
  }

  template <typename Import>
  [[nodiscard]] std::vector<std::int64_t> imported_durations(Export write, Import import) const {
    write(*timeline_, path("trace"), {});
    const Timeline back(import(path("trace"), path("back.kymo")).output);
    std::vector<std::int64_t> durations_ns;
    for (const Frame& frame : back.frames(back.declarations().frame_streams.at(0).id)) {
      durations_ns.push_back(frame.duration_ns);
    }
    return durations_ns;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Timeline> timeline_;
};

std::vector<std::int64_t> durations_of(const Rows& rows) {
  std::vector<std::int64_t> durations_ns;
  for (const FrameRow& row : rows) {
    durations_ns.push_back(row.duration_ns);
  }
  return durations_ns;
}

std::vector<std::uint64_t> numbers_of(const Rows& rows) {
  std::vector<std::uint64_t> numbers;
  for (const FrameRow& row : rows) {
    numbers.push_back(row.number);
  }
  return numbers;
}

TEST_F(FramesOfSeveralThreads, AreTheSameInEveryExport) {
  EXPECT_EQ(csv_rows(), all_rows());
  EXPECT_EQ(arrow_rows(*timeline_), all_rows());
  EXPECT_EQ(chrome_rows(), all_rows());
  EXPECT_EQ(perfetto_numbers(), numbers_of(all_rows()));
  EXPECT_EQ(imported_durations(export_chrome_trace,
                               [](const auto& from, const auto& to) { return import_chrome_trace(from, to); }),
            durations_of(all_rows()));
  EXPECT_EQ(imported_durations(export_perfetto_trace,
                               [](const auto& from, const auto& to) { return import_perfetto_trace(from, to); }),
            durations_of(all_rows()));
}

TEST_F(FramesOfSeveralThreads, AreTheSameInEveryStatistic) {
  for (const bool decodes : {false, true}) {
    stats::StatisticsOptions options;
    options.use_summaries = !decodes;
    const Statistics statistics = stats::gather_statistics(*timeline_, options);
    ASSERT_EQ(statistics.frame_streams.size(), 1U);
    EXPECT_EQ(statistics.frame_streams[0].durations.count, 10U);
    EXPECT_EQ(statistics.frame_streams[0].durations.total_ns, 900U);
    EXPECT_EQ(statistics.frame_streams[0].durations.min_ns, 0);
  }
  Rows rows;
  for (const Instance& frame : stats::frames_of_main_streams(*timeline_).all) {
    rows.push_back({frame.number, frame.start_ns, frame.duration_ns});
  }
  EXPECT_EQ(rows, all_rows());
}

TEST_F(FramesOfSeveralThreads, OfAnyRangeAreThoseThatOverlapIt) {
  for (std::int64_t start_ns = 90; start_ns < 1'020; start_ns += 10) {
    for (std::int64_t end_ns = start_ns; end_ns < 1'030; end_ns += 10) {
      Rows expected;
      for (const FrameRow& row : all_rows()) {
        const std::int64_t row_end_ns = row.start_ns + row.duration_ns;
        if (row.start_ns < end_ns && (row_end_ns > start_ns || row.start_ns >= start_ns)) {
          expected.push_back({0, row.start_ns, row.duration_ns});
        }
      }
      Rows found;
      for (const Frame& frame : timeline_->frames(stream, {start_ns, end_ns})) {
        found.push_back({0, frame.start_ns, frame.duration_ns});
      }
      ASSERT_EQ(found, expected) << start_ns << ".." << end_ns;
    }
  }
}

TEST_F(FramesOfSeveralThreads, OfAPartKeepTheirNumbers) {
  SelectionOptions part;
  part.time = {150, 750};
  const Rows of_time{{2, 200, 100}, {3, 300, 100}, {4, 400, 100}, {5, 500, 0}, {6, 500, 100}, {7, 600, 100}};
  EXPECT_EQ(csv_rows(part), of_time);
  EXPECT_EQ(arrow_rows(exchange::copy_selected(*timeline_, part, {})), of_time);
  EXPECT_EQ(chrome_rows(part), of_time);
  EXPECT_EQ(perfetto_numbers(part), numbers_of(of_time));
  part = {};
  part.frames = {7, 10};
  const Rows of_frames{{7, 600, 100}, {8, 700, 100}, {9, 800, 0}, {10, 800, 200}};
  EXPECT_EQ(csv_rows(part), of_frames);
  EXPECT_EQ(chrome_rows(part), of_frames);
  EXPECT_EQ(perfetto_numbers(part), numbers_of(of_frames));
}

}  // namespace
}  // namespace kymo
