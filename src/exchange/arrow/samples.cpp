// Samples and frames as Arrow tables, block by block.
#include <cmath>
#include <map>

#include "capture/summary/frame_walk.hpp"
#include "exchange/arrow/rows.hpp"
#include "timeline/source.hpp"

namespace kymo::exchange {
namespace {

class SampleRows final : public BlockRows<SampleRows> {
 public:
  SampleRows(const Timeline& timeline, const ArrowQuery& query)
      : choice_(timeline, query), processes_(timeline), cursor_(choice_.cursor(BatchParts::samples)) {
    const std::vector<MetricDeclaration>& declared = timeline.declarations().metrics;
    const auto names = std::make_shared<ArrowDictionary>();
    const auto units = std::make_shared<ArrowDictionary>();
    const auto labels = std::make_shared<ArrowDictionary>();
    for (const MetricDeclaration& metric : declared) {
      metrics_.push_back({ArrowProcesses::index_of(metric.process), names->add(metric.name), units->add(metric.unit),
                          labels->add(labels_of(metric)),
                          choice_.takes_process(metric.process) && choice_.takes_name(metric.name)});
    }
    const std::uint32_t undeclared = names->add("(undeclared)");
    metrics_.push_back({0, undeclared, units->add("(undeclared)"), labels->add("(undeclared)"),
                        choice_.takes_process(ProcessId{}) && choice_.takes_name("(undeclared)")});
    add_process_column(processes_, ArrowProcesses::Column::process);
    add_column({"name", "I", false, names}, &SampleRows::fill_fact<&Metric::name>);
    add_column({"unit", "I", false, units}, &SampleRows::fill_fact<&Metric::unit>);
    add_column({"labels", "I", false, labels}, &SampleRows::fill_fact<&Metric::labels>);
    add_column({"time_ns", "l"}, &SampleRows::fill_times);
    add_column({"value", "g", true}, &SampleRows::fill_values);
    add_column({"stale", "b"}, &SampleRows::fill_stale);
    add_column({"metric", "I"}, &SampleRows::fill_metrics, false);
    add_process_columns(processes_);
    columns_ = pick_columns(std::move(columns_), choice_.query().columns);
  }

  bool add_rows() {
    if (!cursor_.next(batch_)) {
      return false;
    }
    for (const SampleRun& run : batch_.samples) {
      metric_ = &value_of(metrics_, run.metric);
      if (!metric_->is_taken) {
        continue;
      }
      run_ = &run;
      const std::size_t size = std::min(run.times_ns.size(), run.values.size());
      // Times ascend, so the range is one contiguous stretch.
      const auto begin = run.times_ns.begin();
      const auto end = begin + static_cast<std::ptrdiff_t>(size);
      first_ = static_cast<std::size_t>(std::lower_bound(begin, end, choice_.query().range.start_ns) - begin);
      last_ = choice_.query().range.end_ns == TimeRange{}.end_ns
                  ? size
                  : static_cast<std::size_t>(std::lower_bound(begin, end, choice_.query().range.end_ns) - begin);
      last_ = std::max(first_, last_);
      fill_columns(processes_, last_ - first_, [this](std::size_t) { return metric_->process; });
    }
    return true;
  }

 private:
  struct Metric {
    std::uint32_t process = 0;
    std::uint32_t name = 0;
    std::uint32_t unit = 0;
    std::uint32_t labels = 0;
    bool is_taken = true;
  };

  template <auto member>
  void fill_fact(ArrowColumn& column) {
    std::fill_n(column.extend<std::uint32_t>(last_ - first_), last_ - first_, metric_->*member);
  }
  void fill_metrics(ArrowColumn& column) {
    std::fill_n(column.extend<std::uint32_t>(last_ - first_), last_ - first_, run_->metric.value());
  }
  void fill_times(ArrowColumn& column) {
    std::copy_n(run_->times_ns.data() + first_, last_ - first_, column.extend<std::int64_t>(last_ - first_));
  }
  void fill_values(ArrowColumn& column) {
    const std::size_t row = column.size();
    std::copy_n(run_->values.data() + first_, last_ - first_, column.extend<double>(last_ - first_));
    for (std::size_t i = first_; i < last_; ++i) {
      if (std::isnan(run_->values[i])) {
        column.set_null(row + i - first_);
      }
    }
  }
  void fill_stale(ArrowColumn& column) {
    const std::size_t row = column.size();
    column.extend_booleans(last_ - first_);
    for (std::size_t i = first_; i < std::min(last_, run_->flags.size()); ++i) {
      if ((run_->flags[i] & SampleRun::stale) != 0) {
        column.set_boolean(row + i - first_);
      }
    }
  }

  ArrowChoice choice_;
  ArrowProcesses processes_;
  BatchCursor cursor_;
  std::vector<Metric> metrics_;  // by id; the last one for undeclared ones
  EventBatch batch_;
  const SampleRun* run_ = nullptr;
  const Metric* metric_ = nullptr;
  std::size_t first_ = 0;  // the part of the run that is selected
  std::size_t last_ = 0;
};

class FrameRows final : public BlockRows<FrameRows> {
 public:
  FrameRows(const Timeline& timeline, const ArrowQuery& query)
      : choice_(timeline, query),
        processes_(timeline),
        cursor_(timeline, {}, BatchParts::others,
                [this](std::size_t capture, std::size_t) { return choice_.takes_lists_of(capture); }) {
    const auto streams = std::make_shared<ArrowDictionary>();
    const capture::FrameCounts before = timeline::frames_before(timeline);
    for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
      walks_[stream.id] = capture::FrameWalk::after_frames(before.of(stream.id));
      streams_.push_back({ArrowProcesses::index_of(stream.process), streams->add(stream.name),
                          choice_.takes_process(stream.process) && choice_.takes_name(stream.name)});
    }
    streams_.push_back(
        {0, streams->add("(undeclared)"), choice_.takes_process(ProcessId{}) && choice_.takes_name("(undeclared)")});
    add_process_column(processes_, ArrowProcesses::Column::process);
    add_column({"stream", "I", false, streams}, &FrameRows::fill<&Row::stream>);
    add_column({"number", "L"}, &FrameRows::fill<&Row::number>);
    add_column({"start_ns", "l"}, &FrameRows::fill<&Row::start_ns>);
    add_column({"duration_ns", "l"}, &FrameRows::fill<&Row::duration_ns>);
    add_process_columns(processes_);
    columns_ = pick_columns(std::move(columns_), choice_.query().columns);
  }

  // Reads marks of all times because frames are numbered from the first mark.
  bool add_rows() {
    if (!cursor_.next(batch_)) {
      return false;
    }
    rows_.clear();
    for (const FrameMark& mark : batch_.frame_marks) {
      capture::FrameWalk& walk = walks_[mark.stream];
      const Stream& stream = value_of(streams_, mark.stream);
      if (walk.take(mark) && stream.is_taken && choice_.overlaps(walk.start_ns(), walk.mark_ns())) {
        rows_.push_back({stream.process, stream.name, walk.number(), walk.start_ns(), walk.duration_ns()});
      }
    }
    fill_columns(processes_, rows_.size(), [this](std::size_t row) { return rows_[row].process; });
    return true;
  }

 private:
  struct Stream {
    std::uint32_t process = 0;
    std::uint32_t name = 0;
    bool is_taken = true;
  };
  struct Row {
    std::uint32_t process = 0;
    std::uint32_t stream = 0;
    std::uint64_t number = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
  };

  template <auto member>
  void fill(ArrowColumn& column) {
    extend_by<member>(column, rows_);
  }

  ArrowChoice choice_;
  ArrowProcesses processes_;
  BatchCursor cursor_;
  std::vector<Stream> streams_;  // by id; the last one for undeclared ones
  std::map<FrameStreamId, capture::FrameWalk> walks_;
  EventBatch batch_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<ArrowRows> make_sample_rows(const Timeline& timeline, const ArrowQuery& query) {
  return std::make_unique<SampleRows>(timeline, query);
}

std::unique_ptr<ArrowRows> make_frame_rows(const Timeline& timeline, const ArrowQuery& query) {
  return std::make_unique<FrameRows>(timeline, query);
}

}  // namespace kymo::exchange
