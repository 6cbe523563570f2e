// What the public calls and the KYMO_* variables arm: the recorder, the capture, the Chrome trace. The top of libkymo.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "control/capture_sink.hpp"
#include "control/environment.hpp"
#include "control/sampling.hpp"

namespace kymo::control {

/// The state behind kymo::enable, start_capture and their like. One a process; never destroyed.
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
  /// Stops what KYMO_SAMPLE started and waits for its threads.
  void stop_sampling() noexcept;
  std::uint64_t install(std::shared_ptr<Sink> sink);
  void remove(std::uint64_t handle);

 private:
  Control() = default;

  bool arm();
  void start_sampling();
  bool start_recorder(std::uint64_t pool_bytes);
  bool open_capture();
  void open_trace();
  void resume_in_child();
  /// Of the process, what ends it or makes two of it; called once.
  void watch_process();
  /// Takes the locks over a fork, so that a child finds them free.
  void watch_forks();

  std::mutex sampling_mutex_;  // guards sampling_; comes before mutex_, which sampling threads take
  Sampling sampling_;
  bool did_parent_sample_ = false;
  std::mutex mutex_;
  Environment environment_;
  bool has_environment_ = false;
  CaptureOptions capture_options_;
  std::shared_ptr<CaptureSink> capture_;
  std::uint64_t capture_handle_ = 0;
  std::uint64_t trace_handle_ = 0;
  bool is_recorder_started_ = false;
  std::vector<std::pair<std::string, std::string>> early_infos_;  // set before the recorder ran
};

}  // namespace kymo::control
