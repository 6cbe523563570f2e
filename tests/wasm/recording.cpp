// Records as programs in pages do, under Node.js: recording CAPTURE [ROUNDS]. What it recorded is what
// web_recording_test.py expects of the capture; what its own sink was given is printed.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <emscripten/emscripten.h>

#include <kymo/browser_sink.hpp>
#include <kymo/kymo.hpp>
#include <kymo/sink.hpp>

namespace {

/// Counts what a program's own sink is given.
class CountingSink final : public kymo::Sink {
 public:
  void write(const kymo::EventBatch& batch) override {
    for (const kymo::ScopeRun& run : batch.runs) {
      events += run.events.size();
    }
    frames += batch.frame_marks.size();
    ++batches;
    // Recording in a sink is answered by nothing, rather than by waiting for ever.
    kymo::record_metric("recorded_by_a_sink", 1);
  }
  void finish() override { is_finished = true; }

  std::uint64_t events = 0;
  std::uint64_t frames = 0;
  std::uint64_t batches = 0;
  bool is_finished = false;
};

void leave_by_exception(int round) {
  KYMO_SCOPE("thrower", {"round", round});
  throw std::runtime_error("thrown");
}

void work(int round) {
  KYMO_SCOPE("round", {"index", round}, {"kind", round % 2 == 0 ? "even" : "odd"});
  for (int i = 0; i < 100; ++i) {
    KYMO_SCOPE("step");
  }
  try {
    leave_by_exception(round);
  } catch (const std::runtime_error&) {
    kymo::record_metric("caught", round);
  }
}

/// Of a program that has returned to the page and asks for nothing: what the timer brings its sink.
struct Waiting {
  std::shared_ptr<CountingSink> sink = std::make_shared<CountingSink>();
  kymo::SinkGuard guard;
  int looks = 0;
};
Waiting waiting;

void look_again() {
  constexpr int most_looks = 1000;
  constexpr int period_ms = 10;
  if (waiting.sink->events < 2 && ++waiting.looks < most_looks) {
    emscripten_async_call([](void*) { look_again(); }, nullptr, period_ms);
  } else {
    std::printf("{\"by_timer\": %llu}\n", static_cast<unsigned long long>(waiting.sink->events));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto sink = std::make_shared<CountingSink>();
  kymo::SinkGuard counting = kymo::Sink::install(sink);
  kymo::BrowserSinkOptions few;
  few.most_per_second = 50;
  const kymo::BrowserSink timeline(few);
  kymo::SinkGuard shown = timeline.install();
  const kymo::SinkGuard refused = timeline.install();

  kymo::CaptureOptions options;
  options.path = argc > 1 ? argv[1] : "recording.kymo";
  if (!kymo::start_capture(options)) {
    return 1;
  }
  kymo::set_info("shape", "web test");
  kymo::AsyncSpan whole("spans", "whole");
  for (int round = 0; round < 3000; ++round) {
    work(round);
    // For most of the time without frames: what is recorded before the first is more than the pool holds.
    if (round >= 2700) {
      kymo::frame_mark();
    }
  }
  whole.end();
  kymo::flush();
  const kymo::BrowserSinkCounts counts = timeline.counts();
  shown.remove();
  counting.remove();
  if (!kymo::stop_capture()) {
    return 1;
  }
  std::printf(
      "{\"events\": %llu, \"frames\": %llu, \"batches\": %llu, \"is_finished\": %s, \"measured\": %llu, "
      "\"dropped\": %llu, \"memory\": %llu}\n",
      static_cast<unsigned long long>(sink->events), static_cast<unsigned long long>(sink->frames),
      static_cast<unsigned long long>(sink->batches), sink->is_finished ? "true" : "false",
      static_cast<unsigned long long>(counts.measured), static_cast<unsigned long long>(counts.dropped),
      static_cast<unsigned long long>(kymo::current_memory_bytes()));

  waiting.guard = kymo::Sink::install(waiting.sink);
  { KYMO_SCOPE("waited for"); }
  look_again();
  return 0;
}
