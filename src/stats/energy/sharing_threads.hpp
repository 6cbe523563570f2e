// The threads of a sweep over scopes, with the loads by which they share the power of their machines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/energy/load_changes.hpp"
#include "stats/energy/power_readings.hpp"
#include "stats/energy/thread_loads.hpp"

namespace kymo::stats {

/// `Thread` is what a sweep keeps of a thread: its `machine`, its `load`, and `open`, the list of its open scopes.
template <typename Thread>
class SharingThreads {
 public:
  SharingThreads(const Timeline& timeline, PowerReadings& power)
      : timeline_(timeline), power_(power), loads_(timeline) {}

  /// Call for each batch of a first pass.
  void survey(const EventBatch& batch) {
    for (const SampleRun& samples : batch.samples) {
      loads_.add(samples);
    }
    for (const ScopeRun& scopes : batch.runs) {
      loads_.add(scopes);
    }
  }

  /// Call between the passes: the machines begin to share their power.
  void begin(bool reads_states) {
    std::int64_t shortest_ns = 0;
    for (const PowerMachine& machine : power_.machines()) {
      if (const std::int64_t piece_ns = machine.machine.shortest_piece_ns(); piece_ns != 0) {
        shortest_ns = shortest_ns == 0 ? piece_ns : std::min(shortest_ns, piece_ns);
      }
    }
    changes_.emplace(timeline_, loads_.changes(shortest_ns), reads_states);
    const std::int32_t full = by_cpu_time() ? ThreadLoads::unknown.most : Weight().most;
    for (PowerMachine& machine : power_.machines()) {
      machine.scopes = std::make_unique<EnergySharing>(machine.machine.curves, full);
      machine.spans = std::make_unique<EnergySharing>(machine.gpu.curves);
    }
  }
  [[nodiscard]] bool has_begun() const { return changes_.has_value(); }
  /// Otherwise all threads have the same load.
  [[nodiscard]] bool by_cpu_time() const { return !changes_->empty(); }

  /// By the number of their track.
  [[nodiscard]] std::vector<Thread>& all() { return threads_; }

  [[nodiscard]] Thread& at(TrackId track, std::uint32_t number) {
    if (number >= threads_.size()) {
      threads_.resize(number + std::size_t{1});
    }
    Thread& thread = threads_[number];
    if (thread.machine == nullptr) {
      thread.machine = &power_.machine_of(timeline_.track(track).process);
      if (by_cpu_time()) {
        number_of_track_[track] = number;
        const auto load = load_of_track_.find(track);
        thread.load = load != load_of_track_.end() ? load->second : ThreadLoads::unknown;
      }
    }
    return thread;
  }

  /// Sets the loads up to a time. Calls on_change(thread, by) for threads with open scopes, whose machine's sharers
  /// have been changed by then.
  template <typename OnChange>
  void change_loads(std::int64_t until_ns, const OnChange& on_change) {
    while (const LoadChange* const change = changes_->take(until_ns)) {
      load_of_track_[change->track] = change->load;
      const auto number = number_of_track_.find(change->track);
      if (number == number_of_track_.end()) {
        continue;
      }
      Thread& thread = threads_[number->second];
      const Weight by = change->load - thread.load;
      thread.load = change->load;
      if (!thread.open.empty()) {
        thread.machine->scopes->advance(change->time_ns);
        thread.machine->scopes->change_sharers(by, 0);
        on_change(thread, by);
      }
    }
  }

 private:
  const Timeline& timeline_;
  PowerReadings& power_;
  ThreadLoads loads_;
  std::optional<LoadChanges> changes_;  // after the first pass
  std::vector<Thread> threads_;
  std::unordered_map<TrackId, std::uint32_t> number_of_track_;
  std::unordered_map<TrackId, Weight> load_of_track_;
};

}  // namespace kymo::stats
