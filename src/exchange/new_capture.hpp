// The capture that an import writes: whole under its name, or not there.
#pragma once

#include <optional>
#include <string>

#include "capture/capture_writer.hpp"

namespace kymo::exchange {

/// A capture in a new file, which is taken away again unless finish() gets to its end: what was half imported would
/// look like all there is. One thread at a time.
class NewCapture {
 public:
  /// Creates the file, under `path` or with a suffix where that exists, and writes the header. capture::WriteError.
  NewCapture(const std::string& path, capture::CaptureWriterOptions options);
  NewCapture(const NewCapture&) = delete;
  NewCapture& operator=(const NewCapture&) = delete;
  ~NewCapture();

  /// Under which it stays.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// capture::WriteError.
  void write(const EventBatch& batch);
  /// Closes the capture, which from then on stays. capture::WriteError.
  void finish();

 private:
  std::string path_;
  bool is_whole_ = false;
  std::optional<capture::CaptureWriter> writer_;
};

}  // namespace kymo::exchange
