// The recorder, the capture and the Chrome trace, as controlled by the public calls and the KYMO_* variables. The top
// layer of libkymo.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "control/capture_sink.hpp"
#include "control/environment.hpp"
#include "control/followed_capture.hpp"
#include "control/sampling.hpp"
#include "record/platform/signal_safe_lock.hpp"

namespace kymo::control {

void watch_forks();

/// The state behind kymo::enable, start_capture and similar calls. One per process; never destroyed.
class Control {
 public:
  static Control& instance() noexcept;

  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  bool enable();
  void disable();
  bool start_capture(const CaptureOptions& options);
  bool stop_capture();
  bool trigger();
  [[nodiscard]] Path capture_path();
  void set_info(std::string_view key, std::string_view value);
  bool start_sampling();
  /// Stops the sampler and waits for its threads.
  void stop_sampling() noexcept;
  std::uint64_t install(std::shared_ptr<Sink> sink);

 private:
  class Operation;

  Control() = default;

  bool arm();
  /// The environment, read at the first call, and again after arm() or start_sampling().
  Environment environment();
  /// `is_asked`: by the program, not by the environment.
  bool start_sampling_locked(bool is_asked);
  void stop_sampling_locked() noexcept;
  bool start_recorder(std::uint64_t pool_bytes);
  /// `followed`: the capture to end with; null: none.
  bool open_capture(const CaptureOptions& wanted, std::unique_ptr<FollowedCapture> followed);
  std::uint64_t find_ended(bool is_only_sink) noexcept;
  void open_trace();
  void resume_in_child();
  [[nodiscard]] std::shared_ptr<CaptureSink> running_capture();
  /// Registers the handlers for the process's end; called once.
  void watch_process();
  friend void watch_forks();

  // Held during changes to what is recorded, including waits for disks and threads. Taken before mutex_. A forked child
  // gets a new one, because the holder does not exist there. A handler that interrupts a change and ends the process
  // must not wait for it.
  record::SignalSafeLock operation_lock_;
  Sampling sampling_;
  bool did_parent_sample_ = false;
  bool is_asked_ = false;  // the program itself asked for samples
  bool is_recorder_started_ = false;
  std::uint64_t next_look_ns_ = 0;  // at the capture that the own one follows

  record::UninterruptedMutex mutex_;  // guards the following members; never held while waiting
  std::optional<Environment> environment_;
  CaptureOptions capture_options_;
  std::shared_ptr<CaptureSink> capture_;
  std::uint64_t capture_handle_ = 0;
  std::uint64_t trace_handle_ = 0;
  std::vector<std::pair<std::string, std::string>> early_infos_;  // set before the recorder ran
};

}  // namespace kymo::control
