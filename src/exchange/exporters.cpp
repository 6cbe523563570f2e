// The table of the formats that captures are exported to, and the public exports.
#include "exchange/exporters.hpp"

#include <utility>

#include <kymo/nvmetrics.hpp>

#include "base/output/replacing_file.hpp"
#include "exchange/arrow/ipc.hpp"
#include "exchange/arrow/parquet.hpp"
#include "exchange/chrome/event_stream.hpp"
#include "exchange/chrome/export.hpp"
#include "exchange/common/selected_timeline.hpp"
#include "exchange/nvmt/export.hpp"
#include "exchange/perfetto/trace.hpp"
#include "exchange/stacks/firefox.hpp"
#include "exchange/stacks/pprof.hpp"
#include "exchange/tables/collapsed_stacks.hpp"
#include "exchange/tables/csv.hpp"
#include "exchange/tables/openmetrics.hpp"
#include "exchange/vor/export.hpp"

namespace kymo {

namespace exchange {

namespace {

constexpr Exporter to_chrome{"chrome", "Trace Event JSON, for Perfetto, chrome://tracing, speedscope",
                             chrome_trace_mark, write_chrome};
constexpr Exporter to_perfetto{"perfetto", "Perfetto's protobuf trace: smaller and quicker to open", perfetto_mark,
                               write_perfetto};
constexpr Exporter to_collapsed{"collapsed",
                                "stacks of scopes in ns, or sampled ones, for flame-graph tools; --samples, --waits",
                                {},
                                write_collapsed_stacks};
constexpr Exporter to_pprof{"pprof", "sampled stacks for go tool pprof, speedscope, Grafana", {}, write_pprof};
constexpr Exporter to_firefox{"firefox", "sampled stacks for profiler.firefox.com", firefox_mark, write_firefox};
constexpr Exporter to_csv_spans{"csv-spans", "a row a span", spans_csv_header, write_spans_csv};
constexpr Exporter to_csv_frames{"csv-frames", "a row a frame", frames_csv_header, write_frames_csv};
constexpr Exporter to_csv_metrics{"csv-metrics", "a row a sample", metrics_csv_header, write_metrics_csv};
constexpr Exporter to_openmetrics{
    "openmetrics", "the latest value of every metric, for Prometheus", {}, write_openmetrics};
constexpr Exporter to_arrow{"arrow", "a table as an Arrow file (Feather), for pandas, Polars, R; --table",
                            arrow_file_mark, write_arrow};
constexpr Exporter to_parquet{
    "parquet", "a table as a Parquet file, for DuckDB, Spark, pandas; --table", {}, write_parquet};
constexpr Exporter to_nvmt{"nvmt", "the Jetson trace: what one process sampled of its machine", {}, write_nvmt};
constexpr Exporter to_vor{"vor", "a .vor stream: frames with their metrics and scopes", {}, write_vor};

constexpr Exporter all[] = {to_chrome,    to_perfetto,   to_collapsed,   to_pprof,       to_firefox,
                            to_csv_spans, to_csv_frames, to_csv_metrics, to_openmetrics, to_arrow,
                            to_parquet,   to_nvmt,       to_vor};

bool is_part(const SelectionOptions& selection) {
  const TimeRange always;
  return !selection.sites.empty() || !selection.threads.empty() || selection.frames || selection.phase ||
         selection.process || selection.time.start_ns != always.start_ns || selection.time.end_ns != always.end_ns;
}

/// Has `write` write the selected part to the file that takes the place of `path`, which is never one of the timeline's
/// captures.
void replace(const Timeline& timeline, const std::string& path, std::string_view mark, const ExportOptions& options,
             const std::function<void(const Timeline&, ExportRequest, base::OutputFile)>& write) {
  base::Replacing target{mark, options.replaces_any, {}};
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    target.inputs.push_back(timeline.capture(i).path());
  }
  base::replace_file(path, target, [&](base::OutputFile file) {
    ExportRequest request;
    request.on_progress = options.on_progress;
    if (!is_part(options.selection)) {
      write(timeline, request, std::move(file));
      return;
    }
    std::function<void(double)> on_copy;
    if (options.on_progress) {
      on_copy = [&](double share) { options.on_progress(share / 2); };
      request.on_progress = [&](double share) { options.on_progress((1 + share) / 2); };
    }
    write(copy_selected(timeline, options.selection, on_copy), request, std::move(file));
  });
}

}  // namespace

std::span<const Exporter> exporters() noexcept {
  return all;
}

std::vector<std::string> export_timeline(const Exporter& exporter, const Timeline& timeline, const std::string& path,
                                         const ExportOptions& options, ProcessId process, ArrowTable table,
                                         StacksOf stacks) {
  std::vector<std::string> left_out;
  replace(timeline, path, exporter.mark, options,
          [&](const Timeline& part, ExportRequest request, base::OutputFile file) {
            request.process = process;
            request.table = table;
            request.stacks = stacks;
            left_out = exporter.write(part, std::move(file), request);
          });
  return left_out;
}

}  // namespace exchange

void export_chrome_trace(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_chrome, timeline, path, options);
}

void export_perfetto_trace(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_perfetto, timeline, path, options);
}

void export_collapsed_stacks(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_collapsed, timeline, path, options);
}

void export_spans_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_csv_spans, timeline, path, options);
}

void export_frames_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_csv_frames, timeline, path, options);
}

void export_metrics_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_csv_metrics, timeline, path, options);
}

void export_arrow(const Timeline& timeline, const std::string& path, ArrowTable table, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_arrow, timeline, path, options, ProcessId{}, table);
}

void export_parquet(const Timeline& timeline, const std::string& path, ArrowTable table, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_parquet, timeline, path, options, ProcessId{}, table);
}

void export_openmetrics(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::export_timeline(exchange::to_openmetrics, timeline, path, options);
}

NvmtExportReport export_nvmt(const Timeline& timeline, const std::string& path, const NvmtExportOptions& options) {
  NvmtExportReport report;
  exchange::replace(timeline, path, {}, options,
                    [&](const Timeline& part, exchange::ExportRequest request, base::OutputFile file) {
                      request.process = options.process;
                      request.recorder = options.recorder;
                      report = exchange::report_nvmt(part, std::move(file), request);
                    });
  return report;
}

VorExportReport export_vor(const Timeline& timeline, const std::string& path, const VorExportOptions& options) {
  VorExportReport report;
  exchange::replace(timeline, path, {}, options,
                    [&](const Timeline& part, exchange::ExportRequest request, base::OutputFile file) {
                      request.process = options.process;
                      report = exchange::report_vor(part, std::move(file), request);
                    });
  return report;
}

void nvmetrics::write_trace(const std::string& capture_path, const std::string& output_path, unsigned recorder) {
  NvmtExportOptions options;
  options.recorder = recorder;
  export_nvmt(Timeline(capture_path), output_path, options);
}

}  // namespace kymo
