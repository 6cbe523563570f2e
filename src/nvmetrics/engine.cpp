// Records an NVMT trace: a capture while it runs, converted to a trace at the end.
#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <kymo/metric.hpp>
#include <kymo/nvmetrics.hpp>
#include <kymo/recorder.hpp>
#include <kymo/sampler.hpp>

#include "base/system/clock.hpp"
#include "base/system/message.hpp"

namespace kymo::nvmetrics {

namespace {

void check_board(const BoardConfig& board) {
  const auto check = [](const char* what, std::size_t count, std::size_t least, std::size_t most) {
    if (count < least || count > most) {
      throw std::invalid_argument("a board with " + std::to_string(count) + " " + what +
                                  " cannot be recorded: " + std::to_string(least) + " to " + std::to_string(most) +
                                  " have room in a trace; choose some of them");
    }
  };
  check("CPU cores", board.num_cpu_cores, 1, max_cpu_cores);
  check("power rails", board.power_rails.size(), 0, max_power_rails);
  check("thermal zones", board.thermal_zones.size(), 0, max_thermal_zones);
}

void check(const EngineConfig& config) {
  const auto check = [](const char* tier, std::uint32_t hz, std::uint32_t least_hz) {
    constexpr std::uint32_t most_hz = 1000;
    if (hz < least_hz || hz > most_hz) {
      throw std::invalid_argument("a rate of " + std::to_string(hz) + " Hz for the " + tier +
                                  " tier is out of range: 1 to 1000");
    }
  };
  check("fast", config.fast_hz, 1);
  check("medium", config.medium_hz, 0);  // off
  check("slow", config.slow_hz, 0);
}

bool has_emc(const BoardConfig& board) {
  return !board.emc_actmon_path.empty() && !board.emc_clk_rate_path.empty();
}

/// Samples exactly what a trace holds.
SamplerOptions sampler_options(const BoardConfig& board, const EngineConfig& config, unsigned recorder) {
  SamplerOptions options;
  options.fast_hz = config.fast_hz;
  options.medium_hz = config.medium_hz;
  options.slow_hz = config.slow_hz;
  options.cpus = config.cpus;
  options.shares_machine = false;
  if (recorder != 0) {
    options.labels = {{"recorder", std::to_string(recorder)}};
  }
  options.sensors.root = config.root;
  options.sensors.board = std::make_shared<const BoardConfig>(board);
  options.sensors.sensors = {"cpu", "memory"};
  const auto add = [&options](const char* sensor, bool is_there) {
    if (is_there) {
      options.sensors.sensors.emplace_back(sensor);
    }
  };
  add("gpu_load", !board.gpu_load_path.empty());
  add("emc", has_emc(board));
  add("ina3221", !board.power_rails.empty());
  add("thermal", !board.thermal_zones.empty());
  return options;
}

/// Escapes a path for start_capture(), which interprets "%".
std::string capture_pattern(const std::string& output_path) {
  std::string pattern;
  for (const char character : output_path) {
    pattern += character;
    if (character == '%') {
      pattern += '%';
    }
  }
  return pattern + ".kymo";
}

/// Describes the trace's columns for the conversion from the capture: a rail that is never readable keeps its place.
/// Facts and metrics stay with the process, so the numbers tell this board's from those of an earlier trace. A recorder
/// with a number has facts of its own for what the sampler says of the process otherwise.
void describe(const BoardConfig& board, const EngineConfig& config, unsigned recorder) {
  const std::string prefix = recorder == 0 ? "nvmt." : "nvmt." + std::to_string(recorder) + ".";
  const auto set = [&prefix](const std::string& key, const std::string& value) { set_info(prefix + key, value); };
  if (recorder == 0) {
    set_info("board", board.board_name);
  } else {
    set("board", board.board_name);
    set("start_ns", std::to_string(base::monotonic_now_ns()));
    set("fast_hz", std::to_string(config.fast_hz));
    set("medium_hz", std::to_string(config.medium_hz));
    set("slow_hz", std::to_string(config.slow_hz));
  }
  set("cores", std::to_string(board.num_cpu_cores));
  set("rails", std::to_string(board.power_rails.size()));
  set("zones", std::to_string(board.thermal_zones.size()));
  set("emc", has_emc(board) ? "1" : "0");
  for (std::size_t i = 0; i < board.power_rails.size(); ++i) {
    set("rail." + std::to_string(i), board.power_rails[i].label);
  }
  for (std::size_t i = 0; i < board.thermal_zones.size(); ++i) {
    set("zone." + std::to_string(i), board.thermal_zones[i].name);
  }
}

/// The capture that all running engines of this process record into. Thread-safe.
class SharedCapture {
 public:
  struct Place {
    std::string path;
    unsigned recorder = 0;  ///< 0: the engine that started the capture
  };

  /// Starts a capture, or takes the one that is being written. Throws if neither is possible.
  Place enter(const std::string& output_path, bool keeps_capture) {
    const std::lock_guard guard(mutex_);
    std::string path(capture_path().c_str());
    if (!path.empty()) {
      ++running_;
      return {std::move(path), ++last_recorder_};
    }
    CaptureOptions options;
    options.path = capture_pattern(output_path);
    if (!start_capture(options)) {
      throw std::runtime_error("cannot record to " + output_path + ".kymo: the reason is on stderr");
    }
    running_ = 1;
    is_ours_ = true;
    keeps_capture_ = keeps_capture;
    return {capture_path().c_str(), 0};
  }

  /// Ends the capture after the last engine, or has it hold everything recorded so far. Returns whether the file is to
  /// be removed once the last trace is written.
  bool leave() {
    const std::lock_guard guard(mutex_);
    --running_;
    if (running_ > 0 || !is_ours_) {
      flush();
      return false;
    }
    is_ours_ = false;
    stop_capture();
    return !keeps_capture_;
  }

 private:
  std::mutex mutex_;
  int running_ = 0;
  unsigned last_recorder_ = 0;
  bool is_ours_ = false;
  bool keeps_capture_ = true;
};

SharedCapture& shared_capture() {
  static SharedCapture shared;
  return shared;
}

}  // namespace

class Engine::Implementation {
 public:
  Implementation(std::string output_path, BoardConfig board, EngineConfig config)
      : output_path_(std::move(output_path)), board_(std::move(board)), config_(std::move(config)) {
    check(config_);
    check_board(board_);
    sampler_ = std::make_shared<Sampler>(sampler_options(board_, config_, 0));
  }

  void start() {
    const std::lock_guard guard(mutex_);
    if (is_running_) {
      throw std::runtime_error("the recording to " + output_path_ + " is running already");
    }
    place_ = shared_capture().enter(output_path_, config_.keeps_capture);
    try {
      describe(board_, config_, place_.recorder);
      sync_base_.reset();
      syncs_ = 0;
      sync_metric_ = {};
      sampler_ = std::make_shared<Sampler>(sampler_options(board_, config_, place_.recorder));
      sampler_->start();
    } catch (...) {
      shared_capture().leave();
      throw;
    }
    is_running_ = true;
  }

  void stop() {
    const std::lock_guard guard(mutex_);
    if (!is_running_) {
      return;
    }
    is_running_ = false;
    await_sample_of_last_mark();
    sampler_->stop();
    const bool is_to_remove = shared_capture().leave();
    write_trace(place_.path, output_path_, place_.recorder);
    if (is_to_remove) {
      ::unlink(place_.path.c_str());
    }
  }

  bool wait_for_warmup() const {
    const std::shared_ptr<Sampler> sampler = current_sampler();
    return sampler->wait_for_warmup();
  }

  std::uint64_t sync() {
    const std::lock_guard guard(mutex_);
    if (!is_running_) {
      return 0;
    }
    samples_at_mark_ = sampler_->sample_count();
    return place_.recorder == 0 ? mark_process() : mark_recorder();
  }

  [[nodiscard]] std::uint64_t sample_count() const { return current_sampler()->sample_count(); }
  [[nodiscard]] bool is_running() const {
    const std::lock_guard guard(mutex_);
    return is_running_;
  }

 private:
  [[nodiscard]] std::shared_ptr<Sampler> current_sampler() const {
    const std::lock_guard guard(mutex_);
    return sampler_;
  }

  /// A mark of the whole process, so that its capture has phases.
  std::uint64_t mark_process() {
    const std::uint64_t number = sampler_->sync();
    if (number == 0) {
      return 0;
    }
    if (!sync_base_) {
      sync_base_ = number - 1;
      set_info("nvmt.sync_base", std::to_string(number - 1));
    }
    ++syncs_;
    return number - *sync_base_;
  }

  /// A mark of one recorder among several.
  std::uint64_t mark_recorder() {
    if (!sync_metric_) {
      const std::string number = std::to_string(place_.recorder);
      const std::array<MetricLabel, 1> label{{{"recorder", number}}};
      sync_metric_ =
          declare_metric({"nvmt_sync", "", MetricKind::gauge, "kymo::nvmetrics::Engine", label.data(), label.size()});
    }
    const MetricSample sample{sync_metric_, 0, static_cast<double>(++syncs_)};
    record_samples(&sample, 1);
    return syncs_;
  }

  /// A mark counts from the next sample on. One may have been under way when the mark was set, so the one after that is
  /// waited for.
  void await_sample_of_last_mark() const {
    constexpr std::uint64_t later = 2;
    const std::chrono::duration<double> period(1.0 / config_.fast_hz);
    const auto deadline = std::chrono::steady_clock::now() + 2 * period + std::chrono::milliseconds(100);
    while (syncs_ != 0 && sampler_->sample_count() < samples_at_mark_ + later &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  std::string output_path_;
  BoardConfig board_;
  EngineConfig config_;
  mutable std::mutex mutex_;  // guards the following members
  std::shared_ptr<Sampler> sampler_;
  SharedCapture::Place place_;
  std::optional<std::uint64_t> sync_base_;  // the process's last number before the first mark
  std::uint64_t syncs_ = 0;                 // since the start
  MetricId sync_metric_;
  std::uint64_t samples_at_mark_ = 0;
  bool is_running_ = false;
};

Engine::Engine(const std::string& output_path, const BoardConfig& board, const EngineConfig& config)
    : implementation_(std::make_unique<Implementation>(output_path, board, config)) {}

Engine::~Engine() {
  try {
    implementation_->stop();
  } catch (const std::exception& failure) {
    base::say(failure.what());
  }
}

void Engine::start() {
  implementation_->start();
}
void Engine::stop() {
  implementation_->stop();
}
bool Engine::wait_for_warmup() const {
  return implementation_->wait_for_warmup();
}
std::uint64_t Engine::sync() {
  return implementation_->sync();
}
std::uint64_t Engine::sample_count() const {
  return implementation_->sample_count();
}
bool Engine::is_running() const {
  return implementation_->is_running();
}

}  // namespace kymo::nvmetrics
