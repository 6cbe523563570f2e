// Writes a capture for the test of reports: report_captures FILE
//
// Six frames of which one is slow, scopes on two threads, queue work, power of the machine and of a GPU, two phases,
// and a metric with stale and unreadable samples. Names try to be markup.
#include <cmath>
#include <fstream>

#include "stats/power_recording.hpp"

namespace kymo::test {
namespace {

constexpr const char* script = "</th><script>alert('1')</script>&amp;\x1b[31m\xff";

MetricDeclaration hostile_metric() {
  MetricDeclaration metric;
  metric.name = "load\"><img src=x onerror=alert(2)>";
  metric.unit = "<b>";
  metric.source = "/sys/<i>";
  metric.labels = {{"<u>", "\"'&"}};
  metric.step = 0.5;
  metric.renewal_ns = 20 * ms;
  metric.traits = MetricDeclaration::estimated;
  return metric;
}

PowerRecording make_recording() {
  PowerRecording recording;
  recording.open(0, TrackId{1}, "loop");
  for (std::int64_t i = 0; i < 5; ++i) {
    recording.frame_mark(100 * i * ms);
    recording.scope((100 * i + 10) * ms, (100 * i + 40 + i) * ms, TrackId{1}, script);
    recording.scope((100 * i + 20) * ms, (100 * i + 21) * ms, TrackId{2}, "blink");
  }
  recording.frame_mark(500 * ms);
  recording.scope(550 * ms, 750 * ms, TrackId{1}, "load");
  recording.frame_mark(800 * ms);
  recording.close(900 * ms, TrackId{1});
  recording.gpu_span(100 * ms, 300 * ms, "kernel<svg onload=alert(3)>");
  recording.sync_point(5 * ms);
  recording.sync_point(500 * ms);
  recording.metric(energy_metric(), sample_energy({.constant = 20}, {.end_ns = second}));
  recording.metric(power_metric(), sample_power({.constant = 100}, {.end_ns = second}));
  MetricSeries load;
  for (std::int64_t time_ms = 0; time_ms < 1000; time_ms += 20) {
    const bool is_unreadable = time_ms >= 300 && time_ms < 400;
    load.times_ns.push_back(time_ms * ms);
    load.values.push_back(is_unreadable ? std::nan("") : static_cast<double>(time_ms % 70) / 7);
    load.flags.push_back(time_ms >= 600 && time_ms < 700 ? SampleRun::stale : std::uint8_t{0});
  }
  recording.metric(hostile_metric(), load);
  return recording;
}

}  // namespace
}  // namespace kymo::test

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const auto bytes = kymo::test::make_recording().make_capture(4);
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.good() ? 0 : 1;
}
