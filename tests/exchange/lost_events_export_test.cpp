// Exports of a capture that lacks events between two triggers: frames are those whose both marks are there.
#include <kymo/exchange.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <kymo/arrow.hpp>

#include "support/flight_recording.hpp"
#include "support/open_memory.hpp"
#include "support/programs.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

using Flight = FlightRecording;

struct NumberedFrame {
  std::uint64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;

  bool operator==(const NumberedFrame&) const = default;
};

std::vector<NumberedFrame> true_frames() {
  std::vector<NumberedFrame> frames;
  for (const std::int64_t start_ns : Flight::starts_ns()) {
    frames.push_back({frames.size() + 1, start_ns, Flight::frame_ns});
  }
  return frames;
}

class LostEventsExport : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::vector<std::byte> bytes_ = Flight::capture();
  Timeline timeline_ = open_memory(bytes_);
  std::string path_ = directory_ / "exported";
};

TEST_F(LostEventsExport, NoFrameOfAChromeTraceSpansThem) {
  export_chrome_trace(timeline_, path_);
  std::vector<NumberedFrame> frames;
  std::int64_t origin_ns = 0;
  const nlohmann::json trace = nlohmann::json::parse(read_file(path_));
  for (const auto& event : trace.is_array() ? trace : trace["traceEvents"]) {
    if (event.value("cat", "") == "frame") {
      const auto ns_of = [&event](const char* key) { return std::llround(event[key].get<double>() * 1000); };
      origin_ns = frames.empty() ? ns_of("ts") - Flight::starts_ns().front() : origin_ns;
      frames.push_back({event["args"]["number"].get<std::uint64_t>(), ns_of("ts") - origin_ns, ns_of("dur")});
    }
  }
  EXPECT_EQ(frames, true_frames());
}

TEST_F(LostEventsExport, AnAsyncSpanOfAChromeTraceThatMayHaveEndedInThemSaysSo) {
  export_chrome_trace(timeline_, path_);
  std::map<std::string, int> marks;
  const nlohmann::json trace = nlohmann::json::parse(read_file(path_));
  for (const auto& event : trace.is_array() ? trace : trace["traceEvents"]) {
    if (event.value("cat", "") == "loads" && event.value("ph", "") == "e") {
      const auto args = event.value("args", nlohmann::json::object());
      ++marks[args.empty() ? "ended" : args.items().begin().key()];
    }
  }
  EXPECT_EQ(marks, (std::map<std::string, int>{{"ended", 1}, {"end_lost", 2}, {"open", 1}}));
}

TEST_F(LostEventsExport, APerfettoTraceHasAsManyFrames) {
  export_perfetto_trace(timeline_, path_);
  const std::string trace = read_file(path_);
  std::size_t count = 0;
  for (std::size_t at = trace.find("number"); at != std::string::npos; at = trace.find("number", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, Flight::starts_ns().size() + 1) << "each frame has its number, and so has the sync point";
}

TEST_F(LostEventsExport, NoRowOfATableOfFramesSpansThem) {
  std::ofstream(directory_ / "run.kymo", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
  ArrowArrayStream stream{};
  open_arrow_stream({directory_ / "run.kymo"}, ArrowTable::frames, &stream);
  ArrowSchema schema{};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  const auto place_of = [&schema](const char* name) {
    std::int64_t place = 0;
    while (place < schema.n_children && std::strcmp(schema.children[place]->name, name) != 0) {
      ++place;
    }
    return place;
  };
  std::vector<NumberedFrame> frames;
  for (ArrowArray batch{}; stream.get_next(&stream, &batch) == 0 && batch.release != nullptr; batch.release(&batch)) {
    const auto value_of = [&](const char* name, std::int64_t row) {
      return static_cast<const std::int64_t*>(batch.children[place_of(name)]->buffers[1])[row];
    };
    for (std::int64_t row = 0; row < batch.length; ++row) {
      frames.push_back({static_cast<std::uint64_t>(value_of("number", row)), value_of("start_ns", row),
                        value_of("duration_ns", row)});
    }
  }
  schema.release(&schema);
  stream.release(&stream);
  EXPECT_EQ(frames, true_frames());
}

}  // namespace
}  // namespace kymo::test
