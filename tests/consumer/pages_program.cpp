// What the pages' commands are tried on: frames, scopes, a metric and power over 13 seconds, most of which are emitted.
#include <chrono>
#include <cmath>

#include <kymo/kymo.hpp>

namespace {

double work(int rounds) {
  KYMO_SCOPE("load asset", {"rounds", rounds});
  double sum = 0;
  for (int i = 0; i < rounds * 1000; ++i) {
    sum += std::sqrt(static_cast<double>(i));
  }
  return sum;
}

}  // namespace

int main() {
  kymo::enable();
  using std::chrono::seconds;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const kymo::TrackId earlier = kymo::track("earlier");
  for (int ago = 1; ago <= 13; ++ago) {
    kymo::emit_span(earlier, "warm up", "", now - seconds(ago), std::chrono::milliseconds(500));
  }
  double sum = 0;
  for (int frame = 0; frame < 200; ++frame) {
    KYMO_SCOPE("step");
    sum += work(frame % 20 == 2 ? 2000 : 50);
    kymo::record_metric("loss", 1.0 / (frame + 1));
    kymo::record_metric_unit("gpu_power", 20.0 + frame % 3, "W");
    kymo::frame_mark();
  }
  return sum > 0 ? 0 : 1;
}
