// The capture as the recorder's sink: the writer, its size limit, its closing words, and the flight recorder's dump.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "capture/write/capture_writer.hpp"
#include "control/followed_capture.hpp"
#include "control/scope_limit.hpp"

namespace kymo::record {
class Recorder;
}

namespace kymo::control {

class CaptureSink final : public Sink {
 public:
  /// Creates the file, writes its header and names it in the spool. `recorder` is the one that the sink is added to;
  /// `declarations` are the facts of the run, `followed` is what it ends with, if anything. Throws capture::WriteError.
  CaptureSink(record::Recorder& recorder, const CaptureOptions& options, Declarations declarations,
              std::unique_ptr<FollowedCapture> followed = nullptr);

  void write(const EventBatch& batch) override;
  void trigger() override;
  /// Closes the file as well, so that others see at once that it is whole.
  void finish() override;

  /// Whether the last write found no room: the file lacks the events since and may never get them. Thread-safe.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool is_flight_recorder() const { return is_flight_recorder_; }

  /// For the collector's thread: whether the capture that this one follows has ended.
  [[nodiscard]] bool has_to_end() { return followed_ && !is_finished() && followed_->has_ended(); }

  /// In a forked child: closes the followed capture, whose lock is the parent's. Async-signal-safe.
  void forget_followed() noexcept {
    if (followed_) {
      followed_->forget();
    }
  }

  // The following calls are thread-safe.
  [[nodiscard]] bool is_finished() const { return is_finished_.load(std::memory_order_acquire); }

  /// What a child forked from this process follows if it goes on with this capture; null: nothing.
  [[nodiscard]] std::unique_ptr<FollowedCapture> followed_by_child() const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  template <typename Write>
  void try_to(Write write);

  record::Recorder& recorder_;
  std::unique_ptr<capture::CaptureWriter> writer_;  // none once it is finished
  std::string path_;
  base::FileId file_;
  std::uint64_t owner_;
  std::unique_ptr<FollowedCapture> followed_;
  std::uint64_t max_bytes_;
  std::optional<ScopeLimit> limit_;        // once that size is reached
  std::uint64_t collector_cpu_before_ns_;  // spent on captures before this one
  bool is_flight_recorder_ = false;
  bool is_failure_said_ = false;
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> is_finished_{false};
};

}  // namespace kymo::control
