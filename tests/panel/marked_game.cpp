#include "marked_game.hpp"

namespace kymo::test {

namespace {

constexpr std::int64_t one_ms = 1'000'000;

void declare(Declarations& declared) {
  declared.tracks.push_back({MarkedGame::async_track, TrackKind::async, ProcessId{1}, 0, "network"});
  declared.names.push_back({NameId{3}, "request"});
  declared.frame_streams.push_back({FrameStreamId{2}, ProcessId{1}, "physics"});
  MetricDeclaration energy;
  energy.id = MetricId{2};
  energy.kind = MetricKind::energy_counter;
  energy.name = "cpu_energy";
  energy.unit = "J";
  energy.source = "/sys/energy";
  energy.labels = {{"package", "0"}, {"domain", "package"}};
  energy.step = 0.001;
  energy.renewal_ns = one_ms;
  declared.metrics.push_back(energy);
}

void add_marks(EventBatch& batch) {
  const std::int64_t start = Game::start_of(MarkedGame::frame);
  for (const auto& [after, text] : {std::pair{1, "loaded level"}, std::pair{5, "<b>second</b>"}}) {
    Message message;
    message.track = Game::main_track;
    message.time_ns = start + after * one_ms;
    message.text = text;
    batch.messages.push_back(message);
  }
  batch.sync_points.push_back({MarkedGame::sync_number, Game::main_track, start + 6 * one_ms});
  batch.flows.push_back({Game::main_track, FlowPhase::begin, start + one_ms * 3 / 2, 7});
  batch.flows.push_back({Game::worker_track, FlowPhase::end, start + 2 * one_ms, 7});
  SpanEvent request;
  request.track = MarkedGame::async_track;
  request.name = NameId{3};
  request.start_ns = start + one_ms / 2;
  request.duration_ns = 7 * one_ms;
  request.async_id = 1;
  batch.spans.push_back(request);
}

}  // namespace

std::vector<EventBatch> MarkedGame::batches() {
  std::vector<EventBatch> all = Game().batches();
  declare(all.front().declarations);
  for (EventBatch& batch : all) {
    SampleRun& energy = batch.samples.emplace_back();
    energy.metric = MetricId{2};
    for (std::size_t i = 0; i < batch.frame_marks.size(); ++i) {
      const std::int64_t time_ns = batch.frame_marks[i].time_ns;
      energy.times_ns.push_back(time_ns);
      energy.values.push_back(20e-9 * static_cast<double>(time_ns - Game::start_ns));
    }
    const std::size_t marks = batch.frame_marks.size();
    for (std::size_t i = 0; i < marks; i += 2) {
      batch.frame_marks.push_back({FrameStreamId{2}, Game::main_track, batch.frame_marks[i].time_ns});
    }
  }
  add_marks(all[MarkedGame::frame / Game().frames_in_block]);
  return all;
}

}  // namespace kymo::test
