// The kernel's records of a process and of all that it starts, from the rings of all CPUs, in one order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "threads/states/event_ring.hpp"
#include "threads/states/event_windows.hpp"
#include "threads/states/run_states.hpp"
#include "threads/states/source.hpp"

namespace kymo::threads {

/// Takes records beside the run states: those of stacks, or those of processes.
class RecordTaker {
 public:
  RecordTaker() = default;
  RecordTaker(const RecordTaker&) = delete;
  RecordTaker& operator=(const RecordTaker&) = delete;
  virtual ~RecordTaker() = default;

  /// Takes the next record; they come by ascending time. `thread` is that of a stack, or of a wait that ends.
  virtual void take(const KernelRecord& record, ThreadId thread) = 0;
  /// Switches may be missing.
  virtual void lose() = 0;
};

/// A thread of this process that is known to run at a time: the one that says so.
struct RunningThread {
  pid_t thread = 0;
  std::uint32_t cpu = 0;
  std::int64_t time_ns = 0;
  std::uint64_t switches = 0;  ///< how often it left a CPU before

  /// The calling thread. Two system calls.
  [[nodiscard]] static RunningThread calling();
};

/// The switches and stacks of a process tree. One thread at a time.
class SwitchEvents {
 public:
  /// Attaches to a process of one thread: to it, and to whatever threads and processes it starts. Returns what the
  /// kernel said. The rings take 512 KiB a CPU, with samples 768, with copies of stacks 4,352, less where the user may
  /// lock less.
  [[nodiscard]] Refusal attach(pid_t process, const EventChoice& choice = {});

  /// Attaches to all threads of a process that runs, and to whatever threads and processes they start. Opens an event
  /// for each thread and CPU, with wakes two: 5 us each. ESRCH if there is no such process. The process notices
  /// nothing.
  [[nodiscard]] Refusal attach_running(pid_t process, const EventChoice& choice = {});

  /// Attaches to all threads of this process, and to those that they start. Takes at most a quarter of the descriptors
  /// that the process may have open, and numbers that it does not use by itself. The rings take 64 KiB a CPU. `running`
  /// is known to run from its time on, if it has not left its CPU since. Where nobody else has such an event the kernel
  /// lets the caller wait for 10 to 20 ms.
  [[nodiscard]] Refusal attach_own(const RunningThread& running);

  /// Hands what the rings hold to `states` and then to each of `takers`: all records up to the start of the call
  /// before, which are complete and in order by then. Losses become unknown stretches.
  void read(RunStates& states, const std::vector<RecordTaker*>& takers = {});
  /// The same up to the present, for the last time.
  void read_last(RunStates& states, const std::vector<RecordTaker*>& takers = {});
  /// False once somebody else closed one of the descriptors: what threads do since may be unknown.
  [[nodiscard]] bool is_whole() const;
  /// Empties the rings, which fill while a taker of read() takes long; it may call this. Of stacks no more is kept than
  /// 64 MiB.
  void make_room();
  /// Detaches.
  void clear();
  /// In a forked child, which inherits descriptors but no rings: closes them.
  void forget() noexcept;
  /// Whether wakes come, all or in windows.
  [[nodiscard]] bool has_wakes() const { return has_wakes_; }
  /// Up to when `states` has all records.
  [[nodiscard]] std::int64_t complete_until_ns() const { return complete_until_ns_; }

  /// Records that the kernel said it dropped, and rings that were found full or damaged.
  [[nodiscard]] std::uint64_t lost_records() const { return lost_records_; }
  [[nodiscard]] std::uint64_t overruns() const { return overruns_; }
  /// The same of the rings of samples.
  [[nodiscard]] std::uint64_t lost_samples() const { return lost_samples_; }
  [[nodiscard]] std::uint64_t sample_overruns() const { return sample_overruns_; }

  /// For poll(2): readable when a ring is a quarter full. Whoever has polled calls note_polled() with what came back:
  /// once all that an event observed has ended, poll(2) would return at once for ever.
  [[nodiscard]] std::vector<pollfd> polled() const;
  void note_polled(std::span<const pollfd> polled);
  /// For how long to poll at most: the period, or 10 ms where other events write into a ring that wakes nobody any
  /// more, or until stacks of waits are to be taken, or no longer.
  [[nodiscard]] int most_wait_ms(int period_ms) const;

 private:
  struct Ring {
    EventRing ring;
    int cpu = 0;
    EventKind kind = EventKind::threads;  ///< samples: those of waits too
    EventChoice choice;                   ///< of its events
    std::int64_t last_ns = 0;             // of the record read last
    bool has_hung_up = false;             // read by the clock from then on: other events may write into it
  };
  struct Event {
    base::KnownFile file;
    EventKind kind = EventKind::threads;
  };
  /// A record, or a loss that begins at its time.
  struct Pending {
    KernelRecord record;
    std::int64_t lost_until_ns = 0;
  };

  void drain(Ring& ring);
  [[nodiscard]] int open_rings(pid_t process, int cpu, const EventChoice& choice, std::size_t ring_bytes);
  [[nodiscard]] int add_event(EventKind kind, pid_t thread, const Ring& ring);
  [[nodiscard]] Refusal open_all(pid_t process, const EventChoice& choice);
  [[nodiscard]] int attach_thread(pid_t thread);
  [[nodiscard]] base::FileDescriptor open_event(EventKind kind, pid_t process, int cpu, const EventChoice& choice,
                                                std::size_t ring_bytes) const;
  void add_wakes(pid_t thread);
  /// More records than these are not kept.
  [[nodiscard]] std::size_t most_pending() const;
  void watch(std::int64_t now_ns);
  void enable(EventKind kind, bool is_enabled);
  void hand_over(std::int64_t until_ns, RunStates& states, const std::vector<RecordTaker*>& takers);

  std::int64_t clock_offset_ns_ = 0;  // from the kernel's own CLOCK_MONOTONIC to this process's
  std::vector<Ring> rings_;
  std::vector<Event> more_events_;  // of other threads or kinds, which write into the same rings
  std::deque<Pending> pending_;     // one is handed over while others come
  std::size_t pending_bytes_ = 0;   // of copied stacks
  /// What an unprivileged user may lock for each CPU by default (perf_event_mlock_kb), less the page of positions.
  std::size_t usual_ring_bytes_ = std::size_t{512} << 10U;
  std::size_t most_events_ = SIZE_MAX;
  std::uint32_t own_pid_ = 0;  // of attach_own()
  std::int64_t last_start_ns_ = 0;
  /// A thread that leaves its CPU loses 1 us to the event of waits, and 4 to its stack; one that wakes another 0.7 us.
  EventWindows waits_{5'000, 1'500};
  EventWindows wakes_{20'000, 5'000};
  bool has_wakes_ = false;
  std::int64_t complete_until_ns_ = 0;
  std::uint64_t lost_records_ = 0;
  std::uint64_t overruns_ = 0;
  std::uint64_t lost_samples_ = 0;
  std::uint64_t sample_overruns_ = 0;
};

}  // namespace kymo::threads
