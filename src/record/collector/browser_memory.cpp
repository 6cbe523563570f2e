#include "record/collector/browser_memory.hpp"

#include <array>

#include <emscripten/emscripten.h>

#include <kymo/metric.hpp>

// Bytes; negative if the browser does not report them.
EM_JS(double, kymo_js_heap_bytes, (void), {
  var memory = typeof performance == 'object' && performance.memory;
  return memory && memory.usedJSHeapSize > 0 ? memory.usedJSHeapSize : -1;
});

// Returns each answer once. Asks again ten seconds after the last question.
EM_JS(double, kymo_page_memory_bytes, (void), {
  if (typeof performance != 'object' || !performance.measureUserAgentSpecificMemory ||
      !globalThis.crossOriginIsolated) {
    return -1;
  }
  var state = Module['kymoPageMemory'] || (Module['kymoPageMemory'] = {bytes : -1, next : 0});
  var now = performance.now();
  if (now >= state.next) {
    state.next = Infinity;
    performance.measureUserAgentSpecificMemory().then(
        function(answer) {
          state.bytes = answer.bytes;
          state.next = performance.now() + 10000;
        },
        function(){});
  }
  var bytes = state.bytes;
  state.bytes = -1;
  return bytes;
});

namespace kymo::record {

namespace {

/// A metric that is declared with its first value.
class BrowserMetric {
 public:
  constexpr BrowserMetric(const char* name, const char* source, std::int64_t renewal_ns)
      : name_(name), source_(source), renewal_ns_(renewal_ns) {}

  [[nodiscard]] MetricSample sample(double bytes) {
    if (bytes < 0) {
      return {};
    }
    if (!id_) {
      MetricDescription description;
      description.name = name_;
      description.unit = "MB";
      description.source = source_;
      description.renewal_ns = renewal_ns_;
      id_ = declare_metric(description);
    }
    return {id_, 0, bytes / 1e6};
  }

 private:
  const char* name_;
  const char* source_;
  std::int64_t renewal_ns_;
  MetricId id_;
};

BrowserMetric js_heap("js_heap_mb", "performance.memory", 0);
BrowserMetric page_memory("page_memory_mb", "performance.measureUserAgentSpecificMemory", 10'000'000'000);

}  // namespace

void sample_browser_memory() noexcept {
  const std::array samples{js_heap.sample(kymo_js_heap_bytes()), page_memory.sample(kymo_page_memory_bytes())};
  if (samples[0].metric || samples[1].metric) {
    record_samples(samples.data(), samples.size());
  }
}

}  // namespace kymo::record
