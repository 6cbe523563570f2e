// From a process's frames to a .vor stream. docs/vor.md has the table of what becomes what.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::exchange {

struct VorExportOptions {
  ProcessId process = 0;                    ///< whose frames; 0: the only one that marked any
  std::function<void(double)> on_progress;  ///< is told the share that is done, 0 to 1
};

/// What an export wrote.
struct VorExportReport {
  std::uint64_t frames = 0;
  std::uint64_t scopes = 0;         ///< a scope that goes on from frame to frame counts once in each
  std::uint64_t values = 0;         ///< of user columns
  std::vector<std::string> losses;  ///< what is not in the stream, in words
};

/// Writes the frames of a process's main stream, one record a mark, with the metrics' latest values and the scopes of
/// each, as a .vor stream, which takes the place of what `path` held before when it is whole. Holds a block of the
/// capture, 8 bytes for each, and the frames that are not certain to be complete: at most 100,000 of them and 64 MiB of
/// their scopes. About 100 ns of CPU a scope.
///
/// VorError where there is no such process, none or several of them marked frames; OutputError.
VorExportReport export_vor(const Timeline& timeline, const std::string& path, const VorExportOptions& options = {});

}  // namespace kymo::exchange
