// Imports recordings of other tools as captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// Nothing of a recording could be imported; what() gives the reason and the byte offset.
class KYMO_API ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parts of a recording that are missing from its capture, all for one reason.
struct ImportLoss {
  std::string what;  ///< "spans with a negative duration"
  std::uint64_t count = 0;
  bool is_damage = false;  ///< the recording is invalid there; otherwise a capture cannot hold it
};

/// Result of an import.
struct ImportReport {
  std::string output;  ///< the requested name, or one with a number if that exists
  std::uint64_t spans = 0;
  std::uint64_t frames = 0;
  std::uint64_t samples = 0;
  std::uint64_t messages = 0;
  std::uint64_t flow_points = 0;
  std::uint64_t sync_points = 0;
  std::vector<ImportLoss> losses;
  std::string stopped;  ///< position and reason if reading stopped early; empty: it did not

  /// True if the recording was damaged.
  [[nodiscard]] bool is_damaged() const {
    bool is_damaged = !stopped.empty();
    for (const ImportLoss& loss : losses) {
      is_damaged = is_damaged || loss.is_damage;
    }
    return is_damaged;
  }
};

/// Options of the imports.
struct ImportOptions {
  /// Bytes of events sorted in memory. Larger traces are sorted through an unnamed file in the capture's directory,
  /// about as large as the trace.
  std::size_t memory = std::size_t{64} << 20U;
  /// Receives the finished share, 0 to 1, from time to time.
  std::function<void(double)> on_progress = {};
  /// Name of the recording in messages and in the capture; empty: its path.
  std::string name = {};
};

/// Converts a Chrome trace (Trace Event JSON), compressed with gzip or not, to a capture. The trace is an array of
/// events, terminated or not, or an object with traceEvents. Events may come in any order. GPU work in a torch.profiler
/// trace goes onto tracks of its queues. docs/chrome.md describes the mapping.
///
/// Reads the file sequentially once, so it may be a pipe. Memory does not grow with the file, except for names, threads
/// and spans left open: up to some hundred MB in the worst case. About a second for 50 MB.
///
/// Throws ImportError if the file cannot be read or contains no trace, and std::runtime_error if the capture cannot be
/// written; the capture is then removed. Invalid parts of a trace are left out and counted in the report.
KYMO_API ImportReport import_chrome_trace(const std::string& trace, const std::string& capture,
                                          const ImportOptions& options = {});

/// Converts a Perfetto trace (protobuf), compressed with gzip or not, to a capture: its track events, counters, flows,
/// and the names of its processes, threads and tracks. Other packets are left out and counted. docs/chrome.md describes
/// the mapping. Reads the file once, so it may be a pipe. Holds at most a packet of 16 MiB and 64 MiB of interned texts
/// beside what import_chrome_trace() does.
///
/// Throws as import_chrome_trace() does.
KYMO_API ImportReport import_perfetto_trace(const std::string& trace, const std::string& capture,
                                            const ImportOptions& options = {});

/// Converts a Jetson trace (NVMT version 1) to a capture. docs/nvmt.md describes the mapping. `losses` lists the data
/// that an export of the capture would not restore. Holds the trace in memory.
///
/// Throws ImportError if the file cannot be read, is not such a trace or has inconsistent times, and std::runtime_error
/// if the capture cannot be written; the capture is then removed.
KYMO_API ImportReport import_nvmt(const std::string& trace, const std::string& capture);

/// Converts a .vor stream of version 2 to a capture. docs/vor.md describes the mapping. `options.memory` is not used.
/// Reads the file twice. Holds one record (at most 512 MiB unpacked), a batch of events and the names (at most 64 MiB).
///
/// Throws ImportError if the file cannot be read, is not such a stream or has no intact frame, and std::runtime_error
/// if the capture cannot be written; the capture is then removed. Damaged parts are left out and listed in the report.
KYMO_API ImportReport import_vor(const std::string& stream, const std::string& capture,
                                 const ImportOptions& options = {});

}  // namespace kymo
