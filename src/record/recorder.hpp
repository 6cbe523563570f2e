// The recorder of this process: its pool, its collector, what is switched on, and what becomes of it over fork and
// exit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <kymo/sink.hpp>

#include "record/collector.hpp"
#include "record/declaration_log.hpp"
#include "record/intern_table.hpp"
#include "record/pool.hpp"
#include "record/site_filter.hpp"

namespace kymo::record {

/// Why scopes are not recorded although events are.
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
  std::function<void()> on_child;  ///< in a forked child once it records: install its sinks; no lock is held
  std::function<void(CollectorStep)> on_step;  ///< for tests
};

void watch_forks();

class Recorder {
 public:
  /// The one of this process, or of this copy of the library. Never destroyed: threads may record while static objects
  /// go.
  static Recorder& instance() noexcept;

  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Makes the pool and starts the collector where that was not done yet. False, said once, when it cannot be done or
  /// another copy of the recorder is active in this process.
  bool start(const RecorderOptions& options) noexcept;

  // What follows waits for the collector, for at most wait_for_collector where no timeout is given, and holds no lock
  // meanwhile: a disk that stalls stalls who asked, and neither fork() nor other calls.

  /// Installs a sink and turns events on. 0, said, when the sink's first write failed.
  std::uint64_t add_sink(std::shared_ptr<Sink> sink) noexcept;
  bool remove_sink(std::uint64_t handle) noexcept;
  bool remove_all_sinks() noexcept;
  bool flush(std::chrono::nanoseconds timeout) noexcept;
  /// Has the collector answer a trigger, and waits for it.
  bool trigger(std::chrono::nanoseconds timeout) noexcept;

  /// Whether a sink is installed still: one that failed is let go of.
  [[nodiscard]] bool has_sink(std::uint64_t handle) noexcept;
  /// Whether the caller is a sink, on the collector's thread.
  [[nodiscard]] bool is_in_sink() noexcept;

  /// The process ends: drains, finishes all sinks, deletes the spool. Nothing is recorded from then on. Where the
  /// collector does not get there within `wait_for_collector` the spool stays, for recovery.
  void shut_down() noexcept;

  static constexpr std::chrono::seconds wait_for_collector{10};

  /// Events other than scopes are recorded. Whoever sees it on sees all that was set up before.
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }
  void switch_scopes_off(ScopesOff reason) noexcept;
  void switch_scopes_on(ScopesOff reason) noexcept;
  /// A frame of the main stream ended.
  void count_frame() noexcept;

  [[nodiscard]] Pool* pool() noexcept { return pool_.load(std::memory_order_acquire); }
  /// The pool to record into. In a forked child the first event starts its recorder, unless it may stand in a signal
  /// handler: it is dropped then, and counted.
  [[nodiscard]] Pool* pool_for_events() noexcept {
    if (is_child_pending_.load(std::memory_order_acquire)) {
      start_in_child(false);
    }
    return pool();
  }
  /// For calls that no handler makes: starts a forked child's recorder where its parent recorded.
  void settle_child() noexcept {
    if (is_child_pending_.load(std::memory_order_acquire)) {
      start_in_child(true);
    }
  }
  /// Looks whether this process was made by _Fork() or clone(), without fork handlers: it records nothing then. A load,
  /// for slow paths; async-signal-safe.
  void notice_fork() noexcept {
    if (process_mark_ != nullptr && *process_mark_ == 0) {
      leave_parent();
    }
  }
  [[nodiscard]] Collector* collector() noexcept { return collector_.load(std::memory_order_acquire); }
  [[nodiscard]] DeclarationLog& declarations() noexcept { return declarations_; }
  [[nodiscard]] InternTable& names() noexcept { return names_; }
  /// What the first start() asked for: a site that was met keeps its id, and its fate.
  [[nodiscard]] const SiteFilter& sites() const noexcept { return sites_; }
  /// Whether a site that has no id yet is left out; it is marked then.
  [[nodiscard]] bool leaves_out(kymo_site& site) const noexcept;

  /// The id of an interned name, declared where it is new. 0 when that is not possible now.
  [[nodiscard]] std::uint32_t id_of(NameSpace space, std::string_view text, std::string_view detail = {}) noexcept;

  /// The id of a metric, declared or described anew. 0 when that is not possible now.
  [[nodiscard]] MetricId describe_metric(const MetricDescription& description) noexcept;

  void count_dropped_without_track() noexcept;
  /// Has detach_thread called when the calling thread ends.
  void watch_thread_end() noexcept;
  /// The crash handler's part: asks the collector to write, and waits at most so long. Async-signal-safe.
  void write_before_crash(std::chrono::nanoseconds timeout) noexcept;
  /// A signal ends the process: asks the collector to finish all sinks, and waits at most so long. Async-signal-safe.
  void finish_before_end(std::chrono::nanoseconds timeout) noexcept;

 private:
  bool start_locked(bool is_child) noexcept;
  bool claim_process() noexcept;
  void mark_process() noexcept;
  void start_in_child(bool is_certain) noexcept;
  void leave_parent() noexcept;
  void update_gate() noexcept;
  friend void watch_forks();
  void unlock_after_fork() noexcept;
  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;

  std::mutex mutex_;  // guards starting and stopping; never held while waiting for the collector
  RecorderOptions* options_ = nullptr;
  const Declarations* known_before_fork_ = nullptr;
  std::atomic<Pool*> pool_{nullptr};
  std::atomic<Collector*> collector_{nullptr};  // lives as long as the process, as who waits for it may
  DeclarationLog declarations_;
  InternTable names_;
  SiteFilter sites_;
  base::KnownFile claim_;  // what tells a second copy of the recorder that there is a first
  bool is_refused_ = false;
  bool is_shut_down_ = false;
  bool has_names_lock_ = false;  // over a fork
  bool has_log_lock_ = false;
  std::uint32_t* process_mark_ = nullptr;  // a page that the kernel wipes in every child
  std::atomic<bool> is_child_pending_{false};
  std::atomic<bool> is_on_{false};
  std::atomic<std::uint32_t> scopes_off_{0};
  std::atomic<std::uint64_t> frames_{0};
  std::atomic<std::uint64_t> dropped_without_pool_{0};  // in a forked child that has not started
};

namespace detail_of_recorder {

/// Keeps its value without ever destroying it.
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
