// Cost of the panel on a generated capture of --scopes=N scopes (default 10 million), with --states also of run states:
//
// - CPU time of the drawing thread per frame at 1920x1080, without the renderer,
// - time to the first picture,
// - time until the statistics of a range are on the screen: some of them, and all; and the most memory in use until
//   then,
// - following recording programs.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "capture/write/capture_writer.hpp"
#include "generator.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel_follow.hpp"
#include "panel_screen.hpp"
#include "temporary_folder.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

using panel::PanelView;

std::uint64_t wanted_scopes = 10'000'000;
bool has_states = false;

/// Adds a frame about every millisecond and eight metrics with a sample each.
void add_frames(EventBatch& batch, std::int64_t& next_ns, std::uint64_t& frame) {
  constexpr std::size_t metric_count = 8;
  batch.frame_marks.clear();
  batch.samples.assign(metric_count, SampleRun());
  if (next_ns == 0) {
    next_ns = batch.start_ns;
    batch.declarations.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
    for (std::size_t i = 0; i < metric_count; ++i) {
      MetricDeclaration metric;
      metric.id = MetricId::from_index(i);
      metric.name = "metric " + std::to_string(i);
      batch.declarations.metrics.push_back(metric);
    }
  }
  for (; next_ns <= batch.end_ns; next_ns += 900'000 + static_cast<std::int64_t>(frame * 7919 % 300'000)) {
    batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, next_ns});
    for (std::size_t i = 0; i < metric_count; ++i) {
      batch.samples[i].metric = MetricId::from_index(i);
      batch.samples[i].times_ns.push_back(next_ns);
      batch.samples[i].values.push_back(std::sin(static_cast<double>(frame * (i + 1)) * 0.003));
    }
    ++frame;
  }
}

/// Adds the run states of each thread: a switch every 20 us.
void add_states(EventBatch& batch, std::vector<std::int64_t>& next_ns) {
  constexpr std::int64_t state_ns = 20'000;
  for (const TrackDeclaration& track : batch.declarations.tracks) {
    batch.declarations.threads.push_back({ThreadId{track.id.value()}, ProcessId{1}, 1, track.os_thread_id, track.name});
    next_ns.resize(std::max<std::size_t>(next_ns.size(), track.id.index() + 1), batch.start_ns);
  }
  batch.states.resize(next_ns.size());
  for (std::size_t i = 0; i < next_ns.size(); ++i) {
    batch.states[i].thread = ThreadId::from_index(i);
    batch.states[i].states.clear();
    for (; next_ns[i] + state_ns <= batch.end_ns; next_ns[i] += state_ns) {
      const std::int64_t place = next_ns[i] / state_ns;
      batch.states[i].states.push_back(
          {next_ns[i], state_ns, static_cast<std::uint32_t>(i % 8), static_cast<RunState>(place % 3)});
    }
  }
}

/// The capture for all measurements, created once.
const std::string& generated_capture() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    std::string file = folder.file("generated.kymo");
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 1, "host", "boot", "", ""});
    capture::CaptureWriter writer(file, std::move(options));
    ScopeGenerator generator(1);
    EventBatch batch;
    std::int64_t next_ns = 0;
    std::uint64_t frame = 0;
    std::vector<std::int64_t> next_states_ns;
    while (generator.scopes() < wanted_scopes) {
      generator.next(batch);
      add_frames(batch, next_ns, frame);
      if (has_states) {
        add_states(batch, next_states_ns);
      }
      writer.write(batch);
    }
    writer.finish();
    return file;
  }();
  return path;
}

std::shared_ptr<panel::BlockProvider> open_capture() {
  return std::make_shared<panel::TimelineBlocks>(Timeline(generated_capture()));
}

/// Shows this share of the capture, and times frames with a moving or a still view.
void time_frames(benchmark::State& state, double share, bool moves) {
  const Screen screen;
  PanelView view(open_capture(), {}, {});
  const TimeRange all = view.state().data().range();
  const std::int64_t middle = all.start_ns + (all.end_ns - all.start_ns) / 2;
  const auto length = static_cast<std::int64_t>(static_cast<double>(all.end_ns - all.start_ns) * share);
  if (share < 1) {
    view.state().zoom_to({middle, middle + length});
  }
  screen.settle(view);
  std::uint64_t cpu_ns = 0;
  double frames = 0;
  int vertices = 0;
  double step = 5;
  for (auto _ : state) {
    if (moves) {
      step = -step;
      view.state().flame().pan(step);
      view.state().overview().pan(step);
      if (share >= 1) {
        view.state().flame().zoom(step > 0 ? 0.99 : 1.02, 960);
        view.state().overview().zoom(step > 0 ? 0.99 : 1.02, 800);
      }
    }
    const std::uint64_t before = thread_cpu_ns();
    vertices = screen.draw(view);
    cpu_ns += thread_cpu_ns() - before;
    ++frames;
  }
  state.counters["cpu_ms"] = static_cast<double>(cpu_ns) / frames / 1e6;
  state.counters["vertices"] = vertices;
}

/// From opening the file to the first completely drawn frame.
void time_first_picture(benchmark::State& state) {
  static_cast<void>(generated_capture());
  const Screen screen;
  double wall_ms = 0;
  for (auto _ : state) {
    const std::uint64_t before = wall_ns();
    PanelView view(open_capture(), {}, {});
    const std::int64_t whole_ns = view.state().data().range().end_ns - view.state().data().range().start_ns;
    for (std::int64_t drawn_ns = 0; drawn_ns < whole_ns / 100 * 98;) {
      screen.draw(view);
      drawn_ns = 0;
      for (const panel::Piece& piece : view.state().data().pieces(view.state().flame().range(), {})) {
        drawn_ns += piece->end_ns - piece->start_ns;
      }
      if (drawn_ns < whole_ns / 100 * 98) {
        view.state().data().wait();
      }
    }
    screen.draw(view);
    wall_ms += static_cast<double>(wall_ns() - before) / 1e6;
  }
  state.counters["wall_ms"] = wall_ms / static_cast<double>(state.iterations());
}

/// Resident memory without the pages of files.
double private_mb() {
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> shared;
  return static_cast<double>((resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) / 1e6;
}

/// The statistics of a range, from the first frame with the tab on. Memory is the process's, without the file's pages.
void time_statistics(benchmark::State& state, double share) {
  static_cast<void>(generated_capture());
  const Screen screen;
  double first_ms = 0;
  double whole_ms = 0;
  double memory_mb = 0;
  for (auto _ : state) {
    PanelView view(open_capture(), {}, {});
    screen.settle(view);
    const TimeRange all = view.state().data().range();
    const auto length = static_cast<std::int64_t>(static_cast<double>(all.end_ns - all.start_ns) * share);
    // The summaries know the statistics of everything; those of a range are added up.
    view.state().measure(TimeRange{all.start_ns, all.start_ns + length - 1});
    view.open_tab("statistics");
    const std::uint64_t before = wall_ns();
    double shown_ms = 0;
    do {
      screen.draw(view);
      const std::string rows = view.copied_tab(panel::CopyAs::csv);
      if (shown_ms == 0 && rows.find('\n') + 1 < rows.size()) {
        shown_ms = static_cast<double>(wall_ns() - before) / 1e6;
      }
      memory_mb = std::max(memory_mb, private_mb());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (view.state().data().is_busy());
    screen.draw(view);
    whole_ms += static_cast<double>(wall_ns() - before) / 1e6;
    first_ms += shown_ms;
  }
  state.counters["first_ms"] = first_ms / static_cast<double>(state.iterations());
  state.counters["whole_ms"] = whole_ms / static_cast<double>(state.iterations());
  state.counters["memory_mb"] = memory_mb;
}

void add_benchmarks() {
  benchmark::RegisterBenchmark("panel/first_picture", time_first_picture)->Iterations(3);
  for (const auto& [name, share] :
       {std::pair{"panel/statistics/whole", 1.0}, std::pair{"panel/statistics/tenth", 0.1}}) {
    benchmark::RegisterBenchmark(name, [share = share](benchmark::State& state) {
      time_statistics(state, share);
    })->Iterations(1);
  }
  struct Case {
    const char* name;
    double share;
    bool moves;
  };
  for (const Case& one :
       {Case{"panel/whole", 1, true}, Case{"panel/tenth", 0.1, true}, Case{"panel/thousandth", 1e-3, true},
        Case{"panel/closest", 1e-5, true}, Case{"panel/idle", 1, false}}) {
    benchmark::RegisterBenchmark(one.name, [one](benchmark::State& state) {
      time_frames(state, one.share, one.moves);
    })->Iterations(200);
  }
  add_follow_benchmarks();
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--record") == 0) {
    return kymo::benchmarks::record_load(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--scopes=", 9) == 0) {
      kymo::benchmarks::wanted_scopes = std::strtoull(argv[i] + 9, nullptr, 10);
    }
    kymo::benchmarks::has_states = kymo::benchmarks::has_states || std::strcmp(argv[i], "--states") == 0;
  }
  kymo::benchmarks::add_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
