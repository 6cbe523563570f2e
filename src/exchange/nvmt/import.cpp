#include "exchange/nvmt/import.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "exchange/import/new_capture.hpp"
#include "exchange/nvmt/metrics.hpp"

namespace kymo::exchange {
namespace {

using nvmetrics::FastSample;
using nvmetrics::FileHeader;
using nvmetrics::MediumSample;
using nvmetrics::SlowSample;

/// Maximum rows of a tier in one batch.
constexpr std::size_t batch_rows = 4096;

constexpr TrackId sync_track{1};

double to_seconds(std::int64_t time_ns) {
  return static_cast<double>(time_ns) / 1e9;
}

/// The decimal number with that many parts that a float represents, if there is one: 45.1 rather than 45.0999985. It
/// converts back to the same float.
double tidy(float value, double parts) {
  const double rounded = std::round(static_cast<double>(value) * parts) / parts;
  return static_cast<float>(rounded) == value ? rounded : static_cast<double>(value);
}

/// The rows of one tier and their times in nanoseconds.
template <typename Row>
class Tier {
 public:
  Tier(const std::vector<Row>& rows, const char* tier, const std::string& file) : rows_(rows) {
    times_ns_.reserve(rows.size());
    for (const Row& row : rows) {
      // About a century. A double of seconds is far coarser than nanoseconds up there.
      constexpr double most_s = 3.2e9;
      const double time_s = row.time_s;
      if (!(std::abs(time_s) <= most_s)) {
        throw NvmtError(describe(file, tier) + " has no time that makes sense");
      }
      const std::int64_t time_ns = std::llround(time_s * 1e9);
      if (!times_ns_.empty() && time_ns < times_ns_.back()) {
        throw NvmtError(describe(file, tier) + " is earlier than the one before it");
      }
      times_ns_.push_back(time_ns);
      is_exact_ = is_exact_ && to_seconds(time_ns) == time_s && !(time_s == 0 && std::signbit(time_s));
    }
  }

  [[nodiscard]] const std::vector<std::int64_t>& times_ns() const { return times_ns_; }
  /// Whether nanoseconds reproduce the file's times to the last bit.
  [[nodiscard]] bool is_exact() const { return is_exact_; }

  /// Where the next batch has to end to stay within the maximum of rows.
  [[nodiscard]] std::int64_t next_cut_ns() const {
    return next_ + batch_rows < rows_.size() ? times_ns_[next_ + batch_rows] : std::numeric_limits<std::int64_t>::max();
  }
  [[nodiscard]] bool at_end() const { return next_ == rows_.size(); }

  /// Takes the rows before a time, or up to and including it; a batch's maximum at most.
  std::span<const Row> take(std::int64_t cut_ns, bool takes_equal) {
    taken_ = next_;
    const std::size_t limit = std::min(next_ + batch_rows, rows_.size());
    while (next_ < limit && (times_ns_[next_] < cut_ns || (takes_equal && times_ns_[next_] == cut_ns))) {
      ++next_;
    }
    return std::span(rows_).subspan(taken_, next_ - taken_);
  }
  /// The times of the rows taken last.
  [[nodiscard]] std::span<const std::int64_t> taken_times_ns() const {
    return std::span(times_ns_).subspan(taken_, next_ - taken_);
  }

 private:
  [[nodiscard]] std::string describe(const std::string& file, const char* tier) const {
    return file + ": " + tier + " sample " + std::to_string(times_ns_.size());
  }

  const std::vector<Row>& rows_;
  std::vector<std::int64_t> times_ns_;
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
  bool is_exact_ = true;
};

/// One column of a tier: its metric and how to compute its values from the rows.
template <typename Row>
struct Source {
  MetricId metric;
  std::function<double(const Row&)> value;
};

/// The metrics of a trace.
class Metrics {
 public:
  Metrics(const FileHeader& header, bool is_fast_exact, bool is_medium_exact, bool is_slow_exact) {
    add_fast(header);
    add_medium(header);
    add_slow(header);
    add_times(fast_, "fast", is_fast_exact);
    add_times(medium_, "medium", is_medium_exact);
    add_times(slow_, "slow", is_slow_exact);
  }

  [[nodiscard]] const std::vector<MetricDeclaration>& declarations() const { return declarations_; }
  [[nodiscard]] const std::vector<Source<FastSample>>& fast() const { return fast_; }
  [[nodiscard]] const std::vector<Source<MediumSample>>& medium() const { return medium_; }
  [[nodiscard]] const std::vector<Source<SlowSample>>& slow() const { return slow_; }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  struct Form {
    const char* name;
    const char* unit;
    double step;
    Labels labels{};
  };
  template <typename Row, typename Value>
  MetricDeclaration& add(std::vector<Source<Row>>& sources, Form form, Value value) {
    MetricDeclaration& metric = declarations_.emplace_back();
    metric.id = MetricId{static_cast<std::uint32_t>(declarations_.size())};
    metric.name = form.name;
    metric.unit = form.unit;
    metric.source = nvmt_source;
    metric.labels = std::move(form.labels);
    metric.step = form.step;
    sources.push_back({metric.id, std::move(value)});
    return metric;
  }

  void add_fast(const FileHeader& header) {
    using Row = FastSample;
    add(fast_, {"memory_used", "B", 1024}, [](const Row& row) { return static_cast<double>(row.ram_used_kb) * 1024; });
    add(fast_, {"memory_available", "B", 1024},
        [](const Row& row) { return static_cast<double>(row.ram_available_kb) * 1024; });
    add(fast_, {"gpu_util", "%", 0.1}, [](const Row& row) { return static_cast<double>(row.gpu_load) / 10; });
    add(fast_, {"cpu_util", "%", 0}, [](const Row& row) { return tidy(row.cpu_aggregate, 100); });
    for (std::size_t core = 0; core < header.num_cpu_cores; ++core) {
      add(fast_, {"cpu_util", "%", 0, {{"core", std::to_string(core)}}},
          [core](const Row& row) { return tidy(row.cpu_util[core], 100); });
    }
    if (header.emc_available != 0) {
      add(fast_, {"emc_util", "%", 0}, [](const Row& row) {
        const float value = row.emc_util;
        return value == -1 ? std::numeric_limits<double>::quiet_NaN() : tidy(value, 100);
      });
    }
  }

  void add_medium(const FileHeader& header) {
    for (std::size_t i = 0; i < header.num_power_rails; ++i) {
      const std::string name(field_text(header.power_rail_names[i]));
      // The module's input rail feeds the other rails.
      const std::uint32_t traits = name == "VDD_IN" ? MetricDeclaration::total : 0;
      using Row = MediumSample;
      add(medium_, {"voltage", "V", 0.001, {{"rail", name}}},
          [i](const Row& row) { return static_cast<double>(row.voltage_mv[i]) / 1000; });
      add(medium_, {"current", "A", 0.001, {{"rail", name}}}, [i](const Row& row) {
        return static_cast<double>(row.current_ma[i]) / 1000;
      }).traits = traits;
      add(medium_, {"power", "W", 0, {{"rail", name}}}, [i](const Row& row) {
        return static_cast<double>(row.power_mw[i]) / 1000;
      }).traits = traits;
    }
  }

  void add_slow(const FileHeader& header) {
    for (std::size_t i = 0; i < header.num_thermal_zones; ++i) {
      add(slow_, {"temperature", "C", 0.001, {{"zone", std::string(field_text(header.thermal_zone_names[i]))}}},
          [i](const SlowSample& row) { return tidy(row.temp_c[i], 1000); });
    }
  }

  template <typename Row>
  void add_times(std::vector<Source<Row>>& sources, const char* tier, bool is_exact) {
    if (!is_exact) {
      add(sources, {nvmt_time_metric, "s", 0, {{"tier", tier}}}, [](const Row& row) { return row.time_s; });
    }
  }

  std::vector<MetricDeclaration> declarations_;
  std::vector<Source<FastSample>> fast_;
  std::vector<Source<MediumSample>> medium_;
  std::vector<Source<SlowSample>> slow_;
};

template <typename Row>
void append_samples(Tier<Row>& tier, std::int64_t cut_ns, bool takes_equal, const std::vector<Source<Row>>& sources,
                    EventBatch& batch) {
  const std::span<const Row> rows = tier.take(cut_ns, takes_equal);
  if (rows.empty()) {
    return;
  }
  const std::span<const std::int64_t> times_ns = tier.taken_times_ns();
  batch.start_ns = std::min(batch.start_ns, times_ns.front());
  batch.end_ns = std::max(batch.end_ns, times_ns.back());
  for (const Source<Row>& source : sources) {
    SampleRun& run = batch.samples.emplace_back();
    run.metric = source.metric;
    run.times_ns.assign(times_ns.begin(), times_ns.end());
    run.values.reserve(rows.size());
    for (const Row& row : rows) {
      run.values.push_back(source.value(row));
    }
  }
}

/// Times for sync points: the first fast sample after each, or just after the last sample.
std::vector<SyncPoint> place_sync_points(const std::vector<nvmetrics::SyncPoint>& points,
                                         const std::vector<std::int64_t>& fast_ns) {
  const std::int64_t end_ns = fast_ns.empty() ? 0 : fast_ns.back() + 1;
  std::vector<SyncPoint> placed;
  placed.reserve(points.size());
  for (const nvmetrics::SyncPoint& point : points) {
    const std::uint64_t index = point.fast_sample_idx;
    placed.push_back(
        {point.sync_id, sync_track, index < fast_ns.size() ? fast_ns[static_cast<std::size_t>(index)] : end_ns});
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const SyncPoint& a, const SyncPoint& b) { return a.time_ns < b.time_ns; });
  return placed;
}

/// Whether the placed sync points reproduce the file's.
bool tell_sync_points(const std::vector<SyncPoint>& placed, const std::vector<nvmetrics::SyncPoint>& points,
                      const std::vector<std::int64_t>& fast_ns) {
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto first = std::lower_bound(fast_ns.begin(), fast_ns.end(), placed[i].time_ns);
    if (placed[i].number != points[i].sync_id ||
        static_cast<std::uint64_t>(first - fast_ns.begin()) != points[i].fast_sample_idx) {
      return false;
    }
  }
  return true;
}

bool is_zero(std::span<const char> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

/// Whether a name's field looks as an export would write it.
bool is_plain_field(std::span<const char> field) {
  const std::string_view text = field_text(field);
  return text.size() < field.size() && is_zero(field.subspan(text.size()));
}

/// The same for all fields of a header: those of `used` names and the unused ones.
template <std::size_t Count, std::size_t Size>
bool are_plain_fields(const char (&fields)[Count][Size], std::size_t used) {  // NOLINT(modernize-avoid-c-arrays)
  for (std::size_t i = 0; i < Count; ++i) {
    if (i < used ? !is_plain_field(fields[i]) : !is_zero(fields[i])) {
      return false;
    }
  }
  return true;
}

bool is_plain_header(const FileHeader& header) {
  return is_plain_field(header.board_name) && are_plain_fields(header.power_rail_names, header.num_power_rails) &&
         are_plain_fields(header.thermal_zone_names, header.num_thermal_zones) && header.emc_available <= 1 &&
         std::all_of(std::begin(header.reserved), std::end(header.reserved), [](auto byte) { return byte == 0; });
}

bool is_zero_float(float value) {
  return value == 0 && !std::signbit(value);
}

/// The parts of a trace's header and columns that a capture does not preserve, in words.
std::vector<std::string> find_losses(const NvmtTrace& trace) {
  const FileHeader& header = trace.header;
  bool has_more_columns = false;
  bool has_high_load = false;
  bool has_large_memory = false;
  bool has_odd_emc = false;
  for (const FastSample& row : trace.fast) {
    for (std::size_t core = header.num_cpu_cores; core < nvmetrics::max_cpu_cores; ++core) {
      has_more_columns |= !is_zero_float(row.cpu_util[core]);
    }
    constexpr std::uint64_t most_kb = 1'000'000'000'000'000;
    const float emc = row.emc_util;
    has_high_load |= row.gpu_load > 1000;
    has_large_memory |= row.ram_used_kb > most_kb || row.ram_available_kb > most_kb;
    has_odd_emc |= header.emc_available == 0 ? emc != -1 : std::isnan(emc);
  }
  for (const MediumSample& row : trace.medium) {
    for (std::size_t i = header.num_power_rails; i < nvmetrics::max_power_rails; ++i) {
      has_more_columns |= row.voltage_mv[i] != 0 || row.current_ma[i] != 0 || !is_zero_float(row.power_mw[i]);
    }
  }
  for (const SlowSample& row : trace.slow) {
    for (std::size_t i = header.num_thermal_zones; i < nvmetrics::max_thermal_zones; ++i) {
      has_more_columns |= !is_zero_float(row.temp_c[i]);
    }
  }
  const std::pair<bool, const char*> found[] = {
      {!is_plain_header(header), "bytes of the header that mean nothing"},
      {has_more_columns, "values of cores, rails or zones beyond those that the header counts"},
      {has_high_load, "gpu_load above 1000"},
      {has_large_memory, "memory sizes above 10^15 kB"},
      {has_odd_emc, "emc_util that is not -1 where it is not available"},
  };
  std::vector<std::string> losses;
  for (const auto& [is_lost, what] : found) {
    if (is_lost) {
      losses.emplace_back(what);
    }
  }
  return losses;
}

Declarations make_declarations(const NvmtTrace& trace, const std::string& name, const Metrics& metrics) {
  Declarations declarations;
  ProcessDeclaration process;
  process.id = ProcessId{1};
  declarations.processes.push_back(process);
  const FileHeader& header = trace.header;
  const std::pair<const char*, std::string> infos[] = {
      {"import.format", "nvmt"},
      {"import.file", name},
      {"board", std::string(field_text(header.board_name))},
      {"sampler.fast_hz", std::to_string(header.fast_hz)},
      {"sampler.medium_hz", std::to_string(header.medium_hz)},
      {"sampler.slow_hz", std::to_string(header.slow_hz)},
      {"sampler.start_ns", "0"},
  };
  for (const auto& [key, value] : infos) {
    declarations.infos.push_back({ProcessId{1}, key, value});
  }
  declarations.tracks.push_back({sync_track, TrackKind::thread, ProcessId{1}, 0, "nvmt"});
  declarations.metrics = metrics.declarations();
  return declarations;
}

}  // namespace

NvmtImportReport import_nvmt(const NvmtTrace& trace, const std::string& name, const std::string& path) {
  Tier<FastSample> fast(trace.fast, "fast", name);
  Tier<MediumSample> medium(trace.medium, "medium", name);
  Tier<SlowSample> slow(trace.slow, "slow", name);
  const Metrics metrics(trace.header, fast.is_exact(), medium.is_exact(), slow.is_exact());
  const std::vector<SyncPoint> sync = place_sync_points(trace.sync, fast.times_ns());
  std::size_t next_sync = 0;

  NvmtImportReport report;
  report.losses = find_losses(trace);
  if (!tell_sync_points(sync, trace.sync, fast.times_ns())) {
    report.losses.emplace_back(
        "sync points that are out of order, beyond the last sample or between samples of one time");
  }
  NewCapture writer(path, make_declarations(trace, name, metrics));
  report.output = writer.path();
  while (!fast.at_end() || !medium.at_end() || !slow.at_end() || next_sync < sync.size()) {
    EventBatch batch;
    batch.start_ns = std::numeric_limits<std::int64_t>::max();
    batch.end_ns = std::numeric_limits<std::int64_t>::min();
    const std::int64_t cut_ns = std::min({fast.next_cut_ns(), medium.next_cut_ns(), slow.next_cut_ns()});
    // If nothing is earlier than the cut, more rows share its time than fit a batch.
    for (const bool takes_equal : {false, true}) {
      if (batch.samples.empty()) {
        append_samples(fast, cut_ns, takes_equal, metrics.fast(), batch);
        append_samples(medium, cut_ns, takes_equal, metrics.medium(), batch);
        append_samples(slow, cut_ns, takes_equal, metrics.slow(), batch);
      }
    }
    const bool is_last = fast.at_end() && medium.at_end() && slow.at_end();
    while (next_sync < sync.size() && batch.sync_points.size() < batch_rows &&
           (is_last || sync[next_sync].time_ns <= batch.end_ns)) {
      batch.start_ns = std::min(batch.start_ns, sync[next_sync].time_ns);
      batch.end_ns = std::max(batch.end_ns, sync[next_sync].time_ns);
      batch.sync_points.push_back(sync[next_sync++]);
    }
    writer.write(batch);
  }
  writer.finish();
  return report;
}

}  // namespace kymo::exchange
