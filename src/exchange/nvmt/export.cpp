// From a process's metrics to an NVMT trace. docs/nvmt.md has the table of what becomes what.
#include "exchange/nvmt/export.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "exchange/nvmt/format.hpp"
#include "exchange/nvmt/metric_columns.hpp"
#include "exchange/nvmt/metrics.hpp"

namespace kymo::exchange {
namespace {

/// Rows processed at a time.
constexpr std::size_t window_rows = 16384;
constexpr std::int64_t second_ns = 1'000'000'000;

/// The process whose metrics are exported.
ProcessId choose_process(const Timeline& timeline, const ExportRequest& request) {
  const std::vector<MetricDeclaration>& metrics = timeline.declarations().metrics;
  std::vector<ProcessId> found;
  for (const TimelineProcess& process : timeline.processes()) {
    const ProcessId id = process.declaration.id;
    if ((!request.process || request.process == id) && !find_nvmt_metrics(metrics, process, request.recorder).empty()) {
      found.push_back(id);
    }
  }
  if (found.empty()) {
    throw NvmtError(
        "there are no metrics that NVMT holds (memory_used, cpu_util, gpu_util, voltage, temperature, ...): record "
        "with a sampler, such as kymo record or KYMO_RECORD");
  }
  if (found.size() > 1) {
    throw NvmtError("an NVMT trace holds one machine, and " + std::to_string(found.size()) +
                    " processes sampled theirs: name one capture");
  }
  return found[0];
}

/// A metric's value as an integer, clamped to [0, most]; `fallback` replaces NaN.
template <typename Integer>
Integer to_integer(double value, double fallback, double scale, double most) {
  const double known = std::isnan(value) ? fallback : value;
  const double scaled = std::isnan(known) ? 0 : std::round(known * scale);
  return static_cast<Integer>(std::clamp(scaled, 0.0, most));
}

/// The sample times of one tier and the tolerance for matching values to them.
struct Grid {
  std::vector<std::int64_t> times_ns;
  std::int64_t period_ns = 0;  ///< the median

  /// The time up to which values belong to a row. Values of one tick are read shortly after one another; the next row's
  /// values are excluded.
  [[nodiscard]] std::int64_t limit_ns(std::size_t row) const {
    const std::int64_t gap_ns = row + 1 < times_ns.size() ? times_ns[row + 1] - times_ns[row] : period_ns;
    return times_ns[row] + std::min(period_ns, gap_ns) / 2;
  }
  [[nodiscard]] bool is_repeated(std::size_t row) const {
    return row + 1 < times_ns.size() && times_ns[row + 1] == times_ns[row];
  }
};

Grid make_grid(const Timeline& timeline, MetricId metric) {
  Grid grid;
  if (!metric) {
    return grid;
  }
  MetricSeries series = timeline.series(metric);
  grid.times_ns = std::move(series.times_ns);
  // Keeps sums and differences of times in range. No clock counts this far.
  constexpr std::int64_t most_ns = 4'000'000'000'000'000'000;
  if (!grid.times_ns.empty() && (grid.times_ns.front() < -most_ns || grid.times_ns.back() > most_ns)) {
    throw NvmtError("the times of " + timeline.metric(metric).name + " are out of range; the capture is damaged");
  }
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 0; i + 1 < grid.times_ns.size(); ++i) {
    gaps.push_back(grid.times_ns[i + 1] - grid.times_ns[i]);
  }
  if (!gaps.empty()) {
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    grid.period_ns = *middle;
  }
  return grid;
}

/// A metric's column, and the value used before its first sample. Absent if `metric` is 0.
struct Column {
  std::size_t index = 0;
  double first_known = std::numeric_limits<double>::quiet_NaN();
  bool is_present = false;
  /// From then on until its first sample, the metric has its first value, which is a mean over that time.
  std::int64_t known_from_ns = std::numeric_limits<std::int64_t>::max();
};

class NvmtExporter {
 public:
  NvmtExporter(const Timeline& timeline, ProcessId process, const ExportRequest& request)
      : timeline_(timeline),
        process_(timeline.process(process)),
        on_progress_(request.on_progress),
        metrics_(find_nvmt_metrics(timeline.declarations().metrics, process_, request.recorder)) {
    all_ = metrics_.fast();
    for (const auto& more : {metrics_.medium(), metrics_.slow()}) {
      all_.insert(all_.end(), more.begin(), more.end());
    }
    facts_ = find_sample_facts(timeline, all_);
    const bool has_fast_samples = grid_metric(metrics_.fast(), metrics_.memory_used) != MetricId{};
    keep_cores(metrics_, [&](MetricId core) { return !has_fast_samples || facts_of(core).count != 0; });
    fast_ = make_grid(timeline, grid_metric(metrics_.fast(), metrics_.memory_used));
    medium_ = make_grid(timeline, grid_metric(metrics_.medium(), MetricId{}));
    slow_ = make_grid(timeline, grid_metric(metrics_.slow(), MetricId{}));
    find_start();
    find_sync_points();
  }

  [[nodiscard]] NvmtExportReport report() const {
    return {fast_.times_ns.size(), medium_.times_ns.size(), slow_.times_ns.size(), sync_.size(), metrics_.left_out};
  }

  void write(base::OutputFile& file) {
    put(file, make_header());
    write_fast(file);
    write_medium(file);
    write_slow(file);
    for (const nvmetrics::SyncPoint& point : sync_) {
      put(file, point);
    }
    file.close();
  }

 private:
  template <typename Row>
  static void put(base::OutputFile& file, const Row& row) {
    file.buffer().append(reinterpret_cast<const char*>(&row), sizeof row);
    file.spill();
  }

  /// The metric whose sample times define the tier: `preferred` if it has samples, else the one with most samples.
  [[nodiscard]] MetricId grid_metric(const std::vector<MetricId>& of_tier, MetricId preferred) const {
    MetricId best;
    std::size_t most = 0;
    for (const MetricId metric : of_tier) {
      const std::size_t count = facts_of(metric).count;
      if (count > 0 && metric == preferred) {
        return metric;
      }
      if (count > most) {
        best = metric;
        most = count;
      }
    }
    return best;
  }

  [[nodiscard]] SampleFacts facts_of(MetricId metric) const {
    const auto found = std::find(all_.begin(), all_.end(), metric);
    return found == all_.end() ? SampleFacts{} : facts_[static_cast<std::size_t>(found - all_.begin())];
  }

  void find_start() {
    for (const Grid* const grid : {&slow_, &medium_, &fast_}) {
      start_ns_ = grid->times_ns.empty() ? start_ns_ : grid->times_ns[0];
    }
    if (const std::string* const stated = find_fact(process_, metrics_.recorder, "sampler.start_ns", "start_ns")) {
      char* end = nullptr;
      const long long value = std::strtoll(stated->c_str(), &end, 10);
      // A start later than the samples comes from a sampler that was started again.
      if (end != stated->c_str() && *end == '\0' && value >= 0 && value <= start_ns_ - process_.offset_ns) {
        start_ns_ = value + process_.offset_ns;
      }
    }
  }

  [[nodiscard]] std::uint64_t row_at(std::int64_t time_ns) const {
    const auto first = std::lower_bound(fast_.times_ns.begin(), fast_.times_ns.end(), time_ns);
    return static_cast<std::uint64_t>(first - fast_.times_ns.begin());
  }

  void find_sync_points() {
    if (metrics_.recorder != 0) {
      find_own_sync_points();
      return;
    }
    std::vector<SyncPoint> points;
    for (const SyncPoint& point : timeline_.sync_points()) {
      if (timeline_.track(point.track).process == process_.declaration.id) {
        points.push_back(point);
      }
    }
    const std::uint64_t before = number_before(points);
    for (const SyncPoint& point : points) {
      if (point.number > before || before == 0) {
        sync_.push_back({point.number - before, row_at(point.time_ns)});
      }
    }
  }

  /// Those of a recorder with a number, which are samples of a metric.
  void find_own_sync_points() {
    if (!metrics_.sync) {
      return;
    }
    const MetricSeries series = timeline_.series(metrics_.sync);
    for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
      constexpr double most = 1e15;
      sync_.push_back({to_integer<std::uint64_t>(series.values[i], 0, 1, most), row_at(series.times_ns[i])});
    }
  }

  /// The number before the first sync point of the trace, whose numbers start at 1. A process keeps counting across
  /// captures.
  [[nodiscard]] std::uint64_t number_before(const std::vector<SyncPoint>& points) const {
    if (const std::string* const stated = find_info(process_, "nvmt.sync_base")) {
      return std::strtoull(stated->c_str(), nullptr, 10);
    }
    const std::string* const format = find_info(process_, "import.format");
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const SyncPoint& point : points) {
      least = std::min(least, point.number);
    }
    const bool is_import = format != nullptr && *format == nvmt_source;
    return is_import || points.empty() || least == 0 ? 0 : least - 1;
  }

  [[nodiscard]] std::uint32_t rate(const std::string& key, const Grid& grid) const {
    double hz = 0;
    if (const std::string* const stated = find_fact(process_, metrics_.recorder, "sampler." + key, key)) {
      hz = std::strtod(stated->c_str(), nullptr);
    } else if (grid.period_ns > 0) {
      hz = 1e9 / static_cast<double>(grid.period_ns);
    }
    return to_integer<std::uint32_t>(hz, 0, 1, std::numeric_limits<std::uint32_t>::max());
  }

  [[nodiscard]] nvmetrics::FileHeader make_header() const {
    nvmetrics::FileHeader header{};
    header.magic = nvmetrics::magic;
    header.version = nvmetrics::version;
    const std::string* const board = find_fact(process_, metrics_.recorder, "board", "board");
    set_field(header.board_name, board != nullptr ? std::string_view(*board) : std::string_view("generic"));
    header.num_cpu_cores = static_cast<std::uint8_t>(metrics_.cores);
    header.num_power_rails = static_cast<std::uint8_t>(metrics_.rails.size());
    header.num_thermal_zones = static_cast<std::uint8_t>(metrics_.zones.size());
    header.emc_available = metrics_.emc_util ? 1 : 0;
    header.fast_hz = rate("fast_hz", fast_);
    header.medium_hz = rate("medium_hz", medium_);
    header.slow_hz = rate("slow_hz", slow_);
    header.num_fast_samples = fast_.times_ns.size();
    header.num_medium_samples = medium_.times_ns.size();
    header.num_slow_samples = slow_.times_ns.size();
    header.num_sync_points = sync_.size();
    for (std::size_t i = 0; i < metrics_.rails.size(); ++i) {
      set_field(header.power_rail_names[i], metrics_.rails[i].name);
    }
    for (std::size_t i = 0; i < metrics_.zones.size(); ++i) {
      set_field(header.thermal_zone_names[i], metrics_.zones[i].name);
    }
    return header;
  }

  [[nodiscard]] Column add(MetricColumns& columns, MetricId metric) const {
    if (!metric) {
      return {};
    }
    Column column{columns.add(metric), facts_of(metric).first_known, true};
    // The first window is up to as late as it is long.
    const std::int64_t window_ns = std::clamp(timeline_.metric(metric).window_ns, std::int64_t{0}, second_ns);
    if (window_ns != 0 && !std::isnan(column.first_known)) {
      column.known_from_ns = facts_of(metric).first_known_ns - 2 * window_ns;
    }
    return column;
  }

  [[nodiscard]] float real(const MetricColumns& columns, const Column& column) const {
    if (!column.is_present) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    const bool is_before_first = std::isnan(columns.known(column.index)) && row_ns_ >= column.known_from_ns;
    return static_cast<float>(is_before_first ? column.first_known : columns.value(column.index));
  }
  template <typename Integer>
  [[nodiscard]] static Integer whole(const MetricColumns& columns, const Column& column, double scale, double most) {
    return column.is_present ? to_integer<Integer>(columns.known(column.index), column.first_known, scale, most)
                             : Integer{0};
  }

  /// Calls row(index, time in seconds) for each row of a tier after moving the columns there.
  template <typename Row>
  void walk(const Grid& grid, MetricColumns& columns, MetricId time_metric, Row row) {
    const Column exact = add(columns, time_metric);
    for (std::size_t begin = 0; begin < grid.times_ns.size(); begin += window_rows) {
      const std::size_t end = std::min(begin + window_rows, grid.times_ns.size());
      columns.load(grid.limit_ns(end - 1));
      for (std::size_t i = begin; i < end; ++i) {
        if (grid.is_repeated(i)) {
          columns.advance(grid.limit_ns(i), grid.times_ns[i]);
        } else {
          columns.advance(grid.limit_ns(i));
        }
        row_ns_ = grid.times_ns[i];
        const double time_s = static_cast<double>(row_ns_ - start_ns_) / 1e9;
        row(exact.is_present ? columns.value(exact.index) : time_s);
      }
      done_ += end - begin;
      if (on_progress_) {
        const std::size_t all = fast_.times_ns.size() + medium_.times_ns.size() + slow_.times_ns.size();
        on_progress_(static_cast<double>(done_) / static_cast<double>(all));
      }
    }
  }

  void write_fast(base::OutputFile& file) {
    MetricColumns columns(timeline_);
    const Column gpu = add(columns, metrics_.gpu_util);
    std::vector<Column> cores;
    for (unsigned core = 0; core < metrics_.cores; ++core) {
      cores.push_back(add(columns, metrics_.cpu_util[core]));
    }
    const Column aggregate = add(columns, metrics_.cpu_aggregate);
    const Column used = add(columns, metrics_.memory_used);
    const Column available = add(columns, metrics_.memory_available);
    const Column emc = add(columns, metrics_.emc_util);
    constexpr double most_kb = 1e15;
    walk(fast_, columns, metrics_.fast_time, [&](double time_s) {
      nvmetrics::FastSample sample{};
      sample.time_s = time_s;
      sample.gpu_load = whole<std::uint16_t>(columns, gpu, 10, 1000);
      for (std::size_t core = 0; core < cores.size(); ++core) {
        sample.cpu_util[core] = real(columns, cores[core]);
      }
      sample.cpu_aggregate = real(columns, aggregate);
      sample.ram_used_kb = whole<std::uint64_t>(columns, used, 1.0 / 1024, most_kb);
      sample.ram_available_kb = whole<std::uint64_t>(columns, available, 1.0 / 1024, most_kb);
      const float emc_util = real(columns, emc);
      sample.emc_util = std::isnan(emc_util) ? -1.0F : emc_util;
      put(file, sample);
    });
  }

  void write_medium(base::OutputFile& file) {
    struct RailColumns {
      Column voltage;
      Column current;
      Column power;
    };
    MetricColumns columns(timeline_);
    std::vector<RailColumns> rails;
    for (const NvmtRail& rail : metrics_.rails) {
      rails.push_back({add(columns, rail.voltage), add(columns, rail.current), add(columns, rail.power)});
    }
    constexpr double most = std::numeric_limits<std::uint32_t>::max();
    walk(medium_, columns, metrics_.medium_time, [&](double time_s) {
      nvmetrics::MediumSample sample{};
      sample.time_s = time_s;
      for (std::size_t i = 0; i < rails.size(); ++i) {
        const RailColumns& rail = rails[i];
        sample.voltage_mv[i] = whole<std::uint32_t>(columns, rail.voltage, 1000, most);
        sample.current_ma[i] = whole<std::uint32_t>(columns, rail.current, 1000, most);
        sample.power_mw[i] = power_mw(columns, rail.voltage, rail.current, rail.power, sample, i);
      }
      put(file, sample);
    });
  }

  /// The power of a rail: an imported file's own value, NaN if one of the factors could not be read, else their
  /// product.
  [[nodiscard]] float power_mw(const MetricColumns& columns, const Column& voltage, const Column& current,
                               const Column& power, const nvmetrics::MediumSample& sample, std::size_t rail) const {
    if (power.is_present) {
      return static_cast<float>(columns.value(power.index) * 1000);
    }
    if (std::isnan(real(columns, voltage)) || std::isnan(real(columns, current))) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    return static_cast<float>(sample.voltage_mv[rail]) * static_cast<float>(sample.current_ma[rail]) / 1000.0F;
  }

  void write_slow(base::OutputFile& file) {
    MetricColumns columns(timeline_);
    std::vector<Column> zones;
    for (const NvmtZone& zone : metrics_.zones) {
      zones.push_back(add(columns, zone.temperature));
    }
    walk(slow_, columns, metrics_.slow_time, [&](double time_s) {
      nvmetrics::SlowSample sample{};
      sample.time_s = time_s;
      for (std::size_t i = 0; i < zones.size(); ++i) {
        sample.temp_c[i] = real(columns, zones[i]);
      }
      put(file, sample);
    });
  }

  const Timeline& timeline_;
  const TimelineProcess& process_;
  const std::function<void(double)>& on_progress_;
  NvmtMetrics metrics_;
  std::vector<MetricId> all_;
  std::vector<SampleFacts> facts_;  // of all_
  Grid fast_;
  Grid medium_;
  Grid slow_;
  std::vector<nvmetrics::SyncPoint> sync_;
  std::int64_t start_ns_ = 0;
  std::int64_t row_ns_ = 0;  // the time of the current row
  std::size_t done_ = 0;
};

}  // namespace

NvmtExportReport report_nvmt(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  NvmtExporter exporter(timeline, choose_process(timeline, request), request);
  exporter.write(file);
  return exporter.report();
}

std::vector<std::string> write_nvmt(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  return report_nvmt(timeline, std::move(file), request).left_out;
}

}  // namespace kymo::exchange
