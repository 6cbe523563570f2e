// Several captures into one: all processes on one axis, events by time, packed with zstd.
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

namespace kymo::capture {

struct MergeOptions {
  int compression_level = 3;  ///< zstd's
  std::string recorder;       ///< the header's word for who recorded, where no input says
  /// Captures of different boots are aligned by sync points they share, rather than by wall clock.
  bool align_by_sync_points = false;
  /// Takes out what capture::redact() does.
  bool redacts = false;
  /// Facts that are added: (key, value) of the process with a pid, which is declared where no capture has it.
  struct Facts {
    ProcessDeclaration process;  ///< its id is not used
    std::vector<std::pair<std::string, std::string>> infos;
  };
  std::vector<Facts> facts;
  /// What a capture lacks and its killed process left in memory; batches that follow the file's. Empty: nothing is
  /// looked for.
  std::function<std::vector<EventBatch>(const CaptureReader&)> find_unwritten;
  /// Is told the share that is done, 0 to 1.
  std::function<void(double)> on_progress;
};

/// What a merge did.
struct MergeReport {
  std::string output;  ///< the file that was written: the name asked for, or one with a suffix where that exists
  std::uint64_t scopes = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  ///< what is damaged or missing in the inputs, in words
};

/// Merges captures into a new one. The first one's axis is the merge's; processes that were shifted onto it say so in
/// their infos (clock.aligned_by, clock.offset_ns, clock.bound_ns). With one input this repacks it; with none, the file
/// holds the facts alone. Streams block by block: memory holds a block an input at most, and what is open. About 60 ns
/// of CPU a scope.
///
/// Throws CaptureError where an input cannot be read and WriteError where the output cannot be written; it is removed
/// then.
MergeReport merge(std::span<const std::filesystem::path> inputs, const std::filesystem::path& output,
                  const MergeOptions& options = {});

}  // namespace kymo::capture
