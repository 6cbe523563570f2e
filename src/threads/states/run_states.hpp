// Turns the kernel's records about threads into their run states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

#include "threads/states/kernel_records.hpp"

namespace kymo::threads {

/// What ends a wait, as far as the kernel's functions say that the thread waits in.
enum class WaitEnd : std::uint8_t {
  unknown,
  child,  ///< the end of a child
  timer,  ///< a time that comes
};

/// Reads that from the kernel's part of the stack of a thread that is about to wait.
using ReadWait = std::function<WaitEnd(std::span<const std::uint64_t> kernel_chain)>;

/// Follows threads from switch to switch. A state is known if the records at both of its ends agree with it; where
/// records are missing, the states of all threads are unknown until the next record of each. One thread.
class RunStates {
 public:
  /// Threads beyond this number stay unknown, so that a program that starts threads for weeks takes bounded memory.
  static constexpr std::size_t most_threads = std::size_t{1} << 18U;

  /// Without switches, threads are followed for their names alone.
  explicit RunStates(bool has_switches = true) : has_switches_(has_switches) {}

  /// Takes the next record. Records must come by ascending time; one that comes too late only ends what is known of its
  /// thread. About 100 ns.
  ///
  /// The kernel records no wake of a thread that has come far in its end. So a thread that waited counts as woken
  /// - by the end of a child of its process, if it goes on within a second and was waiting for one; where nobody knows
  ///   what it was waiting for, within 50 ms if it started the child;
  /// - by that of a thread of its process, if it goes on within 500 us, or 200 us before: the end is recorded late by
  ///   kernels before 6.16, and where it ends the process.
  /// Who waits for a time is woken by neither.
  void take(const KernelRecord& record);

  /// For the stacks of threads that are about to wait.
  void set_read_wait(ReadWait read_wait) { read_wait_ = std::move(read_wait); }

  /// The thread that a record is of; none beyond most_threads.
  [[nodiscard]] ThreadId thread_of(const KernelRecord& record);

  /// Records from this interval may be missing. Call before records later than its start are taken.
  void lose(std::int64_t from_ns, std::int64_t until_ns);

  /// Moves what became known into `batch`: declarations, states, wakes, and the range that they cover. States that last
  /// since `most_open_ns` or longer are cut at `now_ns`, up to which all records were taken; the rest follows later.
  void collect(std::int64_t now_ns, std::int64_t most_open_ns, EventBatch& batch);
  /// The next collect() declares all threads again, for another capture.
  void declare_again();

  /// States and wakes that the next collect() has at least.
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  [[nodiscard]] std::uint64_t switches() const { return switches_; }
  /// Records of threads beyond most_threads.
  [[nodiscard]] std::uint64_t unfollowed() const { return unfollowed_; }

 private:
  /// The end of a thread, and of those that went on because of it and ended as well.
  struct Exit {
    ThreadId thread{};
    std::int64_t time_ns = 0;
    ThreadId last{};  ///< the last of them
    std::int64_t last_ns = 0;
    ThreadId creator{};  ///< of the process; none if it was started before
  };
  struct Thread {
    ThreadId id{};
    std::uint32_t pid = 0;
    ThreadId creator{};
    std::string name;
    bool is_declared = false;  ///< with its present name
    std::optional<RunState> state;
    std::int64_t since_ns = 0;           ///< what is not handed over yet of the state
    std::int64_t began_ns = 0;           ///< the state
    std::uint32_t cpu = 0;               ///< that it ran on last
    bool is_woken = false;               ///< who ended its present wait is known
    WaitEnd ends_by = WaitEnd::unknown;  ///< its present or next wait
    std::optional<Exit> woken_by_exit;   ///< the last time
    std::vector<ThreadState> done;
  };
  /// A wait whose end is not explained yet.
  struct Resumption {
    std::uint32_t tid = 0;
    ThreadId thread{};
    std::uint32_t pid = 0;
    std::int64_t time_ns = 0;
  };

  Thread* find(const KernelRecord& record);
  Thread* begin(const KernelRecord& record);
  void change(Thread& thread, const KernelRecord& record, RunState next, bool is_expected);
  void wake(const KernelRecord& record);
  void wake_by_exit(std::uint32_t tid, Thread& thread, std::int64_t time_ns);
  [[nodiscard]] static std::int64_t longest_reaping_of(const Exit& exit, const Thread& thread);
  /// Whether the exit ended the wait of a thread that goes on at a time.
  bool wake_by(const Exit& exit, const Thread& thread, std::int64_t time_ns, std::int64_t longest_ns);
  void remember_exit(const KernelRecord& record, const Thread& thread);
  void wake_by_late_exit(const Exit& exit, const Thread& thread);
  void add_wake(ThreadId woken, ThreadId waker, std::int64_t time_ns);
  void end(const KernelRecord& record);
  void end_others(const KernelRecord& record);
  void close(Thread& thread, std::int64_t end_ns);
  void hand_over(std::uint32_t tid, Thread& thread, EventBatch& batch);

  bool has_switches_;
  ReadWait read_wait_;
  std::unordered_map<std::uint32_t, Thread> threads_;     // by the kernel's id
  std::unordered_map<std::uint32_t, Exit> child_exits_;   // of the last child to end, by its parent's process
  std::unordered_map<std::uint32_t, Exit> thread_exits_;  // of the last thread to end, by its process
  std::deque<Resumption> resumptions_;                    // the last 200 us
  EventBatch ended_;  // since the last collect(): wakes, and all of threads that ended
  std::uint32_t last_id_ = 0;
  std::int64_t trusted_from_ns_ = std::numeric_limits<std::int64_t>::min();
  std::size_t waiting_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t unfollowed_ = 0;
};

}  // namespace kymo::threads
