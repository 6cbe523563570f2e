// Stacks that were sampled in given intervals, for the stretches of threads' time that they fell into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/paths/owners.hpp"

namespace kymo::stats {

/// The samples and waits of threads that overlap given intervals. Beyond `most_samples` they are left out, and is_cut()
/// says so.
class PathSamples {
 public:
  static constexpr std::size_t most_samples = 2'000'000;

  /// `intervals`: ascending and disjoint. A pass over the stacks, if there are any: 24 bytes each.
  PathSamples(const Timeline& timeline, const std::vector<TimeRange>& intervals);

  [[nodiscard]] bool empty() const { return threads_.empty(); }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  /// Calls visit(stack) for each sample that found the actor's thread on a CPU in the range. The stack is its number in
  /// a StackTree.
  template <typename Visit>
  void visit_samples(const Actor& actor, TimeRange range, const Visit& visit) {
    for (Thread* const thread : threads_of(actor)) {
      for (std::size_t i = first_after(thread->samples, thread->next_sample, range.start_ns - 1);
           i < thread->samples.size() && thread->samples[i].time_ns < range.end_ns; ++i) {
        visit(thread->samples[i].stack);
      }
    }
  }
  /// Calls visit(stack, waited_ns) for each wait of the actor's thread that has a stack, with the part of it in the
  /// range and of what it stands for.
  template <typename Visit>
  void visit_waits(const Actor& actor, TimeRange range, const Visit& visit) {
    for (Thread* const thread : threads_of(actor)) {
      for (std::size_t i = first_after(thread->waits, thread->next_wait, range.start_ns);
           i < thread->waits.size() && thread->waits[i].start_ns() < range.end_ns; ++i) {
        const Taken& wait = thread->waits[i];
        const std::int64_t in_range_ns =
            std::min(wait.time_ns, range.end_ns) - std::max(wait.start_ns(), range.start_ns);
        visit(wait.stack, static_cast<double>(in_range_ns) * wait.weight);
      }
    }
  }

 private:
  /// Of a wait the time is its end.
  struct Taken {
    std::int64_t time_ns = 0;
    std::int64_t blocked_ns = 0;
    std::uint32_t stack = 0;
    float weight = 1;  // of a wait: how often it stands for those whose stacks were not taken, too

    [[nodiscard]] std::int64_t start_ns() const { return time_ns - blocked_ns; }
  };
  struct Thread {
    std::vector<Taken> samples;  // by ascending time
    std::vector<Taken> waits;
    std::size_t next_sample = 0;  // where the last question ended: the next one is often for what follows
    std::size_t next_wait = 0;
  };

  void read(const Timeline& timeline, const std::vector<TimeRange>& intervals);
  [[nodiscard]] const std::vector<Thread*>& threads_of(const Actor& actor) const;
  /// The first after a time. `hint` is tried before others, and set.
  static std::size_t first_after(const std::vector<Taken>& all, std::size_t& hint, std::int64_t time_ns);

  std::unordered_map<ThreadId, Thread> threads_;
  std::unordered_map<TrackId, std::vector<Thread*>> tracks_;
  std::unordered_map<ThreadId, std::vector<Thread*>> alone_;
  bool is_cut_ = false;
};

}  // namespace kymo::stats
