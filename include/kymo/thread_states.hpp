// What threads did: their run states on a timeline, and the CPU time of spans.
//
//     const kymo::ThreadStates states(timeline);
//     if (const auto times = states.times(span.track, {span.start_ns, span.end_ns()})) {
//       use(times->running_ns, times->runnable_ns, times->blocked_ns);
//     }
//
// `kymo record` records them where the kernel permits. Component kymo::analysis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo {

/// How long a thread was in each state, in a stretch of which all is known.
struct RunTimes {
  std::int64_t running_ns = 0;   ///< CPU time
  std::int64_t runnable_ns = 0;  ///< pushed off the CPU
  std::int64_t blocked_ns = 0;

  void add(const RunTimes& other) {
    running_ns += other.running_ns;
    runnable_ns += other.runnable_ns;
    blocked_ns += other.blocked_ns;
  }
};

/// What is known of a thread in a range, parts of which may not be known.
struct KnownStates {
  RunTimes times;
  /// How often it began to run on another CPU than it had run on before. The CPU of a new thread's first stretch is
  /// none.
  std::uint64_t migrations = 0;
};

/// The run states of a timeline's threads. Opening reads the states of every block once, and nothing if none were
/// recorded. Keeps some 100 bytes for each thread and block in which it changed, and a few
/// decoded blocks. The timeline must outlive this and not be refreshed meanwhile. Not thread-safe.
class KYMO_API ThreadStates {
 public:
  explicit ThreadStates(const Timeline& timeline);
  ThreadStates(ThreadStates&&) noexcept;
  ThreadStates& operator=(ThreadStates&&) noexcept;
  ~ThreadStates();

  /// Whether there are any states.
  [[nodiscard]] bool empty() const;
  /// The threads that a track's scopes ran on: those with its kernel thread id in its process, one after the other.
  /// None for tracks of fibers and of other kinds.
  [[nodiscard]] std::vector<ThreadId> threads_of(TrackId track) const;
  /// The states of a thread that overlap the range, by ascending start. Rows that touch and agree are joined.
  [[nodiscard]] std::vector<ThreadState> states(ThreadId thread, TimeRange range = {}) const;
  /// The times of a track's thread in the range; nothing if any part of it is not known. Decodes a block at each end of
  /// the range, unless ranges follow each other.
  [[nodiscard]] std::optional<RunTimes> times(TrackId track, TimeRange range) const;
  /// What is known of a thread in the range. A migration counts at the time when the thread begins to run. As cheap as
  /// times(), also for all of a long recording.
  [[nodiscard]] KnownStates known(ThreadId thread, TimeRange range = {}) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
