// The capture as the recorder's sink: the writer, its bound in size, its closing words, and the flight recorder's dump.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <kymo/recorder.hpp>
#include <kymo/sink.hpp>

#include "capture/capture_writer.hpp"

namespace kymo::control {

class CaptureSink final : public Sink {
 public:
  /// Creates the file and writes its header. `declarations` are the facts of the run. Throws capture::WriteError.
  CaptureSink(const CaptureOptions& options, Declarations declarations);

  void write(const EventBatch& batch) override;
  void trigger() override;
  void finish() override;

  /// The last write found no room: the file lacks what came since, and may never get it. From any thread.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool is_flight_recorder() const { return is_flight_recorder_; }

  [[nodiscard]] const std::string& path() const { return writer_->path(); }

 private:
  template <typename Write>
  void try_to(Write write);

  std::unique_ptr<capture::CaptureWriter> writer_;
  std::uint64_t max_bytes_;
  std::uint64_t collector_cpu_before_ns_;  // spent for captures before this one
  bool is_flight_recorder_ = false;
  bool is_failure_said_ = false;
  std::atomic<bool> has_failed_{false};
};

}  // namespace kymo::control
