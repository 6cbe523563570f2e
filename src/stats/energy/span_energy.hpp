// Joules of one span, from the few batches around it: for viewers that cannot wait for a pass over the whole capture.
// The result equals that of gather_energy() for a site with only that scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/energy.hpp>
#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

#include "stats/energy/power_readings.hpp"
#include "stats/energy/thread_loads.hpp"

namespace kymo::stats {

struct SpanJoules {
  Energy energy;
  bool is_shared = false;       ///< others ran at the same time: the share is an estimate
  bool by_cpu_time = false;     ///< of the threads that shared; otherwise they share equally
  bool is_whole = false;        ///< nothing was divided: the energy of the whole machine, or its GPUs, in that time
  bool is_estimated = false;    ///< the source declares its values as estimates
  std::int64_t renewal_ns = 0;  ///< of the source; shorter spans are not resolved
};

/// Collects the batches around a span and divides the power measured in that time. Not thread-safe.
class KYMO_API SpanEnergyQuestion {
 public:
  /// A scope of a thread track shares the power of its machine, a span of a queue track that of its GPUs. Async spans
  /// have no share.
  SpanEnergyQuestion(const Declarations& declared, TrackId track, TimeRange span);

  /// Whether a source measured the power for the span.
  [[nodiscard]] bool has_source() const;
  /// The time range of the needed samples: longer than the span, since sources are read at intervals.
  [[nodiscard]] TimeRange reach() const { return reach_; }
  /// Adds the samples and concurrent work of batches, in any order. Memory grows with both; above a limit for
  /// concurrent work, nothing is divided.
  void take(const EventBatch& batch);
  /// Ignores concurrent work: SpanJoules::is_whole.
  void share_nothing() { is_whole_ = true; }
  /// About 100 ns for each item added. Once only.
  [[nodiscard]] SpanJoules finish();

 private:
  struct Sharer {
    std::int32_t running = 0;
    Weight load;
    std::uint64_t end_sequence = 0;  ///< of its events, when last seen
    bool is_open = false;            ///< at that point
    std::int64_t open_since_ns = 0;
  };
  /// An interval in which a track ran.
  struct Stretch {
    TrackId track;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  struct Turn;

  [[nodiscard]] bool is_of_span(const PowerSource& source) const;
  void add_stretch(TrackId track, std::int64_t start_ns, std::int64_t end_ns);
  void take_spans(const EventBatch& batch);
  void take_states(const EventBatch& batch);
  [[nodiscard]] std::vector<LoadChange> find_loads(std::int64_t shortest_ns);
  void take_runs(const EventBatch& batch);
  void end_open_ones();
  void join_stretches();
  [[nodiscard]] std::vector<Turn> make_turns(const std::vector<LoadChange>& loads) const;
  [[nodiscard]] Energy share(const PowerSideCurves& side, SpanJoules& result);

  TrackId track_;
  TimeRange span_;
  TimeRange reach_;
  TrackKind kind_ = TrackKind::thread;
  ThreadLoads loads_;
  PowerReadings power_;
  PowerMachine* machine_ = nullptr;  // of power_
  std::unordered_map<TrackId, Sharer> sharers_;
  std::unordered_map<ThreadId, TrackId> track_of_;                // of the sharers' observed threads
  std::unordered_map<TrackId, std::vector<ThreadState>> states_;  // around the span
  std::size_t states_taken_ = 0;
  std::vector<Stretch> stretches_;
  bool is_whole_ = false;
};

}  // namespace kymo::stats
