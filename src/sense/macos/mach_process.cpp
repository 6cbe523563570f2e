// Resources of a process on a Mac, by proc_pid_rusage(). Covers only the recorded process: macOS lists children only to
// the process that started them.
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "sense/macos/calls.hpp"

namespace kymo::sense {

namespace {

class MachProcessSensor final : public Sensor {
 public:
  MachProcessSensor(MachCalls calls, std::uint64_t process)
      : Sensor("process", Tier::fast, Cost::kernel), calls_(std::move(calls)), process_(process) {
    const auto add = [this](std::string_view name, std::string_view unit, MetricKind kind, double step) {
      add_metric(describe(name, unit, "proc_pid_rusage", kind, step));
    };
    add("process_cpu", "%", MetricKind::gauge, 0.01);
    add("process_cpu_time", "s", MetricKind::counter, calls_.time_unit_ns / 1e9);
    add("process_rss", "B", MetricKind::gauge, 1);
    add("process_footprint", "B", MetricKind::gauge, 1);
    add_metric(describe("process_threads", "", "proc_pidinfo", MetricKind::gauge, 1));
    add("process_major_faults", "1/s", MetricKind::gauge, 0);
    add("process_read_bytes", "B", MetricKind::counter, 1);
    add("process_written_bytes", "B", MetricKind::counter, 1);
  }

 private:
  enum Metric : std::size_t { cpu, cpu_time, rss, footprint, threads, major_faults, read, written };

  void read_source(std::int64_t now_ns) override {
    MachProcess usage;
    if (std::string reason = calls_.process(process_, usage); !reason.empty()) {
      cpu_rate_.forget();
      fault_rate_.forget();
      set_unavailable(std::move(reason));
      return;
    }
    const double cpu_ns =
        calls_.time_unit_ns > 0
            ? (static_cast<double>(usage.user_time) + static_cast<double>(usage.system_time)) * calls_.time_unit_ns
            : missing;
    set(cpu_time, cpu_ns / 1e9);
    // Nanoseconds per second as percent of one core.
    set(cpu, std::round(cpu_rate_.take(cpu_ns, now_ns) / 1e5) / 100);
    set(rss, static_cast<double>(usage.resident_bytes));
    set(footprint, static_cast<double>(usage.footprint_bytes));
    set(threads, usage.threads != 0 ? static_cast<double>(usage.threads) : missing);
    set(major_faults, std::round(fault_rate_.take(static_cast<double>(usage.page_ins), now_ns)));
    set(read, static_cast<double>(usage.read_bytes));
    set(written, static_cast<double>(usage.written_bytes));
  }

  MachCalls calls_;
  std::uint64_t process_;
  CounterRate cpu_rate_;
  CounterRate fault_rate_;
};

}  // namespace

void make_mach_process_sensors(const MachCalls& calls, std::uint64_t process, SensorList& list) {
  list.push_back(std::make_unique<MachProcessSensor>(calls, process));
}

}  // namespace kymo::sense
