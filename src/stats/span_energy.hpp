// Joules of one span, out of the few batches around it: for who looks at a span and cannot wait for a pass over the
// whole capture. What it gives is what gather_energy() gives a site with that scope alone.
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
  bool is_shared = false;       ///< others ran meanwhile: the share is an estimate
  bool by_cpu_time = false;     ///< of the threads that shared, else they share equally
  bool is_whole = false;        ///< nothing was shared out: it is what the whole machine, or its GPUs, took meanwhile
  bool is_estimated = false;    ///< the source says so of its numbers
  std::int64_t renewal_ns = 0;  ///< of the source; what is shorter is not resolved
};

/// Takes the batches around a span and shares out the power that was measured meanwhile. For one thread at a time.
class KYMO_API SpanEnergyQuestion {
 public:
  /// A scope of a thread track shares the power of its machine, a span of a queue track that of its GPUs. Async spans
  /// have no share.
  SpanEnergyQuestion(const Declarations& declared, TrackId track, TimeRange span);
  SpanEnergyQuestion(SpanEnergyQuestion&&) noexcept;
  SpanEnergyQuestion& operator=(SpanEnergyQuestion&&) noexcept;
  ~SpanEnergyQuestion();

  /// Whether anything measured what the span took.
  [[nodiscard]] bool has_source() const;
  /// The stretch of time whose samples are needed: more than the span, since a source is read now and then.
  [[nodiscard]] TimeRange reach() const;
  /// Samples and what else ran, of batches in any order. Memory grows with both, up to a bound for what ran: beyond
  /// it nothing is shared out.
  void take(const EventBatch& batch);
  /// Leaves others out: SpanJoules::is_whole.
  void share_nothing();
  /// About 100 ns for everything that was taken.
  [[nodiscard]] SpanJoules finish();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo::stats
