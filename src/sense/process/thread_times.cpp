// The CPU time of each thread of this process, by which power is divided among scopes on several threads. The kernel
// gives a thread's clock only to its own process.
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "sense/common/device_files.hpp"
#include "sense/common/sensor.hpp"

namespace kymo::sense {

namespace {

constexpr std::int64_t threads_look_period_ns = 500'000'000;
constexpr std::size_t most_threads = 256;

/// The ID of a thread's CPU-time clock as defined by the kernel (include/linux/posix-timers_types.h): the complement of
/// the thread ID, then "of one thread" and "as the scheduler counts".
clockid_t clock_of(std::uint64_t thread) {
  constexpr std::uint64_t per_thread = 4;
  constexpr std::uint64_t by_scheduler = 2;
  return static_cast<clockid_t>((~thread << 3U) | per_thread | by_scheduler);
}

class ThreadSensor final : public Sensor {
 public:
  explicit ThreadSensor(const SensorContext& context)
      : Sensor("threads", Tier::medium, Cost::kernel),
        is_here_(context.root.empty() && context.process == static_cast<std::uint64_t>(::getpid())) {}

 protected:
  void read_source(std::int64_t now_ns) override {
    if (!is_here_) {
      set_unavailable("threads of another process tell their CPU time to that process only");
      return;
    }
    if (now_ns >= next_look_ns_) {
      next_look_ns_ = now_ns + threads_look_period_ns;
      look();
    }
    for (Thread& thread : threads_) {
      timespec time{};
      // Once it has ended, its ID may be given to another thread.
      thread.has_ended = thread.has_ended || ::clock_gettime(thread.clock, &time) != 0;
      if (!thread.has_ended) {
        set(thread.metric, static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9);
      }
    }
  }

 private:
  struct Thread {
    std::uint64_t id = 0;
    clockid_t clock = 0;
    std::size_t metric = 0;
    bool has_ended = false;
  };

  /// Adds only threads that the previous look saw as well: there are too many short-lived ones.
  void look() {
    std::vector<std::uint64_t> present;
    for (const std::string& name : list_directory("/proc/self/task")) {
      std::uint64_t id = 0;
      if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc()) {
        present.push_back(id);
      }
    }
    for (Thread& thread : threads_) {
      thread.has_ended = thread.has_ended || !contains(present, thread.id);
    }
    for (const std::uint64_t id : present) {
      const bool is_known = std::any_of(threads_.begin(), threads_.end(),
                                        [id](const Thread& thread) { return thread.id == id && !thread.has_ended; });
      if (!is_known && contains(seen_, id) && threads_.size() < most_threads) {
        MetricDeclaration metric = describe("thread_cpu_time", "s", "clock_gettime(thread CPU clock)",
                                            MetricKind::counter, 1e-9, {{"thread", std::to_string(id)}});
        threads_.push_back({id, clock_of(id), add_metric(std::move(metric)), false});
      }
    }
    seen_ = std::move(present);
  }

  static bool contains(const std::vector<std::uint64_t>& ids, std::uint64_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  bool is_here_;
  std::vector<Thread> threads_;
  std::vector<std::uint64_t> seen_;  // at the last look
  std::int64_t next_look_ns_ = 0;
};

}  // namespace

void make_thread_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<ThreadSensor>(context));
}

}  // namespace kymo::sense
