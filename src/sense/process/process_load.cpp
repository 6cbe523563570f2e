// Resource usage of a process tree: CPU time, resident memory, threads, page faults.
//
//     CPU time of the tree  =  own time of every existing process         nanosecond CPU clocks, at every read
//                            + time of the finished children of each      /proc/PID/stat, at every look (ProcessLedger)
//                            + time of those that nobody waited for
//
// Looks search for processes about every 100 ms; reads in between cover the known processes. For a tree of one process
// a read is one CPU clock and one pread.
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "base/system/file.hpp"
#include "sense/common/parse.hpp"
#include "sense/process/process_tree.hpp"

namespace kymo::sense {

namespace {

/// The CPU load covers a stretch in which one look saw every process that came or went. A shorter stretch would show a
/// child's whole time at the moment of its end. The kernel renews the CPU time of running threads once a tick (1 to 10
/// ms).
constexpr std::int64_t window_ns = 100'000'000;
/// A larger tree is read less often. This is the period per process, some hundred times the cost of reading it.
constexpr std::int64_t period_per_process_ns = 250'000;
/// Limit of processes whose files stay open: the descriptors are the program's own and scarce.
constexpr std::size_t most_open_files = 16;

/// Indices of amounts.
enum Amount : std::size_t { cpu_ns, minor_faults, major_faults, amounts };
using LoadLedger = ProcessLedger<amounts>;

std::int64_t to_signed(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

struct LoadMember {
  LoadLedger::Account* account = nullptr;
  clockid_t clock = 0;
  bool has_clock = false;
  base::KnownFile memory;
  std::string memory_path;
};

/// Totals at some times in the last window, so that every read can return a rate over it.
class RateWindow {
 public:
  RateWindow() { moments_.reserve(most_moments); }

  /// The growth per nanosecond over the last stretch of at least `least_ns`; NaN if the history is shorter.
  double take(std::int64_t now_ns, std::int64_t total, std::int64_t least_ns) {
    // The newest entry that is old enough becomes the first.
    while (moments_.size() > 1 && now_ns - moments_[1].first >= least_ns) {
      moments_.erase(moments_.begin());
    }
    const bool is_known = !moments_.empty() && now_ns - moments_.front().first >= least_ns;
    const double rate = is_known ? static_cast<double>(total - moments_.front().second) /
                                       static_cast<double>(now_ns - moments_.front().first)
                                 : missing;
    if (moments_.empty() || now_ns - moments_.back().first >= least_ns / 20) {
      if (moments_.size() == most_moments) {
        moments_.erase(moments_.begin());
      }
      moments_.emplace_back(now_ns, total);
    }
    return rate;
  }

  /// Some of the total is seen late: it accumulated evenly since a time. Distributes it over that stretch.
  void spread(std::int64_t since_ns, std::int64_t now_ns, std::int64_t amount) {
    for (auto& [time_ns, total] : moments_) {
      if (time_ns > since_ns && now_ns > since_ns) {
        total += static_cast<std::int64_t>(static_cast<double>(amount) * static_cast<double>(time_ns - since_ns) /
                                           static_cast<double>(now_ns - since_ns));
      }
    }
  }

 private:
  static constexpr std::size_t most_moments = 32;
  std::vector<std::pair<std::int64_t, std::int64_t>> moments_;
};

class ProcessLoadSensor final : public Sensor {
  enum Metric : std::size_t { cpu, cpu_time, rss, thread_count, process_count, minor_fault_rate, major_fault_rate };

 public:
  explicit ProcessLoadSensor(const SensorContext& context)
      : Sensor("process", Tier::fast),
        tree_(context),
        // CPU clocks belong to the machine that this runs on.
        uses_clocks_(context.root.empty()),
        tick_ns_(1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK))),
        cpu_time_shown_(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))),
        page_bytes_(std::max(1L, ::sysconf(_SC_PAGESIZE))),
        // User and system time are each truncated to whole ticks.
        ledger_({2 * tick_ns_, 0, 0}) {
    const std::string_view clock = uses_clocks_ ? "clock_gettime(process CPU clock), /proc/PID/stat" : "/proc/PID/stat";
    const double step = uses_clocks_ ? 1e-9 : static_cast<double>(tick_ns_) / 1e9;
    add_metric(describe("process_cpu", "%", clock, MetricKind::gauge, 0.01));
    add_metric(describe("process_cpu_time", "s", clock, MetricKind::counter, step));
    add_metric(describe("process_rss", "B", "/proc/PID/statm", MetricKind::gauge, static_cast<double>(page_bytes_)));
    add_metric(describe("process_threads", "", "/proc/PID/stat", MetricKind::gauge, 1));
    add_metric(describe("process_count", "", "/proc/PID/task/TID/children", MetricKind::gauge, 1));
    add_metric(describe("process_minor_faults", "1/s", "/proc/PID/stat"));
    add_metric(describe("process_major_faults", "1/s", "/proc/PID/stat"));
  }

 protected:
  std::size_t add_metric(MetricDeclaration declaration) {
    const bool is_rate = declaration.unit == "%" || declaration.unit == "1/s";
    declaration.window_ns = is_rate ? window_ns : 0;
    return Sensor::add_metric(std::move(declaration));
  }

  void read_source(std::int64_t now_ns) override {
    if (now_ns >= next_look_ns_) {
      if (!tree_.look()) {
        tree_.has_ended() ? set_ended(tree_.trouble()) : set_unavailable(tree_.trouble());
        return;
      }
      look(now_ns);
    }
    const auto pause_ns = static_cast<std::int64_t>(members_.size()) * period_per_process_ns;
    if (members_.size() > 4 && now_ns - last_read_ns_ < pause_ns) {
      return;
    }
    last_read_ns_ = now_ns;
    // Where all have ended there is no memory: the metric ends with its last value.
    std::optional<double> pages;
    for (auto& [pid, member] : members_) {
      read_clock(member);
      const std::optional<double> resident = resident_pages(member);
      if (resident) {
        pages = pages.value_or(0) + *resident;
      }
      if (std::isnan(resident.value_or(0)) && member.memory) {
        member.memory.reset();
        --open_files_;
      }
    }
    highest_cpu_ns_ = std::max(highest_cpu_ns_, ledger_.total()[cpu_ns]);
    const std::int64_t shown_ns = uses_clocks_ ? cpu_time_shown_.take(now_ns, highest_cpu_ns_) : highest_cpu_ns_;
    set(Metric::cpu_time, static_cast<double>(shown_ns) / 1e9);
    if (pages) {
      set(Metric::rss, *pages * static_cast<double>(page_bytes_));
    }
    const std::int64_t stretch_ns = std::max(ProcessTree::least_period_ns, tree_.look_period_ns());
    const double share = cpu_rate_.take(now_ns, highest_cpu_ns_, stretch_ns);
    if (!std::isnan(share)) {
      set(Metric::cpu, std::round(share * 1e4) / 100);
    }
  }

 private:
  void look(std::int64_t now_ns) {
    next_look_ns_ = now_ns + tree_.look_period_ns();
    const std::int64_t known_cpu_ns = ledger_.total()[cpu_ns];
    for (const ProcessTree::Gone& gone : tree_.gone()) {
      const auto member = members_.find(gone.pid);
      if (member != members_.end()) {
        open_files_ -= member->second.memory ? 1U : 0U;
        members_.erase(member);
      }
      ledger_.retire(gone.pid, gone.heir);
    }
    std::uint64_t threads = 0;
    std::uint64_t processes = 0;
    for (const ProcessStat& process : tree_.processes()) {
      const bool is_ended = process.is_ended();
      threads += is_ended ? 0 : process.threads;
      processes += is_ended ? 0 : 1;
      update(process);
    }
    ledger_.settle();
    const LoadLedger::Amounts now = ledger_.total();
    cpu_rate_.spread(last_look_ns_, now_ns, now[cpu_ns] - known_cpu_ns);
    last_look_ns_ = now_ns;
    if (processes != 0) {
      set(Metric::thread_count, static_cast<double>(threads));
      set(Metric::process_count, static_cast<double>(processes));
    }
    set_rate(Metric::minor_fault_rate, minor_rate_, now[minor_faults], now_ns);
    set_rate(Metric::major_fault_rate, major_rate_, now[major_faults], now_ns);
    set_trouble(tree_.is_cut() ? "more than " + std::to_string(ProcessTree::most_processes) +
                                     " processes: the newest are counted when they end"
                               : "");
  }

  void set_rate(std::size_t metric, CounterRate& rate, std::int64_t count, std::int64_t now_ns) {
    const double per_second = rate.take(static_cast<double>(count), now_ns);
    if (!std::isnan(per_second)) {
      set(metric, std::round(per_second * 100) / 100);
    }
  }

  void update(const ProcessStat& process) {
    LoadMember& member = members_[process.pid];
    const bool is_new = member.account == nullptr;
    if (is_new) {
      member.account = &ledger_.account(process.pid);
      member.memory_path = tree_.directory(process.pid) + "statm";
      member.has_clock = uses_clocks_ && ::clock_getcpuclockid(static_cast<pid_t>(process.pid), &member.clock) == 0;
      if (open_files_ < most_open_files) {
        member.memory = open_memory(member);
        open_files_ += member.memory ? 1U : 0U;
      }
    }
    LoadLedger::Amounts& own = member.account->own;
    own[minor_faults] = std::max(own[minor_faults], to_signed(process.minor_faults));
    own[major_faults] = std::max(own[major_faults], to_signed(process.major_faults));
    if (member.has_clock && is_new) {
      read_clock(member);
    } else if (!member.has_clock) {
      own[cpu_ns] = std::max(own[cpu_ns], to_signed(process.ticks) * tick_ns_);
    }
    ledger_.take(*member.account, {to_signed(process.waited_ticks) * tick_ns_, to_signed(process.waited_minor_faults),
                                   to_signed(process.waited_major_faults)});
  }

  /// A process that has ended since the last look keeps its amounts.
  static void read_clock(LoadMember& member) {
    timespec time{};
    if (member.has_clock && ::clock_gettime(member.clock, &time) == 0) {
      const std::int64_t newest = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
      member.account->own[cpu_ns] = std::max(member.account->own[cpu_ns], newest);
    }
  }

  static base::KnownFile open_memory(const LoadMember& member) {
    return base::KnownFile(base::open_high(member.memory_path, O_RDONLY));
  }

  /// Nothing for a process that has ended, waited for or not; NaN if unknown.
  static std::optional<double> resident_pages(const LoadMember& member) {
    base::KnownFile passing;
    if (!member.memory) {
      passing = open_memory(member);
    }
    std::array<char, 128> buffer{};
    const int file = member.memory ? member.memory.number() : passing.number();
    const ssize_t size = file >= 0 ? ::pread(file, buffer.data(), buffer.size(), 0) : -1;
    if (size < 0) {
      return means_gone(errno) ? std::nullopt : std::optional(missing);
    }
    TextCursor cursor({buffer.data(), static_cast<std::size_t>(size)});
    const std::optional<std::uint64_t> address_space = cursor.number();
    const std::optional<std::uint64_t> pages = cursor.number();
    // A number at the end of the text may be truncated.
    if (!pages || cursor.at_end()) {
      return missing;
    }
    return address_space == 0U ? std::nullopt : std::optional(static_cast<double>(*pages));
  }

  ProcessTree tree_;
  bool uses_clocks_;
  std::int64_t tick_ns_;
  PacedCpuTime cpu_time_shown_;
  std::int64_t page_bytes_;
  LoadLedger ledger_;
  std::map<std::uint64_t, LoadMember> members_;
  std::size_t open_files_ = 0;
  std::int64_t highest_cpu_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::int64_t last_look_ns_ = 0;
  std::int64_t last_read_ns_ = 0;
  RateWindow cpu_rate_;
  CounterRate minor_rate_;
  CounterRate major_rate_;
};

}  // namespace

SensorMaker make_process_activity_sensor;
SensorMaker make_process_memory_sensor;

void make_process_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<ProcessLoadSensor>(context));
  make_process_activity_sensor(context, list);
  make_process_memory_sensor(context, list);
}

}  // namespace kymo::sense
