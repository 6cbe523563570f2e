// The collector without a thread: it runs when called, on the program's only thread.
#include <chrono>

#include <emscripten/emscripten.h>

#include "record/clock/clock.hpp"
#include "record/collector/browser_memory.hpp"
#include "record/collector/parts.hpp"
#include "record/pool/collector_pump.hpp"

// For programs that return to the page and mark no frames. The timer does not keep Node.js running.
EM_JS(void, kymo_start_timer, (int period_ms), {
  if (typeof setInterval == 'undefined' || Module['kymoTimer']) {
    return;
  }
  var timer = setInterval(
      function() {
        if (typeof ABORT == 'undefined' || !ABORT) {
          _kymo_pump_v1();
        }
      },
      period_ms);
  if (timer.unref) {
    timer.unref();
  }
  Module['kymoTimer'] = timer;
});

EM_JS(void, kymo_stop_timer, (void), {
  if (Module['kymoTimer']) {
    clearInterval(Module['kymoTimer']);
    Module['kymoTimer'] = null;
  }
});

extern "C" EMSCRIPTEN_KEEPALIVE void kymo_pump_v1() {
  kymo::record::pump_collector_if_due();
}

namespace kymo::record {

namespace {

struct Pump {
  Collector* collector = nullptr;
  bool is_working = false;
  std::uint64_t next_ns = 0;
};
Pump pump;

}  // namespace

void Collector::start(bool /*is_held*/) {
  pump.collector = this;
  kymo_start_timer(static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(options_.period).count()));
}

Collector::~Collector() = default;

bool Collector::is_own_thread() const noexcept {
  return pump.is_working;
}

bool Collector::stop(std::chrono::nanoseconds /*timeout*/) noexcept {
  kymo_stop_timer();
  pump.is_working = true;
  finish();
  pump = {};
  return is_finished_;
}

void Collector::run() {
  const std::uint64_t start_ns = monotonic_ns();
  work();
  const std::uint64_t end_ns = monotonic_ns();
  cpu_time_ns_.fetch_add(end_ns - start_ns, std::memory_order_relaxed);
  pump.next_ns = end_ns + static_cast<std::uint64_t>(options_.period.count());
}

void pump_collector() noexcept {
  if (pump.collector != nullptr && !pump.is_working) {
    pump.is_working = true;
    pump.collector->run();
    pump.is_working = false;
  }
}

void pump_collector_if_due() noexcept {
  if (pump.collector != nullptr && !pump.is_working && pump.collector->has_sinks() && monotonic_ns() >= pump.next_ns) {
    sample_browser_memory();
    pump_collector();
  }
}

}  // namespace kymo::record
