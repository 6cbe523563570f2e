#include "control/control.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include <unistd.h>
#include <climits>
#include <cstdlib>

#include "base/message.hpp"
#include "control/run_facts.hpp"
#include "control/spool_holder.hpp"
#include "exchange/chrome_sink.hpp"
#include "record/crash_handler.hpp"
#include "record/recorder.hpp"

namespace kymo::control {

namespace {

using record::Recorder;

/// Tells whoever finds the spool of a killed process which capture it belongs to.
void name_capture_in_spool(const std::string& path) {
  record::Pool* const pool = Recorder::instance().pool();
  if (pool == nullptr) {
    return;
  }
  char absolute[PATH_MAX] = "";
  if (::realpath(path.c_str(), static_cast<char*>(absolute)) == nullptr) {
    return;
  }
  record::SpoolHeader& header = pool->header();
  const std::size_t size = std::strlen(static_cast<const char*>(absolute));
  if (size < sizeof header.capture_path) {
    std::memcpy(static_cast<void*>(header.capture_path), static_cast<const void*>(absolute), size + 1);
  }
}

}  // namespace

Control& Control::instance() noexcept {
  // Never destroyed: threads may call until the very end. Nor allocated, so that a copy of the recorder which stayed
  // off leaves nothing behind when its module is unloaded.
  alignas(Control) static std::byte memory[sizeof(Control)];
  static Control* const control = new (static_cast<void*>(memory)) Control;
  return *control;
}

bool Control::start_recorder(std::uint64_t pool_bytes) {
  if (!has_environment_) {
    environment_ = read_environment();
    has_environment_ = true;
  }
  record::RecorderOptions options;
  options.wants_scopes = environment_.wants_scopes;
  options.sites = environment_.sites;
  options.scope_every = environment_.scope_every;
  options.scope_max_frames = environment_.scope_max_frames;
  options.on_child = [this] { resume_in_child(); };
  if (const std::uint64_t bytes = pool_bytes != 0 ? pool_bytes : environment_.pool_bytes) {
    options.pool.bytes = bytes;
  }
  if (!is_recorder_started_) {
    options.pool.holder_socket = connect_to_holder(environment_.spool_holder);
    is_recorder_started_ = Recorder::instance().start(options);
    if (options.pool.holder_socket >= 0) {
      ::close(options.pool.holder_socket);
    }
    if (!is_recorder_started_) {
      return false;
    }
    if (!environment_.sites.empty()) {
      early_infos_.emplace_back("site_filter", environment_.sites);
    }
    record::install_crash_handler();
    watch_process();
  } else if (environment_.sites != Recorder::instance().sites().patterns()) {
    static base::SayOnce say_sites_stay;
    say_sites_stay("KYMO_SITES stays as it was when this process first recorded: sites keep their ids");
  }
  for (const auto& [key, value] : early_infos_) {
    static_cast<void>(Recorder::instance().declarations().declare_info(key, value));
  }
  early_infos_.clear();
  return true;
}

bool Control::enable() {
  const bool is_armed = arm();
  if (is_armed) {
    start_sampling();
  }
  return is_armed;
}

void Control::start_sampling() {
  const std::lock_guard lock(sampling_mutex_);
  SampleRates rates{};
  bool is_wanted = false;
  {
    const std::lock_guard state_lock(mutex_);
    if (environment_.asks_for_recording()) {
      rates = environment_.sample_hz;
      is_wanted = environment_.wants_samples;
    }
  }
  sampling_.start(rates, is_wanted);
}

void Control::stop_sampling() noexcept {
  const std::lock_guard lock(sampling_mutex_);
  sampling_.stop();
  did_parent_sample_ = false;
}

bool Control::arm() {
  const std::lock_guard lock(mutex_);
  if (capture_ || trace_handle_ != 0) {
    return true;
  }
  environment_ = read_environment();
  has_environment_ = true;
  if (!environment_.asks_for_recording()) {
    return Recorder::instance().is_on();
  }
  if (!start_recorder(0)) {
    environment_ = Environment();
    has_environment_ = false;
    return false;
  }
  if (environment_.record_path || environment_.keep) {
    capture_options_ = CaptureOptions{};
    if (environment_.record_path) {
      capture_options_.path = *environment_.record_path;
    }
    capture_options_.max_bytes = environment_.max_bytes;
    capture_options_.sync_period = environment_.sync_period;
    if (environment_.keep) {
      capture_options_.keep_duration = environment_.keep->duration;
      capture_options_.keep_bytes = environment_.keep->bytes;
    }
    open_capture();
  }
  if (environment_.trace_path) {
    open_trace();
  }
  return capture_ != nullptr || trace_handle_ != 0;
}

bool Control::start_capture(const CaptureOptions& options) {
  const std::lock_guard lock(mutex_);
  if (capture_) {
    base::say("a capture is being written already: " + capture_->path());
    return false;
  }
  if (!start_recorder(options.pool_bytes)) {
    return false;
  }
  capture_options_ = options;
  return open_capture();
}

bool Control::open_capture() {
  try {
    Declarations facts = describe_run();
    for (const auto& [key, value] : environment_.labels) {
      facts.infos.push_back({1, "label." + key, value});
    }
    if (environment_.scope_every > 1) {
      facts.infos.push_back({1, "scope_every", std::to_string(environment_.scope_every)});
    }
    if (environment_.scope_max_frames > 0) {
      facts.infos.push_back({1, "scope_max_frames", std::to_string(environment_.scope_max_frames)});
    }
    CaptureOptions options = capture_options_;
    options.path = expand_capture_path(options.path);
    if (capture_options_.path.is_too_long() || options.path.is_too_long()) {
      throw std::runtime_error("its path is longer than " + std::to_string(Path::most_bytes) + " bytes");
    }
    auto capture = std::make_shared<CaptureSink>(options, std::move(facts));
    name_capture_in_spool(capture->path());
    capture_handle_ = Recorder::instance().add_sink(capture);
    if (capture_handle_ != 0) {
      capture_ = std::move(capture);
    }
  } catch (const std::exception& failure) {
    base::say(std::string("nothing is captured: ") + failure.what());
  }
  return capture_ != nullptr;
}

void Control::open_trace() {
  try {
    auto trace = std::make_shared<exchange::ChromeSink>(expand_capture_path(*environment_.trace_path));
    trace_handle_ = Recorder::instance().add_sink(std::move(trace));
  } catch (const std::exception& failure) {
    base::say(std::string("no trace is written: ") + failure.what());
  }
}

void Control::disable() {
  stop_sampling();
  const std::lock_guard lock(mutex_);
  Recorder::instance().remove_all_sinks();
  capture_.reset();
  capture_handle_ = 0;
  trace_handle_ = 0;
}

bool Control::stop_capture() {
  bool was_running = false;
  {
    const std::lock_guard lock(mutex_);
    if (!capture_) {
      return false;
    }
    was_running = Recorder::instance().remove_sink(capture_handle_);
    capture_.reset();
    capture_handle_ = 0;
  }
  if (!Recorder::instance().is_on()) {
    stop_sampling();
  }
  return was_running;
}

bool Control::trigger() {
  {
    const std::lock_guard lock(mutex_);
    if (!capture_ || !capture_->is_flight_recorder()) {
      return false;
    }
  }
  return Recorder::instance().trigger(std::chrono::seconds(10));
}

Path Control::capture_path() {
  const std::lock_guard lock(mutex_);
  return capture_ ? Path(capture_->path()) : Path();
}

void Control::set_info(std::string_view key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  if (!is_recorder_started_ || Recorder::instance().pool_for_events() == nullptr) {
    const auto known =
        std::find_if(early_infos_.begin(), early_infos_.end(), [key](const auto& info) { return info.first == key; });
    if (known != early_infos_.end()) {
      known->second = value;
    } else {
      early_infos_.emplace_back(key, value);
    }
  } else if (!Recorder::instance().declarations().declare_info(key, value)) {
    base::say("set_info: the pool is empty; the fact is not recorded");
  }
}

std::uint64_t Control::install(std::shared_ptr<Sink> sink) {
  {
    const std::lock_guard lock(mutex_);
    if (!start_recorder(0)) {
      return 0;
    }
  }
  return Recorder::instance().add_sink(std::move(sink));
}

void Control::remove(std::uint64_t handle) {
  Recorder::instance().remove_sink(handle);
}

void Control::resume_in_child() {
  {
    const std::lock_guard lock(mutex_);
    const bool had_capture = capture_ != nullptr;
    capture_.reset();
    capture_handle_ = 0;
    if (had_capture) {
      open_capture();
    }
    if (trace_handle_ != 0) {
      trace_handle_ = 0;
      open_trace();
    }
  }
  if (did_parent_sample_) {
    start_sampling();
  }
}

}  // namespace kymo::control
