// From a process's metrics to an NVMT trace. docs/nvmt.md has the table of what becomes what.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::exchange {

struct NvmtExportOptions {
  ProcessId process = 0;                    ///< whose metrics; 0: the only one that sampled a machine
  std::function<void(double)> on_progress;  ///< is told the share that is done, 0 to 1
};

/// What an export wrote.
struct NvmtExportReport {
  std::uint64_t fast_samples = 0;
  std::uint64_t medium_samples = 0;
  std::uint64_t slow_samples = 0;
  std::uint64_t sync_points = 0;
  std::vector<std::string> left_out;  ///< what the format has no room for, in words
};

/// Writes what a process sampled of its machine as an NVMT trace, which takes the place of what `path` held before when
/// it is whole. Holds the times of all samples and some seconds of values.
///
/// NvmtError where there is no such process, none or several of them have metrics of a machine; OutputError.
NvmtExportReport export_nvmt(const Timeline& timeline, const std::string& path, const NvmtExportOptions& options = {});

}  // namespace kymo::exchange
