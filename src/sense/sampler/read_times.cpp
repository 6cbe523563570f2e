#include "sense/sampler/read_times.hpp"

#include <algorithm>
#include <cmath>

#include "base/system/clock.hpp"

namespace kymo::sense {

namespace {

constexpr double most_load = 0.05;          // of one core
constexpr double most_of_the_period = 0.5;  // that a read may last
constexpr double most_hz = 1000;

double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double fastest_sensible_hz(const ReadCost& cost, std::int64_t renewal_ns) {
  double hz = std::min(
      {most_hz, most_load * 1e9 / std::max(cost.cpu_ns, 1.0), most_of_the_period * 1e9 / std::max(cost.wall_ns, 1.0)});
  hz = renewal_ns <= 0 ? hz : std::min(hz, 1e9 / static_cast<double>(renewal_ns));
  const double magnitude = std::pow(10, std::floor(std::log10(hz)));
  const double digit = hz / magnitude;
  return magnitude * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

void ReadTimes::read(Sensor& sensor) {
  const std::int64_t start_cpu_ns = base::thread_cpu_ns();
  const std::int64_t start_ns = base::monotonic_now_ns();
  sensor.read(start_ns);
  const std::int64_t wall_ns = base::monotonic_now_ns() - start_ns;
  wall_ns_.push_back(static_cast<double>(wall_ns));
  // The CPU time includes reading the clocks.
  cpu_ns_.push_back(static_cast<double>(std::min(base::thread_cpu_ns() - start_cpu_ns, wall_ns)));
}

ReadCost ReadTimes::median() const {
  return {median_of(wall_ns_), median_of(cpu_ns_)};
}

}  // namespace kymo::sense
