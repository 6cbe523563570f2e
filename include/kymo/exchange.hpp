// Captures in the formats of other tools.
//
//     kymo::export_perfetto_trace(kymo::Timeline("run.kymo"), "run.pftrace");
//
// Every export writes beside `path` and renames when all is written, so that the path holds either what it held before
// or all of the export, which keeps the mode of what it replaces; a pipe or a device is written directly. Memory does
// not grow with the captures beyond what is said of a format. Functions may be called from several threads at once, for
// different paths.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/ids.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// A file cannot be written or read, or is not what it should be, or a capture has nothing that a format could hold.
/// what() names the file, the reason, and what to do.
class KYMO_API ExchangeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ExportOptions {
  std::function<void(double)> on_progress;  ///< is told the share that is done, 0 to 1
  /// Whether any file at `path` may be replaced. Else only one that is empty or that kymo wrote in the same format, as
  /// far as the format can tell (collapsed stacks, OpenMetrics, NVMT and .vor cannot): ExchangeError for others. A
  /// capture that is being exported never is.
  bool replaces_any = true;
};

/// All exports throw ExchangeError where the file cannot be written, and CaptureError where a capture cannot be read
/// any more. Damaged blocks are left out (CaptureReader::damages).

/// Chrome's Trace Event JSON, the object form, for Perfetto, chrome://tracing and speedscope. Times keep their
/// nanoseconds. About 0.1 us a scope.
KYMO_API void export_chrome_trace(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// Perfetto's protobuf trace: smaller than the JSON and quicker to open. About 0.1 us a scope.
KYMO_API void export_perfetto_trace(const Timeline& timeline, const std::string& path,
                                    const ExportOptions& options = {});

/// Stacks as flame-graph tools take them: a line `thread;outer;inner <nanoseconds>` for each different stack of scopes,
/// with the time spent in it and not in what it called, sorted. A process comes before the thread where there are
/// several. Async spans and those of queues are no calls and are left out. Holds the different stacks.
KYMO_API void export_collapsed_stacks(const Timeline& timeline, const std::string& path,
                                      const ExportOptions& options = {});

/// Spans as CSV, in the order they ended:
/// process,track,kind,name,category,start_ns,duration_ns,self_ns,depth,async_id,marks,arguments.
/// `marks`: unbalanced, open, end_unknown, self_is_bound, with spaces between them. `arguments`: a JSON object.
KYMO_API void export_spans_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// Frames as CSV, stream after stream: process,stream,number,start_ns,duration_ns. Holds the marks of one stream.
KYMO_API void export_frames_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// Samples as CSV, block after block: process,metric,labels,unit,time_ns,value,stale. The value is empty where it could
/// not be read.
KYMO_API void export_metrics_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// The latest value of every metric as OpenMetrics text, for Prometheus and what else reads it. Metrics whose latest
/// value could not be read are left out. Times are those of the wall clock where the capture says them.
KYMO_API void export_openmetrics(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

struct NvmtExportOptions : ExportOptions {
  ProcessId process = 0;  ///< whose metrics; 0: the only one that sampled a machine
};

/// What an export to NVMT wrote.
struct NvmtExportReport {
  std::uint64_t fast_samples = 0;
  std::uint64_t medium_samples = 0;
  std::uint64_t slow_samples = 0;
  std::uint64_t sync_points = 0;
  std::vector<std::string> left_out;  ///< what the format has no room for, in words
};

/// What a process sampled of its machine as an NVMT trace. ExchangeError also where there is no such process, and where
/// none or several of them have metrics of a machine. Holds the times of all samples.
KYMO_API NvmtExportReport export_nvmt(const Timeline& timeline, const std::string& path,
                                      const NvmtExportOptions& options = {});

struct VorExportOptions : ExportOptions {
  ProcessId process = 0;  ///< whose frames; 0: the only one that marked any
};

/// What an export to a .vor stream wrote.
struct VorExportReport {
  std::uint64_t frames = 0;
  std::uint64_t scopes = 0;         ///< a scope that goes on from frame to frame counts once in each
  std::uint64_t values = 0;         ///< of user columns
  std::vector<std::string> losses;  ///< what is not in the stream, in words
};

/// Writes the frames of a process's main stream, one record a mark, with the metrics' latest values and the scopes of
/// each, as a .vor stream (docs/vor.md). ExchangeError also where there is no such process, and where none or several
/// of them marked frames. Holds a block of the capture, 8 bytes for each, and the frames that are not certain to be
/// complete: at most 100,000 of them and 64 MiB of their scopes. About 100 ns of CPU a scope.
KYMO_API VorExportReport export_vor(const Timeline& timeline, const std::string& path,
                                    const VorExportOptions& options = {});

}  // namespace kymo
