// Run states in a Perfetto trace as the events of its scheduler: what ran on each CPU, the states of each thread, and
// who woke whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "exchange/common/state_joiner.hpp"
#include "exchange/perfetto/packets.hpp"
#include "exchange/stacks/sampled_threads.hpp"

namespace kymo::exchange {

/// Appends to a trace that PerfettoNames::begin() began. Numbers of processes and threads are the system's.
///
/// Each stretch that a thread ran is two switches: from the idle thread to it, and back. So it needs no other thread's
/// states, and stretches may come in any order. What ran and was not recorded looks idle.
class PerfettoSchedule {
 public:
  /// Both must outlive this.
  PerfettoSchedule(const Timeline& timeline, std::string& trace) : threads_(timeline), trace_(trace) {}

  void write(const EventBatch& batch);
  void finish();

 private:
  struct Thread {
    std::uint64_t number = 0;
    std::string name;
    StateJoiner states;
    std::optional<ThreadState> ran;  ///< the latest stretch, until it is known what followed
    std::vector<ThreadWake> wakes;   ///< of others, until the stretch is known that they were in
  };

  Thread& thread(ThreadId id);
  void take(Thread& thread, const ThreadState& state);
  void write_stretch(Thread& thread, std::int64_t state_after);
  void add_switch(perfetto::BundleBuilder& bundle, std::int64_t time_ns, const Thread& thread,
                  std::optional<std::int64_t> state_after) const;
  void add_wakes(perfetto::BundleBuilder& bundle, Thread& waker, TimeRange ran);
  void begin(std::int64_t time_ns);

  SampledThreads threads_;
  std::string& trace_;
  bool is_begun_ = false;
  std::unordered_map<ThreadId, Thread> known_;
};

}  // namespace kymo::exchange
