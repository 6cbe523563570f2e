#include "panel_follow.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <benchmark/benchmark.h>

#include <kymo/kymo.hpp>
#include <kymo/sink.hpp>

#include "panel/data/live_window.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel_screen.hpp"
#include "temporary_folder.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

using panel::PanelView;

constexpr std::uint64_t second_ns = 1'000'000'000;
/// Far less than the data that passes through.
constexpr std::size_t kept_bytes = std::size_t{32} << 20U;

double run_load(std::uint64_t until_ns) {
  Cost cost;
  unsigned bursts = 0;
  const Pace pace{1000, 1'000'000};
  measure_paced(cost, pace, wall_ns(), until_ns, [&bursts](std::size_t count) {
    for (std::size_t i = 0; i < count / 2; ++i) {
      KYMO_SCOPE("outer");
      KYMO_SCOPE("inner");
    }
    if (++bursts % 10 == 0) {
      frame_mark();
    }
  });
  return cost.cpu_each_ns();
}

/// A separate process that records into a file.
class RecordedProgram {
 public:
  RecordedProgram(const std::string& path, std::uint64_t until_ns) {
    std::array<char, 4096> self{};
    if (::readlink("/proc/self/exe", self.data(), self.size() - 1) <= 0) {
      throw std::runtime_error("/proc/self/exe cannot be read");
    }
    const std::string command = std::string(self.data()) + " --record " + path + ' ' + std::to_string(until_ns);
    output_.reset(::popen(command.c_str(), "re"));
    if (output_ == nullptr) {
      throw std::runtime_error("no program was started");
    }
  }
  /// Waits for its end; returns its cost per scope.
  double scope_ns() {
    double scope_ns = 0;
    if (std::fscanf(output_.get(), "%lf", &scope_ns) != 1) {
      throw std::runtime_error("the recorded program failed");
    }
    return scope_ns;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { ::pclose(file); }
  };
  std::unique_ptr<std::FILE, Close> output_;
};

/// Results for a screen with 60 frames a second.
struct Followed {
  double worst_age_ms = 0;  ///< of the end of the newest frame with its spans on the screen
  double memory_mb = 0;     ///< greatest increase
  double cpu_ms = 0;        ///< of the drawing thread, per frame
};

/// The end of the frame in the flame chart if its spans are drawn; else 0.
std::int64_t drawn_until_ns(panel::ViewState& state) {
  const TimeRange frame = state.flame().range();
  for (const panel::Piece& piece : state.marks().pieces) {
    if (piece->is_exact && piece->start_ns <= frame.start_ns && piece->end_ns >= frame.start_ns &&
        !piece->lanes.empty()) {
      return frame.end_ns;
    }
  }
  return 0;
}

Followed follow(const std::shared_ptr<panel::BlockProvider>& provider, std::uint64_t until_ns,
                std::uint64_t memory_before) {
  constexpr std::uint64_t period_ns = second_ns / 60;
  panel::DataOptions options;
  options.cache_bytes = kept_bytes;
  const Screen screen;
  PanelView view(provider, {}, options);
  Followed followed;
  const std::uint64_t counts_from_ns = wall_ns() + second_ns;
  std::int64_t newest_ns = 0;
  std::uint64_t cpu_ns = 0;
  double frames = 0;
  for (std::uint64_t next_ns = wall_ns(); next_ns < until_ns; next_ns = std::max(next_ns + period_ns, wall_ns())) {
    sleep_until(next_ns);
    const auto shown_ns = static_cast<std::int64_t>(wall_ns());
    if (next_ns > counts_from_ns) {
      // Until this moment the screen showed the previous frame.
      followed.worst_age_ms = std::max(followed.worst_age_ms, static_cast<double>(shown_ns - newest_ns) / 1e6);
    }
    const std::uint64_t before = thread_cpu_ns();
    screen.draw(view);
    cpu_ns += thread_cpu_ns() - before;
    ++frames;
    newest_ns = std::max(newest_ns, drawn_until_ns(view.state()));
    const double grown = static_cast<double>(current_memory_bytes()) - static_cast<double>(memory_before);
    followed.memory_mb = std::max(followed.memory_mb, grown / 1e6);
  }
  followed.cpu_ms = static_cast<double>(cpu_ns) / frames / 1e6;
  return followed;
}

/// Waits until the file exists.
std::shared_ptr<panel::BlockProvider> open_growing(const std::string& path, std::uint64_t until_ns) {
  for (;;) {
    try {
      return std::make_shared<panel::TimelineBlocks>(Timeline(path));
    } catch (const std::exception&) {
      if (wall_ns() > until_ns) {
        throw;
      }
      sleep_until(wall_ns() + 10'000'000);
    }
  }
}

struct Round {
  Followed followed;
  double scope_ns = 0;
};

Round follow_file(std::uint64_t length_ns, bool is_followed) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.kymo");
  const std::uint64_t memory = current_memory_bytes();
  const std::uint64_t until_ns = wall_ns() + length_ns;
  RecordedProgram program(path, until_ns);
  Round round;
  if (is_followed) {
    round.followed = follow(open_growing(path, until_ns), until_ns, memory);
  }
  round.scope_ns = program.scope_ns();
  return round;
}

/// Discards events.
class NoSink final : public Sink {
 public:
  void write(const EventBatch&) override {}
};

Round follow_itself(std::uint64_t length_ns, bool is_followed) {
  const std::uint64_t memory = current_memory_bytes();
  const std::uint64_t until_ns = wall_ns() + length_ns;
  Round round;
  panel::HistoryBounds bounds;
  bounds.bytes = kept_bytes;
  const auto window = std::make_shared<panel::LiveWindow>(bounds);
  const SinkGuard guard = is_followed ? Sink::install(window) : Sink::install(std::make_shared<NoSink>());
  std::thread load([&round, until_ns] { round.scope_ns = run_load(until_ns); });
  if (is_followed) {
    round.followed = follow(std::make_shared<panel::LiveBlocks>(window), until_ns, memory);
  }
  load.join();
  return round;
}

void time_following(benchmark::State& state, Round (*run)(std::uint64_t, bool)) {
  constexpr std::uint64_t long_ns = 6 * second_ns;
  constexpr std::uint64_t short_ns = 3 * second_ns / 2;
  for (auto _ : state) {
    const Round whole = run(long_ns, true);
    // Alternating rounds, so that other load on the machine affects both alike.
    std::array<double, 3> alone{};
    std::array<double, 3> followed{};
    for (std::size_t i = 0; i < alone.size(); ++i) {
      alone[i] = run(short_ns, false).scope_ns;
      followed[i] = run(short_ns, true).scope_ns;
    }
    std::sort(alone.begin(), alone.end());
    std::sort(followed.begin(), followed.end());
    state.counters["age_ms"] = whole.followed.worst_age_ms;
    state.counters["memory_mb"] = whole.followed.memory_mb;
    state.counters["cpu_ms"] = whole.followed.cpu_ms;
    state.counters["alone_ns"] = alone[1];
    state.counters["followed_ns"] = followed[1];
    state.counters["ratio"] = followed[1] / alone[1];
  }
}

}  // namespace

int record_load(const char* path, std::uint64_t until_ns) {
  CaptureOptions options;
  options.path = path;
  if (!start_capture(options)) {
    return 1;
  }
  std::printf("%.3f\n", run_load(until_ns));
  return stop_capture() ? 0 : 1;
}

void add_follow_benchmarks() {
  benchmark::RegisterBenchmark("panel/follow_file", [](benchmark::State& state) {
    time_following(state, follow_file);
  })->Iterations(1);
  benchmark::RegisterBenchmark("panel/follow_itself", [](benchmark::State& state) {
    time_following(state, follow_itself);
  })->Iterations(1);
}

}  // namespace kymo::benchmarks
