// The capture as the recorder's sink: the writer, its size limit, its closing words, and the flight recorder's dump.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "capture/write/capture_writer.hpp"
#include "control/scope_limit.hpp"

namespace kymo::record {
class Recorder;
}

namespace kymo::control {

class CaptureSink final : public Sink {
 public:
  /// Creates the file, writes its header and names it in the spool. `recorder` is the one that the sink is added to;
  /// `declarations` are the facts of the run. Throws capture::WriteError.
  CaptureSink(record::Recorder& recorder, const CaptureOptions& options, Declarations declarations);

  void write(const EventBatch& batch) override;
  void trigger() override;
  /// Closes the file as well, so that others see at once that it is whole.
  void finish() override;

  /// Whether the last write found no room: the file lacks the events since and may never get them. Thread-safe.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool is_flight_recorder() const { return is_flight_recorder_; }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  template <typename Write>
  void try_to(Write write);

  record::Recorder& recorder_;
  std::unique_ptr<capture::CaptureWriter> writer_;  // none once it is finished
  std::string path_;
  std::uint64_t max_bytes_;
  std::optional<ScopeLimit> limit_;        // once that size is reached
  std::uint64_t collector_cpu_before_ns_;  // spent on captures before this one
  bool is_flight_recorder_ = false;
  bool is_failure_said_ = false;
  std::atomic<bool> has_failed_{false};
};

}  // namespace kymo::control
