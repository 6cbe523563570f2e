// Writes a Chrome trace while the program runs.
#pragma once

#include <kymo/export.hpp>
#include <kymo/path.hpp>
#include <kymo/sink_guard.hpp>

namespace kymo {

/// Writes a Chrome trace (Trace Event JSON) of everything recorded while it is installed.
///
///     auto trace = kymo::ChromeTraceSink{"trace.json"}.install();
class KYMO_API ChromeTraceSink {
 public:
  explicit ChromeTraceSink(const Path& path) noexcept : path_(path) {}

  /// Creates the file and starts recording into it. If the name is taken, a suffix is added. If the file cannot be
  /// written, reports it once on stderr and installs nothing.
  [[nodiscard]] SinkGuard install() const noexcept;

 private:
  Path path_;
};

}  // namespace kymo
