// The format against a reader that was written in Python from docs/format.md alone.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "capture/capture_fixture.hpp"
#include "capture/merge/merge.hpp"
#include "capture/sample_batches.hpp"
#include "support/flight_recording.hpp"

namespace kymo::capture {
namespace {

using nlohmann::json;
using test::BatchSource;
using test::Bytes;

json read_with_python(const Bytes& bytes) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  test::write_file(path, bytes);
  const std::string command = std::string(KYMO_TEST_PYTHON) + " " + KYMO_TEST_SCRIPTS + "/format_reader.py " + path;
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), count);
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return json::parse(output);
}

json argument_json(const ArgumentValue& value, const std::string& text) {
  json content;
  switch (value.type) {
    case ArgumentType::int64:
      content = static_cast<std::int64_t>(value.bits);
      break;
    case ArgumentType::uint64:
      content = value.bits;
      break;
    case ArgumentType::float64: {
      double number = 0;
      std::memcpy(&number, &value.bits, sizeof number);
      content = number;
      break;
    }
    case ArgumentType::boolean:
      content = value.bits != 0;
      break;
    case ArgumentType::string:
      content = text.substr(static_cast<std::size_t>(value.bits), value.text_size);
      break;
  }
  return {value.name.value(), static_cast<int>(value.type), value.is_cut, content};
}

// What the Python reader should print of the scopes: opens matched with closes by a stack, arguments by position.
class ScopeOracle {
 public:
  void add(const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      std::size_t argument = 0;
      const auto attach = [&](std::size_t position) {
        for (; argument < run.arguments.size() && run.arguments[argument].position == position; ++argument) {
          stack_.back()["arguments"].push_back(argument_json(run.arguments[argument].value, batch.text));
        }
      };
      for (std::size_t i = 0; i < run.events.size(); ++i) {
        const ScopeEvent& event = run.events[i];
        if (event.is_open()) {
          stack_.push_back({{"track", run.track.value()},
                            {"site", event.site.value()},
                            {"depth", event.depth},
                            {"start_ns", event.time_ns},
                            {"arguments", json::array()}});
        } else {
          stack_.back()["end_ns"] = event.time_ns;
          stack_.back()["forced"] = (event.flags & ScopeEvent::forced) != 0;
          closed_.push_back(stack_.back());
          stack_.erase(stack_.size() - 1);
        }
        attach(i + 1);
      }
    }
  }
  [[nodiscard]] const json& closed() const { return closed_; }
  [[nodiscard]] const json& open() const { return stack_; }

 private:
  json closed_ = json::array();
  json stack_ = json::array();
};

TEST(Format, AnIndependentReaderFindsTheSameScopes) {
  for (const bool zstd : {false, true}) {
    BatchSource source(1, true);
    ScopeOracle oracle;
    std::vector<EventBatch> batches;
    for (const std::size_t events : {0U, 1U, 63U, 64U, 65U, 1500U, 200U}) {
      batches.push_back(source.ordinary(events));
      oracle.add(batches.back());
    }
    const json seen =
        read_with_python(test::write_capture(batches, true, zstd ? make_repack_options() : test::sample_options()));
    EXPECT_EQ(seen["scopes"], oracle.closed());
    EXPECT_EQ(seen["open"], oracle.open());
    EXPECT_EQ(seen["closed"], true);
    EXPECT_EQ(seen["declarations"]["sites"].size(), 5U);
    EXPECT_EQ(seen["declarations"]["sites"][2]["name"], "site 3");
    EXPECT_EQ(seen["end"]["tracks"][0]["end_sequence"], batches.back().runs[0].end_sequence);
    if (!zstd) {
      EXPECT_EQ(seen["header"]["clock_step_ns"], 0.375);
      EXPECT_EQ(seen["header"]["spool_id"], "0123456789abcdef");
      EXPECT_EQ(seen["declarations"]["processes"][0]["host"], "testhost");
    }
  }
}

TEST(Format, AnIndependentReaderFindsEveryOtherEvent) {
  for (const Packing packing : {Packing::bits, Packing::planes}) {
    BatchSource source(3, true);
    EventBatch batch;
    do {
      batch = source.wild(600);
    } while (batch.spans.size() < 300 || batch.samples.empty() || batch.states.empty());
    batch.runs.clear();
    for (std::size_t i = 0; i < batch.frame_marks.size(); i += 3) {
      batch.frame_marks[i].is_break = true;
    }
    for (SampleRun& run : batch.samples) {
      for (double& value : run.values) {
        value = value == value && value - value == 0 ? value : 0.25;  // JSON has neither NaN nor infinity
      }
    }
    for (ArgumentValue& argument : batch.span_arguments) {
      if (argument.type == ArgumentType::float64) {
        argument.bits = 0x3FD5555555555555U;
      }
    }
    auto options = test::sample_options();
    options.with_summaries = false;
    options.codec = packing == Packing::bits ? nullptr : make_zstd_codec();
    const json seen = read_with_python(test::write_capture({batch}, true, std::move(options)));

    ASSERT_EQ(seen["spans"].size(), batch.spans.size());
    for (std::size_t i = 0; i < batch.spans.size(); ++i) {
      const SpanEvent& span = batch.spans[i];
      json arguments = json::array();
      for (std::uint32_t k = 0; k < span.argument_count; ++k) {
        arguments.push_back(argument_json(batch.span_arguments[span.first_argument + k], batch.text));
      }
      const json expected = {
          {"track", span.track.value()}, {"name", span.name.value()},       {"category", span.category.value()},
          {"start_ns", span.start_ns},   {"duration_ns", span.duration_ns}, {"async_id", span.async_id},
          {"arguments", arguments}};
      ASSERT_EQ(seen["spans"][i], expected) << i;
    }
    json samples = json::array();
    for (const SampleRun& run : batch.samples) {
      for (std::size_t i = 0; i < run.values.size(); ++i) {
        samples.push_back({{"metric", run.metric.value()}, {"time_ns", run.times_ns[i]}, {"value", run.values[i]}});
        if (!run.flags.empty() && run.flags[i] != 0) {
          samples.back()["flags"] = run.flags[i];
        }
      }
    }
    EXPECT_EQ(seen["samples"], samples);
    json others = {{"async_begins", json::array()},  {"frame_marks", json::array()},
                   {"messages", json::array()},      {"flows", json::array()},
                   {"sync_points", json::array()},   {"track_ends", json::array()},
                   {"clock_anchors", json::array()}, {"clock_uncertainties", json::array()},
                   {"states", json::array()},        {"stack_samples", json::array()},
                   {"wakes", json::array()}};
    for (const StateRun& run : batch.states) {
      for (const ThreadState& row : run.states) {
        others["states"].push_back({{"thread", run.thread.value()},
                                    {"start_ns", row.start_ns},
                                    {"duration_ns", row.duration_ns},
                                    {"state", static_cast<int>(row.state)},
                                    {"cpu", row.cpu}});
      }
    }
    for (const ThreadWake& row : batch.wakes) {
      others["wakes"].push_back(
          {{"thread", row.thread.value()}, {"waker", row.waker.value()}, {"time_ns", row.time_ns}});
    }
    for (const StackSample& row : batch.stack_samples) {
      others["stack_samples"].push_back({{"thread", row.thread.value()},
                                         {"stack", row.stack.value()},
                                         {"cpu", row.cpu},
                                         {"time_ns", row.time_ns},
                                         {"blocked_ns", row.blocked_ns},
                                         {"unsampled_ns", row.unsampled_ns},
                                         {"sampled_waits", row.sampled_waits}});
    }
    for (const auto& row : batch.async_begins) {
      others["async_begins"].push_back({{"track", row.track.value()},
                                        {"name", row.name.value()},
                                        {"time_ns", row.time_ns},
                                        {"async_id", row.async_id}});
    }
    for (const auto& row : batch.frame_marks) {
      others["frame_marks"].push_back({{"stream", row.stream.value()},
                                       {"track", row.track.value()},
                                       {"time_ns", row.time_ns},
                                       {"break", row.is_break}});
    }
    for (const auto& row : batch.messages) {
      others["messages"].push_back(
          {{"track", row.track.value()}, {"time_ns", row.time_ns}, {"text", row.text}, {"cut", row.is_cut}});
    }
    for (const auto& row : batch.flows) {
      others["flows"].push_back({{"track", row.track.value()},
                                 {"phase", static_cast<int>(row.phase)},
                                 {"time_ns", row.time_ns},
                                 {"flow_id", row.flow_id}});
    }
    for (const auto& row : batch.sync_points) {
      others["sync_points"].push_back({{"number", row.number}, {"track", row.track.value()}, {"time_ns", row.time_ns}});
    }
    for (const auto& row : batch.track_ends) {
      others["track_ends"].push_back({{"track", row.track.value()}, {"time_ns", row.time_ns}});
    }
    for (const auto& row : batch.clock_anchors) {
      others["clock_anchors"].push_back(
          {{"monotonic_ns", row.monotonic_ns}, {"realtime_ns", row.realtime_ns}, {"bound_ns", row.bound_ns}});
    }
    for (const auto& row : batch.clock_uncertainties) {
      others["clock_uncertainties"].push_back(
          {{"start_ns", row.start_ns}, {"end_ns", row.end_ns}, {"bound_ns", row.bound_ns}});
    }
    for (const auto& [name, rows] : others.items()) {
      EXPECT_EQ(seen[name], rows) << name;
    }
  }
}

TEST(Format, AnIndependentReaderKnowsTheBlocksBeforeWhichEventsAreMissing) {
  const json seen = read_with_python(test::FlightRecording::capture());
  std::vector<std::int64_t> levels;
  for (const json& block : seen["blocks"]) {
    if (block["kind"] == "EVENTS") {
      levels.push_back(block["level"].get<std::int64_t>());
    }
  }
  EXPECT_EQ(levels, std::vector<std::int64_t>({1, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(Format, AnIndependentReaderFollowsTheIndexPages) {
  EventBatch batch;
  batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, 5});
  auto options = test::sample_options();
  options.with_summaries = false;
  const Bytes bytes =
      test::write_capture(std::vector<EventBatch>(max_index_blocks + 10, batch), true, std::move(options));
  const json seen = read_with_python(bytes);
  EXPECT_EQ(seen["frame_marks"].size(), max_index_blocks + 10);
  EXPECT_EQ(seen["closed"], true);
}

TEST(Format, AnIndependentReaderFindsTheTracksThatEnded) {
  constexpr std::uint32_t tracks = 3'000;
  const json seen = read_with_python(test::write_capture(test::short_tracks(tracks)));
  EXPECT_EQ(seen["closed"], true);
  ASSERT_EQ(seen["declarations"]["tracks"].size(), tracks);
  ASSERT_EQ(seen["end"]["tracks"].size(), tracks);
  EXPECT_EQ(seen["end"]["tracks"][7]["recorded_scopes"], 2);
  EXPECT_EQ(seen["end"]["tracks"][7]["dropped_scopes"], 8);
}

TEST(Format, AnIndependentReaderFindsTheSameFunctionsAndStacks) {
  EventBatch batch;
  ModuleDeclaration module;
  module.id = ModuleId{1};
  module.path = "/opt/game";
  batch.declarations.modules.push_back(module);
  batch.declarations.functions = {{FunctionId{1}, ModuleId{1}, 0x1f40, "main", "/src/main.cpp"},
                                  {FunctionId{2}, ModuleId{}, 0, ""}};
  batch.declarations.stacks = {{StackId{1}, StackId{}, FunctionId{1}, 72}, {StackId{2}, StackId{1}, FunctionId{2}}};
  const json seen = read_with_python(test::write_capture({batch}, true, test::sample_options()));
  for (const FunctionDeclaration& function : batch.declarations.functions) {
    const json& row = seen["declarations"]["functions"][function.id.index()];
    EXPECT_EQ(row["id"], function.id.value());
    EXPECT_EQ(row["module"], function.module.value());
    EXPECT_EQ(row["module_offset"], function.module_offset);
    EXPECT_EQ(row["name"], function.name);
    EXPECT_EQ(row["file"], function.file);
  }
  for (const StackDeclaration& stack : batch.declarations.stacks) {
    const json& row = seen["declarations"]["stacks"][stack.id.index()];
    EXPECT_EQ(row["id"], stack.id.value());
    EXPECT_EQ(row["caller"], stack.caller.value());
    EXPECT_EQ(row["function"], stack.function.value());
    EXPECT_EQ(row["line"], stack.line);
  }
}

}  // namespace
}  // namespace kymo::capture
