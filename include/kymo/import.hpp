// Other tools' recordings as captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// Nothing of a recording could be imported; what() says why, and at which byte of it.
class KYMO_API ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parts of a recording that are not in its capture, all for one reason.
struct ImportLoss {
  std::string what;  ///< "spans with a negative duration"
  std::uint64_t count = 0;
  bool is_damage = false;  ///< the recording is wrong there; else a capture has no place for it
};

/// What an import wrote.
struct ImportReport {
  std::string output;  ///< the name asked for, or one with a number where that exists
  std::uint64_t spans = 0;
  std::uint64_t frames = 0;
  std::uint64_t samples = 0;
  std::uint64_t messages = 0;
  std::uint64_t flow_points = 0;
  std::uint64_t sync_points = 0;
  std::vector<ImportLoss> losses;
  std::string stopped;  ///< where and why reading ended before the recording did; empty: it did not

  /// Whether the recording was damaged.
  [[nodiscard]] bool is_damaged() const {
    bool is_damaged = !stopped.empty();
    for (const ImportLoss& loss : losses) {
      is_damaged = is_damaged || loss.is_damage;
    }
    return is_damaged;
  }
};

struct ImportOptions {
  /// Bytes of events that are sorted at once. Traces with more are sorted through a file without a name in the
  /// capture's directory, which takes about as much room as the trace.
  std::size_t memory = std::size_t{64} << 20U;
  /// Is told the share that has been done, 0 to 1, now and then.
  std::function<void(double)> on_progress = {};
  /// What messages and the capture call the recording; empty: its path.
  std::string name = {};
};

/// Makes a capture of a Chrome trace (Trace Event JSON): an array of events, closed or not, or an object with
/// traceEvents. docs/chrome.md says what becomes what. Events may come in any order. What a GPU did in a trace of
/// torch.profiler goes onto tracks of its queues.
///
/// Reads the file from front to back once, so it may be a pipe. Memory does not grow with it, but for the names,
/// threads and spans left open: up to some hundred MB in the worst case. About a second for 50 MB.
///
/// ImportError where the file cannot be read or holds no trace; a std::runtime_error where the capture cannot be
/// written, which then is removed. What is wrong in a trace is left out and counted in the report.
KYMO_API ImportReport import_chrome_trace(const std::string& trace, const std::string& capture,
                                          const ImportOptions& options = {});

/// Makes a capture of a Jetson trace (NVMT version 1). docs/nvmt.md says what becomes what. `losses` are what an export
/// of the capture would not give back. Holds the trace in memory.
///
/// ImportError where the file cannot be read or is no such trace, or its times make no sense; a std::runtime_error
/// where the capture cannot be written, which then is removed.
KYMO_API ImportReport import_nvmt(const std::string& trace, const std::string& capture);

/// Makes a capture of a .vor stream of version 2. docs/vor.md says what becomes what; `options.memory` is not used.
/// Reads the file twice; holds one record (at most 512 MiB unpacked), a batch of events and the names (at most 64 MiB).
///
/// ImportError where the file cannot be read or is no such stream, or no frame in it is sound; a std::runtime_error
/// where the capture cannot be written, which then is removed. What is damaged is left out and listed in the report.
KYMO_API ImportReport import_vor(const std::string& stream, const std::string& capture,
                                 const ImportOptions& options = {});

}  // namespace kymo
