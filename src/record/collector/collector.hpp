// The collector: a thread that drains chunks into batches, hands each batch to the sinks and returns the chunks.
//
// It reads ahead with its own cursor. It returns a chunk only after every sink's write of the chunk's events has
// returned. So if the process is killed at any instant, each event is in a sink's file or in the spool.
#pragma once

#include <atomic>
#include <chrono>
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
#include "base/system/own_thread.hpp"
#include "record/clock/clock_map.hpp"
#include "record/collector/observer.hpp"
#include "record/collector/track_decoder.hpp"
#include "record/names/declaration_log.hpp"
#include "record/platform/signal_safe_lock.hpp"
#include "record/pool/pool.hpp"

namespace kymo::record {

/// Points at which a test may end the process, or record. `looked`: once for each thread.
enum class CollectorStep { looked, decoded, written, released };

void pump_collector() noexcept;

/// Names functions met by compiler hooks.
using HookedSiteNamer = std::function<void(const std::vector<HookedSite>&, Declarations&)>;

/// The collector's callbacks and settings. All callbacks run on the collector's thread.
struct CollectorOptions {
  std::chrono::nanoseconds period = std::chrono::milliseconds(100);  ///< a batch is handed on at least this often
  /// Adds metrics to a batch before it is handed on. What it declares is part of the same batch.
  std::function<void(EventBatch& batch, SampleGatherer& samples)> add_metrics;
  /// Called when the first sink was added or the last one removed; `is_saved` then says whether the sinks received
  /// every event.
  std::function<void(bool has_sinks, bool is_saved)> on_sinks;
  /// The observer, if there is one by now; null: never. It is asked from then on until the last sink goes.
  const std::atomic<Observer>* observer = nullptr;
  /// Asked at each look for a sink that is to be removed; 0: none.
  std::function<std::uint64_t(bool is_only_sink)> find_ended;
  void (*on_look)() noexcept = nullptr;        ///< called at each look, at least once a second; null: nothing
  std::function<void(CollectorStep)> on_step;  ///< for tests
  HookedSiteNamer name_hooked_sites;
};

class Collector {
 public:
  /// `inherited`: what the parent had declared before a fork, or null.
  Collector(Pool& pool, const Declarations* inherited, CollectorOptions options);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  ~Collector();

  /// Starts the thread. With `is_held` it drains nothing before release(); events wait for sinks meanwhile.
  void start(bool is_held);
  void release();

  /// Drains the remaining events, finishes every sink and ends the thread. False at the timeout: the thread then goes
  /// on until the process ends.
  bool stop(std::chrono::nanoseconds timeout) noexcept;

  // The following calls wait for the collector's thread, hold no lock meanwhile, and give up at the timeout. Calls from
  // a sink, on that very thread, are refused.

  /// Adds a sink. Returns after the sink has written its first batch, which declares everything known. If that write
  /// throws, rethrows and does not install the sink.
  std::uint64_t add_sink(std::shared_ptr<Sink> sink, std::chrono::nanoseconds timeout);

  /// Drains, hands the last batch to the sink, finishes it and releases it. False if there is no such sink, or at the
  /// timeout.
  bool remove_sink(std::uint64_t handle, std::chrono::nanoseconds timeout);
  bool remove_all_sinks(std::chrono::nanoseconds timeout);

  /// Returns after every sink received everything recorded before the call; false at the timeout.
  bool flush(std::chrono::nanoseconds timeout);

  /// Whether a sink is still installed: a sink that fails is removed.
  [[nodiscard]] bool has_sink(std::uint64_t handle);

  /// Whether the caller runs on the collector's thread, as sinks do.
  [[nodiscard]] bool is_own_thread() const noexcept;

  /// False once the last sink failed or was removed: events are not needed then.
  [[nodiscard]] bool has_sinks() const { return sink_count_.load(std::memory_order_relaxed) != 0; }

  /// CPU time used by the collector.
  [[nodiscard]] std::uint64_t cpu_time_ns() const { return cpu_time_ns_.load(std::memory_order_relaxed); }

  /// Around fork, in the parent: all declarations so far are known, and none is half processed.
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
  void end_with_program();
  void work();
  void finish();
  void drain();
  void end_unwatched_tracks();
  void drain_published();
  void look_at_tracks();
  void drain_track(TrackCursor& cursor);
  void take_clock_pair();
  void absorb_declarations();
  void declare_if_unknown(TrackCursor& cursor);
  void take_new_declarations();
  [[nodiscard]] bool has_unstated_drops() const;
  void state_every_track(bool includes_quiet);
  void forget_dropped();
  void hand_on();
  void hand_on_observed(Observation extent);
  void give_to_sinks(const std::function<void(Sink&)>& call);
  void give_back();
  void state_written(std::uint32_t chunk, std::size_t words);
  void free_finished_tracks();
  void forget_ended_tracks();
  /// Whether there were any.
  bool serve_requests();
  void serve(Request& request);
  void answer_shared_requests();
  void drop_sink(std::size_t index);
  void drop_ended_sink();
  void note_sinks(bool is_saved);
  /// Queues a request and waits for its answer; false at the timeout.
  bool ask(const std::shared_ptr<Request>& request, std::chrono::nanoseconds timeout);
  /// Waits until `is_met` is true under request_mutex_; false at the timeout. Who is torn out of it, by siglongjmp from
  /// a handler, leaves nothing behind that others would wait for, as a condition variable would.
  bool wait_for_answer(std::chrono::nanoseconds timeout, const std::function<bool()>& is_met);
  void tell_answer() noexcept;
  void fail(const char* what) noexcept;
  void end() noexcept;
  void step(CollectorStep at) const;

  Pool& pool_;
  CollectorOptions options_;

  std::mutex known_mutex_;  // guards the following members, up to the next mutex
  base::DeclarationSet known_;
  Declarations new_;  // known, and not handed on yet
  std::vector<std::uint32_t> log_chunks_read_;
  std::uint32_t log_chunk_ = 0;
  std::size_t log_offset_ = 0;
  bool is_log_begun_ = false;

  UninterruptedMutex request_mutex_;
  std::atomic<std::uint32_t> answers_{0};  // counts up when a request is done; waited on
  std::vector<std::shared_ptr<Request>> requests_;
  std::vector<std::uint64_t> handles_;  // of the sinks
  bool is_ended_ = false;

  base::OwnThread thread_;
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_held_{false};
  bool is_saved_ = true;      // the last sink that was removed has finished
  bool is_finished_ = false;  // every sink was removed, and what they took is saved
  std::atomic<std::size_t> sink_count_{0};
  std::atomic<std::uint64_t> cpu_time_ns_{0};

  // Used by the collector's thread only.
  std::uint64_t next_end_look_ns_ = 0;
  std::uint32_t log_taken_chunk_ = 0;  // the log up to here is in this batch or an earlier one
  std::size_t log_taken_offset_ = 0;
  std::vector<InstalledSink> sinks_;
  static constexpr std::uint64_t first_handle = 1;
  std::uint64_t next_handle_ = first_handle;
  std::vector<std::unique_ptr<TrackCursor>> tracks_;
  std::vector<TrackCursor*> cursors_;  // by slot; null if there is none
  std::vector<TrackCursor*> busy_;     // tracks with news since the last drain
  base::EndedTracks ended_tracks_;     // possibly still in known_
  unsigned quiet_drains_ = 0;          // consecutive
  std::int64_t next_unwatched_look_ns_ = 0;
  std::size_t next_unwatched_look_tracks_ = 0;
  std::uint64_t last_look_ = 0;  ///< count before the last look at all tracks
  std::vector<std::uint32_t> chunks_read_;
  EventBatch batch_;
  std::size_t batch_words_ = 0;
  DropCounts dropped_without_track_;
  SampleGatherer samples_;
  AsyncSpans async_spans_;
  Observer observer_ = nullptr;    // once asked
  base::DeclarationSet observed_;  // by the observer, since then
  ClockMap clock_;
  std::int64_t next_anchor_ns_ = 0;
};

}  // namespace kymo::record
