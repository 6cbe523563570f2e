// The sampler: one thread per tier, absolute deadlines, samples into the recorder.
#include <kymo/sampler.hpp>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <kymo/frame.hpp>
#include <kymo/recorder.hpp>

#include "base/system/clock.hpp"
#include "base/system/message.hpp"
#include "sense/common/device_files.hpp"
#include "sense/jetson/boards.hpp"
#include "sense/sampler/machine_lock.hpp"
#include "sense/sampler/sensors.hpp"
#include "sense/sampler/tier_thread.hpp"

namespace kymo {

namespace {

using sense::TierThread;

constexpr double least_hz = 0.1;
constexpr double most_hz = 1000;
constexpr std::uint64_t warmup_samples = 10;

void check_rate(double hz, const std::string& of_what) {
  // Written so that NaN fails.
  if (!(hz == 0 || (hz >= least_hz && hz <= most_hz))) {
    throw std::invalid_argument("a rate of " + std::to_string(hz) + " Hz for " + of_what +
                                " is out of range: 0.1 to 1000, or 0 for off");
  }
}

void check_cpus(const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= sense::cpu_limit()) {
      throw std::invalid_argument("there is no CPU " + std::to_string(cpu) + " to sample on");
    }
  }
}

/// The rate of a sensor's own: "nvml.fast" goes before "nvml".
std::optional<double> own_rate_of(const sense::Sensor& sensor, const SamplerOptions& options) {
  std::optional<double> rate;
  for (const auto& [name, hz] : options.sensor_hz) {
    if (name == sensor.name() + "." + sense::name_of(sensor.tier())) {
      return hz;
    }
    rate = name == sensor.name() && !rate ? hz : rate;
  }
  return rate;
}

double rate_of(const sense::Sensor& sensor, const SamplerOptions& options) {
  if (const std::optional<double> own = own_rate_of(sensor, options)) {
    return *own;
  }
  return std::array{options.fast_hz, options.medium_hz, options.slow_hz}[static_cast<std::size_t>(sensor.tier())];
}

/// "nvml.fast" without its tier.
std::string sensor_of(const std::string& name) {
  for (const Tier tier : {Tier::fast, Tier::medium, Tier::slow}) {
    const std::string end = std::string(".") + sense::name_of(tier);
    if (name.size() > end.size() && name.ends_with(end)) {
      return name.substr(0, name.size() - end.size());
    }
  }
  return name;
}

}  // namespace

class Sampler::Implementation {
 public:
  explicit Implementation(SamplerOptions options)
      : options_(std::move(options)),
        machine_mode_(options_.shares_machine ? sense::machine_mode() : sense::MachineMode::own),
        lock_(options_.sensors.root,
              machine_mode_ == sense::MachineMode::recording ? sense::recording_group() : std::string()),
        tiers_{TierThread(Tier::fast), TierThread(Tier::medium), TierThread(Tier::slow)} {
    const std::array hz{options_.fast_hz, options_.medium_hz, options_.slow_hz};
    for (std::size_t i = 0; i < tiers_.size(); ++i) {
      check_rate(hz[i], std::string("the ") + sense::name_of(tiers_[i].tier()) + " tier");
      tiers_[i].set_rate(hz[i]);
      tiers_[i].set_labels(options_.labels);
    }
    const std::vector<std::string> known = sense::sensor_names();
    for (const auto& [name, rate] : options_.sensor_hz) {
      check_rate(rate, name);
      if (std::find(known.begin(), known.end(), sensor_of(name)) == known.end()) {
        throw std::invalid_argument("there is no sensor '" + name + "' to give a rate to; `kymo doctor` lists them");
      }
    }
    check_cpus(options_.cpus);
    sense::check_sensor_names(options_.sensors.sensors);
  }

  ~Implementation() { stop(); }

  bool start() {
    const std::lock_guard guard(mutex_);
    if (is_running_) {
      return false;
    }
    state_.stop.reset();
    state_.claim_machine = [this] { claim_machine_slowly(); };
    state_.cpus = options_.cpus;
    state_.has_own_rates = std::any_of(options_.sensor_hz.begin(), options_.sensor_hz.end(),
                                       [](const auto& rate) { return rate.second != 0; });
    for (const TierThread& tier : tiers_) {
      state_.claiming_tier = tier.hz() != 0 ? tier.tier() : state_.claiming_tier;
    }
    const auto first =
        std::find_if(tiers_.begin(), tiers_.end(), [](const TierThread& tier) { return tier.hz() != 0; });
    state_.first_tier = first != tiers_.end() ? first->tier() : state_.claiming_tier;
    claim_machine();
    const bool has_fresh_machine = has_machine_ && !has_quick_sensors_;
    state_.make_sensors = [this, has_fresh_machine] { make_first_sensors(has_fresh_machine); };
    describe_run();
    is_running_ = true;
    for (TierThread& tier : tiers_) {
      tier.start(state_);
    }
    return true;
  }

  void stop() noexcept {
    const std::lock_guard guard(mutex_);
    if (is_running_) {
      state_.stop.raise();
      join_all();
    }
  }

  bool stop(std::chrono::nanoseconds timeout) noexcept {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const std::lock_guard guard(mutex_);
    if (is_running_) {
      state_.stop.raise();
      const bool have_ended = std::all_of(tiers_.begin(), tiers_.end(), [deadline](TierThread& tier) {
        return tier.wait_for_end(deadline - std::chrono::steady_clock::now());
      });
      if (!have_ended) {
        return false;
      }
      join_all();
    }
    return true;
  }

  bool wait_for_warmup(std::chrono::nanoseconds timeout) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const auto is_warm = [&](const TierThread& tier) {
      return tier.wait_until_warm(deadline - std::chrono::steady_clock::now());
    };
    // The claiming tier first: it makes sensors of the others.
    return tiers_.front().wait_for_ticks(warmup_samples, timeout) && is_warm(tier(state_.claiming_tier)) &&
           std::all_of(tiers_.begin(), tiers_.end(), is_warm);
  }

  [[nodiscard]] bool is_running() const noexcept { return is_running_; }
  [[nodiscard]] const TierThread& tier(Tier which) const { return tiers_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] bool has_machine() const noexcept { return has_machine_; }
  [[nodiscard]] std::uint64_t machine_holder() const { return static_cast<std::uint64_t>(lock_.holder()); }

 private:
  void join_all() noexcept {
    for (TierThread& tier : tiers_) {
      tier.join();
    }
    is_running_ = false;
  }

  void add(sense::SensorList sensors) {
    for (auto& sensor : sensors) {
      if (const double hz = rate_of(*sensor, options_); hz != 0) {
        TierThread& home = tiers_[static_cast<std::size_t>(sensor->tier())];
        TierThread& fast = tiers_.front();
        const bool is_guest = sensor->cost() == sense::Sensor::Cost::kernel && fast.has_deadlines_of(hz);
        (is_guest ? fast : home).add(std::move(sensor), hz, home);
      }
    }
  }

  /// Takes on the machine if that is not another process's part. The lock is held for the lifetime of this object.
  void claim_machine() {
    if (!has_machine_ && options_.sensors.covers_machine && machine_mode_ != sense::MachineMode::off) {
      has_machine_ = machine_mode_ == sense::MachineMode::own || lock_.try_acquire();
    }
  }

  /// For the first tier's thread, so that start() need not wait for the machine's files to be found and opened.
  void make_first_sensors(bool with_machine) {
    if (!std::exchange(has_process_sensors_, true)) {
      add(sense::make_sensors(options_.sensors, sense::SensorGroup::of_process));
    }
    if (with_machine) {
      make_quick_sensors();
    }
  }

  void make_quick_sensors() {
    has_quick_sensors_ = true;
    add(sense::make_sensors(options_.sensors, sense::SensorGroup::quick_of_machine));
  }

  /// For the claiming tier's thread, which may take longer.
  void claim_machine_slowly() {
    if (!has_machine_) {
      claim_machine();
      if (has_machine_) {
        make_quick_sensors();
      }
    }
    if (has_machine_ && !std::exchange(has_slow_sensors_, true)) {
      add(sense::make_sensors(options_.sensors, sense::SensorGroup::slow_of_machine));
    }
  }

  /// Facts have no labels: they are those of the process's main sampler.
  void describe_run() {
    if (!options_.labels.empty()) {
      return;
    }
    describe_board();
    set_info("sampler.start_ns", std::to_string(base::monotonic_now_ns()));
    for (const TierThread& tier : tiers_) {
      set_info(std::string("sampler.") + sense::name_of(tier.tier()) + "_hz", sense::rate_text(tier.hz()));
    }
  }

  /// Records which board this is, and the power mode that limits it if it is known.
  void describe_board() const {
    const std::string root = sense::without_end_slash(options_.sensors.root);
    if (::access((root + "/proc/device-tree/compatible").c_str(), R_OK) != 0) {
      return;
    }
    try {
      set_info("board", options_.sensors.board ? options_.sensors.board->board_name
                                               : detect_board(options_.sensors.root).board_name);
    } catch (const std::runtime_error&) {
      // An unknown board is sampled like any Linux machine.
      set_info("board", "generic");
    }
    if (const std::string mode = sense::describe_power_mode(root); !mode.empty()) {
      set_info("power_mode", mode);
    }
    if (const std::string release = sense::describe_release(root); !release.empty()) {
      set_info("l4t", release);
    }
  }

  SamplerOptions options_;
  sense::MachineMode machine_mode_;
  std::mutex mutex_;  // guards starting and stopping
  sense::MachineLock lock_;
  std::atomic<bool> is_running_{false};
  std::atomic<bool> has_machine_{false};
  bool has_process_sensors_ = false;  // used by the first tier's thread
  bool has_quick_sensors_ = false;    // set by the thread that makes them; start() reads it before there are threads
  bool has_slow_sensors_ = false;     // used by the claiming tier's thread
  sense::SamplingState state_;
  std::array<TierThread, 3> tiers_;
};

Sampler::Sampler(SamplerOptions options) : implementation_(std::make_unique<Implementation>(std::move(options))) {}

Sampler::~Sampler() {
  constexpr std::chrono::seconds patience(1);
  if (!implementation_->stop(patience)) {
    base::say("a source of samples does not answer: its thread is left behind");
    // The thread uses it for as long as the source takes.
    static_cast<void>(implementation_.release());
  }
}

bool Sampler::start() {
  return implementation_->start();
}
void Sampler::stop() noexcept {
  implementation_->stop();
}
bool Sampler::stop(std::chrono::nanoseconds timeout) noexcept {
  return implementation_->stop(timeout);
}
bool Sampler::wait_for_warmup(std::chrono::nanoseconds timeout) const {
  return implementation_->wait_for_warmup(timeout);
}
std::uint64_t Sampler::sync() noexcept {
  return kymo::sync();
}
bool Sampler::is_running() const noexcept {
  return implementation_->is_running();
}
std::uint64_t Sampler::sample_count() const noexcept {
  return implementation_->tier(Tier::fast).ticks();
}
std::uint64_t Sampler::missed_deadlines(Tier tier) const noexcept {
  return implementation_->tier(tier).missed_deadlines();
}
bool Sampler::samples_machine() const noexcept {
  return implementation_->has_machine();
}
std::uint64_t Sampler::machine_holder() const {
  return implementation_->machine_holder();
}

}  // namespace kymo
