// Sinks: destinations of drained events, such as a capture or a Chrome trace. A custom sink is a class with one
// function.
//
// Not part of kymo.hpp: events consist of strings and vectors, which would make every recording file slower to compile.
#pragma once

#include <memory>
#include <utility>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/sink_guard.hpp>

namespace kymo {

/// Receives events as they are drained.
///
/// All calls come from the collector's thread, one at a time, never from a recording thread. A call may take as long as
/// it likes. Meanwhile it holds chunks back; if the pool runs out, scopes are dropped and counted. An exception that
/// leaves a call removes the sink, with one message on stderr.
///
/// A sink may record, and may call set_info(), capture_path() and is_recording(). It cannot start or stop recording,
/// trigger or flush: these calls wait for the collector, which waits for the sink. They return false in a sink.
class KYMO_API Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink();

  /// Receives one batch: at most about 130,000 scope events, or the events of 100 ms. A sink's first batch repeats all
  /// declarations made before it was installed. Run states, where the program has them, come in batches of their own
  /// that reach further back. The batch belongs to the caller again after return.
  virtual void write(const EventBatch& batch) = 0;

  /// Called on a trigger (kymo::trigger, `kymo trigger`) or a crash of the program: a sink that buffers events writes
  /// them out.
  virtual void trigger() {}

  /// Called after the last batch: the sink was removed or the recorder stops.
  virtual void finish() {}

  /// Hands this sink to the recorder and turns recording on. The recorder keeps the sink until the guard is destroyed
  /// or the process ends. The sink must be owned by a shared_ptr.
  [[nodiscard]] static SinkGuard install(std::shared_ptr<Sink> sink);
};

/// Hands a sink to the recorder. See Sink::install.
[[nodiscard]] inline SinkGuard install(std::shared_ptr<Sink> sink) {
  return Sink::install(std::move(sink));
}

}  // namespace kymo
