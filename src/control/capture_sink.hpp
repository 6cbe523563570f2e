// The capture as the recorder's sink: the writer, its bound in size, its closing words, and the flight recorder's dump.
#pragma once

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
  void trigger() override { writer_->write_held(); }
  void finish() override;

  [[nodiscard]] bool is_flight_recorder() const { return is_flight_recorder_; }

  [[nodiscard]] const std::string& path() const { return writer_->path(); }

 private:
  std::unique_ptr<capture::CaptureWriter> writer_;
  std::uint64_t max_bytes_;
  std::uint64_t collector_cpu_before_ns_;  // spent for captures before this one
  bool is_flight_recorder_ = false;
};

}  // namespace kymo::control
