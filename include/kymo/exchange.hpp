// Exports captures to the formats of other tools.
//
//     kymo::export_perfetto_trace(kymo::Timeline("run.kymo"), "run.pftrace");
//
// Every export writes a temporary file next to `path` and renames it when complete. `path` therefore holds either its
// former content or the complete export, which keeps the mode of the file it replaces. Pipes and devices are written
// directly. Memory does not grow with the captures, except as noted per format. The functions may run concurrently for
// different paths.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <kymo/arrow.hpp>
#include <kymo/export.hpp>
#include <kymo/ids.hpp>
#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// A file cannot be read or written, has invalid content, or a capture has nothing that the format can hold. what()
/// names the file, the reason and the remedy.
class KYMO_API ExchangeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Options of all exports.
struct ExportOptions {
  std::function<void(double)> on_progress;  ///< receives the finished share, 0 to 1
  /// Whether any file at `path` may be replaced. If false, only an empty file, or a file that kymo wrote in the same
  /// format, is replaced; others cause ExchangeError. Collapsed stacks, OpenMetrics, Parquet, NVMT and .vor cannot tell
  /// their own files. A capture that is being exported is never replaced.
  bool replaces_any = true;
  /// The part to export; all if empty. What extends beyond its time is cut there. Of scopes of the selected sites,
  /// everything that ran inside them is exported too. Sites and threads do not select frames and metrics. Takes room in
  /// the temporary directory, and an export throws SelectionError if nothing is selected.
  SelectionOptions selection = {};
};

/// All exports throw ExchangeError if the file cannot be written, and CaptureError if a capture becomes unreadable.
/// Damaged blocks are left out (CaptureReader::damages).

/// Chrome's Trace Event JSON in object form, for Perfetto, chrome://tracing and speedscope. Times keep nanosecond
/// precision. About 0.1 us a scope.
KYMO_API void export_chrome_trace(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// Perfetto's protobuf trace. Smaller than the JSON and faster to open. About 0.1 us a scope.
KYMO_API void export_perfetto_trace(const Timeline& timeline, const std::string& path,
                                    const ExportOptions& options = {});

/// Collapsed stacks for flame-graph tools. Each distinct stack of scopes is a line `thread;outer;inner <nanoseconds>`
/// with its self time; lines are sorted. If there are several processes, the process precedes the thread. Async spans
/// and queue spans are not calls and are left out. Holds the distinct stacks in memory.
KYMO_API void export_collapsed_stacks(const Timeline& timeline, const std::string& path,
                                      const ExportOptions& options = {});

/// Spans as CSV, in the order in which they ended. Columns: process, track, kind, name, category, start_ns,
/// duration_ns, self_ns, depth, async_id, marks, arguments, function, file, line, holder.
/// `marks`: unbalanced, open, end_unknown, self_is_bound, separated by spaces. `arguments`: a JSON object. The site's
/// `function`, `file` and `line` are empty if unknown. `holder`: of a wait for a lock, the thread that held it.
KYMO_API void export_spans_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// Frames as CSV, stream by stream. Columns: process,stream,number,start_ns,duration_ns. Holds the marks of one stream.
KYMO_API void export_frames_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// Samples as CSV, block by block. Columns: process,metric,labels,unit,time_ns,value,stale. The value is empty if it
/// could not be read.
KYMO_API void export_metrics_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// The latest value of every metric as OpenMetrics text, for Prometheus and compatible tools. Metrics whose latest
/// value could not be read are left out. Times are wall-clock times if the capture contains them.
KYMO_API void export_openmetrics(const Timeline& timeline, const std::string& path, const ExportOptions& options = {});

/// A table of <kymo/arrow.hpp> as an Arrow IPC file (Feather), for pandas, Polars, R and others. Batch by batch.
KYMO_API void export_arrow(const Timeline& timeline, const std::string& path, ArrowTable table,
                           const ExportOptions& options = {});

/// The same as a Parquet file, for DuckDB, Spark, pandas and others. Row groups have about 260,000 rows and are held in
/// memory; pages are compressed with zstd.
KYMO_API void export_parquet(const Timeline& timeline, const std::string& path, ArrowTable table,
                             const ExportOptions& options = {});

/// Options of export_nvmt().
struct NvmtExportOptions : ExportOptions {
  ProcessId process{};    ///< process to export; 0: the only one that sampled a machine
  unsigned recorder = 0;  ///< number of one of its recorders; 0: the one without a number, else the first
};

/// Result of an export to NVMT.
struct NvmtExportReport {
  std::uint64_t fast_samples = 0;
  std::uint64_t medium_samples = 0;
  std::uint64_t slow_samples = 0;
  std::uint64_t sync_points = 0;
  std::vector<std::string> left_out;  ///< data that the format cannot hold, as text
};

/// Exports a process's machine metrics as an NVMT trace. Also throws ExchangeError if the process does not exist, or if
/// `process` is 0 and none or several processes have machine metrics. Holds the times of all samples.
KYMO_API NvmtExportReport export_nvmt(const Timeline& timeline, const std::string& path,
                                      const NvmtExportOptions& options = {});

/// Options of export_vor().
struct VorExportOptions : ExportOptions {
  ProcessId process{};  ///< process to export; 0: the only one that marked frames
};

/// Result of an export to a .vor stream.
struct VorExportReport {
  std::uint64_t frames = 0;
  std::uint64_t scopes = 0;         ///< a scope that continues over several frames counts once in each
  std::uint64_t values = 0;         ///< values of user columns
  std::vector<std::string> losses;  ///< data missing from the stream, as text
};

/// Exports the frames of a process's main stream as a .vor stream (docs/vor.md): one record per mark, with the latest
/// metric values and the scopes of the frame. Also throws ExchangeError if the process does not exist, or if `process`
/// is 0 and none or several processes marked frames. Memory: one block of the capture, 8 bytes per block, and the
/// frames not yet certain to be complete (at most 100,000 frames and 64 MiB of their scopes). About 100 ns of CPU a
/// scope.
KYMO_API VorExportReport export_vor(const Timeline& timeline, const std::string& path,
                                    const VorExportOptions& options = {});

}  // namespace kymo
