// CPU load and scheduler statistics by /proc/stat. Times are ticks of 10 ms; each core that is online has a line:
//
//            user    nice  system idle    iowait irq softirq steal guest guest_nice
//     cpu    3308468 48117 459693 1362223 6914   0   895     3281  0     0
//     cpu0   1622551 17415 235612 716422  2193   0   136     1663  0     0
//     cpu1   1685916 30701 224081 645800  4720   0   759     1618  0     0
//     intr   14673844 0 0 ...                                                  may be kilobytes
//     ctxt   23377504
//     procs_running 1
//     procs_blocked 0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"
#include "sense/sources/device_table.hpp"

namespace kymo::sense {

namespace {

/// /proc/stat, read once for all sensors that use it at about the same time.
///
/// The kernel generates the whole file at each read, including counters of all interrupts, even if only a part is
/// needed. On a large machine this is the most expensive source of all. Thread safe and never blocks.
class StatFile {
 public:
  explicit StatFile(std::string path) : file_(std::move(path), capacity_) {}

  /// Calls `use(text, time_ns)` with the file's content, at most `most_age_ns` old at `now_ns`, and its time. Reads the
  /// file if the known content is older. The text is valid during the call and empty if the file could not be read.
  /// Returns false without a call if another thread is using it.
  template <typename Use>
  bool read(std::int64_t now_ns, std::int64_t most_age_ns, const Use& use) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      return false;
    }
    if (time_ns_ == 0 || now_ns < time_ns_ || now_ns - time_ns_ > most_age_ns) {
      read_anew(now_ns);
    }
    use(text_, time_ns_);
    return true;
  }

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  /// The file, for `use` to look up its error.
  [[nodiscard]] const SourceFile& file() const { return file_; }

 private:
  void read_anew(std::int64_t now_ns) {
    constexpr std::size_t most_bytes = 1024 * 1024;
    text_ = file_.read();
    while (text_.size() == capacity_ && capacity_ < most_bytes) {
      capacity_ *= 4;
      file_ = SourceFile(file_.path(), capacity_);
      text_ = file_.read();
    }
    // After a failure the next caller reads again.
    time_ns_ = text_.empty() ? 0 : now_ns;
  }

  std::mutex mutex_;
  std::size_t capacity_ = 16 * 1024;
  SourceFile file_;
  std::string_view text_;  // in the file's buffer
  std::int64_t time_ns_ = 0;
};

/// Counters of one core, in ticks.
struct Ticks {
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;
  std::uint64_t iowait = 0;
  std::uint64_t steal = 0;
};

/// The counters after a line's name. Guests are included in user and nice. Old kernels have fewer than eight columns.
bool parse_ticks(std::string_view line, Ticks& ticks) {
  constexpr std::size_t least_columns = 4;
  constexpr std::uint64_t most_ticks = std::uint64_t{1} << 53;
  std::array<std::uint64_t, 8> columns{};
  TextCursor cursor(line);
  std::size_t count = 0;
  for (; count < columns.size(); ++count) {
    const auto number = cursor.number();
    if (!number || *number > most_ticks) {
      break;
    }
    columns[count] = *number;
  }
  cursor.skip_blanks();
  if (count < least_columns || (count < columns.size() && !cursor.at_end())) {
    return false;
  }
  const auto [user, nice, system, idle, iowait, irq, softirq, steal] = columns;
  ticks = {user + nice + system + irq + softirq + steal, idle, iowait, steal};
  return true;
}

/// The time shares of cores in a window, in ticks.
struct Shares {
  double busy = 0;
  double iowait = 0;
  double steal = 0;
  double all = 0;

  Shares& operator+=(const Shares& other) {
    busy += other.busy;
    iowait += other.iowait;
    steal += other.steal;
    all += other.all;
    return *this;
  }
};

// Uses ticks rather than cpuidle's residency times. These are finer but less reliable: the kernel adds a sleep only
// when the core wakes, so a core that sleeps through the window reads as busy. They also cost a read per state and
// core. Tickless kernels with cpuidle keep the idle column in nanoseconds and include the ongoing sleep.
class CpuSensor final : public Sensor {
 public:
  explicit CpuSensor(std::shared_ptr<StatFile> stat) : Sensor("cpu", Tier::fast), stat_(std::move(stat)) {
    stat_->read(0, 0, [this](std::string_view text, std::int64_t) {
      std::size_t cores = 0;
      for (std::size_t at = text.find("\ncpu"); at != std::string_view::npos; at = text.find("\ncpu", at + 1)) {
        ++cores;
      }
      const double step = core_step / static_cast<double>(std::max<std::size_t>(cores, 1));
      add_share("cpu_util", step, MetricDeclaration::total);
      add_share("cpu_iowait", step, 0);
      add_share("cpu_steal", step, 0);
      take(text);
    });
    forget();
  }

 private:
  static constexpr std::int64_t tick_ns = 10'000'000;
  static constexpr std::int64_t window_ns = 100'000'000;
  // A read that comes slightly early must not double the window.
  static constexpr std::int64_t earliness_ns = 1'000'000;
  static constexpr std::int64_t least_distance_ns = 9'500'000;
  static constexpr double core_step = 100.0 * tick_ns / window_ns;
  // One reading per tick of a window, plus spares.
  static constexpr std::size_t kept_readings = 16;

  struct Core {
    std::uint64_t number = 0;
    std::size_t metric = 0;
    std::uint64_t pass = 0;   // the last reading that contained it
    std::uint64_t since = 0;  // the first kept reading since which it counted without a break
    Ticks now;
    std::array<Ticks, kept_readings> kept{};
  };

  std::size_t add_share(std::string_view name, double step, std::uint32_t traits, std::string label = {}) {
    MetricDeclaration declaration = describe(name, "%", stat_->path(), MetricKind::gauge, step);
    declaration.window_ns = window_ns;
    declaration.renewal_ns = tick_ns;
    declaration.traits = traits;
    if (!label.empty()) {
      declaration.labels = {{"core", std::move(label)}};
    }
    values_.push_back(missing);
    return add_metric(std::move(declaration));
  }

  void read_source(std::int64_t now_ns) override {
    // The counters change every ten milliseconds, so a read every millisecond would be wasted.
    const bool is_known = taken_ns_ != 0 && now_ns >= taken_ns_ && now_ns - taken_ns_ < least_distance_ns;
    const auto take = [this](std::string_view text, std::int64_t time_ns) { take_reading(text, time_ns); };
    if (is_known || !stat_->read(now_ns, earliness_ns, take)) {
      repeat();
    }
  }

  void take_reading(std::string_view text, std::int64_t time_ns) {
    if (text.empty()) {
      forget();
      set_unavailable(stat_->file().describe_error());
      return;
    }
    // Ten or more reads may fall between two ticks.
    if (!lines_.empty() && text.substr(0, lines_.size()) == lines_ && text.substr(lines_.size(), 3) != "cpu") {
      taken_ns_ = time_ns;
      repeat();
      return;
    }
    if (!take(text)) {
      forget();
      set_unavailable("holds no counters of a core: " + stat_->path());
      return;
    }
    taken_ns_ = time_ns;
    choose_base(time_ns);
    report(time_ns);
    keep(time_ns);
  }

  void repeat() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      set(i, values_[i], SampleRun::stale);
    }
  }

  /// Parses the lines of the cores. Returns false if there are none.
  bool take(std::string_view text) {
    ++pass_;
    TextCursor cursor(text);
    std::size_t next = 0;
    bool has_any = false;
    while (cursor.rest().substr(0, 3) == "cpu") {
      const auto whole = cursor.whole_line();
      if (!whole) {
        break;
      }
      std::string_view line = whole->substr(3);
      Core* core = nullptr;
      if (line.empty() || line.front() == ' ') {
        // The total line includes cores that are off; if cores are listed, their sum is used instead.
        core = cursor.rest().substr(0, 3) == "cpu" ? nullptr : &all_cores_;
      } else {
        TextCursor columns(line);
        const auto number = columns.number();
        line = columns.rest();
        core = number ? core_of(*number, next) : nullptr;
      }
      Ticks ticks;
      if (core != nullptr && parse_ticks(line, ticks)) {
        advance(*core, ticks);
        has_any = true;
      }
    }
    lines_.assign(text.substr(0, text.size() - cursor.rest().size()));
    return has_any;
  }

  Core* core_of(std::uint64_t number, std::size_t& next) {
    if (Core* const known = find_entry(cores_, &Core::number, number, next); known != nullptr || number >= most_cores) {
      return known;
    }
    Core core;
    core.number = number;
    core.metric = add_share("cpu_util", core_step, 0, std::to_string(number));
    cores_.push_back(core);
    next = cores_.size();
    return &cores_.back();
  }

  void advance(Core& core, const Ticks& ticks) {
    const bool has_gap = core.pass + 1 != pass_ || ticks.busy < core.now.busy;
    core.since = has_gap ? kept_ : core.since;
    core.pass = pass_;
    core.now = ticks;
  }

  /// The window begins at the latest kept reading that is old enough; the first window at the first reading, so that
  /// the first value covers all the time before it.
  void choose_base(std::int64_t now_ns) {
    const auto is_old = [&](std::uint64_t reading) {
      return now_ns - kept_ns_[reading % kept_readings] >= window_ns - earliness_ns;
    };
    while (has_base_ && base_ + 1 < kept_ && is_old(base_ + 1)) {
      ++base_;
    }
    has_base_ = base_ < kept_ && is_old(base_);
  }

  void report(std::int64_t now_ns) {
    const double window_ticks =
        has_base_ ? static_cast<double>(now_ns - kept_ns_[base_ % kept_readings]) / static_cast<double>(tick_ns) : 0;
    Shares sum;
    for (const Core& core : cores_) {
      const Shares shares = shares_of(core, window_ticks);
      sum += shares;
      report(core.metric, shares.busy, shares.all);
    }
    if (cores_.empty()) {
      sum = shares_of(all_cores_, window_ticks);
    }
    report(0, sum.busy, sum.all);
    report(1, sum.iowait, sum.all);
    report(2, sum.steal, sum.all);
  }

  void report(std::size_t metric, double part, double whole) {
    values_[metric] = percent(part, whole);
    set(metric, values_[metric]);
  }

  /// All zero if unknown.
  [[nodiscard]] Shares shares_of(const Core& core, double window_ticks) const {
    if (!has_base_ || core.pass != pass_ || core.since > base_) {
      return {};
    }
    const Ticks& now = core.now;
    const Ticks& then = core.kept[base_ % kept_readings];
    const auto grown = [](std::uint64_t to, std::uint64_t from) {
      return to > from ? static_cast<double>(to - from) : 0.0;
    };
    Shares shares;
    shares.busy = static_cast<double>(now.busy - then.busy);
    shares.iowait = grown(now.iowait, then.iowait);
    shares.steal = std::min(grown(now.steal, then.steal), shares.busy);
    shares.all = shares.busy + grown(now.idle, then.idle) + shares.iowait;
    // The kernel's iowait, and thus idle, may decrease. The actual waiting time is then lost, and only the clock gives
    // the length of the window.
    // A core whose counters all stand still slept through the window.
    if (now.idle < then.idle || now.iowait < then.iowait || shares.all == 0) {
      shares.all = std::max(shares.all, window_ticks);
    }
    return shares;
  }

  void keep(std::int64_t now_ns) {
    if (kept_ > first_kept_ && now_ns - kept_ns_[(kept_ - 1) % kept_readings] < tick_ns - earliness_ns) {
      return;
    }
    const std::size_t slot = kept_ % kept_readings;
    kept_ns_[slot] = now_ns;
    for (Core& core : cores_) {
      core.kept[slot] = core.now;
    }
    all_cores_.kept[slot] = all_cores_.now;
    ++kept_;
    base_ = std::max(base_, kept_ - std::min<std::uint64_t>(kept_, kept_readings));
  }

  void forget() {
    first_kept_ = base_ = kept_;
    lines_.clear();
    taken_ns_ = 0;
    ++pass_;
  }

  static constexpr std::uint64_t most_cores = 16384;

  std::shared_ptr<StatFile> stat_;
  std::int64_t taken_ns_ = 0;   // time of the last reading
  std::string lines_;           // text that the last reading was parsed from
  std::vector<double> values_;  // and its values, by metric
  std::vector<Core> cores_;
  Core all_cores_;  // the first line, for a source without a line per core
  std::uint64_t pass_ = 0;
  std::array<std::int64_t, kept_readings> kept_ns_{};
  std::uint64_t kept_ = 0;        // total number of kept readings
  std::uint64_t first_kept_ = 0;  // the first one since the source last failed
  std::uint64_t base_ = 0;
  bool has_base_ = false;
};

class SchedulerSensor final : public Sensor {
 public:
  SchedulerSensor(const SensorContext& context, std::shared_ptr<StatFile> stat)
      : Sensor("scheduler", Tier::medium, Cost::kernel),
        stat_(std::move(stat)),
        load_(context.at("/proc/loadavg"), 256),
        switches_(add_metric(describe("context_switches", "1/s", stat_->path()))),
        running_(add_metric(describe("tasks_running", "", stat_->path(), MetricKind::gauge, 1))),
        blocked_(add_metric(describe("tasks_blocked", "", stat_->path(), MetricKind::gauge, 1))) {
    MetricDeclaration load = describe("load_1m", "", load_.path(), MetricKind::gauge, 0.01);
    load.window_ns = 60'000'000'000;
    load.renewal_ns = 5'000'000'000;
    load_1m_ = add_metric(std::move(load));
  }

 private:
  // The kernel renews loads every five seconds.
  static constexpr std::int64_t load_period_ns = 95'000'000;
  // Maximum age of counts if the cores' shares have just been read.
  static constexpr std::int64_t most_age_ns = 4'500'000;

  void read_source(std::int64_t now_ns) override {
    stat_->read(now_ns, most_age_ns, [this](std::string_view text, std::int64_t time_ns) {
      // Values that were reported are not reported again.
      if (text.empty() || time_ns != counts_ns_) {
        stat_trouble_ = report_counts(text, time_ns) ? "" : describe_trouble(stat_->file());
        counts_ns_ = time_ns;
      }
    });
    if (!load_trouble_.empty() || now_ns - load_ns_ >= load_period_ns || load_ns_ == 0) {
      load_ns_ = now_ns;
      TextCursor cursor(load_.read());
      double load = missing;
      const bool has_load = parse_whole_number(cursor.word(), load) && load >= 0;
      set_renewing(load_1m_, has_load ? load : missing, now_ns);
      load_trouble_ = has_load ? "" : describe_trouble(load_);
    }
    if (!stat_trouble_.empty() && !load_trouble_.empty()) {
      set_unavailable(stat_trouble_);
    } else {
      set_trouble(stat_trouble_ + load_trouble_);
    }
  }

  static std::string describe_trouble(const SourceFile& file) {
    return file.error() != 0 ? file.describe_error() : "holds no numbers: " + file.path();
  }

  bool report_counts(std::string_view text, std::int64_t time_ns) {
    // Kilobytes of interrupt counters precede it, so search from the end.
    const std::size_t at = text.rfind("\nctxt ");
    std::array<double, 3> counts = {missing, missing, missing};
    if (at != std::string_view::npos) {
      constexpr std::array<std::string_view, 3> names = {"ctxt", "procs_running", "procs_blocked"};
      TextCursor lines(text.substr(at + 1));
      while (const auto whole = lines.whole_line()) {
        TextCursor line(*whole);
        const auto name = std::find(names.begin(), names.end(), line.word());
        const auto number = name == names.end() ? std::nullopt : line.number();
        if (number) {
          counts[static_cast<std::size_t>(name - names.begin())] = static_cast<double>(*number);
        }
      }
    }
    if (std::isnan(counts[0])) {
      switch_rate_.forget();
    }
    set(switches_, std::isnan(counts[0]) ? missing : std::round(switch_rate_.take(counts[0], time_ns)));
    set(running_, counts[1]);
    set(blocked_, counts[2]);
    return !std::isnan(counts[0]) || !std::isnan(counts[1]);
  }

  std::shared_ptr<StatFile> stat_;
  SourceFile load_;
  std::int64_t counts_ns_ = 0;  // time of the last counts
  std::int64_t load_ns_ = 0;    // and of the last load
  std::string stat_trouble_;
  std::string load_trouble_;
  CounterRate switch_rate_;
  std::size_t switches_;
  std::size_t running_;
  std::size_t blocked_;
  std::size_t load_1m_ = 0;
};

}  // namespace

void make_cpu_sensors(const SensorContext& context, SensorList& list) {
  const auto stat = std::make_shared<StatFile>(context.at("/proc/stat"));
  list.push_back(std::make_unique<CpuSensor>(stat));
  list.push_back(std::make_unique<SchedulerSensor>(context, stat));
}

}  // namespace kymo::sense
