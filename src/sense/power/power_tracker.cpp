// Computes the energy of a stretch of time from readings of one source.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <kymo/power.hpp>

#include "base/system/clock.hpp"
#include "base/system/own_thread.hpp"

namespace kymo {

PowerSource::~PowerSource() = default;

FixedPowerSource::FixedPowerSource(double watts) : watts_([watts](double) { return watts; }) {}
FixedPowerSource::FixedPowerSource(std::function<double(double time_s)> watts) : watts_(std::move(watts)) {}

std::string FixedPowerSource::name() const {
  return "fixed";
}

PowerReading FixedPowerSource::read(std::int64_t now_ns) {
  PowerReading reading;
  reading.watts = watts_(static_cast<double>(now_ns) / 1e9);
  return reading;
}

double integrate(const std::vector<PowerSample>& samples) {
  double joules = 0;
  const PowerSample* last = nullptr;
  for (const PowerSample& sample : samples) {
    if (!std::isfinite(sample.watts) || !std::isfinite(sample.time_s)) {
      continue;
    }
    if (last != nullptr && sample.time_s > last->time_s) {
      joules += (sample.time_s - last->time_s) * (sample.watts + last->watts) / 2;
    }
    last = &sample;
  }
  return joules;
}

namespace {

/// Adds readings up.
class EnergySum {
 public:
  /// Returns the watts that the reading tells, NaN if it tells none.
  double add(std::int64_t now_ns, const PowerReading& reading) {
    double watts = std::numeric_limits<double>::quiet_NaN();
    if (has_begun_ && now_ns <= last_ns_) {
      return watts;
    }
    const bool is_first = !has_begun_;
    const double seconds = is_first ? 0 : static_cast<double>(now_ns - last_ns_) / 1e9;
    const double grown = reading.joules - last_.joules;
    const bool is_counted = !is_first && std::isfinite(grown) && grown >= 0;
    const bool is_trapezoid = !is_first && std::isfinite(reading.watts) && std::isfinite(last_.watts);
    if (is_counted) {
      report_.energy_j += grown;
      report_.is_counted = true;
      bound_counted(now_ns, grown);
    } else if (is_trapezoid) {
      report_.energy_j += seconds * (reading.watts + last_.watts) / 2;
      bound_trapezoid(now_ns, std::fabs(reading.watts - last_.watts));
    } else {
      report_.unknown_s += seconds;
    }
    report_.duration_s += seconds;
    if (std::isfinite(reading.watts)) {
      watts = reading.watts;
    } else if (is_counted && grown > 0) {
      // Without a power reading, the counter's growth between its renewals gives the power.
      watts = grown / (static_cast<double>(now_ns - grown_ns_) / 1e9);
    }
    take_watts(watts);
    report_.samples += std::isfinite(reading.watts) || std::isfinite(reading.joules) ? 1U : 0U;
    if (is_first || !is_counted || grown > 0) {
      grown_ns_ = now_ns;
    }
    if (is_first || !is_trapezoid) {
      changed_ns_ = now_ns;
    }
    last_ = reading;
    last_ns_ = now_ns;
    has_begun_ = true;
    return watts;
  }

  [[nodiscard]] EnergyReport report() const {
    EnergyReport report = report_;
    report.mean_watts = watts_count_ == 0 ? 0 : watts_sum_ / static_cast<double>(watts_count_);
    // What the first step of the counter holds of the time before the start, or what it does not show of the end.
    const double after_joules = step_watts_ * static_cast<double>(last_ns_ - before_growth_ns_) / 1e9;
    report.bound_j = changes_watts_ * renewal_s_ + std::max(first_step_j_, after_joules);
    if (report.is_counted && step_watts_ == 0) {
      report.bound_j = std::numeric_limits<double>::infinity();
    }
    return report;
  }

 private:
  void bound_counted(std::int64_t now_ns, double grown) {
    if (grown <= 0) {
      return;
    }
    if (step_watts_ == 0) {
      first_step_j_ = grown;
    }
    step_watts_ = std::max(step_watts_, grown / (static_cast<double>(now_ns - grown_ns_) / 1e9));
    before_growth_ns_ = last_ns_;
  }

  /// A gauge renews itself at least as often as the shortest time between two changes that were seen, and the power was
  /// between the values before and after a change.
  void bound_trapezoid(std::int64_t now_ns, double change_watts) {
    if (change_watts > 0) {
      const double apart_s = static_cast<double>(now_ns - changed_ns_) / 1e9;
      renewal_s_ = changes_watts_ == 0 ? apart_s : std::min(renewal_s_, apart_s);
      changes_watts_ += change_watts;
      changed_ns_ = now_ns;
    }
  }

  void take_watts(double watts) {
    if (!std::isfinite(watts)) {
      return;
    }
    report_.peak_watts = watts_count_ == 0 ? watts : std::max(report_.peak_watts, watts);
    watts_sum_ += watts;
    ++watts_count_;
  }

  EnergyReport report_;
  double watts_sum_ = 0;
  std::uint64_t watts_count_ = 0;
  PowerReading last_;
  std::int64_t last_ns_ = 0;
  std::int64_t grown_ns_ = 0;          // time of the counter's last growth
  std::int64_t before_growth_ns_ = 0;  // the reading before it
  std::int64_t changed_ns_ = 0;        // when the gauge last showed another value
  double first_step_j_ = 0;
  double step_watts_ = 0;  // the greatest mean power of a step of the counter
  double changes_watts_ = 0;
  double renewal_s_ = 0;
  bool has_begun_ = false;
};

}  // namespace

class PowerTracker::Implementation {
 public:
  Implementation(PowerSource& source, const PowerTrackerOptions& options) : source_(source), options_(options) {
    const double hz = options.hz;
    if (!(hz >= 0.1 && hz <= 1000)) {
      throw std::invalid_argument("a power tracker's rate is 0.1 to 1000 Hz");
    }
    period_ = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / hz));
  }

  bool start() {
    const std::lock_guard lifetime(lifetime_);
    if (thread_.joinable()) {
      return false;
    }
    {
      const std::lock_guard lock(mutex_);
      sum_ = {};
      samples_.clear();
      ends_ = false;
    }
    sample(base::monotonic_now_ns());
    thread_ = base::OwnThread([this] { run(); });
    return true;
  }

  EnergyReport stop() {
    const std::lock_guard lifetime(lifetime_);
    if (thread_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        ends_ = true;
      }
      wake_.notify_all();
      thread_.join();
      sample(base::monotonic_now_ns());
    }
    return report();
  }

  [[nodiscard]] bool is_running() const {
    const std::lock_guard lifetime(lifetime_);
    return thread_.joinable();
  }

  void sample(std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    take(now_ns);
  }

  [[nodiscard]] EnergyReport report() const {
    const std::lock_guard lock(mutex_);
    EnergyReport report = sum_.report();
    report.label = options_.label;
    return report;
  }

  [[nodiscard]] std::vector<PowerSample> samples() const {
    const std::lock_guard lock(mutex_);
    return {samples_.begin(), samples_.end()};
  }

 private:
  /// With the lock held.
  void take(std::int64_t now_ns) {
    const double watts = sum_.add(now_ns, source_.read(now_ns));
    if (options_.kept_samples == 0 || !std::isfinite(watts)) {
      return;
    }
    if (samples_.size() == options_.kept_samples) {
      samples_.pop_front();
    }
    samples_.push_back({static_cast<double>(now_ns) / 1e9, watts});
  }

  void run() {
    auto deadline = std::chrono::steady_clock::now() + period_;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_until(lock, deadline, [this] { return ends_; })) {
      take(base::monotonic_now_ns());
      deadline = std::max(deadline + period_, std::chrono::steady_clock::now());
    }
  }

  PowerSource& source_;
  PowerTrackerOptions options_;  // as they were given
  std::chrono::nanoseconds period_{0};
  mutable std::mutex lifetime_;  // protects the thread
  mutable std::mutex mutex_;     // protects the sum, the samples, the source and ends_
  std::condition_variable wake_;
  EnergySum sum_;
  std::deque<PowerSample> samples_;
  bool ends_ = false;
  base::OwnThread thread_;
};

PowerTracker::PowerTracker(PowerSource& source, double hz) : PowerTracker(source, PowerTrackerOptions{hz, {}, 0}) {}

PowerTracker::PowerTracker(PowerSource& source, const PowerTrackerOptions& options)
    : implementation_(std::make_unique<Implementation>(source, options)) {}

PowerTracker::~PowerTracker() {
  stop();
}

bool PowerTracker::start() {
  return implementation_->start();
}
EnergyReport PowerTracker::stop() noexcept {
  return implementation_->stop();
}
bool PowerTracker::is_running() const noexcept {
  return implementation_->is_running();
}
EnergyReport PowerTracker::report() const {
  return implementation_->report();
}
std::vector<PowerSample> PowerTracker::samples() const {
  return implementation_->samples();
}
void PowerTracker::sample(std::int64_t now_ns) {
  implementation_->sample(now_ns);
}

}  // namespace kymo
