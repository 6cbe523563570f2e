// What a process that was killed left behind: its capture, and in shared memory what the capture does not have yet.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/spool_file.hpp"
#include "capture/spool_reader.hpp"

namespace kymo::capture {

/// A capture cannot be recovered. what() says why and what to do.
class RecoveryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What of a capture's tracks is in its file: how far each was written, what was open there.
[[nodiscard]] CaptureCoverage cover_capture(const CaptureReader& capture);

/// Hands over what the spool of a capture has and its file lacks, open scopes included, in the order of time within
/// each track. Does nothing where there is no spool (the capture was closed, or the machine has been restarted since)
/// or its process is alive and will write the events itself. Reads, changes nothing. Returns what was found damaged or
/// missing, in words.
std::vector<std::string> read_unwritten(const CaptureReader& capture,
                                        const std::function<void(const EventBatch&)>& on_batch,
                                        const std::string& spool_directory = shared_memory);

struct RecoverOptions {
  std::string output;  ///< empty: the capture itself is replaced
  std::string spool_directory = shared_memory;
  int compression_level = 3;
  bool keeps_spool = false;  ///< leave the shared memory in place
  /// Take a capture whose writer or spool cannot be seen for one that is complete, and replace an existing output.
  bool is_forced = false;
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;  ///< blocks
};

/// What a recovery found and did.
struct RecoveryReport {
  std::string output;
  bool was_closed = false;              ///< the capture was whole: nothing needed to be recovered
  std::uint64_t recovered_batches = 0;  ///< batches that were only in shared memory
  std::uint64_t recovered_scope_events = 0;
  std::vector<std::string> notes;  ///< what is damaged or missing, in words
};

/// Folds what is left in shared memory into the capture, repacked with zstd and closed, and deletes the shared memory.
/// The capture is written beside itself, made to survive a loss of power, and takes its own place with its mode and its
/// owner, where a link leads to it at the link's end. Several calls for one capture come one after the other: the file
/// is locked. Throws RecoveryError where the process still runs, where it or its spool cannot be seen or read and this
/// is not forced, and where the output exists; CaptureError and WriteError. What could not be read is not deleted.
RecoveryReport recover(const std::string& capture_path, const RecoverOptions& options = {});

}  // namespace kymo::capture
