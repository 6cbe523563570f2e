// The collector: the one thread that drains chunks into batches, hands each batch to the sinks, and gives the chunks
// back.
//
// It reads ahead with a cursor of its own and returns a chunk only after every sink's write of what was in it has
// returned, so that a process killed at any instant leaves each event in a sink's file or in the spool.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <kymo/sink.hpp>

#include "base/declaration_set.hpp"
#include "record/clock_map.hpp"
#include "record/declaration_log.hpp"
#include "record/pool.hpp"
#include "record/track_decoder.hpp"

namespace kymo::record {

/// Points at which a test may end the process.
enum class CollectorStep { decoded, written, released };

void pump_collector() noexcept;

/// Names functions that compiler hooks met.
using HookedSiteNamer = std::function<void(const std::vector<HookedSite>&, Declarations&)>;

/// What the collector asks of its surroundings. All of it is called on the collector's thread.
struct CollectorOptions {
  std::chrono::nanoseconds period = std::chrono::milliseconds(100);  ///< a batch is handed on at least this often
  std::function<MetricId(std::string_view name, std::string_view unit)> declare_metric;
  /// The first sink came, or the last one went; `is_saved` then says whether they have all that was recorded.
  std::function<void(bool has_sinks, bool is_saved)> on_sinks;
  std::function<void(CollectorStep)> on_step;  ///< for tests
  HookedSiteNamer name_hooked_sites;
};

class Collector {
 public:
  /// `known`: what was declared before (in a parent before fork, or before the last stop).
  Collector(Pool& pool, Declarations known, CollectorOptions options);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  ~Collector();

  /// Starts the thread. One that is held drains nothing before release(): what is recorded meanwhile waits for sinks.
  void start(bool is_held);
  void release();

  /// Drains what is left, finishes every sink and ends the thread. False where that took longer: the thread is left
  /// alone then, and goes with the process.
  bool stop(std::chrono::nanoseconds timeout) noexcept;

  // What follows waits for the collector's thread, holds no lock meanwhile, and gives up at the timeout. A call from a
  // sink, on that very thread, is refused.

  /// Hands a sink over. Returns after its first batch, which declares everything known, was written. Rethrows what that
  /// write threw; the sink is then not installed.
  std::uint64_t add_sink(std::shared_ptr<Sink> sink, std::chrono::nanoseconds timeout);

  /// Drains, hands the last batch to the sink, finishes it and lets go of it. False when there is no such sink (any
  /// more), or at the timeout.
  bool remove_sink(std::uint64_t handle, std::chrono::nanoseconds timeout);
  bool remove_all_sinks(std::chrono::nanoseconds timeout);

  /// Returns after everything recorded before the call was handed to every sink; false at the timeout.
  bool flush(std::chrono::nanoseconds timeout);

  /// Whether a sink is installed still: one that fails is let go of.
  [[nodiscard]] bool has_sink(std::uint64_t handle);

  /// Whether the caller is the collector's thread, as a sink is.
  [[nodiscard]] bool is_own_thread() const noexcept;

  /// A sink failed or was removed and none is left: nobody wants events.
  [[nodiscard]] bool has_sinks() const { return sink_count_.load(std::memory_order_relaxed) != 0; }

  /// CPU time that the collector has spent.
  [[nodiscard]] std::uint64_t cpu_time_ns() const { return cpu_time_ns_.load(std::memory_order_relaxed); }

  /// Around fork, in the parent: everything declared so far is known, and nothing is half taken in.
  void lock_known();
  void unlock_known();
  [[nodiscard]] const Declarations& known() const { return known_.all(); }

 private:
  struct InstalledSink {
    std::uint64_t handle = 0;
    std::shared_ptr<Sink> sink;
  };
  struct TrackCursor;
  struct Request;
  friend void pump_collector() noexcept;

  void run();
  void wait_for_work();
  void work();
  void finish();
  void drain();
  void end_unwatched_tracks();
  void look_at_tracks();
  void drain_track(TrackCursor& cursor);
  void take_clock_pair();
  void add_frame_metrics();
  void absorb_declarations();
  void find_main_stream(const Declarations& declared);
  void declare_if_unknown(TrackCursor& cursor);
  void take_new_declarations();
  [[nodiscard]] bool has_unstated_drops() const;
  void state_every_track(bool includes_quiet);
  void forget_dropped();
  void hand_on();
  void give_to_sinks(const std::function<void(Sink&)>& call);
  void give_back();
  void state_written(std::uint32_t chunk, std::size_t words);
  void free_finished_tracks();
  void forget_ended_tracks();
  void serve_requests();
  void serve(Request& request);
  void answer_shared_requests();
  void drop_sink(std::size_t index);
  void note_sinks(bool is_saved);
  /// Queues a request and waits for its answer; false at the timeout.
  bool ask(const std::shared_ptr<Request>& request, std::chrono::nanoseconds timeout);
  void fail(const char* what) noexcept;
  void end() noexcept;
  void step(CollectorStep at) const;

  Pool& pool_;
  CollectorOptions options_;

  std::mutex known_mutex_;  // guards what follows, up to the next mutex
  base::DeclarationSet known_;
  Declarations new_;  // known, and not yet handed on
  std::vector<std::uint32_t> log_chunks_read_;
  std::uint32_t log_chunk_ = 0;
  std::size_t log_offset_ = 0;
  bool is_log_begun_ = false;
  FrameStreamId main_stream_ = 0;

  std::mutex request_mutex_;
  std::condition_variable request_done_;
  std::vector<std::shared_ptr<Request>> requests_;
  std::vector<std::uint64_t> handles_;  // of the sinks
  bool is_ended_ = false;

  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_held_{false};
  bool is_finished_ = false;  // every sink was finished
  std::atomic<std::size_t> sink_count_{0};
  std::atomic<std::uint64_t> cpu_time_ns_{0};

  // Of the collector's thread alone.
  std::uint32_t log_taken_chunk_ = 0;  // the log up to there is in the batch, or was in an earlier one
  std::size_t log_taken_offset_ = 0;
  std::vector<InstalledSink> sinks_;
  std::uint64_t next_handle_ = 1;
  std::vector<std::unique_ptr<TrackCursor>> tracks_;
  std::vector<TrackCursor*> cursors_;  // by slot; null where there is none
  std::vector<TrackCursor*> busy_;     // tracks on which something happened since the last drain
  base::EndedTracks ended_tracks_;     // known_ may still have them
  unsigned quiet_drains_ = 0;          // in a row
  std::int64_t next_unwatched_look_ns_ = 0;
  std::vector<std::uint32_t> chunks_read_;
  EventBatch batch_;
  std::size_t batch_words_ = 0;
  std::uint64_t dropped_without_track_ = 0;
  SampleGatherer samples_;
  OpenAsyncSpans open_async_;
  ClockMap clock_;
  std::int64_t next_anchor_ns_ = 0;
  std::int64_t last_frame_ns_ = 0;
};

}  // namespace kymo::record
