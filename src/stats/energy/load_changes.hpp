// The loads of threads in the order of time: exact where run states are known, else those of CPU-time samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <kymo/thread_states.hpp>
#include <kymo/timeline.hpp>

#include "stats/energy/thread_loads.hpp"

namespace kymo::stats {

/// From a time on, a thread has this load by its states, or by samples. Without one its states are not known.
struct LoadStep {
  std::int64_t time_ns = 0;
  TrackId track;
  std::optional<Weight> load;
  bool is_sample = false;
};

/// Appends the steps of a thread's states, which ascend, within a range.
void append_steps(TrackId track, std::span<const ThreadState> states, TimeRange range, std::vector<LoadStep>& steps);

/// Puts states before samples.
class JoinedLoads {
 public:
  /// Appends the changes of all tracks by ascending time. The steps come in any order, none before those of earlier
  /// calls.
  void join(std::vector<LoadStep> steps, std::vector<LoadChange>& changes);
  [[nodiscard]] bool is_by_state(TrackId track) const;

 private:
  struct Loads {
    std::optional<Weight> exact;
    Weight sampled = ThreadLoads::unknown;
  };
  std::unordered_map<TrackId, Loads> loads_;
};

/// One pass. Holds the states of a fifth of a second, so memory does not grow with the number of switches. A thread
/// that does not run keeps a thousandth of a core, as in ThreadLoads::changes().
class LoadChanges {
 public:
  /// `sampled`: the changes by samples, by ascending time. The timeline must outlive this.
  LoadChanges(const Timeline& timeline, std::vector<LoadChange> sampled, bool reads_states);

  /// Whether nothing is known of any thread.
  [[nodiscard]] bool empty() const { return sampled_.empty() && tracks_.empty(); }
  /// The next change up to that time; null if there is none. Valid until the next call.
  [[nodiscard]] const LoadChange* take(std::int64_t until_ns);

 private:
  void read_window();

  std::optional<ThreadStates> states_;
  std::vector<TrackId> tracks_;  // with run states
  std::vector<LoadChange> sampled_;
  std::size_t next_sampled_ = 0;
  JoinedLoads loads_;
  std::int64_t window_ns_ = 0;  // up to this time all changes were read
  std::int64_t end_ns_ = 0;
  std::vector<LoadChange> changes_;
  std::size_t next_ = 0;
};

}  // namespace kymo::stats
