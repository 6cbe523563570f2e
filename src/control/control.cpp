#include "control/control.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>

#include "base/system/file.hpp"
#include "base/system/message.hpp"
#include "control/platform.hpp"
#include "control/run_facts.hpp"
#include "exchange/chrome/sink.hpp"
#include "record/clock/clock.hpp"
#include "record/recorder/ending_signals.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::control {

using record::Recorder;

/// Serializes changes to what is recorded. Empty if a sink asks for one, which would wait for itself, or a handler that
/// interrupted one.
class Control::Operation {
 public:
  explicit Operation(Control& control) : lock_(control.operation_lock_) {
    if (Recorder::instance().is_in_sink()) {
      static base::SayOnce say_in_sink;
      say_in_sink("a sink cannot start or stop recording: that waits for the sink");
      return;
    }
    // First starts a forked child's recorder, which is a separate operation.
    Recorder::instance().settle_child();
    is_taken_ = lock_.lock();
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() {
    if (is_taken_) {
      lock_.unlock();
    }
  }
  [[nodiscard]] explicit operator bool() const { return is_taken_; }

 private:
  record::SignalSafeLock& lock_;
  bool is_taken_ = false;
};

Control& Control::instance() noexcept {
  // Never destroyed, since threads may call until the very end. Not allocated either, so that an inactive copy of the
  // recorder leaks nothing when its module is unloaded.
  alignas(Control) static std::byte memory[sizeof(Control)];
  static Control* const control = new (static_cast<void*>(memory)) Control;
  return *control;
}

Environment Control::environment() {
  const std::lock_guard lock(mutex_);
  if (!environment_) {
    environment_ = read_environment();
  }
  return *environment_;
}

bool Control::start_recorder(std::uint64_t pool_bytes) {
  const Environment environment = this->environment();
  record::RecorderOptions options;
  options.wants_scopes = environment.wants_scopes;
  options.sites = environment.sites;
  options.scope_every = environment.scope_every;
  options.scope_max_frames = environment.scope_max_frames;
  options.on_child = [this] { resume_in_child(); };
  options.find_ended = [this](bool is_only_sink) { return find_ended(is_only_sink); };
  if (const std::uint64_t bytes = pool_bytes != 0 ? pool_bytes : environment.pool_bytes) {
    options.pool.bytes = bytes;
  }
  if (!is_recorder_started_) {
    const base::FileDescriptor holder =
        base::move_high(base::FileDescriptor(connect_to_holder(environment.spool_holder)));
    options.pool.holder_socket = holder.get();
    is_recorder_started_ = Recorder::instance().start(options);
    if (!is_recorder_started_) {
      return false;
    }
    if (!environment.sites.empty()) {
      set_info("site_filter", environment.sites);
    }
    record::watch_ending_signals(false);
    watch_process();
  } else if (environment.sites != Recorder::instance().sites().patterns()) {
    static base::SayOnce say_sites_stay;
    say_sites_stay("KYMO_SITES stays as it was when this process first recorded: sites keep their ids");
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [key, value] : early_infos_) {
    static_cast<void>(Recorder::instance().declarations().declare_info(key, value));
  }
  early_infos_.clear();
  return true;
}

bool Control::enable() {
  const Operation operation(*this);
  const bool is_armed = operation && arm();
  if (is_armed) {
    start_sampling_locked(false);
  }
  return is_armed;
}

bool Control::start_sampling() {
  const Operation operation(*this);
  if (!operation) {
    return false;
  }
  {
    // The program may have set KYMO_SAMPLE since.
    const std::lock_guard lock(mutex_);
    environment_.reset();
  }
  return start_sampling_locked(true);
}

bool Control::start_sampling_locked(bool is_asked) {
  const Environment environment = this->environment();
  is_asked_ = is_asked_ || is_asked;
  const bool is_wanted = is_asked_ || environment.asks_for_recording();
  return sampling_.start(is_wanted ? environment.sample_hz : SampleRates{}, is_wanted && environment.wants_samples,
                         running_capture() != nullptr);
}

void Control::stop_sampling() noexcept {
  // Of 5 ms each. Who left an operation by a jump never ends it.
  constexpr std::uint32_t most_sleeps = 2'000;
  if (operation_lock_.lock(most_sleeps)) {
    stop_sampling_locked();
    operation_lock_.unlock();
  }
}

void Control::stop_sampling_locked() noexcept {
  sampling_.stop();
  did_parent_sample_ = false;
  is_asked_ = false;
}

/// The current capture; null if there is none, or its sink failed and was removed.
std::shared_ptr<CaptureSink> Control::running_capture() {
  const std::lock_guard lock(mutex_);
  return capture_ && Recorder::instance().has_sink(capture_handle_) ? capture_ : nullptr;
}

bool Control::arm() {
  if (running_capture() || Recorder::instance().has_sink(trace_handle_)) {
    return true;
  }
  Environment environment = read_environment();
  if (environment.trace_path) {
    environment.trace_path = absolute_pattern(*environment.trace_path);
  }
  std::unique_ptr<FollowedCapture> followed = follow_starter();
  if (followed && followed->has_ended()) {
    environment.record_path.reset();
    environment.keep.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    environment_ = environment;
  }
  if (!environment.asks_for_recording()) {
    return Recorder::instance().is_on();
  }
  if (!start_recorder(0)) {
    const std::lock_guard lock(mutex_);
    environment_.reset();
    return false;
  }
  if (followed) {
    record::watch_ending_signals(true);
  }
  bool is_armed = false;
  if (environment.record_path || environment.keep) {
    CaptureOptions options;
    if (environment.record_path) {
      options.path = *environment.record_path;
    }
    options.max_bytes = environment.max_bytes;
    options.sync_period = environment.sync_period;
    if (environment.keep) {
      options.keep_duration = environment.keep->duration;
      options.keep_bytes = environment.keep->bytes;
    }
    is_armed = open_capture(options, std::move(followed));
  }
  if (environment.trace_path) {
    open_trace();
  }
  return is_armed || trace_handle_ != 0;
}

bool Control::start_capture(const CaptureOptions& options) {
  const Operation operation(*this);
  if (!operation) {
    return false;
  }
  if (const std::shared_ptr<CaptureSink> running = running_capture()) {
    if (!running->has_failed()) {
      base::say("a capture is being written already: " + running->path());
      return false;
    }
    // Its disk is full, but the program may have room elsewhere.
    std::uint64_t handle = 0;
    {
      const std::lock_guard lock(mutex_);
      handle = std::exchange(capture_handle_, 0);
    }
    Recorder::instance().remove_sink(handle);
  }
  return start_recorder(options.pool_bytes) && open_capture(options, nullptr);
}

bool Control::open_capture(const CaptureOptions& wanted, std::unique_ptr<FollowedCapture> followed) {
  try {
    const Environment environment = this->environment();
    {
      const std::lock_guard lock(mutex_);
      capture_options_ = wanted;
      capture_options_.path = absolute_pattern({wanted.path.c_str(), wanted.path.size()});
      capture_.reset();
    }
    Declarations facts = describe_run();
    for (const auto& [key, value] : environment.labels) {
      facts.infos.push_back({ProcessId{1}, "label." + key, value});
    }
    if (environment.scope_every > 1) {
      facts.infos.push_back({ProcessId{1}, "scope_every", std::to_string(environment.scope_every)});
    }
    if (environment.scope_max_frames > 0) {
      facts.infos.push_back({ProcessId{1}, "scope_max_frames", std::to_string(environment.scope_max_frames)});
    }
    CaptureOptions options = wanted;
    options.path = expand_path(options.path, ".kymo");
    if (wanted.path.is_too_long() || options.path.is_too_long()) {
      throw std::runtime_error("its path is longer than " + std::to_string(Path::most_bytes) + " bytes");
    }
    auto capture =
        std::make_shared<CaptureSink>(record::Recorder::instance(), options, std::move(facts), std::move(followed));
    const std::uint64_t handle = Recorder::instance().add_sink(capture);
    const std::lock_guard lock(mutex_);
    capture_handle_ = handle;
    if (handle != 0) {
      capture_ = std::move(capture);
    }
    return handle != 0;
  } catch (const std::exception& failure) {
    base::say(std::string("nothing is captured: ") + failure.what());
  }
  return false;
}

void Control::open_trace() {
  try {
    const std::string pattern = environment().trace_path.value_or("");
    auto trace = std::make_shared<exchange::ChromeSink>(expand_path(pattern, ".json"), describe_run());
    const std::uint64_t handle = Recorder::instance().add_sink(std::move(trace));
    const std::lock_guard lock(mutex_);
    trace_handle_ = handle;
  } catch (const std::exception& failure) {
    base::say(std::string("no trace is written: ") + failure.what());
  }
}

void Control::disable() {
  const Operation operation(*this);
  if (!operation) {
    return;
  }
  stop_sampling_locked();
  Recorder::instance().remove_all_sinks();
  const std::lock_guard lock(mutex_);
  capture_.reset();
  capture_handle_ = 0;
  trace_handle_ = 0;
}

bool Control::stop_capture() {
  const Operation operation(*this);
  std::uint64_t handle = 0;
  if (operation) {
    const std::lock_guard lock(mutex_);
    handle = std::exchange(capture_handle_, 0);
    if (!capture_) {
      return false;
    }
  }
  const bool was_running = handle != 0 && Recorder::instance().remove_sink(handle);
  {
    const std::lock_guard lock(mutex_);
    capture_.reset();
  }
  if (handle != 0 && !Recorder::instance().is_on()) {
    stop_sampling_locked();
  }
  return was_running;
}

/// For the collector: the handle of a capture that has to end with another; 0: none.
std::uint64_t Control::find_ended(bool is_only_sink) noexcept {
  constexpr std::uint64_t look_period_ns = 100'000'000;
  try {
    // Who has this lock may be waiting for the collector.
    const std::unique_lock operation(operation_lock_, std::try_to_lock);
    const std::uint64_t now_ns = record::monotonic_ns();
    if (!operation || now_ns < next_look_ns_) {
      return 0;
    }
    next_look_ns_ = now_ns + look_period_ns;
    std::shared_ptr<CaptureSink> capture;
    std::uint64_t handle = 0;
    {
      const std::lock_guard lock(mutex_);
      capture = capture_;
      handle = capture_handle_;
    }
    if (!capture || !capture->has_to_end()) {
      return 0;
    }
    if (is_only_sink) {
      stop_sampling_locked();
    }
    return handle;
  } catch (...) {
    return 0;
  }
}

bool Control::trigger() {
  const std::shared_ptr<CaptureSink> running = running_capture();
  // Without a flight recorder too: other sinks may hold something back.
  const bool is_done = !Recorder::instance().is_in_sink() && Recorder::instance().trigger(Recorder::wait_for_collector);
  return is_done && running && running->is_flight_recorder();
}

Path Control::capture_path() {
  Recorder::instance().settle_child();
  const std::shared_ptr<CaptureSink> running = running_capture();
  return running ? Path(running->path()) : Path();
}

void Control::set_info(std::string_view key, std::string_view value) {
  // Before the lock, because starting a forked child's recorder takes it too.
  Recorder::instance().settle_child();
  const std::lock_guard lock(mutex_);
  if (Recorder::instance().pool() == nullptr) {
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
    const Operation operation(*this);
    if (!operation || !start_recorder(0)) {
      return 0;
    }
  }
  return Recorder::instance().add_sink(std::move(sink));
}

/// Replaces the parent's captures by the child's own.
void Control::resume_in_child() {
  const std::unique_lock operation(operation_lock_);
  record::watch_ending_signals(true);
  std::shared_ptr<CaptureSink> inherited;
  bool had_trace = false;
  CaptureOptions options;
  {
    const std::lock_guard lock(mutex_);
    inherited = std::exchange(capture_, nullptr);
    had_trace = trace_handle_ != 0;
    capture_handle_ = 0;
    trace_handle_ = 0;
    options = capture_options_;
  }
  bool is_armed = false;
  if (inherited && !inherited->is_finished()) {
    std::unique_ptr<FollowedCapture> followed = inherited->followed_by_child();
    if (!followed || !followed->has_ended()) {
      is_armed = open_capture(options, std::move(followed));
    }
  }
  if (had_trace) {
    open_trace();
  }
  if (did_parent_sample_ && (is_armed || trace_handle_ != 0)) {
    start_sampling_locked(false);
  }
}

}  // namespace kymo::control
