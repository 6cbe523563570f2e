// The run states of this process's threads, for a program that records itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include <kymo/events.hpp>

#include "base/system/file.hpp"
#include "base/system/own_thread.hpp"
#include "threads/states/run_states.hpp"
#include "threads/states/source.hpp"
#include "threads/states/switch_events.hpp"

namespace kymo::threads {

/// Asks for the kernel's records and reads them on a thread of its own. The other threads execute nothing of it.
class OwnThreads {
 public:
  /// States that wait to be taken: some 12 MB. Beyond that they are dropped and counted.
  static constexpr std::size_t most_waiting = std::size_t{1} << 19U;

  /// Begins. The thread asks the kernel, which takes 10 to 20 ms where nobody else observes threads: what other threads
  /// do meanwhile is unknown, and what the calling one does if it leaves its CPU. If the kernel refuses, only the
  /// reason is recorded.
  OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;
  ~OwnThreads() { stop(); }

  /// Whether the kernel has answered.
  [[nodiscard]] bool has_answer() const { return has_answer_.load(std::memory_order_acquire); }
  /// Moves what became known since the last call into `batch`. Returns whether that is anything. Does not wait for the
  /// kernel.
  [[nodiscard]] bool take(EventBatch& batch);
  /// The same up to the present, with the facts of what was lost.
  [[nodiscard]] bool take_summed_up(EventBatch& batch);
  /// The same for the last time. Joins the thread.
  [[nodiscard]] bool take_last(EventBatch& batch);

  /// In a forked child, which has no such thread: closes the descriptors. The object must not be destroyed then.
  void forget() noexcept;

 private:
  void run(const RunningThread& caller);
  void read();
  void give_up(Refusal refusal);
  [[nodiscard]] bool collect(std::int64_t open_ns, EventBatch& batch);
  [[nodiscard]] bool sum_up(EventBatch& batch);
  void stop() noexcept;
  void drop_waiting();

  std::atomic<bool> has_answer_{false};  // of the kernel; before that, all that follows belongs to the thread
  std::mutex mutex_;                     // of all that follows, except the thread and the stop
  SwitchEvents events_;
  RunStates states_;
  Refusal refusal_;
  bool is_described_ = false;
  std::string told_;  // the refusal that is in the capture
  std::uint64_t left_out_ = 0;
  std::uint64_t cpu_ns_ = 0;

  std::atomic<bool> is_settled_{false};  // no event is opened or closed now
  std::atomic<bool> is_stopping_{false};
  base::KnownFile wake_;  // an eventfd, readable from stop() on
  base::OwnThread thread_;
};

}  // namespace kymo::threads
