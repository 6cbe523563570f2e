// A Chrome trace, written while the program runs.
#pragma once

#include <string_view>

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

  /// Creates the file, under a suffix where something has its name, and begins to record into it. Reports once on
  /// stderr and installs nothing where the file cannot be written.
  [[nodiscard]] SinkGuard install() const noexcept;

 private:
  Path path_;
};

}  // namespace kymo
