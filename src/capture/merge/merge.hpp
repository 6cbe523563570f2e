// Merges several captures into one: all processes on one axis, events by time, packed with zstd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "capture/write/capture_writer.hpp"

namespace kymo::capture {

struct MergeOptions {
  int compression_level = 3;  ///< zstd's
  std::string recorder;       ///< recorder in the header if no input names one
  /// Aligns captures of different boots by shared sync points instead of the wall clock.
  bool align_by_sync_points = false;
  /// Also redacts the capture: see capture::redact().
  bool redacts = false;
  /// Additional facts: (key, value) of the process with a pid, which is declared if no capture has it.
  struct Facts {
    ProcessDeclaration process;  ///< its id is not used
    std::vector<std::pair<std::string, std::string>> infos;
  };
  std::vector<Facts> facts;
  /// Finds the events that a killed process left in memory and its capture lacks: batches that follow the file's.
  /// May refresh the capture. Empty: no search.
  std::function<std::vector<EventBatch>(CaptureReader&)> find_unwritten;
  /// Called with the share that is done, 0 to 1.
  std::function<void(double)> on_progress;
};

/// Result of a merge.
struct MergeReport {
  std::string output;  ///< the written file: the requested name, with a suffix if that exists
  std::uint64_t scopes = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  ///< damage and gaps of the inputs, in words
};

/// Options for rewriting captures: zstd, and summaries at wider intervals, which serve a finished capture as well and
/// take less of it.
[[nodiscard]] CaptureWriterOptions make_repack_options();

/// Merges captures into a new one. The first one's axis is the merge's. Shifted processes say so in their infos
/// (clock.aligned_by, clock.offset_ns, clock.bound_ns). A single input is repacked; without inputs, the file holds only
/// the facts. Works block by block: memory holds at most one block per input, plus open scopes. About 60 ns of CPU per
/// scope.
///
/// Throws CaptureError if an input cannot be read and WriteError if the output cannot be written, which is then
/// removed.
MergeReport merge(std::span<const std::filesystem::path> inputs, const std::filesystem::path& output,
                  const MergeOptions& options = {});

}  // namespace kymo::capture
