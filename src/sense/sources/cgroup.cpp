// The control group of the recorded process: the resources that its members use, and their limits.
//
// /proc/PID/cgroup names the group in each hierarchy, /proc/mounts says where the hierarchies are. Version 2 is one
// hierarchy for all controllers, version 1 has several. A machine may have both, with each controller in one of them.
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>

#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/source_file.hpp"
#include "sense/sources/device_table.hpp"

namespace kymo::sense {

namespace {

enum Metric : std::size_t {
  cpu,
  cpu_throttled,
  throttled_periods,
  cpu_limit,
  memory,
  memory_peak,
  memory_limit,
  oom_kills,
  io_read,
  io_write,
  metric_count
};
struct Description {
  std::string_view name;
  std::string_view unit;
  MetricKind kind = MetricKind::gauge;
  double step = 0;
};
constexpr std::array<Description, metric_count> descriptions = {{
    {"cgroup_cpu", "%"},
    {"cgroup_cpu_throttled", "%"},
    {"cgroup_throttled_periods", "", MetricKind::counter, 1},
    {"cgroup_cpu_limit", "%"},
    {"cgroup_memory", "B", MetricKind::gauge, 4096},
    {"cgroup_memory_peak", "B", MetricKind::gauge, 4096},
    {"cgroup_memory_limit", "B", MetricKind::gauge, 4096},
    {"cgroup_oom_kills", "", MetricKind::counter, 1},
    {"cgroup_io_read", "B/s"},
    {"cgroup_io_write", "B/s"},
}};

/// The location of a controller's files.
struct Group {
  std::string directory;  // empty: absent
  std::string mount;      // the directory of the topmost visible group
  bool is_unified = false;
};

/// Unescapes a mount path from /proc/mounts: a blank is \040.
std::string unescaped(std::string_view text) {
  const auto octal = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// Whether a comma-separated list contains a name.
bool lists(std::string_view names, std::string_view name) {
  for (TextCursor rest(names); !rest.at_end();) {
    if (rest.until(',') == name) {
      return true;
    }
  }
  return false;
}

/// The number after a key at the start of a line; NaN if there is none or the line is truncated.
double count_of(std::string_view text, std::string_view key) {
  auto line = behind_key(text, key);
  const auto number = line ? line->number() : std::nullopt;
  return number ? static_cast<double>(*number) : missing;
}

class CgroupSensor final : public Sensor {
 public:
  explicit CgroupSensor(const SensorContext& context)
      : Sensor("cgroup", Tier::medium, Cost::kernel),
        context_(context),
        process_(std::to_string(context.process != 0 ? context.process : static_cast<std::uint64_t>(::getpid()))),
        membership_file_(context.at("/proc/" + process_ + "/cgroup")),
        mounts_(SourceFile::of_table(context.at("/proc/mounts"))) {
    // The available metrics depend on the group's files.
    CgroupSensor::read_source(0);
  }

 private:
  void read_source(std::int64_t now_ns) override {
    constexpr std::int64_t look_ns = 1'000'000'000;
    if (now_ns - looked_ns_ >= look_ns || looked_ns_ == 0) {
      looked_ns_ = now_ns;
      find_groups();
      read_limits();
    }
    if (!cpu_file_ && !memory_file_ && !io_file_) {
      set_unavailable(membership_.empty() ? membership_file_.describe_error()
                                          : "no control group of process " + process_ + " is mounted");
      return;
    }
    read_cpu(now_ns);
    read_memory();
    read_io(now_ns);
    report(cpu_limit, cpu_limit_, cpu_limit_path_);
    report(memory_limit, memory_limit_, memory_limit_path_);
  }

  // ---- where the files are

  /// The process may have been moved. A process that has ended leaves its group, and its children may remain in it.
  void find_groups() {
    const std::string_view membership = membership_file_.read();
    if (membership.empty() || (membership == membership_ && (cpu_file_ || memory_file_ || io_file_))) {
      return;
    }
    membership_ = membership;
    rates_ = {};
    const std::string mounts(mounts_.read());
    cpu_group_ = find_group("cpu", mounts);
    const Group usage = find_group("cpuacct", mounts);
    memory_group_ = find_group("memory", mounts);
    const Group io = find_group("blkio", mounts);
    open(cpu_file_, usage, "cpu.stat", "cpuacct.usage");
    open(throttled_file_, cpu_group_, "cpu.stat", "cpu.stat");
    open(memory_file_, memory_group_, "memory.current", "memory.usage_in_bytes");
    open(memory_peak_file_, memory_group_, "memory.peak", "memory.max_usage_in_bytes");
    open(oom_file_, memory_group_, "memory.events", "memory.oom_control");
    open(io_file_, io, "io.stat", "blkio.throttle.io_service_bytes_recursive");
    if (!io_file_) {
      open(io_file_, io, "io.stat", "blkio.throttle.io_service_bytes");
    }
  }

  static void open(std::optional<SourceFile>& file, const Group& group, std::string_view unified,
                   std::string_view version_1) {
    file.reset();
    const std::string path = group.directory + "/" + std::string(group.is_unified ? unified : version_1);
    if (!group.directory.empty() && is_there(path)) {
      file.emplace(path);
    }
  }

  /// The process's group for a controller: in the version 1 hierarchy that has it, else in version 2.
  [[nodiscard]] Group find_group(std::string_view controller, std::string_view mounts) const {
    Group unified;
    TextCursor lines(membership_);
    while (!lines.at_end()) {
      // "4:memory:/user.slice", "0::/user.slice"
      TextCursor line(lines.line());
      line.until(':');
      const std::string_view controllers = line.until(':');
      const std::string_view path = line.rest();
      if (path.empty()) {
        continue;
      }
      if (lists(controllers, controller)) {
        Group group = visible_group(find_mount(mounts, "cgroup", controller), path, false);
        if (!group.directory.empty()) {
          return group;
        }
      } else if (controllers.empty()) {
        unified = visible_group(find_mount(mounts, "cgroup2", {}), path, true);
      }
    }
    return unified;
  }

  /// The mount point of a hierarchy; empty: not mounted.
  [[nodiscard]] std::string find_mount(std::string_view mounts, std::string_view type,
                                       std::string_view controller) const {
    TextCursor lines(mounts);
    while (!lines.at_end()) {
      TextCursor line(lines.line());
      line.word();
      const std::string_view place = line.word();
      if (line.word() == type && (controller.empty() || lists(line.word(), controller))) {
        return context_.at(unescaped(place));
      }
    }
    return {};
  }

  /// In a container the mount may begin at the process's group, whose path is that of the machine.
  [[nodiscard]] Group visible_group(const std::string& mount, std::string_view path, bool is_unified) const {
    const bool is_outside = path.empty() || path.front() != '/' || path.find("/..") != std::string_view::npos;
    if (mount.empty() || is_outside) {
      return {};
    }
    const std::string directory = path == "/" ? mount : mount + std::string(path);
    if (is_there(directory)) {
      return {directory, mount, is_unified};
    }
    SourceFile members = SourceFile::of_table(mount + "/cgroup.procs");
    TextCursor processes(members.read());
    while (!processes.at_end()) {
      if (processes.line() == process_) {
        return {mount, mount, is_unified};
      }
    }
    return {};
  }

  // ---- limits: the minimum over the group and its ancestors

  void read_limits() {
    cpu_limit_ = memory_limit_ = missing;
    for_each_level(cpu_group_, [this](const std::string& directory) {
      const double limit = cpu_group_.is_unified ? unified_cpu_limit(directory) : quota_of(directory);
      cpu_limit_ = std::fmin(cpu_limit_, limit);
    });
    const std::string_view name = memory_group_.is_unified ? "/memory.max" : "/memory.limit_in_bytes";
    for_each_level(memory_group_, [&](const std::string& directory) {
      constexpr double no_limit = 4e18;  // version 1 reports the greatest page count
      const double limit = SourceFile(directory + std::string(name), 64).read_number();
      memory_limit_ = std::fmin(memory_limit_, limit < no_limit ? limit : missing);
    });
    cpu_limit_path_ = cpu_group_.directory + (cpu_group_.is_unified ? "/cpu.max" : "/cpu.cfs_quota_us");
    memory_limit_path_ = memory_group_.directory + std::string(name);
  }

  template <typename Function>
  static void for_each_level(const Group& group, Function function) {
    std::string directory = group.directory;
    while (directory.size() >= group.mount.size() && !directory.empty()) {
      function(directory);
      directory.resize(std::min(directory.rfind('/'), directory.size()));
      if (directory.size() < group.mount.size()) {
        break;
      }
    }
  }

  /// "max 100000" or "150000 100000": microseconds per period of that many microseconds.
  static double unified_cpu_limit(const std::string& directory) {
    SourceFile file(directory + "/cpu.max", 64);
    TextCursor words(file.read());
    const auto quota = words.number();
    const auto period = quota ? words.number() : std::nullopt;
    return period ? percent(static_cast<double>(*quota), static_cast<double>(*period)) : missing;
  }

  static double quota_of(const std::string& directory) {
    const double quota = SourceFile(directory + "/cpu.cfs_quota_us", 64).read_number();
    const double period = SourceFile(directory + "/cpu.cfs_period_us", 64).read_number();
    return quota > 0 ? percent(quota, period) : missing;
  }

  // ---- usage

  void read_cpu(std::int64_t now_ns) {
    if (cpu_file_) {
      const std::string_view text = cpu_file_->read();
      const bool is_unified = cpu_file_->path().ends_with("cpu.stat");
      double used_us = missing;
      if (is_unified) {
        used_us = count_of(text, "usage_usec ");
      } else if (parse_whole_number(text, used_us) && text.back() == '\n') {
        used_us /= 1000;
      } else {
        used_us = missing;
      }
      report_rate(cpu, used_us, 1e6, now_ns, cpu_file_->path());
    }
    if (throttled_file_) {
      const std::string_view text = throttled_file_->read();
      const double throttled_us =
          cpu_group_.is_unified ? count_of(text, "throttled_usec ") : count_of(text, "throttled_time ") / 1000;
      report_rate(cpu_throttled, throttled_us, 1e6, now_ns, throttled_file_->path());
      report(throttled_periods, count_of(text, "nr_throttled "), throttled_file_->path());
    }
  }

  void read_memory() {
    if (memory_file_) {
      report(memory, memory_file_->read_number(), memory_file_->path());
    }
    if (memory_peak_file_) {
      report(memory_peak, memory_peak_file_->read_number(), memory_peak_file_->path());
    }
    if (oom_file_) {
      report(oom_kills, count_of(oom_file_->read(), "oom_kill "), oom_file_->path());
    }
  }

  void read_io(std::int64_t now_ns) {
    if (!io_file_) {
      return;
    }
    const std::string_view text = io_file_->read();
    // A group without I/O has an empty file.
    const bool is_whole = text.empty() ? io_file_->error() == ENODATA : text.back() == '\n';
    double read_bytes = is_whole ? 0 : missing;
    double written_bytes = read_bytes;
    TextCursor lines(text);
    while (const auto line = lines.whole_line()) {
      add_io(*line, read_bytes, written_bytes);
    }
    report_rate(io_read, read_bytes, 0, now_ns, io_file_->path());
    report_rate(io_write, written_bytes, 0, now_ns, io_file_->path());
  }

  /// "8:0 rbytes=4096 wbytes=0 rios=1 ..." in version 2, "8:0 Read 4096" in version 1.
  void add_io(std::string_view line, double& read_bytes, double& written_bytes) {
    TextCursor words(line);
    const std::string_view device = words.word();
    if (device.find(':') == std::string_view::npos || is_made_of_others(device)) {
      return;
    }
    while (!words.at_end()) {
      TextCursor word(words.word());
      double* const sum = word.skip("rbytes=") || word.skip("Read")    ? &read_bytes
                          : word.skip("wbytes=") || word.skip("Write") ? &written_bytes
                                                                       : nullptr;
      if (sum != nullptr) {
        const auto bytes = word.at_end() ? words.number() : word.number();
        *sum += bytes ? static_cast<double>(*bytes) : missing;
      }
    }
  }

  /// Whether a device's I/O is counted again at the disks below it: mapped volumes, RAIDs, loops.
  bool is_made_of_others(std::string_view device) {
    std::size_t next = 0;
    if (const Device* const known = find_entry(devices_, &Device::name, device, next)) {
      return known->is_made_of_others;
    }
    constexpr std::size_t most_devices = 1024;
    if (devices_.size() == most_devices) {
      return false;
    }
    Device added{std::string(device), false};
    added.is_made_of_others =
        device.substr(0, 2) == "7:" || !list_directory(context_.at("/sys/dev/block/" + added.name + "/slaves")).empty();
    devices_.push_back(std::move(added));
    return devices_.back().is_made_of_others;
  }

  // ---- reporting

  void report(Metric metric, double value, const std::string& source) {
    if (!std::isnan(value)) {
      declare(metric, source);
    }
    if (metrics_[metric]) {
      set(*metrics_[metric], value);
    }
  }

  /// The growth of a count per second: in % of `whole`, or absolute if that is 0.
  void report_rate(Metric metric, double count, double whole, std::int64_t now_ns, const std::string& source) {
    if (std::isnan(count)) {
      rates_[metric].forget();
      report(metric, missing, source);
      return;
    }
    declare(metric, source);
    const double rate = rates_[metric].take(count, now_ns);
    report(metric, whole == 0 ? std::round(rate) : percent(rate, whole), source);
  }

  void declare(Metric metric, const std::string& source) {
    if (!metrics_[metric]) {
      const Description& description = descriptions[metric];
      metrics_[metric] =
          add_metric(describe(description.name, description.unit, source, description.kind, description.step));
    }
  }

  struct Device {
    std::string name;
    bool is_made_of_others;
  };

  SensorContext context_;
  std::string process_;
  SourceFile membership_file_;
  SourceFile mounts_;
  std::string membership_;
  Group cpu_group_;
  Group memory_group_;
  std::optional<SourceFile> cpu_file_;
  std::optional<SourceFile> throttled_file_;
  std::optional<SourceFile> memory_file_;
  std::optional<SourceFile> memory_peak_file_;
  std::optional<SourceFile> oom_file_;
  std::optional<SourceFile> io_file_;
  double cpu_limit_ = missing;
  double memory_limit_ = missing;
  std::string cpu_limit_path_;
  std::string memory_limit_path_;
  std::array<std::optional<std::size_t>, metric_count> metrics_;
  std::array<CounterRate, metric_count> rates_;
  std::vector<Device> devices_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace

void make_cgroup_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<CgroupSensor>(context));
}

}  // namespace kymo::sense
