#include "threads/states/switch_events.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/clock.hpp"
#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "threads/states/running_process.hpp"
#include "threads/states/wake_tracepoint.hpp"

namespace kymo::threads {
namespace {

/// Of a program that records itself: it shares what the user may lock with all others of the user.
constexpr std::size_t own_ring_bytes = std::size_t{64} << 10U;
constexpr std::size_t least_ring_bytes = std::size_t{16} << 10U;

/// More than any record that the settings ask for, by whether they have stacks and paths.
constexpr std::size_t largest_switch = 256;
constexpr std::size_t largest_stack = std::size_t{6} << 10U;

/// With copies of stacks a ring is larger, and holds at least so many of them: an eighth of a second at the usual rate.
/// What the user may lock thus decides how long the copies are.
constexpr std::size_t ring_growth = 8;
constexpr std::uint32_t least_copies = 128;

/// Records of one ring that wait for their turn: twice what the ring holds. Only times in the future could make them
/// more.
constexpr std::size_t least_record_bytes = 32;

/// Records are handed over for so long between two looks at the rings, while they hold no more than this together.
constexpr std::int64_t longest_turn_ns = 10'000'000;
constexpr std::size_t most_pending_bytes = std::size_t{64} << 20U;

int open_with(perf_event_attr& settings, pid_t process, int cpu) {
  return static_cast<int>(::syscall(SYS_perf_event_open, &settings, process, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

/// How often a thread of this process has left a CPU; none if that cannot be read.
std::optional<std::uint64_t> count_switches(pid_t thread) {
  const std::string status = base::read_small_file("/proc/self/task/" + std::to_string(thread) + "/status");
  std::uint64_t count = 0;
  for (const std::string_view key : {"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:"}) {
    const std::size_t at = status.find(key);
    if (at == std::string::npos) {
      return std::nullopt;
    }
    count += std::strtoull(status.c_str() + at + key.size(), nullptr, 10);
  }
  return count;
}

/// As many as the user may have open at all: many threads and CPUs need many events.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

Refusal explain(int error) {
  const std::string level = base::read_small_file("/proc/sys/kernel/perf_event_paranoid");
  const int paranoid = level.empty() ? 0 : std::atoi(level.c_str());
  Refusal refusal{error, "perf_event_open: " + std::string(std::strerror(error)), {}};
  if ((error == EACCES || error == EPERM) && paranoid > 2) {
    refusal.reason += " (kernel.perf_event_paranoid is " + std::to_string(paranoid) + ")";
    refusal.advice = "sysctl kernel.perf_event_paranoid=2, or the capability CAP_PERFMON";
  } else if (error == EACCES || error == EPERM) {
    refusal.advice =
        "one's own process, and a container needs the system call perf_event_open in its seccomp profile, or CAP_PERFMON";
  } else if (error == ENOSYS) {
    refusal.advice = "a kernel with CONFIG_PERF_EVENTS, or a container whose seccomp profile has perf_event_open";
  } else if (error == EINVAL) {
    refusal.advice = "a rate of at most kernel.perf_event_max_sample_rate, " +
                     base::read_small_file("/proc/sys/kernel/perf_event_max_sample_rate");
  } else if (error == EMFILE) {
    refusal.advice =
        "ulimit -n: a descriptor for each CPU is needed, of a process that runs already for each thread and CPU";
  }
  return refusal;
}

}  // namespace

Refusal check_switch_events() {
  SwitchEvents events;
  return events.attach(0);
}

Refusal check_wake_events() {
  Refusal refusal;
  EventChoice choice;
  choice.wakes = find_wake_tracepoint(refusal);
  if (choice.wakes) {
    SwitchEvents events;
    refusal = events.attach(0, choice);
    if (refusal.error == 0 && !events.has_wakes()) {
      refusal = {EACCES, "the kernel does not permit it", "root, CAP_PERFMON or kernel.perf_event_paranoid=-1"};
    }
  }
  return refusal;
}

/// Sets errno.
base::FileDescriptor SwitchEvents::open_event(EventKind kind, pid_t process, int cpu, const EventChoice& choice,
                                              std::size_t ring_bytes) const {
  if (rings_.size() + more_events_.size() >= most_events_) {
    errno = EMFILE;
    return {};
  }
  perf_event_attr settings = make_settings(kind, choice, static_cast<std::uint32_t>(ring_bytes / 4));
  if (!choice.is_own) {
    return base::FileDescriptor(open_with(settings, process, cpu));
  }
  settings.inherit_thread = 1;
  base::FileDescriptor event(open_with(settings, process, cpu));
  if (!event && errno == EINVAL) {
    // Before Linux 5.13. Records of other processes are left out when they are read.
    settings.inherit_thread = 0;
    event = base::FileDescriptor(open_with(settings, process, cpu));
  }
  return event ? base::move_high(std::move(event)) : std::move(event);
}

/// Makes the rings of one CPU. Returns 0 or errno.
int SwitchEvents::open_rings(pid_t process, int cpu, const EventChoice& choice, std::size_t ring_bytes) {
  const bool has_samples = choice.samples_hz != 0;
  const bool has_copies = choice.copied_stack_bytes != 0;
  const std::size_t sample_bytes = has_copies ? ring_growth * ring_bytes : ring_bytes;
  EventChoice fitting = choice;
  fitting.copied_stack_bytes =
      std::min(choice.copied_stack_bytes, static_cast<std::uint32_t>(sample_bytes / least_copies));
  const auto add = [&](EventKind kind, std::size_t bytes, std::size_t largest) {
    base::FileDescriptor event = open_event(kind, process, cpu, fitting, bytes);
    if (!event) {
      return errno;
    }
    Ring ring{EventRing(), cpu, kind, fitting, 0};
    const int error = ring.ring.map(std::move(event), bytes, largest);
    if (error == 0) {
      rings_.push_back(std::move(ring));
    }
    return error;
  };
  int error = add(EventKind::threads, has_samples ? ring_bytes / 2 : ring_bytes, largest_switch);
  if (error == 0 && has_samples) {
    error = add(EventKind::samples, sample_bytes, largest_stack + fitting.copied_stack_bytes);
  }
  return error != 0 || !choice.samples_waits ? error : add_event(EventKind::waits, process, rings_.back());
}

/// Opens an event that writes into a ring. Returns 0 or errno.
int SwitchEvents::add_event(EventKind kind, pid_t thread, const Ring& ring) {
  base::FileDescriptor event = open_event(kind, thread, ring.cpu, ring.choice, usual_ring_bytes_);
  if (!event || ::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.ring.descriptor()) != 0) {
    return errno;
  }
  more_events_.push_back({base::KnownFile(std::move(event)), kind});
  return 0;
}

void SwitchEvents::clear() {
  rings_.clear();
  more_events_.clear();
}

void SwitchEvents::forget() noexcept {
  for (Ring& ring : rings_) {
    ring.ring.forget();
  }
  more_events_.clear();
}

bool SwitchEvents::is_whole() const {
  return std::all_of(rings_.begin(), rings_.end(), [](const Ring& ring) { return ring.ring.is_open(); }) &&
         std::all_of(more_events_.begin(), more_events_.end(),
                     [](const Event& event) { return event.file.get() >= 0; });
}

/// Where the kernel does not permit it, nobody is known to have ended a wait. Half of the descriptors stay free.
void SwitchEvents::add_wakes(pid_t thread) {
  allow_many_files();
  rlimit limit{};
  const std::size_t open = 2 * rings_.size() + more_events_.size();
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || open > limit.rlim_cur / 2) {
    return;
  }
  for (const Ring& ring : rings_) {
    if (ring.kind == EventKind::threads && ring.choice.wakes) {
      has_wakes_ = add_event(EventKind::wakes, thread, ring) == 0 || has_wakes_;
    }
  }
}

Refusal SwitchEvents::attach(pid_t process, const EventChoice& choice) {
  Refusal refusal = open_all(process, choice);
  if (choice.wakes) {
    add_wakes(process);
  }
  return refusal;
}

Refusal SwitchEvents::open_all(pid_t process, const EventChoice& choice) {
  const std::optional<std::int64_t> offset_ns = base::time_namespace_offset_ns();
  if (!offset_ns) {
    return {ENOTSUP, "the kernel's times are of another time namespace, and nothing says how far off that is",
            "a process in the time namespace of its children"};
  }
  clock_offset_ns_ = *offset_ns;
  std::size_t ring_bytes = usual_ring_bytes_;
  const long cpus = std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L);
  for (int cpu = 0; cpu < cpus;) {
    const int error = open_rings(process, cpu, choice, ring_bytes);
    if (error == 0 || error == ENODEV) {  // ENODEV: the CPU is offline
      ++cpu;
    } else if (error == EPERM && ring_bytes > least_ring_bytes) {
      // All anew with less: a ring that is smaller than the others would lose what they keep.
      ring_bytes /= 2;
      clear();
      cpu = 0;
    } else {
      clear();
      return explain(error);
    }
  }
  last_start_ns_ = complete_until_ns_ = base::monotonic_now_ns();
  waits_.start(last_start_ns_);
  wakes_.start(last_start_ns_);
  return rings_.empty() ? explain(ENODEV) : Refusal{};
}

/// Returns 0 or errno.
int SwitchEvents::attach_thread(pid_t thread) {
  for (const Ring& ring : rings_) {
    int error = add_event(ring.kind, thread, ring);
    if (error == 0 && ring.kind == EventKind::samples && ring.choice.samples_waits) {
      error = add_event(EventKind::waits, thread, ring);
    }
    if (error != 0) {
      return error;
    }
  }
  return 0;
}

Refusal SwitchEvents::attach_running(pid_t process, const EventChoice& choice) {
  constexpr int most_rounds = 10;
  if (!choice.is_own) {
    allow_many_files();
  }
  const std::int64_t before_ns = base::monotonic_now_ns();
  std::set<std::uint32_t> known;
  bool has_new = true;
  // A thread may begin meanwhile: one that an observed thread started is observed too, and the rings say so.
  for (int round = 0; has_new && round < most_rounds; ++round) {
    has_new = false;
    for (const std::uint32_t thread : list_threads(process)) {
      if (!known.insert(thread).second) {
        continue;
      }
      has_new = true;
      Refusal refusal;
      if (rings_.empty()) {
        refusal = open_all(static_cast<pid_t>(thread), choice);
      } else if (const int error = attach_thread(static_cast<pid_t>(thread)); error != 0) {
        refusal = explain(error);
      }
      if (refusal.error != 0 && refusal.error != ESRCH) {  // ESRCH: the thread has ended
        clear();
        return refusal;
      }
    }
    make_room();
    for (const Pending& next : pending_) {
      if (next.record.kind == KernelRecord::Kind::forked) {
        known.insert(next.record.tid);
      }
    }
  }
  if (rings_.empty()) {
    return explain(ESRCH);
  }
  // Last: descriptors may run out.
  for (auto thread = known.begin(); choice.wakes && thread != known.end(); ++thread) {
    add_wakes(static_cast<pid_t>(*thread));
  }
  for (KernelRecord& record : describe_process(process, before_ns, "/proc", !choice.is_own)) {
    pending_.push_back({std::move(record), 0});
  }
  return {};
}

RunningThread RunningThread::calling() {
  RunningThread running;
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) == 0) {
    running.switches = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  }
  running.thread = static_cast<pid_t>(::syscall(SYS_gettid));
  running.cpu = static_cast<std::uint32_t>(std::max(::sched_getcpu(), 0));
  running.time_ns = base::monotonic_now_ns();
  return running;
}

Refusal SwitchEvents::attach_own(const RunningThread& running) {
  constexpr rlim_t part = 4;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    most_events_ = static_cast<std::size_t>(limit.rlim_cur / part);
  }
  usual_ring_bytes_ = own_ring_bytes;
  EventChoice choice;
  choice.is_own = true;
  own_pid_ = static_cast<std::uint32_t>(::getpid());
  Refusal refusal = attach_running(::getpid(), choice);
  // The kernel tells of a thread that runs only when it gets a CPU the next time.
  if (refusal.error == 0 && count_switches(running.thread) == running.switches) {
    KernelRecord record;
    record.kind = KernelRecord::Kind::switched_in;
    record.pid = own_pid_;
    record.tid = static_cast<std::uint32_t>(running.thread);
    record.cpu = running.cpu;
    record.time_ns = running.time_ns;
    pending_.push_back({std::move(record), 0});
  }
  return refusal;
}

void SwitchEvents::drain(Ring& ring) {
  const bool is_whole = ring.ring.drain([&](std::span<const std::byte> bytes) {
    KernelRecord record = parse_record(bytes, ring.kind == EventKind::threads ? ring.choice.wakes : std::nullopt);
    // Unsigned: whatever the ring holds, the sum must not overflow.
    record.time_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(record.time_ns) +
                                               static_cast<std::uint64_t>(clock_offset_ns_));
    if (ring.choice.is_own && record.kind != KernelRecord::Kind::lost_records && record.pid != own_pid_) {
      return;
    }
    if (record.kind == KernelRecord::Kind::lost_records && ring.kind != EventKind::threads) {
      lost_samples_ += record.lost;
    } else if (record.kind == KernelRecord::Kind::lost_records) {
      lost_records_ += record.lost;
      const std::int64_t until_ns = record.time_ns;
      record.time_ns = std::min(ring.last_ns, until_ns);
      pending_.push_back({std::move(record), until_ns});
    } else if (record.kind != KernelRecord::Kind::other) {
      if (record.kind == KernelRecord::Kind::leaving) {
        waits_.count();
      } else if (record.kind == KernelRecord::Kind::waking) {
        wakes_.count();
      }
      ring.last_ns = record.time_ns;
      pending_bytes_ += record.stack.size();
      pending_.push_back({std::move(record), 0});
    }
  });
  if (!is_whole && ring.kind != EventKind::threads) {
    ++sample_overruns_;
  } else if (!is_whole) {
    ++overruns_;
    KernelRecord loss;
    loss.kind = KernelRecord::Kind::lost_records;
    loss.time_ns = ring.last_ns;
    pending_.push_back({std::move(loss), base::monotonic_now_ns()});
  }
}

void SwitchEvents::make_room() {
  for (Ring& ring : rings_) {
    if (ring.kind == EventKind::threads || pending_bytes_ < most_pending_bytes) {
      drain(ring);
    }
  }
  watch(base::monotonic_now_ns());
}

void SwitchEvents::hand_over(std::int64_t until_ns, RunStates& states, const std::vector<RecordTaker*>& takers) {
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const Pending& a, const Pending& b) { return a.record.time_ns < b.record.time_ns; });
  std::size_t done = 0;
  std::int64_t drained_ns = base::monotonic_now_ns();
  for (; done < pending_.size() && pending_[done].record.time_ns <= until_ns; ++done) {
    // A file's symbols and call frames may take a while, in which rings of copied stacks fill.
    if (const std::int64_t now_ns = base::monotonic_now_ns(); now_ns - drained_ns > longest_turn_ns) {
      drained_ns = now_ns;
      make_room();
    }
    const Pending& next = pending_[done];
    const bool is_sample =
        next.record.kind == KernelRecord::Kind::sampled || next.record.kind == KernelRecord::Kind::leaving;
    if (is_sample && pending_.size() > most_pending() / 2) {
      ++lost_samples_;  // before all that is pending is lost
      continue;
    }
    if (next.record.kind == KernelRecord::Kind::lost_records) {
      states.lose(next.record.time_ns, next.lost_until_ns);
      for (RecordTaker* const taker : takers) {
        taker->lose();
      }
    } else {
      states.take(next.record);
      const bool has_thread = is_sample || next.record.kind == KernelRecord::Kind::switched_in;
      const ThreadId thread = has_thread && !takers.empty() ? states.thread_of(next.record) : ThreadId{};
      for (RecordTaker* const taker : takers) {
        taker->take(next.record, thread);
      }
    }
  }
  for (std::size_t i = 0; i < done; ++i) {
    pending_bytes_ -= pending_[i].record.stack.size();
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  complete_until_ns_ = until_ns;
}

void SwitchEvents::read(RunStates& states, const std::vector<RecordTaker*>& takers) {
  const std::int64_t start_ns = base::monotonic_now_ns();
  for (Ring& ring : rings_) {
    drain(ring);
  }
  if (pending_.size() > most_pending()) {
    pending_.clear();
    pending_bytes_ = 0;
    ++overruns_;
    states.lose(complete_until_ns_, start_ns);
    for (RecordTaker* const taker : takers) {
      taker->lose();
    }
  }
  watch(start_ns);
  // A record that was under way at the start of this reading may have come to a ring after it was read.
  hand_over(std::exchange(last_start_ns_, start_ns), states, takers);
}

std::size_t SwitchEvents::most_pending() const {
  return rings_.size() * 4 * usual_ring_bytes_ / least_record_bytes;
}

void SwitchEvents::watch(std::int64_t now_ns) {
  waits_.look(now_ns, [this](bool is_on) { enable(EventKind::waits, is_on); });
  wakes_.look(now_ns, [this](bool is_on) { enable(EventKind::wakes, is_on); });
}

void SwitchEvents::enable(EventKind kind, bool is_enabled) {
  for (const Event& event : more_events_) {
    if (const int file = event.kind == kind ? event.file.get() : -1; file >= 0) {
      ::ioctl(file, is_enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    }
  }
}

void SwitchEvents::read_last(RunStates& states, const std::vector<RecordTaker*>& takers) {
  read(states, takers);
  read(states, takers);
}

std::vector<pollfd> SwitchEvents::polled() const {
  std::vector<pollfd> all;
  for (const Ring& ring : rings_) {
    all.push_back({ring.has_hung_up ? -1 : ring.ring.descriptor(), POLLIN, 0});
  }
  return all;
}

int SwitchEvents::most_wait_ms(int period_ms) const {
  constexpr int unwoken_ms = 10;
  const bool is_any_unwoken =
      std::any_of(rings_.begin(), rings_.end(), [](const Ring& ring) { return ring.has_hung_up; });
  const int most_ms = is_any_unwoken ? std::min(period_ms, unwoken_ms) : period_ms;
  int left_ms = most_ms;
  for (const EventWindows& windows : {waits_, wakes_}) {
    if (!windows.is_always()) {
      const std::int64_t left_ns = std::max<std::int64_t>(windows.until_ns() - base::monotonic_now_ns(), 0);
      left_ms = static_cast<int>(std::min<std::int64_t>(left_ms, left_ns / 1'000'000 + 1));
    }
  }
  return left_ms;
}

void SwitchEvents::note_polled(std::span<const pollfd> polled) {
  for (std::size_t i = 0; i < std::min(rings_.size(), polled.size()); ++i) {
    rings_[i].has_hung_up = rings_[i].has_hung_up || (polled[i].revents & POLLHUP) != 0;
  }
}

}  // namespace kymo::threads
