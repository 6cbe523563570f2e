// Cost of sampling:
//
// - one read of each sensor,
// - the whole sampler compared with a bare loop that preads the same files,
// - lateness of samples,
// - their size on disk.
//
//   sampling_benchmark [--seconds=N]     N: length of each long run, default 10
//
// Runs with and without privileges are separate processes: dropped privileges do not come back, and peaks of one run
// must not show in another.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <kymo/batch_cursor.hpp>
#include <kymo/recorder.hpp>
#include <kymo/sampler.hpp>
#include <kymo/timeline.hpp>

#include "sense/sampler/deadline_timer.hpp"
#include "sense/sampler/sensors.hpp"
#include "temporary_folder.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr std::array<double, 3> jetson_hz{1000, 100, 10};

std::uint64_t process_cpu_ns() {
  return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/// Runs work in a forked child and returns its results, N numbers, through a pipe.
template <std::size_t N>
std::array<double, N> in_child(const std::function<std::array<double, N>()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw std::runtime_error("no pipe");
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    int status = 1;
    try {
      const std::array<double, N> results = work();
      status = ::write(ends[1], results.data(), sizeof results) == static_cast<ssize_t>(sizeof results) ? 0 : 1;
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
    }
    std::exit(status);
  }
  ::close(ends[1]);
  std::array<double, N> results{};
  const bool is_whole = ::read(ends[0], results.data(), sizeof results) == static_cast<ssize_t>(sizeof results);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!is_whole || status != 0) {
    throw std::runtime_error("a measuring process failed");
  }
  return results;
}

/// CPU time of this process's sampler threads, as the kernel accounts it by thread.
std::uint64_t sampler_cpu_ns() {
  std::uint64_t sum_ns = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name == "kymo-fast" || name == "kymo-medium" || name == "kymo-slow") {
      std::uint64_t cpu_ns = 0;
      std::ifstream(task.path() / "schedstat") >> cpu_ns;
      sum_ns += cpu_ns;
    }
  }
  return sum_ns;
}

SamplerOptions at_jetson_rates(std::vector<std::string> sensors) {
  SamplerOptions options;
  options.fast_hz = jetson_hz[0];
  options.medium_hz = jetson_hz[1];
  options.slow_hz = jetson_hz[2];
  options.sensors.sensors = std::move(sensors);
  options.shares_machine = false;
  return options;
}

/// The files read by this machine's sensors, by tier. The process's CPU clock is not a file.
std::array<std::vector<std::string>, 3> files_by_tier() {
  std::array<std::vector<std::string>, 3> files{
      {{"/proc/stat", "/proc/meminfo", "/proc/self/stat"},
       {"/proc/stat", "/proc/loadavg", "/proc/vmstat", "/proc/diskstats", "/proc/net/dev", "/proc/pressure/cpu",
        "/proc/pressure/io", "/proc/pressure/memory", "/proc/self/io", "/proc/self/status"},
       {"/proc/self/smaps_rollup"}}};
  for (std::vector<std::string>& tier : files) {
    tier.erase(std::remove_if(tier.begin(), tier.end(),
                              [](const std::string& path) { return ::access(path.c_str(), R_OK) != 0; }),
               tier.end());
  }
  return files;
}

/// Only preads files at a rate until a moment.
void pread_at_rate(const std::vector<std::string>& paths, double hz, std::uint64_t end_ns) {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  std::vector<int> files;
  for (const std::string& path : paths) {
    files.push_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  std::vector<char> buffer(16 * 1024);
  const auto period_ns = static_cast<std::uint64_t>(1e9 / hz);
  for (std::uint64_t next_ns = wall_ns(); next_ns < end_ns; next_ns += period_ns) {
    sleep_until(next_ns);
    for (const int file : files) {
      benchmark::DoNotOptimize(::pread(file, buffer.data(), buffer.size(), 0));
    }
  }
  for (const int file : files) {
    ::close(file);
  }
}

double bare_cpu_share(double seconds) {
  const auto files = files_by_tier();
  const std::uint64_t start_ns = wall_ns();
  const std::uint64_t cpu_before = process_cpu_ns();
  const auto end_ns = start_ns + static_cast<std::uint64_t>(seconds * 1e9);
  std::vector<std::thread> threads;
  for (std::size_t tier = 0; tier < files.size(); ++tier) {
    threads.emplace_back([&files, tier, end_ns] { pread_at_rate(files[tier], jetson_hz[tier], end_ns); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return static_cast<double>(process_cpu_ns() - cpu_before) / static_cast<double>(wall_ns() - start_ns);
}

/// Results of sampling into a capture for a while.
struct Sampled {
  double cpu_share = 0;      // of the sampler's threads
  double process_share = 0;  // with the collector, which codes and writes
  double bytes_per_tick = 0;
  double values_per_tick = 0;
  double missed = 0;
  double growth_mb = 0;
  std::vector<double> late_us;  // of each fast sample
};

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

/// Where values begin to be many: the least after which a hundredth of all follow within 20 us. Ascending values.
double start_of_many(const std::vector<double>& ns) {
  constexpr double close_ns = 20'000;
  const std::size_t many = std::max<std::size_t>(ns.size() / 100, 1);
  for (std::size_t i = 0; i + many <= ns.size(); ++i) {
    if (ns[i + many - 1] - ns[i] <= close_ns) {
      return ns[i];
    }
  }
  return ns.empty() ? 0 : ns.front();
}

/// Lateness of each sample of a metric relative to the grid of its deadlines. The grid's phase is that of the earliest
/// samples, less than a fifth of a period before the median: not of the very earliest, since a sample that is late by
/// most of a period looks like an early one of the next.
std::vector<double> lateness_us(const MetricSeries& series, double hz) {
  const double period_ns = 1e9 / hz;
  std::vector<double> phases_ns;
  for (const std::int64_t time_ns : series.times_ns) {
    phases_ns.push_back(std::fmod(static_cast<double>(time_ns - series.times_ns.front()), period_ns));
  }
  const auto wrapped = [period_ns](double phase_ns) { return phase_ns - period_ns * std::round(phase_ns / period_ns); };
  // Phases lie on a circle, so the median is taken relative to the first one.
  std::vector<double> around_first = phases_ns;
  std::transform(around_first.begin(), around_first.end(), around_first.begin(), wrapped);
  const auto middle = around_first.begin() + static_cast<std::ptrdiff_t>(around_first.size() / 2);
  std::nth_element(around_first.begin(), middle, around_first.end());
  std::vector<double> early_ns;
  std::vector<double> late_us;
  for (const double phase_ns : phases_ns) {
    const double from_middle_ns = wrapped(phase_ns - *middle);
    // A phase far before the median is a late sample of the deadline before.
    const bool is_early = from_middle_ns > -period_ns / 5;
    if (is_early) {
      early_ns.push_back(from_middle_ns);
    }
    late_us.push_back(is_early ? from_middle_ns : from_middle_ns + period_ns);
  }
  std::sort(early_ns.begin(), early_ns.end());
  const double earliest_ns = start_of_many(early_ns);
  for (double& late : late_us) {
    // What lies before the grid is late by nearly a period.
    late = (late < earliest_ns ? late + period_ns - earliest_ns : late - earliest_ns) / 1e3;
  }
  std::sort(late_us.begin(), late_us.end());
  return late_us;
}

Sampled sample(double seconds, SamplerOptions options, const std::string& lateness_of) {
  const TemporaryFolder folder;
  const std::string path = folder.file("sampled.kymo");
  const double fast_hz = options.fast_hz;
  CaptureOptions capture;
  capture.path = path;
  if (!start_capture(capture)) {
    throw std::runtime_error("no capture can be started");
  }
  Sampled sampled;
  {
    Sampler sampler(std::move(options));
    sampler.start();
    sampler.wait_for_warmup();
    const double peak_before = peak_mb();
    const std::uint64_t start_ns = wall_ns();
    const std::uint64_t sampler_before = sampler_cpu_ns();
    const std::uint64_t process_before = process_cpu_ns();
    sleep_until(start_ns + static_cast<std::uint64_t>(seconds * 1e9));
    const auto passed_ns = static_cast<double>(wall_ns() - start_ns);
    sampled.process_share = static_cast<double>(process_cpu_ns() - process_before) / passed_ns;
    sampled.cpu_share = static_cast<double>(sampler_cpu_ns() - sampler_before) / passed_ns;
    sampled.growth_mb = peak_mb() - peak_before;
    sampler.stop();
    sampled.missed = static_cast<double>(sampler.missed_deadlines(Tier::fast));
    stop_capture();
    const Timeline timeline(path);
    std::uint64_t values = 0;
    BatchCursor cursor(timeline, {}, BatchParts::samples);
    for (EventBatch batch; cursor.next(batch);) {
      for (const SampleRun& run : batch.samples) {
        values += run.values.size();
      }
    }
    const auto ticks = static_cast<double>(sampler.sample_count());
    sampled.bytes_per_tick = static_cast<double>(std::filesystem::file_size(path)) / ticks;
    sampled.values_per_tick = static_cast<double>(values) / ticks;
    for (const MetricDeclaration& metric : timeline.declarations().metrics) {
      if (metric.name == lateness_of && metric.labels.empty()) {
        sampled.late_us = lateness_us(timeline.series(metric.id), fast_hz);
        // A deadline that was skipped was missed by a period at least.
        sampled.late_us.insert(sampled.late_us.end(), static_cast<std::size_t>(sampled.missed), 1e6 / fast_hz);
      }
    }
  }
  return sampled;
}

double percentile(const std::vector<double>& sorted, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted.empty() ? std::nan("") : sorted[std::max<std::size_t>(rank, 1) - 1];
}

void drop_privileges() {
  // Without any privilege even if this runs as root.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_RTPRIO, &none);
  if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
    throw std::runtime_error("privileges cannot be dropped");
  }
}

/// Runs everything and then a bare loop in one process, so that both see the same machine.
void run_sampling(benchmark::State& state, double seconds) {
  for (auto _ : state) {
    const auto bare = in_child<1>([&] { return std::array{bare_cpu_share(seconds)}; });
    const auto whole = in_child<5>([&] {
      const Sampled sampled = sample(seconds, at_jetson_rates({}), "");
      return std::array{sampled.cpu_share, sampled.process_share, sampled.missed, sampled.values_per_tick,
                        sampled.growth_mb};
    });
    state.counters["cpu_percent"] = whole[0] * 100;
    state.counters["with_collector_percent"] = whole[1] * 100;
    state.counters["bare_percent"] = bare[0] * 100;
    state.counters["ratio"] = whole[1] / bare[0];
    state.counters["missed"] = whole[2];
    state.counters["values_per_tick"] = whole[3];
    state.counters["growth_mb"] = whole[4];
  }
}

/// Wake-up lateness of a thread that only sleeps until each deadline, relative to its earliest: the effect of this
/// machine's timers on every sampler. It skips deadlines that have passed, as a sampler does; they are late by a
/// period.
std::vector<double> bare_lateness_us(double seconds, double hz) {
  static_cast<void>(sense::schedule_tier(Tier::fast, {}));  // can only report a missing pin
  const auto period_ns = static_cast<std::uint64_t>(1e9 / hz);
  const std::uint64_t start_ns = wall_ns() + period_ns;
  const auto end_ns = start_ns + static_cast<std::uint64_t>(seconds * 1e9);
  std::vector<double> late_us;
  for (std::uint64_t next_ns = start_ns; next_ns < end_ns; next_ns += period_ns) {
    sleep_until(next_ns);
    const std::uint64_t late_ns = wall_ns() - next_ns;
    late_us.push_back(static_cast<double>(late_ns % period_ns) / 1e3);
    const std::uint64_t skipped = late_ns / period_ns;
    late_us.insert(late_us.end(), skipped, static_cast<double>(period_ns) / 1e3);
    next_ns += skipped * period_ns;
  }
  std::sort(late_us.begin(), late_us.end());
  const double earliest_us = late_us.front();
  for (double& late : late_us) {
    late -= earliest_us;
  }
  return late_us;
}

void run_lateness(benchmark::State& state, double seconds, bool is_privileged) {
  const auto drop_where_asked = [is_privileged] {
    if (!is_privileged) {
      drop_privileges();
    }
  };
  for (auto _ : state) {
    // Side by side, since what else runs on the machine changes from second to second.
    const auto late_us = in_child<6>([&] {
      drop_where_asked();
      std::vector<double> bare_us;
      std::thread bare([&] { bare_us = bare_lateness_us(seconds, jetson_hz[0]); });
      const Sampled sampled = sample(seconds, at_jetson_rates({"memory"}), "memory_available");
      bare.join();
      return std::array{percentile(sampled.late_us, 50),   percentile(sampled.late_us, 99),
                        percentile(sampled.late_us, 99.9), sampled.missed,
                        percentile(bare_us, 99),           percentile(bare_us, 99.9)};
    });
    state.counters["p50_us"] = late_us[0];
    state.counters["p99_us"] = late_us[1];
    state.counters["p99_9_us"] = late_us[2];
    state.counters["missed"] = late_us[3];
    state.counters["bare_p99_us"] = late_us[4];
    state.counters["p99_ratio"] = late_us[1] / late_us[4];
    state.counters["bare_p99_9_us"] = late_us[5];
  }
}

void run_size(benchmark::State& state, double seconds) {
  for (auto _ : state) {
    const auto size = in_child<2>([&] {
      const Sampled sampled = sample(seconds, at_jetson_rates({"cpu", "memory", "process"}), "");
      return std::array{sampled.bytes_per_tick, sampled.values_per_tick};
    });
    state.counters["bytes_per_tick"] = size[0];
    state.counters["values_per_tick"] = size[1];
    state.counters["bytes_per_value"] = size[0] / size[1];
    state.counters["bytes_per_dozen"] = 12 * size[0] / size[1];
  }
}

/// One read of a sensor that works here.
void run_read(benchmark::State& state, std::size_t index) {
  const sense::SensorList sensors = sense::make_sensors({});
  sense::Sensor& sensor = *sensors[index];
  std::vector<double> times_ns;
  // Far apart on the sensor's clock, so that no read repeats cached values of the one before.
  constexpr std::int64_t distance_ns = 110'000'000;
  auto time_ns = static_cast<std::int64_t>(wall_ns());
  for (auto _ : state) {
    const std::uint64_t start_ns = wall_ns();
    sensor.read(time_ns += distance_ns);
    times_ns.push_back(static_cast<double>(wall_ns() - start_ns));
  }
  std::sort(times_ns.begin(), times_ns.end());
  state.counters["median_ns"] = percentile(times_ns, 50);
  state.counters["p99_ns"] = percentile(times_ns, 99);
}

void register_reads() {
  const sense::SensorList sensors = sense::make_sensors({});
  for (std::size_t i = 0; i < sensors.size(); ++i) {
    sensors[i]->read(static_cast<std::int64_t>(wall_ns()));
    if (!sensors[i]->is_unavailable() && !sensors[i]->metrics().empty()) {
      benchmark::RegisterBenchmark(("read/" + sensors[i]->name()).c_str(), run_read, i)
          ->Iterations(300)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  double seconds = 10;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    constexpr std::string_view option = "--seconds=";
    if (std::string_view(argv[i]).substr(0, option.size()) == option) {
      seconds = std::strtod(argv[i] + option.size(), nullptr);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  namespace bench = kymo::benchmarks;
  const auto once = [](benchmark::internal::Benchmark* registered) {
    registered->Iterations(1)->Repetitions(3)->Unit(benchmark::kSecond);
  };
  once(benchmark::RegisterBenchmark("sampling", bench::run_sampling, seconds));
  once(benchmark::RegisterBenchmark("lateness/unprivileged", bench::run_lateness, seconds, false));
  once(benchmark::RegisterBenchmark("lateness/permitted", bench::run_lateness, seconds, true));
  once(benchmark::RegisterBenchmark("samples_on_disk", bench::run_size, seconds));
  bench::register_reads();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
