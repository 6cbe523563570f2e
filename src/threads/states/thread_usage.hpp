// The coarse source: each thread's CPU time and waiting time so far, from /proc/PID/task/TID/schedstat.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <kymo/events.hpp>

namespace kymo::threads {

/// What a schedstat file says, in nanoseconds.
struct ThreadTimes {
  std::int64_t running_ns = 0;
  std::int64_t runnable_ns = 0;  ///< waiting for a CPU, also after wake-ups
};

/// Parses "running runnable timeslices". Returns false for anything else.
[[nodiscard]] bool parse_schedstat(std::string_view text, ThreadTimes& times);

/// Samples the threads of a process tree as metrics, `thread_running_time` and `thread_runnable_time`. A thread that
/// begins and ends between two readings is missed. One thread.
class ThreadUsage {
 public:
  /// Threads beyond this number are left out.
  static constexpr std::size_t most_threads = 1024;

  /// `proc` is where /proc is, for tests.
  explicit ThreadUsage(pid_t process, std::string proc = "/proc") : root_(process), proc_(std::move(proc)) {}

  /// Reads all threads: declarations of new ones and a sample of each. About 10 us a thread.
  void read(std::int64_t now_ns, EventBatch& batch);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // process, thread

  [[nodiscard]] std::vector<std::uint64_t> processes() const;
  void read_thread(Key key, std::int64_t now_ns, EventBatch& batch);

  pid_t root_;
  std::string proc_;
  std::map<Key, std::pair<MetricId, MetricId>> metrics_;  // running, runnable
  std::uint32_t last_metric_ = 0;
};

}  // namespace kymo::threads
