// Records an NVMT trace: a capture while it runs, converted to a trace at the end.
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

#include <kymo/nvmetrics.hpp>
#include <kymo/recorder.hpp>
#include <kymo/sampler.hpp>

#include "base/system/message.hpp"

namespace kymo::nvmetrics {

namespace {

void check(const EngineConfig& config) {
  const auto fail = [](const char* tier, std::uint32_t hz) {
    throw std::invalid_argument("a rate of " + std::to_string(hz) + " Hz for the " + tier +
                                " tier is out of range: 1 to 1000");
  };
  constexpr std::uint32_t most_hz = 1000;
  if (config.fast_hz == 0 || config.fast_hz > most_hz) {
    fail("fast", config.fast_hz);
  }
  if (config.medium_hz > most_hz) {
    fail("medium", config.medium_hz);
  }
  if (config.slow_hz > most_hz) {
    fail("slow", config.slow_hz);
  }
}

bool has_emc(const BoardConfig& board) {
  return !board.emc_actmon_path.empty() && !board.emc_clk_rate_path.empty();
}

/// Samples exactly what a trace holds.
SamplerOptions sampler_options(const BoardConfig& board, const EngineConfig& config) {
  SamplerOptions options;
  options.fast_hz = config.fast_hz;
  options.medium_hz = config.medium_hz;
  options.slow_hz = config.slow_hz;
  options.cpus = config.cpus;
  options.shares_machine = false;
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
/// Facts and metrics stay with the process, so the numbers tell this board's from those of an earlier trace.
void describe(const BoardConfig& board) {
  set_info("board", board.board_name);
  set_info("nvmt.cores", board.num_cpu_cores > 0 ? std::to_string(board.num_cpu_cores) : std::string());
  set_info("nvmt.rails", std::to_string(board.power_rails.size()));
  set_info("nvmt.zones", std::to_string(board.thermal_zones.size()));
  set_info("nvmt.emc", has_emc(board) ? "1" : "0");
  for (std::size_t i = 0; i < board.power_rails.size(); ++i) {
    set_info("nvmt.rail." + std::to_string(i), board.power_rails[i].label);
  }
  for (std::size_t i = 0; i < board.thermal_zones.size(); ++i) {
    set_info("nvmt.zone." + std::to_string(i), board.thermal_zones[i].name);
  }
}

}  // namespace

class Engine::Implementation {
 public:
  Implementation(std::string output_path, BoardConfig board, EngineConfig config)
      : output_path_(std::move(output_path)), board_(std::move(board)), config_(std::move(config)) {
    check(config_);
    sampler_.emplace(sampler_options(board_, config_));
  }

  void start() {
    const std::lock_guard guard(mutex_);
    if (is_running_) {
      throw std::runtime_error("the recording to " + output_path_ + " is running already");
    }
    CaptureOptions options;
    options.path = capture_pattern(output_path_);
    if (!start_capture(options)) {
      throw std::runtime_error("cannot record to " + output_path_ +
                               ".kymo: the reason is on stderr; a process writes one capture at a time");
    }
    capture_path_ = std::string(capture_path().view());
    describe(board_);
    sync_base_.reset();
    try {
      sampler_->start();
    } catch (...) {
      stop_capture();
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
    sampler_->stop();
    stop_capture();
    write_trace(capture_path_, output_path_);
    if (!config_.keeps_capture) {
      ::unlink(capture_path_.c_str());
    }
  }

  bool wait_for_warmup() const { return sampler_->wait_for_warmup(); }

  std::uint64_t sync() {
    const std::lock_guard guard(mutex_);
    const std::uint64_t number = is_running_ ? sampler_->sync() : 0;
    if (number == 0) {
      return 0;
    }
    if (!sync_base_) {
      sync_base_ = number - 1;
      set_info("nvmt.sync_base", std::to_string(number - 1));
    }
    return number - *sync_base_;
  }

  [[nodiscard]] std::uint64_t sample_count() const { return sampler_->sample_count(); }
  [[nodiscard]] bool is_running() const {
    const std::lock_guard guard(mutex_);
    return is_running_;
  }

 private:
  std::string output_path_;
  BoardConfig board_;
  EngineConfig config_;
  mutable std::mutex mutex_;  // guards the following members
  std::optional<Sampler> sampler_;
  std::string capture_path_;
  std::optional<std::uint64_t> sync_base_;  // the process's last number before the first mark
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
