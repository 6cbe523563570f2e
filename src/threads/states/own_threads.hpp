// The run states of this process's threads, for a program that records itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include <kymo/events.hpp>

#include "base/system/file.hpp"
#include "threads/states/run_states.hpp"
#include "threads/states/source.hpp"
#include "threads/states/switch_events.hpp"

namespace kymo::threads {

/// Reads the kernel's records on a thread of its own. The other threads execute nothing of it.
class OwnThreads {
 public:
  /// States that wait to be taken: some 12 MB. Beyond that they are dropped and counted.
  static constexpr std::size_t most_waiting = std::size_t{1} << 19U;

  /// Begins: 5 us for each thread and CPU. If the kernel refuses, only the reason is recorded.
  OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;
  ~OwnThreads() { stop(); }

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
  void run();
  void read();
  void give_up(Refusal refusal);
  [[nodiscard]] bool collect(std::int64_t open_ns, EventBatch& batch);
  [[nodiscard]] bool sum_up(EventBatch& batch);
  void stop() noexcept;
  void drop_waiting();

  std::mutex mutex_;  // of all that follows, except the thread and the stop
  SwitchEvents events_;
  RunStates states_;
  Refusal refusal_;
  bool is_described_ = false;
  std::string told_;  // the refusal that is in the capture
  std::uint64_t left_out_ = 0;
  std::uint64_t cpu_ns_ = 0;

  std::atomic<bool> is_settled_{true};  // no event is opened or closed now
  std::atomic<bool> is_stopping_{false};
  base::KnownFile wake_;  // an eventfd, readable from stop() on
  std::thread thread_;
};

}  // namespace kymo::threads
