// What a format has to offer to be one that captures are exported to; exporters.cpp has the table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/arrow.hpp>
#include <kymo/exchange.hpp>
#include <kymo/timeline.hpp>

#include "base/output/output_file.hpp"

namespace kymo::exchange {

/// Whose stacks are collapsed: scopes, and samples where there are none.
enum class StacksOf : std::uint8_t { scopes, samples, waits };

struct ExportRequest {
  std::function<void(double)> on_progress;  ///< receives the finished share, 0 to 1; may be empty
  ProcessId process;                        ///< for formats of one process; 0: the only one that fits
  unsigned recorder = 0;                    ///< for NVMT: one of several recorders of the process
  ArrowTable table = ArrowTable::spans;     ///< for Arrow and Parquet
  StacksOf stacks = StacksOf::scopes;       ///< for collapsed stacks
};

/// Writes a timeline in one format and closes the file. Returns what the format cannot hold, as texts. OutputError if
/// the file cannot be written, ExchangeError if the timeline has nothing that the format can hold.
using ExportWriter = std::vector<std::string>(const Timeline& timeline, base::OutputFile file,
                                              const ExportRequest& request);

/// A format.
struct Exporter {
  std::string_view word;  ///< its name in `kymo export --to`
  std::string_view what;  ///< its line in the command's help
  /// Text within a file's first 512 bytes by which kymo knows its own; empty: nothing in such files tells them.
  std::string_view mark;
  ExportWriter* write = nullptr;
};

}  // namespace kymo::exchange
