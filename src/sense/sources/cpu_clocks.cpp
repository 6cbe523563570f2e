// The clocks of the cores: /sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq (kHz), else /proc/cpuinfo of x86
// ("processor : 0", "cpu MHz : 2596.134", a paragraph each).
#include <optional>

#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"
#include "sense/sources/device_table.hpp"

namespace kymo::sense {

namespace {

constexpr std::int64_t look_ns = 1'000'000'000;
// The kernel generates some kilobytes per core, so this is read at most ten times a second at any rate.
constexpr std::int64_t cpuinfo_ns = 95'000'000;
constexpr std::uint64_t most_cores = 16384;

class CpuClockSensor final : public Sensor {
 public:
  explicit CpuClockSensor(const SensorContext& context)
      : Sensor("cpu_clock", Tier::medium),
        directory_(context.at("/sys/devices/system/cpu")),
        cpuinfo_(SourceFile::of_table(context.at("/proc/cpuinfo"), 4 * 1024 * 1024)) {
    look_for_frequency_files();
    if (cores_.empty()) {
      read_cpuinfo();
    }
  }

 private:
  struct Core {
    std::uint64_t number;
    std::size_t metric;
    std::optional<SourceFile> file;  // none: its clock comes from cpuinfo
    double clock_mhz = missing;
  };

  void read_source(std::int64_t now_ns) override {
    if (now_ns - looked_ns_ >= look_ns) {
      looked_ns_ = now_ns;
      look_for_frequency_files();
    }
    if (!has_frequency_files_) {
      if (now_ns - cpuinfo_read_ns_ < cpuinfo_ns) {
        return;
      }
      cpuinfo_read_ns_ = now_ns;
      rest_until(now_ns + cpuinfo_ns);
      read_cpuinfo();
    }
    bool has_any = false;
    for (Core& core : cores_) {
      if (core.file) {
        core.clock_mhz = core.file->read_number() / 1000;
      }
      // A core that is off may report 0.
      const bool is_sound = core.clock_mhz > 0;
      set(core.metric, is_sound ? core.clock_mhz : missing);
      has_any |= is_sound;
    }
    if (!has_any) {
      set_unavailable(describe_absence());
    }
  }

  [[nodiscard]] std::string describe_absence() const {
    for (const Core& core : cores_) {
      if (core.file) {
        return core.file->error() != 0 ? core.file->describe_error() : "says 0: " + core.file->path();
      }
    }
    return "no cpufreq in " + directory_ + ", and " +
           (cpuinfo_.error() != 0 ? cpuinfo_.describe_error() : "no clock of a core in " + cpuinfo_.path());
  }

  void look_for_frequency_files() {
    for (const std::string& name : list_directory(directory_)) {
      const std::optional<unsigned> number = number_between(name, "cpu", "");
      std::string path = directory_ + "/" + name + "/cpufreq/scaling_cur_freq";
      if (!number || *number >= most_cores || !is_there(path)) {
        continue;
      }
      has_frequency_files_ = true;
      Core& core = core_of(*number, path);
      if (!core.file) {
        core.file.emplace(std::move(path), 64);
      }
    }
  }

  Core& core_of(std::uint64_t number, const std::string& source) {
    std::size_t from = 0;
    if (Core* const known = find_entry(cores_, &Core::number, number, from)) {
      return *known;
    }
    const std::size_t metric =
        add_metric(describe("cpu_clock", "MHz", source, MetricKind::gauge, 0.001, {{"core", std::to_string(number)}}));
    return cores_.emplace_back(Core{number, metric, std::nullopt});
  }

  void read_cpuinfo() {
    for (Core& core : cores_) {
      core.clock_mhz = missing;
    }
    TextCursor lines(cpuinfo_.read());
    std::optional<std::uint64_t> number;
    while (const auto line = lines.whole_line()) {
      TextCursor value(*line);
      const std::string_view key = trimmed(value.until(':'));
      double clock_mhz = missing;
      if (key == "processor") {
        number = value.number();
      } else if (key == "cpu MHz" && number && *number < most_cores && parse_whole_number(value.rest(), clock_mhz)) {
        core_of(*number, cpuinfo_.path()).clock_mhz = clock_mhz;
      }
    }
  }

  std::string directory_;
  SourceFile cpuinfo_;
  std::vector<Core> cores_;
  bool has_frequency_files_ = false;
  std::int64_t looked_ns_ = 0;
  std::int64_t cpuinfo_read_ns_ = 0;
};

}  // namespace

void make_cpu_clock_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<CpuClockSensor>(context));
}

}  // namespace kymo::sense
