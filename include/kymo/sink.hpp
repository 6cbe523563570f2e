// Sinks: where drained events go. A capture is one, a Chrome trace another; yours is a class with one function.
//
// Not part of kymo.hpp: events are made of strings and vectors, which not every file that records should pay for.
#pragma once

#include <memory>
#include <utility>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/sink_guard.hpp>

namespace kymo {

/// Takes events as they are drained.
///
/// All calls come from the collector's thread, one at a time, never from a thread that records. A call may take as
/// long as it likes: what it costs is that chunks are given back later, and scopes are dropped and counted when the
/// pool runs empty. An exception that leaves a call removes the sink, with one message on stderr.
///
/// A sink may record, and may call set_info(), capture_path() and is_recording(). It cannot start or stop recording,
/// trigger or flush: these wait for the collector, which waits for the sink. They return false there.
class KYMO_API Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink();

  /// Takes one batch: at most about 130,000 scope events, or what came together in 100 ms. The first batch a sink gets
  /// declares everything that was declared before it was installed. The batch is the caller's after return.
  virtual void write(const EventBatch& batch) = 0;

  /// A trigger was pulled (kymo::trigger, `kymo trigger`) or the program crashes: a sink that holds back what it was
  /// given writes it now.
  virtual void trigger() {}

  /// Nothing more will come: the sink was removed or the recorder stops.
  virtual void finish() {}

  /// Hands this sink to the recorder, which keeps it until the guard is destroyed or the process ends, and turns
  /// recording on. The sink must be owned by a shared_ptr.
  [[nodiscard]] static SinkGuard install(std::shared_ptr<Sink> sink);
};

/// Hands a sink to the recorder. See Sink::install.
[[nodiscard]] inline SinkGuard install(std::shared_ptr<Sink> sink) {
  return Sink::install(std::move(sink));
}

}  // namespace kymo
