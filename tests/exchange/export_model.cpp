// Captures whose content is known, for tests of exports:
//
//   export_model FOLDER
//
// Writes model.kymo, a made-up recording in which everything happens, with what happened in model.json, and edges.kymo:
// flows at the very edges of scopes, queue spans that are handed in late and touch others, names that formats must
// quote. pushed.json and whole.json are of a TraceWriter, with decimals and with whole microseconds.
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <utility>

#include <kymo/trace_writer.hpp>
#include <nlohmann/json.hpp>

#include "capture/write/capture_writer.hpp"
#include "timeline/recording_model.hpp"

namespace {

using nlohmann::json;

void write_model(const std::string& folder) {
  kymo::test::ModelOptions options;
  options.steps = 6000;
  const kymo::test::RecordingModel model(options);
  model.write_file(folder + "/model.kymo");
  const kymo::test::TrueRecording& truth = model.truth();
  json spans = json::array();
  for (const kymo::test::TrueSpan& span : truth.spans) {
    spans.push_back({{"track", span.track},
                     {"name", span.name},
                     {"start_ns", span.start_ns},
                     {"duration_ns", span.end_ns - span.start_ns},
                     {"self_ns", span.self_ns},
                     {"depth", span.depth},
                     {"open", span.is_open},
                     {"unbalanced", span.is_unbalanced},
                     {"arguments", span.arguments}});
  }
  std::ofstream(folder + "/model.json") << json{{"spans", spans},
                                                {"frame_marks", truth.frame_marks},
                                                {"samples", truth.samples},
                                                {"messages", truth.messages},
                                                {"sync_points", truth.sync_points}};
}

kymo::SiteDeclaration site(std::uint32_t id, const std::string& name) {
  kymo::SiteDeclaration declaration;
  declaration.id = kymo::SiteId{id};
  declaration.name = name;
  return declaration;
}

kymo::SpanEvent queue_span(std::uint32_t name, std::int64_t start_ns, std::int64_t end_ns) {
  kymo::SpanEvent span;
  span.track = kymo::TrackId{3};
  span.name = kymo::NameId{name};
  span.start_ns = start_ns;
  span.duration_ns = end_ns - start_ns;
  return span;
}

void declare_edges(kymo::Declarations& declared) {
  declared.tracks = {{kymo::TrackId{1}, kymo::TrackKind::thread, kymo::ProcessId{1}, 100, "main; first"},
                     {kymo::TrackId{2}, kymo::TrackKind::thread, kymo::ProcessId{1}, 101, "worker"},
                     {kymo::TrackId{3}, kymo::TrackKind::queue, kymo::ProcessId{1}, 0, "gpu"}};
  declared.sites = {site(1, "send, \"now\""), site(2, "receive"), site(3, "inner\n\xFF")};
  declared.names = {
      {kymo::NameId{1}, "early"}, {kymo::NameId{2}, "late"}, {kymo::NameId{3}, "text"}, {kymo::NameId{4}, "share"}};
  declared.metrics = {{kymo::MetricId{1},
                       kymo::MetricKind::gauge,
                       kymo::ProcessId{1},
                       "board power",
                       "W",
                       "",
                       {{"rail", "GPU \"0\"\\"}}},
                      {kymo::MetricId{2}, kymo::MetricKind::energy_counter, kymo::ProcessId{1}, "energy", "J", "", {}},
                      {kymo::MetricId{3}, kymo::MetricKind::gauge, kymo::ProcessId{1}, "2nd", "%", "", {}},
                      {kymo::MetricId{4}, kymo::MetricKind::gauge, kymo::ProcessId{1}, "gone", "", "", {}}};
  declared.frame_streams = {{kymo::FrameStreamId{1}, kymo::ProcessId{1}, "steps"}};
}

void write_edges(const std::string& folder) {
  kymo::capture::CaptureWriterOptions options;
  options.header.owner_pid = 100;
  options.declarations.processes.push_back({kymo::ProcessId{1}, 100, "here", "boot-1", "2", "edges --all"});
  options.declarations.infos.push_back({kymo::ProcessId{1}, "cpu", "a model"});
  kymo::capture::CaptureWriter writer(folder + "/edges.kymo", std::move(options));
  kymo::EventBatch batch;
  batch.end_ns = 4000;
  declare_edges(batch.declarations);
  batch.text = "\"a\",\xFF;";
  kymo::ScopeRun sender;
  sender.track = kymo::TrackId{1};
  sender.end_sequence = 4;
  sender.events = {{1000, kymo::SiteId{1}, 0, 0}, {1500, kymo::SiteId{3}, 1, 0}, {2000, {}, 1, 0}, {2000, {}, 0, 0}};
  kymo::ArgumentValue text;
  text.name = kymo::NameId{3};
  text.type = kymo::ArgumentType::string;
  text.text_size = static_cast<std::uint32_t>(batch.text.size());
  kymo::ArgumentValue share;
  share.name = kymo::NameId{4};
  share.type = kymo::ArgumentType::float64;
  const double tenth = 0.1;
  std::memcpy(&share.bits, &tenth, sizeof tenth);
  sender.arguments = {{1, text}, {2, share}};
  kymo::ScopeRun receiver;
  receiver.track = kymo::TrackId{2};
  receiver.end_sequence = 3;
  receiver.events = {{2500, kymo::SiteId{2}, 0, 0}, {3000, {}, 0, 0}, {3000, kymo::SiteId{2}, 0, 0}};
  batch.runs = {sender, receiver};
  // It leaves `inner` as that ends and enters the first `receive` as that begins.
  batch.flows = {{kymo::TrackId{1}, kymo::FlowPhase::begin, 2000, 7},
                 {kymo::TrackId{2}, kymo::FlowPhase::end, 2500, 7}};
  batch.spans = {queue_span(1, 2000, 3000)};
  // Another leaves the outer scope and enters the queue's span as that begins.
  batch.flows.push_back({kymo::TrackId{1}, kymo::FlowPhase::begin, 1200, 9});
  batch.flows.push_back({batch.spans[0].track, kymo::FlowPhase::end, 2000, 9});
  batch.frame_marks = {{kymo::FrameStreamId{1}, kymo::TrackId{1}, 1000},
                       {kymo::FrameStreamId{1}, kymo::TrackId{1}, 2000},
                       {kymo::FrameStreamId{1}, kymo::TrackId{1}, 3500}};
  batch.samples = {{kymo::MetricId{1}, {1000, 2000}, {10.5, 12.25}, {0, 1}},
                   {kymo::MetricId{2}, {1000, 2000}, {1e15, 1e15 + 1}, {}},
                   {kymo::MetricId{3}, {1000}, {99.9}, {}},
                   {kymo::MetricId{4}, {1000, 2000}, {1, std::numeric_limits<double>::quiet_NaN()}, {}}};
  batch.clock_anchors = {{1000, 1'700'000'000'000'001'000, 100}};
  writer.write(batch);
  kymo::EventBatch later;
  later.start_ns = 1000;
  later.end_ns = 5000;
  receiver = {};
  receiver.track = kymo::TrackId{2};
  receiver.first_sequence = 3;
  receiver.end_sequence = 3;
  receiver.dropped_scopes = 5;
  receiver.open_at_start = {{3000, kymo::SiteId{2}}};
  later.runs = {receiver};
  later.spans = {queue_span(2, 1000, 2000), queue_span(2, 2000, 4000), queue_span(2, 2500, 3500),
                 queue_span(2, 2200, 2800)};
  writer.write(later);
  writer.finish();
}

void write_pushed(const std::string& path, bool whole_microseconds) {
  kymo::TraceWriter trace(path, {whole_microseconds, 0});
  trace.set_pid(7);
  trace.push_at("outer", "c", 1'000'000'000'000.001, 0.01, 5);
  trace.push_at("inner \"quoted\"", "c", 1'000'000'000'000.251, 0.002123, 5, {{"loss", 0.1}});
  trace.push_at("after", "c", 1'000'000'000'010.001, 0.001, 5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  try {
    write_model(argv[1]);
    write_edges(argv[1]);
    write_pushed(argv[1] + std::string("/pushed.json"), false);
    write_pushed(argv[1] + std::string("/whole.json"), true);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
