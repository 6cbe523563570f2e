// A metric as steps over time: its value, its integral, and its peak between two times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/common/power_curve.hpp"

namespace kymo::stats {

/// Steps by ascending time. Not thread-safe.
class StepSeries {
 public:
  /// The metric's integral from the first step up to a time.
  struct Mark {
    double integral = 0;  ///< unit times seconds
    double known_s = 0;
    std::size_t step = 0;  ///< 1 + the index of the step at that time; 0: before the first
  };

  /// Sets the value from this time on; NaN: unknown. Times must not descend.
  void add(std::int64_t time_ns, double value) {
    if (!steps_.empty() && steps_.back().time_ns == time_ns) {
      steps_.back().value = value;
      return;
    }
    const Mark before = at(time_ns);
    steps_.push_back({time_ns, value, before.integral, before.known_s});
  }

  /// The median time between steps; 0 if there are fewer than two.
  [[nodiscard]] std::int64_t median_step_ns() const {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      lengths.push_back(nanoseconds_between(steps_[i - 1].time_ns, steps_[i].time_ns));
    }
    if (lengths.empty()) {
      return 0;
    }
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    return *middle;
  }

  /// Fast if times ascend from call to call, otherwise a binary search.
  [[nodiscard]] Mark at(std::int64_t time_ns) {
    if (last_ != 0 && (last_ > steps_.size() || steps_[last_ - 1].time_ns > time_ns)) {
      const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_ns,
                                          [](std::int64_t time, const Step& step) { return time < step.time_ns; });
      last_ = static_cast<std::size_t>(after - steps_.begin());
    }
    while (last_ < steps_.size() && steps_[last_].time_ns <= time_ns) {
      ++last_;
    }
    if (last_ == 0) {
      return {};
    }
    const Step& step = steps_[last_ - 1];
    const double seconds = std::isnan(step.value) ? 0 : seconds_between(step.time_ns, time_ns);
    return {step.integral + (seconds > 0 ? step.value * seconds : 0), step.known_s + seconds, last_};
  }

  /// The largest value between two marks; NaN if none is known.
  [[nodiscard]] double peak(const Mark& from, const Mark& to) const {
    double peak = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t step = std::max<std::size_t>(from.step, 1); step <= to.step; ++step) {
      peak = std::fmax(peak, steps_[step - 1].value);
    }
    return peak;
  }

 private:
  struct Step {
    std::int64_t time_ns = 0;
    double value = 0;
    double integral = 0;  // up to here
    double known_s = 0;
  };

  std::vector<Step> steps_;
  std::size_t last_ = 0;  // the step of the last at() call, as in Mark
};

}  // namespace kymo::stats
