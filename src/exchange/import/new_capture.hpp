// The capture that an import writes: either complete or absent.
#pragma once

#include <optional>
#include <string>

#include <kymo/events.hpp>

#include "capture/write/capture_writer.hpp"

namespace kymo::exchange {

/// A capture in a new file, deleted unless finish() succeeds: a partial import would look complete. One thread at a
/// time.
class NewCapture {
 public:
  /// Creates the file, as `path` or with a suffix if that exists, and writes the header with these declarations. Throws
  /// capture::WriteError.
  NewCapture(const std::string& path, Declarations declarations);
  NewCapture(const NewCapture&) = delete;
  NewCapture& operator=(const NewCapture&) = delete;
  ~NewCapture();

  /// The final path.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Throws capture::WriteError.
  void write(const EventBatch& batch);
  /// Closes the capture, which is kept from then on. Throws capture::WriteError.
  void finish();

 private:
  std::string path_;
  bool is_whole_ = false;
  std::optional<capture::CaptureWriter> writer_;
};

}  // namespace kymo::exchange
