// The public exports but NVMT's: each format's writer on a timeline's batches.
#include <kymo/exchange.hpp>

#include <utility>

#include "exchange/chrome_export.hpp"
#include "exchange/collapsed_stacks.hpp"
#include "exchange/csv_export.hpp"
#include "exchange/event_stream.hpp"
#include "exchange/export_target.hpp"
#include "exchange/openmetrics_export.hpp"
#include "exchange/perfetto_trace.hpp"
#include "timeline/timeline_implementation.hpp"

namespace kymo {

namespace {

using exchange::OutputFile;

/// A timeline's batches in order, before them one with all that was declared.
class Batches {
 public:
  Batches(const Timeline& timeline, const ExportOptions& options)
      : timeline_(timeline), options_(options), cursor_(timeline, {}, BatchParts::everything) {}

  [[nodiscard]] bool next(EventBatch& batch) {
    if (!has_declared_) {
      has_declared_ = true;
      batch.declarations = timeline_.declarations();
      batch.start_ns = timeline_.range().start_ns;
      batch.end_ns = batch.start_ns;
      return true;
    }
    if (options_.on_progress) {
      options_.on_progress(cursor_.share_done());
    }
    return cursor_.next(batch);
  }
  /// Whether the last batch is of the capture whose clock the timeline's times are of.
  [[nodiscard]] bool is_of_first() const { return cursor_.source() == 0; }

 private:
  const Timeline& timeline_;
  const ExportOptions& options_;
  timeline::BatchCursor cursor_;
  bool has_declared_ = false;
};

}  // namespace

void export_chrome_trace(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  Batches batches(timeline, options);
  exchange::export_chrome_trace([&batches](EventBatch& batch) { return batches.next(batch); }, path,
                                exchange::replacing(timeline, options, exchange::chrome_trace_mark));
}

void export_perfetto_trace(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::replace_file(path, exchange::replacing(timeline, options, exchange::perfetto_mark), [&](OutputFile file) {
    exchange::PerfettoTraceWriter writer(std::move(file));
    Batches batches(timeline, options);
    for (EventBatch batch; batches.next(batch);) {
      writer.write(batch, batches.is_of_first());
    }
    writer.finish();
  });
}

void export_collapsed_stacks(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::replace_file(path, exchange::replacing(timeline, options, {}), [&](OutputFile file) {
    exchange::CollapsedStacks stacks(timeline);
    timeline::BatchCursor cursor(timeline, {}, BatchParts::scopes);
    for (EventBatch batch; cursor.next(batch);) {
      stacks.add(batch);
      if (options.on_progress) {
        options.on_progress(cursor.share_done());
      }
    }
    stacks.finish(timeline.range().end_ns);
    stacks.write(file);
    file.close();
  });
}

void export_spans_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::replace_file(path, exchange::replacing(timeline, options, exchange::spans_csv_header),
                         [&](OutputFile file) { exchange::write_spans_csv(timeline, file, options.on_progress); });
}

void export_frames_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::replace_file(path, exchange::replacing(timeline, options, exchange::frames_csv_header),
                         [&](OutputFile file) { exchange::write_frames_csv(timeline, file, options.on_progress); });
}

void export_metrics_csv(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::replace_file(path, exchange::replacing(timeline, options, exchange::metrics_csv_header),
                         [&](OutputFile file) { exchange::write_metrics_csv(timeline, file, options.on_progress); });
}

void export_openmetrics(const Timeline& timeline, const std::string& path, const ExportOptions& options) {
  exchange::replace_file(path, exchange::replacing(timeline, options, {}),
                         [&](OutputFile file) { exchange::write_openmetrics(timeline, file, options.on_progress); });
}

}  // namespace kymo
