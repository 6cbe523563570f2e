#include "game_capture.hpp"

#include <chrono>
#include <utility>

#include "panel/data/timeline_blocks.hpp"

namespace kymo::test {

namespace {

void declare(const Game& game, EventBatch& batch) {
  Declarations& declared = batch.declarations;
  declared.tracks = {{Game::main_track, TrackKind::thread, ProcessId{1}, 100, "main"},
                     {Game::worker_track, TrackKind::thread, ProcessId{1}, 101, "worker"},
                     {Game::gpu_track, TrackKind::queue, ProcessId{1}, 0, "gpu"}};
  for (std::size_t i = 0; i < game.site_names.size(); ++i) {
    SiteDeclaration site;
    site.id = SiteId::from_index(i);
    site.name = game.site_names[i];
    site.function = "run";
    site.file = "game.cpp";
    site.line = 10;
    declared.sites.push_back(site);
  }
  declared.names = {{NameId{1}, "objects"}, {NameId{2}, "draw"}};
  MetricDeclaration load;
  load.id = MetricId{1};
  load.name = "load";
  load.unit = "W";
  load.source = "/sys/load";
  declared.metrics = {load};
  declared.frame_streams = {{FrameStreamId{1}, ProcessId{1}, ""}};
}

void add_scope(ScopeRun& run, std::int64_t start_ns, SiteId site, std::uint16_t depth) {
  run.events.push_back({start_ns, site, depth, 0});
}
void end_scope(ScopeRun& run, std::int64_t end_ns, std::uint16_t depth) {
  run.events.push_back({end_ns, {}, depth, 0});
}

void add_frame(unsigned frame, EventBatch& batch) {
  const std::int64_t start = Game::start_of(frame);
  const std::int64_t length = Game::start_of(frame + 1) - start;
  ScopeRun& main = batch.runs[0];
  add_scope(main, start, Game::frame_site, 0);
  add_scope(main, start + length / 10, Game::update_site, 1);
  ArgumentValue objects;
  objects.name = NameId{1};
  objects.type = ArgumentType::uint64;
  objects.bits = frame;
  main.arguments.push_back({static_cast<std::uint32_t>(main.events.size()), objects});
  end_scope(main, start + length / 2, 1);
  add_scope(main, start + length / 2, Game::render_site, 1);
  end_scope(main, start + length * 9 / 10, 1);
  end_scope(main, start + length - 1, 0);
  add_scope(batch.runs[1], start, Game::job_site, 0);
  end_scope(batch.runs[1], start + length / 4, 0);
  SpanEvent draw;
  draw.track = Game::gpu_track;
  draw.name = NameId{2};
  draw.start_ns = start + length * 3 / 4;
  draw.duration_ns = length / 4 - 1;
  batch.spans.push_back(draw);
  batch.frame_marks.push_back({FrameStreamId{1}, Game::main_track, start});
  SampleRun& load = batch.samples[0];
  load.times_ns.push_back(start);
  load.values.push_back(frame);
  load.flags.push_back(frame % 2 == 0 ? 0 : SampleRun::stale);
}

}  // namespace

std::vector<EventBatch> Game::batches() const {
  std::vector<EventBatch> all;
  std::uint64_t sequences[2] = {0, 0};
  for (unsigned first = 0; first < frames; first += frames_in_block) {
    EventBatch& batch = all.emplace_back();
    if (first == 0) {
      declare(*this, batch);
    }
    const unsigned end = std::min(first + frames_in_block, frames);
    batch.start_ns = start_of(first);
    batch.end_ns = start_of(end) - 1;
    batch.runs.resize(2);
    batch.runs[0].track = main_track;
    batch.runs[1].track = worker_track;
    batch.samples.resize(1);
    batch.samples[0].metric = MetricId{1};
    for (unsigned frame = first; frame < end; ++frame) {
      add_frame(frame, batch);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      batch.runs[i].first_sequence = sequences[i];
      sequences[i] += batch.runs[i].events.size() + batch.runs[i].arguments.size();
      batch.runs[i].end_sequence = sequences[i];
    }
  }
  return all;
}

std::shared_ptr<panel::BlockProvider> provide(const Bytes& bytes) {
  std::vector<CaptureReader> readers;
  readers.push_back(open_bytes(bytes));
  return std::make_shared<panel::TimelineBlocks>(Timeline(std::move(readers)));
}

panel::DataOptions immediate_data() {
  panel::DataOptions options;
  options.has_thread = false;
  options.budget = options.part_of_scan = std::chrono::hours(1);
  return options;
}

}  // namespace kymo::test
