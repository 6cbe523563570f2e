// The process's recorder: its pool, its collector, its switches, and its behaviour on fork and exit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <kymo/sink.hpp>

#include "record/collector/collector.hpp"
#include "record/names/declaration_log.hpp"
#include "record/names/intern_table.hpp"
#include "record/names/site_filter.hpp"
#include "record/pool/pool.hpp"

namespace kymo::record {

/// Reasons to record no scopes while other events are recorded.
enum class ScopesOff : std::uint32_t {
  never_wanted = 1U << 0U,   ///< KYMO_SCOPES=0
  skipped_frame = 1U << 1U,  ///< not an Nth frame
  frame_limit = 1U << 2U,    ///< KYMO_SCOPE_MAX_FRAMES
  size_limit = 1U << 3U,     ///< KYMO_MAX_SIZE
};

struct RecorderOptions {
  PoolOptions pool;
  std::uint64_t scope_every = 1;       ///< record every Nth frame's scopes
  std::uint64_t scope_max_frames = 0;  ///< stop scopes after so many frames; 0: never
  bool wants_scopes = true;
  std::string sites;               ///< the SiteFilter's patterns; empty: all
  std::function<void()> on_child;  ///< called in a forked child once it records, with no lock held: installs its sinks
  /// Called by the collector at each look: a sink that is to be removed; 0: none.
  std::function<std::uint64_t(bool is_only_sink)> find_ended;
  std::function<void(CollectorStep)> on_step;  ///< for tests
};

class Recorder {
 public:
  /// The recorder of this process or of this copy of the library. Never destroyed: threads may record while static
  /// objects are destroyed.
  static Recorder& instance() noexcept;

  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Creates the pool and starts the collector unless that is done. Warns once and returns false if that fails or
  /// another copy of the recorder is active in this process.
  bool start(const RecorderOptions& options) noexcept;

  // The following calls wait for the collector, without a timeout argument for at most wait_for_collector. They hold no
  // lock meanwhile: a stalled disk stalls the caller, but neither fork() nor other calls.

  /// Installs a sink and turns events on. Warns and returns 0 if the sink's first write failed.
  std::uint64_t add_sink(std::shared_ptr<Sink> sink) noexcept;
  bool remove_sink(std::uint64_t handle) noexcept;
  bool remove_all_sinks() noexcept;
  bool flush(std::chrono::nanoseconds timeout) noexcept;
  /// Has the collector answer a trigger, and waits for the answer.
  bool trigger(std::chrono::nanoseconds timeout) noexcept;

  /// Whether a sink is still installed: a sink that fails is removed.
  [[nodiscard]] bool has_sink(std::uint64_t handle) noexcept;
  /// Whether the caller is a sink, on the collector's thread.
  [[nodiscard]] bool is_in_sink() noexcept;

  /// Has each sink receive what an observer sees from now on; null: no new sink. What has begun goes on until the last
  /// sink is removed.
  void observe_by(Observer observer) noexcept { observer_.store(observer, std::memory_order_release); }

  /// Has each add_sink() call a function before it turns events on, unless scopes are never wanted.
  void prepare_by(void (*prepare)()) noexcept { prepare_.store(prepare, std::memory_order_release); }

  /// Called at the process's end: drains, finishes all sinks, deletes the spool and stops recording. If the collector
  /// does not finish within `wait_for_collector`, the spool stays for recovery.
  void shut_down() noexcept;

  static constexpr std::chrono::seconds wait_for_collector{10};

  /// Whether events other than scopes are recorded. A thread that sees true also sees the whole setup.
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }
  void switch_scopes_off(ScopesOff reason) noexcept;
  void switch_scopes_on(ScopesOff reason) noexcept;
  /// Counts the end of a frame of the main stream.
  void count_frame() noexcept;

  [[nodiscard]] Pool* pool() noexcept { return pool_.load(std::memory_order_acquire); }
  /// The pool to record into. In a forked child the first event starts its recorder. If that may be in a signal
  /// handler, the event is dropped and counted instead.
  [[nodiscard]] Pool* pool_for_events() noexcept {
    if (is_child_pending_.load(std::memory_order_acquire)) {
      start_in_child(false);
    }
    return pool();
  }
  /// For calls that no handler makes: starts a forked child's recorder if its parent recorded.
  void settle_child() noexcept {
    if (is_child_pending_.load(std::memory_order_acquire)) {
      start_in_child(true);
    }
  }
  /// Whether this process was made by _Fork() or clone(), which run no fork handlers, and finds out now: it then
  /// records nothing. A load, for slow paths; async-signal-safe.
  [[nodiscard]] bool notice_fork() noexcept {
    const bool is_forked = process_mark_ != nullptr && *process_mark_ == 0;
    if (is_forked) {
      leave_parent();
    }
    return is_forked;
  }
  /// While it lives, a forked child's recorder does not start on this thread: it would wait for what the thread holds.
  /// The program's own allocator may record a scope anywhere.
  class ChildWaits {
   public:
    ChildWaits() noexcept;
    ChildWaits(const ChildWaits&) = delete;
    ChildWaits& operator=(const ChildWaits&) = delete;
    ~ChildWaits();
  };
  // The fork handlers. Whoever registers them also resets the threads' references to their slots.
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;

  [[nodiscard]] Collector* collector() noexcept { return collector_.load(std::memory_order_acquire); }
  [[nodiscard]] DeclarationLog& declarations() noexcept { return declarations_; }
  [[nodiscard]] InternTable& names() noexcept { return names_; }
  /// The patterns of the first start(): a site that was seen keeps its id and its selection.
  [[nodiscard]] const SiteFilter& sites() const noexcept { return sites_; }
  /// Whether a site without an id is left out; marks it if so.
  [[nodiscard]] bool leaves_out(kymo_site& site) const noexcept;

  /// The id of an interned name, which is declared if it is new. 0 if that is impossible at the moment.
  [[nodiscard]] std::uint32_t id_of(NameSpace space, std::string_view text, std::string_view detail = {}) noexcept;

  /// The id of a metric, declared or given a new description. 0 if that is impossible at the moment.
  [[nodiscard]] MetricId describe_metric(const MetricDescription& description) noexcept;

  void count_dropped_without_track(Dropped kind) noexcept;
  /// For the crash handler: asks the collector to write, and waits at most `timeout`. Async-signal-safe.
  void write_before_crash(std::chrono::nanoseconds timeout) noexcept;
  /// For ending signals: asks the collector to finish all sinks, and waits at most `timeout`. Async-signal-safe.
  void finish_before_end(std::chrono::nanoseconds timeout) noexcept;

 private:
  bool start_locked(bool is_child) noexcept;
  [[nodiscard]] bool answers_signals() noexcept;
  void mark_process() noexcept;
  void start_in_child(bool is_certain) noexcept;
  void leave_parent() noexcept;
  void update_gate() noexcept;
  void unlock_after_fork() noexcept;
  void take_drops_without_pool() noexcept;

  UninterruptedMutex mutex_;  // guards starting and stopping; never held while waiting for the collector
  RecorderOptions* options_ = nullptr;
  const Declarations* known_before_fork_ = nullptr;
  std::atomic<Pool*> pool_{nullptr};
  std::atomic<Collector*> collector_{nullptr};  // lives as long as the process, since threads may still wait for it
  DeclarationLog declarations_;
  InternTable names_;
  SiteFilter sites_;
  base::KnownFile claim_;  // shows a second copy of the recorder that there is a first
  bool is_refused_ = false;
  bool is_shut_down_ = false;
  std::atomic<bool> is_finishing_{false};  // while the process ends: the collector closes what is open
  bool has_names_lock_ = false;            // across a fork
  bool has_log_lock_ = false;
  std::uint32_t* process_mark_ = nullptr;  // a page that the kernel wipes in every child
  std::atomic<Observer> observer_{nullptr};
  std::atomic<void (*)()> prepare_{nullptr};
  std::atomic<bool> is_child_pending_{false};
  std::atomic<bool> is_on_{false};
  std::atomic<std::uint32_t> scopes_off_{0};
  std::atomic<std::uint64_t> frames_{0};
  SpoolDrops dropped_without_pool_{};  // in a process that has not started
};

namespace detail_of_recorder {

/// Holds a value that is never destroyed.
union Immortal {
  constexpr Immortal() : recorder() {}
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;
  ~Immortal() {}  // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
  Recorder recorder;
};

extern Immortal immortal;

}  // namespace detail_of_recorder

inline Recorder& Recorder::instance() noexcept {
  return detail_of_recorder::immortal.recorder;
}

}  // namespace kymo::record
