// Recovers the captures of killed processes, with the events that are only in shared memory.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/recover/spool_file.hpp"
#include "capture/recover/spool_reader.hpp"

namespace kymo::capture {

/// A capture cannot be recovered. what() gives the reason and the remedy.
class RecoveryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Passes on the events that a capture's spool has and its file lacks, open scopes included, ordered by time within
/// each track. Does nothing if there is no spool: the capture was closed, or the machine was restarted. Also does
/// nothing if the process lives and will write the events itself. Otherwise refreshes `capture` first: its process may
/// have written on since it was read. Changes no file. Returns what was damaged or missing, in words.
std::vector<std::string> read_unwritten(CaptureReader& capture, const std::function<void(const EventBatch&)>& on_batch,
                                        const std::string& spool_directory = shared_memory);

struct RecoverOptions {
  std::string output;  ///< empty: replaces the capture itself
  std::string spool_directory = shared_memory;
  int compression_level = 3;
  bool keeps_spool = false;  ///< leave the shared memory in place
  /// Treats a capture whose writer or spool cannot be seen as complete, and replaces an existing output.
  bool is_forced = false;
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;  ///< blocks
};

/// Result of a recovery.
struct RecoveryReport {
  std::string output;
  bool was_closed = false;              ///< the capture was complete: nothing to recover
  std::uint64_t recovered_batches = 0;  ///< batches found only in shared memory
  std::uint64_t recovered_scope_events = 0;
  std::vector<std::string> notes;  ///< damage and gaps, in words
};

/// Adds the remaining events from shared memory to the capture, repacks it with zstd, closes it and deletes the shared
/// memory.
///
/// The new capture is written beside the old one, flushed to stable storage, and replaces it with its mode and owner. A
/// link is followed to its end. Concurrent calls for one capture run one after the other: the file is locked. What
/// could not be read is not deleted.
///
/// Throws CaptureError, WriteError, and RecoveryError if
/// - the process still runs,
/// - the process or its spool cannot be seen or read and this is not forced,
/// - the output exists.
RecoveryReport recover(const std::string& capture_path, const RecoverOptions& options = {});

}  // namespace kymo::capture
