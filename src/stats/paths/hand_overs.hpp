// What ends waits: locks that are released, flows that arrive, spans of queues that end, other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::stats {

/// A time in which someone held a lock.
struct Hold {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  NameId holder{};                 ///< a place in the code or the name of a thread; 0: unknown
  std::int64_t latest_end_ns = 0;  ///< of this and all earlier holds
};

/// A flow that reached a track.
struct Arrival {
  std::int64_t time_ns = 0;
  std::int64_t sent_ns = 0;
  TrackId sender{};
};

/// A span of a queue.
struct QueueWork {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  TrackId track{};
  NameId name{};
};

/// The holds, arrivals, wakes and queue spans that overlap given intervals. Bounded: what lies beyond `most_events` of
/// a kind is left out, and is_cut() says so. Constant once made.
class HandOvers {
 public:
  static constexpr std::size_t most_events = 2'000'000;

  /// `intervals` may overlap. A pass over all data but scopes.
  HandOvers(const Timeline& timeline, std::span<const TimeRange> intervals);

  /// The holds of locks of this name that overlap the interval, by ascending start. Nothing if they overlap each
  /// other: then several locks share the name, and nobody can tell which one was waited for.
  [[nodiscard]] std::vector<Hold> holds(ProcessId process, const std::string& lock, TimeRange range) const;
  /// The flows that reached a track after the start of the interval and up to its end, by ascending time.
  [[nodiscard]] std::span<const Arrival> arrivals(TrackId track, TimeRange range) const;
  /// The wake that ended a wait which the interval is of; none if that is not known.
  [[nodiscard]] std::optional<ThreadWake> wake_of(ThreadId thread, TimeRange wait) const;
  /// The thread of a process by its name; 0 if none or several have it.
  [[nodiscard]] TrackId thread_of(ProcessId process, const std::string& name) const;

  /// When the work was handed in with which a queue began last before a time; none where no flow tells.
  [[nodiscard]] std::optional<std::int64_t> last_sent_to(TrackId queue, std::int64_t time_ns) const;

  /// The queue of the process whose work the thread waited for in an interval that ended when a span of the queue did.
  /// `is_blocked`: the thread is known to have waited; otherwise the queue must be idle afterwards. 0 if there is none.
  [[nodiscard]] TrackId queue_ended_by(ProcessId process, TimeRange range, bool is_blocked) const;
  /// The queue of the process that was the last to become idle within an interval, and stayed so. 0 if there is none.
  [[nodiscard]] TrackId queue_idle_since(ProcessId process, TimeRange range) const;
  /// The spans of a queue that overlap the interval, by ascending start, without overlaps.
  [[nodiscard]] std::vector<QueueWork> work(TrackId queue, TimeRange range) const;

  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  using Lock = std::pair<ProcessId, std::string>;
  struct Sent {
    std::int64_t time_ns = 0;
    TrackId track{};
  };

  void take(const EventBatch& batch, const Timeline& timeline, std::span<const TimeRange> intervals);
  [[nodiscard]] TrackId last_queue(ProcessId process, TimeRange range, std::int64_t slack_ns, bool must_be_idle) const;
  [[nodiscard]] bool count_if_room(std::size_t& count);
  void match_flows();
  void sort();

  std::map<Lock, std::vector<Hold>> holds_;
  std::unordered_map<TrackId, std::vector<Arrival>> arrivals_;
  std::unordered_map<ThreadId, std::vector<ThreadWake>> wakes_;
  std::unordered_map<TrackId, std::vector<QueueWork>> work_;
  std::unordered_map<ProcessId, std::vector<TrackId>> queues_;
  std::map<std::pair<ProcessId, std::string>, std::vector<TrackId>> threads_;
  std::vector<FlowEvent> flows_;
  std::size_t hold_count_ = 0;
  std::size_t work_count_ = 0;
  std::size_t wake_count_ = 0;
  std::size_t flow_count_ = 0;
  bool is_cut_ = false;
};

}  // namespace kymo::stats
