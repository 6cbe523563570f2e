// A capture that this process writes, as a recorder would.
#pragma once

#include <fstream>
#include <string>
#include <utility>

#include <unistd.h>

#include "capture/capture_fixture.hpp"
#include "capture/sample_batches.hpp"

namespace kymo::test {

class GrowingCapture {
 public:
  explicit GrowingCapture(const std::string& path) : writer_(path, options()), source_(3) {}

  void grow() { writer_.write(source_.ordinary(100)); }
  void close() { writer_.finish(); }

 private:
  static capture::CaptureWriterOptions options() {
    capture::CaptureWriterOptions options = sample_options();
    options.header.spool_id.clear();
    options.header.owner_pid = static_cast<std::uint64_t>(::getpid());
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), options.declarations.processes.front().boot_id);
    return options;
  }

  capture::CaptureWriter writer_;
  BatchSource source_;
};

/// A closed capture of a few kilobytes and more.
inline Bytes small_capture(std::uint32_t seed = 5) {
  BatchSource source(seed);
  return write_capture({source.ordinary(400), source.ordinary(400), source.ordinary(400)});
}

}  // namespace kymo::test
