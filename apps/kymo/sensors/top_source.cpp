#include "apps/kymo/sensors/top_source.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <kymo/batch_cursor.hpp>

#include "apps/kymo/sensors/process_list.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/system/clock.hpp"
#include "sense/sampler/sensors.hpp"
#include "timeline/replaced.hpp"

namespace kymo::command {

namespace {

/// The sensors of this machine, read by this process.
class MachineSource final : public TopSource {
 public:
  explicit MachineSource(const SensorOptions& options)
      : sensors_(sense::make_sensors(options)), rows_(sensors_.size()), processes_(options.root) {
    if (options.root == "/") {
      gpu_processes_ = std::make_unique<GpuProcessList>();
    }
  }

  void update() override {
    for (std::size_t i = 0; i < sensors_.size(); ++i) {
      sense::Sensor& sensor = *sensors_[i];
      const std::int64_t now_ns = base::monotonic_now_ns();
      sensor.read(now_ns);
      for (std::size_t metric = 0; metric < sensor.metrics().size(); ++metric) {
        if (metric == rows_[i].size()) {
          rows_[i].emplace_back(sensor.metrics()[metric]);
        }
        const sense::Reading& reading = sensor.readings()[metric];
        if (reading.has_value) {
          rows_[i][metric].add(now_ns, reading.value, (reading.flags & SampleRun::stale) != 0);
        }
      }
    }
    constexpr std::size_t most_processes = 200;
    by_cpu_ = processes_.look(most_processes);
    by_gpu_ = gpu_processes_ ? gpu_processes_->look(processes_) : std::vector<TopGpuProcess>();
  }

  [[nodiscard]] TopData data() const override {
    TopData data;
    data.title = "kymo top: this machine";
    for (const std::vector<LiveRow>& rows : rows_) {
      for (const LiveRow& row : rows) {
        if (row.has_value()) {
          data.rows.push_back(&row);
        }
      }
    }
    data.processes = by_cpu_;
    data.gpu_processes = by_gpu_;
    return data;
  }

 private:
  sense::SensorList sensors_;
  std::vector<std::vector<LiveRow>> rows_;  // by sensor and metric
  ProcessList processes_;
  std::unique_ptr<GpuProcessList> gpu_processes_;
  std::vector<TopProcess> by_cpu_;
  std::vector<TopGpuProcess> by_gpu_;
};

/// Captures, followed while they grow.
class CaptureSource final : public TopSource {
 public:
  explicit CaptureSource(const std::vector<std::string>& paths)
      : paths_(paths), timeline_(open_timeline({paths, false})) {
    title_ = "kymo top: " + printable(paths.front(), 40) + (paths.size() > 1 ? " ..." : "");
    begin();
  }

  void update() override {
    if (timeline::is_replaced(timeline_)) {
      go_over();
    }
    timeline_.refresh();
    // By block, since the writers of several captures are not equally far.
    blocks_read_.resize(timeline_.capture_count());
    std::vector<std::size_t> read = blocks_read_;
    BatchCursor cursor(timeline_, range_, BatchParts::samples, [&](std::size_t capture, std::size_t block) {
      if (block < blocks_read_[capture]) {
        return false;
      }
      read[capture] = std::max(read[capture], block + 1);
      return true;
    });
    for (EventBatch batch; cursor.next(batch);) {
      for (const SampleRun& run : batch.samples) {
        take(run);
      }
    }
    blocks_read_ = std::move(read);
  }

  [[nodiscard]] TopData data() const override {
    std::map<ProcessId, std::size_t> rows_of;
    for (const auto& [id, metric] : metrics_) {
      ++rows_of[timeline_.metric(id).process];
    }
    TopData data;
    data.title = title_;
    if (rows_of.size() > 1) {
      for (const auto& [process, count] : rows_of) {
        data.recorded.push_back(recorded(process));
      }
    }
    // Of the many ranks of a job, their rows tell enough.
    constexpr std::size_t most_processes = 4;
    for (const auto& [id, metric] : metrics_) {
      if (metric.row.has_value() && rows_of.size() <= most_processes) {
        data.rows.push_back(&metric.row);
      }
    }
    return data;
  }

  [[nodiscard]] Warnings unread() const override { return find_unread(timeline_); }

 private:
  struct Followed {
    LiveRow row;
    std::int64_t seen_ns = std::numeric_limits<std::int64_t>::min();
  };

  void begin() {
    // The stretch of time in a sparkline.
    constexpr std::int64_t past_ns = 60'000'000'000;
    const TimeRange range = timeline_.range();
    range_.start_ns = range.end_ns - std::min(past_ns, range.end_ns - range.start_ns);
    metrics_.clear();
    blocks_read_.clear();
  }

  /// To the captures that are at the paths now.
  void go_over() {
    try {
      timeline_ = open_timeline({paths_, false});
      begin();
    } catch (const CaptureError&) {
      return;  // no capture yet: its recorder has only just made the file
    }
  }

  void take(const SampleRun& run) {
    // Captures may hold a thousand values per second; a bar of the sparkline covers a tenth of a second.
    constexpr std::int64_t bar_ns = 100'000'000;
    Followed& metric =
        metrics_.try_emplace(run.metric, Followed{LiveRow(timeline_.metric(run.metric), bar_ns)}).first->second;
    for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
      const std::int64_t time_ns = run.times_ns[i];
      if (time_ns <= metric.seen_ns) {
        continue;
      }
      metric.seen_ns = time_ns;
      metric.row.add(time_ns, run.values[i], i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0);
    }
  }

  /// The first row of a process whose metric has one of these names.
  [[nodiscard]] const LiveRow* find(ProcessId process, std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      for (const auto& [id, metric] : metrics_) {
        const MetricDeclaration& declared = timeline_.metric(id);
        if (declared.process == process && declared.name == name && metric.row.has_value()) {
          return &metric.row;
        }
      }
    }
    return nullptr;
  }

  [[nodiscard]] TopRecorded recorded(ProcessId process) const {
    const ProcessDeclaration& declared = timeline_.process(process).declaration;
    const auto quantity = [](const LiveRow* row) {
      return row != nullptr ? format_quantity(row->latest(), row->unit()) : std::string();
    };
    const LiveRow* const cpu = find(process, {"process_cpu"});
    const LiveRow* const frame = find(process, {"frame_ms"});
    return {{printable(declared.rank, 6), std::to_string(declared.pid), printable(declared.host, 16), quantity(cpu),
             quantity(find(process, {"process_rss", "memory_mb"})), quantity(find(process, {"gpu_util"})),
             quantity(find(process, {"gpu_power", "cpu_power", "power"})), quantity(frame)},
            frame != nullptr ? frame : cpu};
  }

  std::vector<std::string> paths_;
  Timeline timeline_;
  std::map<MetricId, Followed> metrics_;
  std::vector<std::size_t> blocks_read_;  // by capture
  TimeRange range_;
  std::string title_;
};

}  // namespace

std::unique_ptr<TopSource> make_machine_source(SensorOptions options) {
  const bool names_some = std::any_of(options.sensors.begin(), options.sensors.end(),
                                      [](const std::string& name) { return name.rfind('-', 0) != 0; });
  if (!names_some) {
    options.sensors.insert(options.sensors.end(), {"-process", "-process_memory", "-threads"});
  }
  return std::make_unique<MachineSource>(options);
}

std::unique_ptr<TopSource> make_capture_source(const std::vector<std::string>& paths) {
  return std::make_unique<CaptureSource>(paths);
}

}  // namespace kymo::command
