// Joules of one span, from the few batches around it: for viewers that cannot wait for a pass over the whole capture.
// The result equals that of gather_energy() for a site with only that scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <kymo/declarations.hpp>
#include <kymo/energy.hpp>
#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

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
  SpanEnergyQuestion(SpanEnergyQuestion&&) noexcept;
  SpanEnergyQuestion& operator=(SpanEnergyQuestion&&) noexcept;
  ~SpanEnergyQuestion();

  /// Whether a source measured the power for the span.
  [[nodiscard]] bool has_source() const;
  /// The time range of the needed samples: longer than the span, since sources are read at intervals.
  [[nodiscard]] TimeRange reach() const;
  /// Adds the samples and concurrent work of batches, in any order. Memory grows with both; above a limit for
  /// concurrent work, nothing is divided.
  void take(const EventBatch& batch);
  /// Ignores concurrent work: SpanJoules::is_whole.
  void share_nothing();
  /// About 100 ns for each item added.
  [[nodiscard]] SpanJoules finish();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo::stats
