// kymo top: shows live metrics of this machine or of growing captures.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <kymo/batch_cursor.hpp>
#include <kymo/sampler.hpp>

#include "apps/kymo/sensors/live_table.hpp"
#include "apps/kymo/sensors/terminal.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "base/system/clock.hpp"
#include "sense/sampler/sensors.hpp"
#include "sense/sampler/stop_signal.hpp"

namespace kymo::command {

namespace {

struct TopOptions {
  std::vector<std::string> paths;
  SensorOptions sensors;
  double interval_s = 1;
  std::uint64_t count = 0;  ///< 0: runs until ended, or once if the output is not a terminal
};

/// A source of values.
class LiveSource {
 public:
  LiveSource() = default;
  LiveSource(const LiveSource&) = delete;
  LiveSource& operator=(const LiveSource&) = delete;
  virtual ~LiveSource() = default;
  /// Takes new values.
  virtual void update() = 0;
  /// The display as lines of that many columns.
  [[nodiscard]] virtual std::string lines(std::size_t width) const = 0;
};

/// The sensors of this machine, read by this process.
class MachineSource final : public LiveSource {
 public:
  explicit MachineSource(const SensorOptions& options)
      : sensors_(sense::make_sensors(options)), rows_(sensors_.size()) {}

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
  }

  [[nodiscard]] std::string lines(std::size_t width) const override {
    std::vector<const LiveRow*> shown;
    for (const std::vector<LiveRow>& rows : rows_) {
      for (const LiveRow& row : rows) {
        if (row.has_value()) {
          shown.push_back(&row);
        }
      }
    }
    return format_rows(shown, width);
  }

 private:
  sense::SensorList sensors_;
  std::vector<std::vector<LiveRow>> rows_;  // by sensor and metric
};

/// Captures, followed while they grow.
class CaptureSource final : public LiveSource {
 public:
  explicit CaptureSource(const std::vector<std::string>& paths) : timeline_(open_timeline({paths, false})) {
    // The stretch of time in a sparkline.
    constexpr std::int64_t past_ns = 60'000'000'000;
    const TimeRange range = timeline_.range();
    seen_ns_ = range.end_ns - std::min(past_ns, range.end_ns - range.start_ns);
  }

  void update() override {
    timeline_.refresh();
    std::int64_t latest_ns = seen_ns_;
    BatchCursor cursor(timeline_, {seen_ns_, TimeRange().end_ns}, BatchParts::samples);
    for (EventBatch batch; cursor.next(batch);) {
      for (const SampleRun& run : batch.samples) {
        take(run, latest_ns);
      }
    }
    seen_ns_ = latest_ns;
  }

  [[nodiscard]] std::string lines(std::size_t width) const override {
    std::map<ProcessId, std::size_t> rows_of;
    for (const auto& [id, metric] : metrics_) {
      ++rows_of[timeline_.metric(id).process];
    }
    return rows_of.size() > 1 ? process_lines(rows_of, width) : metric_lines(width);
  }

 private:
  struct Followed {
    LiveRow row;
    std::int64_t seen_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t shown_ns = std::numeric_limits<std::int64_t>::min();
  };

  void take(const SampleRun& run, std::int64_t& latest_ns) {
    // Captures may hold a thousand values per second; a bar of the sparkline covers a tenth of a second.
    constexpr std::int64_t bar_ns = 100'000'000;
    const auto [found, is_new] = metrics_.try_emplace(run.metric, Followed{LiveRow(timeline_.metric(run.metric))});
    Followed& metric = found->second;
    for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
      const std::int64_t time_ns = run.times_ns[i];
      if (time_ns <= metric.seen_ns) {
        continue;
      }
      metric.seen_ns = time_ns;
      latest_ns = std::max(latest_ns, time_ns);
      if (time_ns - bar_ns >= metric.shown_ns || is_new) {
        metric.shown_ns = time_ns;
        metric.row.add(time_ns, run.values[i], i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0);
      }
    }
  }

  [[nodiscard]] std::string metric_lines(std::size_t width) const {
    std::vector<const LiveRow*> shown;
    for (const auto& [id, metric] : metrics_) {
      if (metric.row.has_value()) {
        shown.push_back(&metric.row);
      }
    }
    return format_rows(shown, width);
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

  [[nodiscard]] std::string process_lines(const std::map<ProcessId, std::size_t>& processes, std::size_t width) const {
    std::string lines = fmt::format("{:>6} {:>8} {:<16} {:>10} {:>10} {:>9} {:>9} {:>11}\n", "rank", "process", "host",
                                    "cpu", "memory", "gpu", "power", "frame");
    const std::size_t spark = width > 96 ? width - 88 : 8;
    for (const auto& [process, count] : processes) {
      const ProcessDeclaration& declared = timeline_.process(process).declaration;
      const auto quantity = [](const LiveRow* row) {
        return row != nullptr ? format_quantity(row->latest(), row->unit()) : std::string("-");
      };
      const LiveRow* const cpu = find(process, {"process_cpu"});
      const LiveRow* const frame = find(process, {"frame_ms"});
      const LiveRow* const drawn = frame != nullptr ? frame : cpu;
      lines += fmt::format("{:>6} {:>8} {:<16} {:>10} {:>10} {:>9} {:>9} {:>11}  {}\n",
                           declared.rank.empty() ? "-" : printable(declared.rank, 6), declared.pid,
                           printable(declared.host, 16), quantity(cpu),
                           quantity(find(process, {"process_rss", "memory_mb"})), quantity(find(process, {"gpu_util"})),
                           quantity(find(process, {"gpu_power", "cpu_power", "power"})), quantity(frame),
                           drawn != nullptr ? drawn->sparkline(spark) : "");
    }
    return lines;
  }

  Timeline timeline_;
  std::map<MetricId, Followed> metrics_;
  std::int64_t seen_ns_ = 0;
};

/// Removes the first lines after the titles.
std::string scrolled(const std::string& lines, std::size_t rows) {
  const std::size_t titles = lines.find('\n') + 1;
  std::size_t begin = titles;
  for (; rows > 0 && begin < lines.size(); --rows) {
    begin = std::min(lines.find('\n', begin), lines.size() - 1) + 1;
  }
  return lines.substr(0, titles) + lines.substr(begin);
}

void watch(LiveSource& source, const TopOptions& options, const std::string& title) {
  Terminal terminal;
  const auto interval = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(options.interval_s));
  std::size_t scroll = 0;
  for (std::uint64_t shown = 0; options.count == 0 || shown < options.count; ++shown) {
    const auto next = std::chrono::steady_clock::now() + interval;
    source.update();
    for (auto now = std::chrono::steady_clock::now(); now < next; now = std::chrono::steady_clock::now()) {
      const auto width = static_cast<std::size_t>(Terminal::size().columns);
      const std::string lines = source.lines(width);
      const auto rows = static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
      scroll = std::min(scroll, rows > 0 ? rows - 1 : 0);
      terminal.draw(title + "   q ends, up and down scroll, ~ marks what is stale\n" + scrolled(lines, scroll));
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
      switch (terminal.wait(left)) {
        case Terminal::Input::quit:
          return;
        case Terminal::Input::up:
          scroll -= scroll > 0 ? 1 : 0;
          break;
        case Terminal::Input::down:
          ++scroll;
          break;
        case Terminal::Input::resized:
        case Terminal::Input::none:
          break;
      }
    }
  }
}

void print(LiveSource& source, const TopOptions& options) {
  // Rates need two reads.
  source.update();
  for (std::uint64_t shown = 0; shown < std::max<std::uint64_t>(options.count, 1); ++shown) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
    source.update();
    fmt::print("{}{}", shown == 0 ? "" : "\n", source.lines(100));
    std::fflush(stdout);
  }
}

int run(const TopOptions& options) {
  std::unique_ptr<LiveSource> source;
  std::string title = "kymo top: this machine";
  if (options.paths.empty()) {
    source = std::make_unique<MachineSource>(options.sensors);
  } else {
    source = std::make_unique<CaptureSource>(options.paths);
    title = "kymo top: " + printable(options.paths.front(), 40) + (options.paths.size() > 1 ? " ..." : "");
  }
  if (Terminal::is_there()) {
    watch(*source, options, title);
  } else {
    print(*source, options);
  }
  return to_int(ExitCode::ok);
}

}  // namespace

void add_top_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<TopOptions>();
  CLI::App* const command =
      app.add_subcommand("top", "Shows live metrics of this machine, or of captures while they grow");
  command->add_option("CAPTURE", options->paths, "Captures or directories of captures; none: this machine");
  command->add_option("-i,--interval", options->interval_s, "Seconds between two looks (1)")
      ->option_text("SECONDS")
      ->check(CLI::Range(0.05, 3600.0));
  command->add_option("-n,--count", options->count, "End after so many looks; without a terminal 1 is the default")
      ->option_text("N");
  add_sensor_arguments(*command, options->sensors);
  command->footer(
      "Of several processes, such as the ranks of a job that record into one directory, each has one row.\n\n"
      "Examples:\n"
      "  kymo top\n"
      "  kymo top --sensors cpu,memory -i 0.2\n"
      "  kymo top captures/");
  command->callback([options, &exit_code] { exit_code = run_checked([&] { return run(*options); }); });
}

}  // namespace kymo::command
