// The kernel's word on a process that computes, sleeps and shares its CPU, beside the process's own clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/clock.hpp"
#include "base/system/file.hpp"
#include "support/wait_until.hpp"
#include "threads/states/switch_events.hpp"

namespace kymo::threads {
namespace {

/// What the observed process says of one stretch, in memory that both share.
struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t cpu_ns = 0;  ///< CLOCK_THREAD_CPUTIME_ID
};

constexpr std::size_t stretches = 3;
constexpr std::int64_t compute_ns = 30'000'000;

void compute(std::int64_t cpu_ns) {
  const std::int64_t until_ns = base::thread_cpu_ns() + cpu_ns;
  while (base::thread_cpu_ns() < until_ns) {
  }
}

void sleep_for(std::int64_t ns) {
  timespec time{0, ns};
  while (::nanosleep(&time, &time) != 0) {
  }
}

std::int64_t own_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

void measure(Stretch& stretch, const std::function<void()>& work) {
  const std::int64_t cpu_before_ns = base::thread_cpu_ns();
  stretch.start_ns = base::monotonic_now_ns();
  work();
  stretch.end_ns = base::monotonic_now_ns();
  stretch.cpu_ns = base::thread_cpu_ns() - cpu_before_ns;
}

/// A process that waits to be observed, then does its work and ends.
class Observed {
 public:
  explicit Observed(std::function<void(Stretch*)> work) {
    void* const memory =
        ::mmap(nullptr, sizeof(Stretch) * stretches, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = static_cast<Stretch*>(memory);
    std::array<int, 2> go{};
    EXPECT_EQ(::pipe(go.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(go[1]);
      char word = 0;
      static_cast<void>(!::read(go[0], &word, 1));
      work(shared_);
      ::_exit(0);
    }
    ::close(go[0]);
    go_ = base::FileDescriptor(go[1]);
    // Of a thread that runs when it is attached to, nothing is known up to its first switch.
    const std::string stat = "/proc/" + std::to_string(pid_) + "/stat";
    EXPECT_TRUE(test::wait_until([&] { return base::read_small_file(stat).find(") S ") != std::string::npos; }));
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  ~Observed() { ::munmap(shared_, sizeof(Stretch) * stretches); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void run() {
    go_.reset();
    int status = 0;
    ASSERT_EQ(::waitpid(pid_, &status, 0), pid_);
  }
  [[nodiscard]] const Stretch& stretch(std::size_t index) const { return shared_[index]; }

 private:
  Stretch* shared_ = nullptr;
  pid_t pid_ = -1;
  base::FileDescriptor go_;
};

/// Calls take(state, ns) for each row of states of the process's first thread that has a part in a stretch.
template <typename Take>
void for_states_in(const EventBatch& batch, pid_t tid, const Stretch& stretch, Take&& take) {
  for (const StateRun& run : batch.states) {
    const auto declared = std::find_if(batch.declarations.threads.begin(), batch.declarations.threads.end(),
                                       [&run](const ThreadDeclaration& thread) { return thread.id == run.thread; });
    if (declared == batch.declarations.threads.end() || declared->os_thread_id != static_cast<std::uint64_t>(tid)) {
      continue;
    }
    for (const ThreadState& state : run.states) {
      const std::int64_t part_ns = std::max<std::int64_t>(
          std::min(state.end_ns(), stretch.end_ns) - std::max(state.start_ns, stretch.start_ns), 0);
      if (part_ns > 0) {
        take(state, part_ns);
      }
    }
  }
}

/// How long the process's first thread was in each state in a stretch, by RunState; the last number is how long nothing
/// is known.
std::array<std::int64_t, 4> times_in(const EventBatch& batch, pid_t tid, const Stretch& stretch) {
  std::array<std::int64_t, 4> times{0, 0, 0, stretch.end_ns - stretch.start_ns};
  for_states_in(batch, tid, stretch, [&times](const ThreadState& state, std::int64_t ns) {
    times[static_cast<std::size_t>(state.state)] += ns;
    times[3] -= ns;
  });
  return times;
}

/// By how much a stretch's CPU time may differ from the thread's own clock: 1 % or 50 us. The clock also counts each
/// switch to the thread, before the kernel reports it: 10 us on a virtual machine whose CPUs are busy.
std::int64_t allowed_ns(const EventBatch& batch, pid_t tid, const Stretch& stretch) {
  constexpr std::int64_t switch_ns = 20'000;
  std::int64_t allowed = std::max<std::int64_t>(50'000, stretch.cpu_ns / 100);
  for_states_in(batch, tid, stretch, [&allowed](const ThreadState& state, std::int64_t) {
    allowed += state.state == RunState::running ? switch_ns : 0;
  });
  return allowed;
}

constexpr auto running = static_cast<std::size_t>(RunState::running);
constexpr auto runnable = static_cast<std::size_t>(RunState::runnable);
constexpr auto blocked = static_cast<std::size_t>(RunState::blocked);

class SwitchEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Refusal refusal = check_switch_events();
    if (refusal.error != 0) {
      GTEST_SKIP() << refusal.reason << "; " << refusal.advice;
    }
  }

  /// Observes the work and calls check(batch, observed), until the CPU time of each of the first `count` stretches is
  /// that of the thread's own clock (allowed_ns()). A busy machine interrupts the process between two of its clocks now
  /// and then; a systematic difference shows in each of five observations.
  template <typename Check>
  static void expect_cpu_times(const std::function<void(Stretch*)>& work, std::size_t count, Check&& check) {
    std::string differences;
    for (int left = 5; left > 0; --left) {
      SwitchEvents events;
      RunStates states;
      Observed observed(work);
      EXPECT_EQ(events.attach(observed.pid()).error, 0);
      observed.run();
      events.read_last(states);
      EventBatch batch;
      states.collect(events.complete_until_ns(), 0, batch);
      EXPECT_EQ(events.lost_records(), 0U);
      check(batch, observed);
      bool agrees = true;
      for (std::size_t i = 0; i < count; ++i) {
        const auto times = times_in(batch, observed.pid(), observed.stretch(i));
        EXPECT_EQ(times[3], 0) << "of stretch " << i << " nothing is known";
        const std::int64_t own_ns = observed.stretch(i).cpu_ns;
        const std::int64_t difference_ns = times[running] - own_ns;
        differences += " " + std::to_string(difference_ns) + " of " + std::to_string(own_ns) + " ns;";
        agrees = agrees && std::abs(difference_ns) <= allowed_ns(batch, observed.pid(), observed.stretch(i));
      }
      if (agrees) {
        return;
      }
    }
    ADD_FAILURE() << "CPU times differ from the thread's clock in all observations:" << differences;
  }

  SwitchEvents events_;
  RunStates states_;
};

TEST_F(SwitchEventsTest, CpuTimeIsThatOfTheThreadsOwnClock) {
  const auto work = [](Stretch* all) {
    measure(all[0], [] { compute(compute_ns); });
    measure(all[1], [] { sleep_for(20'000'000); });
    measure(all[2], [] {
      for (int i = 0; i < 10; ++i) {
        compute(1'000'000);
        sleep_for(1'000'000);
      }
    });
  };
  expect_cpu_times(work, stretches, [](const EventBatch& batch, const Observed& observed) {
    // Who is pushed off on its way to sleep is not blocked meanwhile.
    const auto slept = times_in(batch, observed.pid(), observed.stretch(1));
    EXPECT_GE(slept[blocked] + slept[runnable], 19'900'000);
    const auto took_turns = times_in(batch, observed.pid(), observed.stretch(2));
    EXPECT_GE(took_turns[blocked] + took_turns[runnable], 9'900'000);
    EXPECT_GT(took_turns[blocked], 1'000'000);
  });
}

TEST_F(SwitchEventsTest, WhoSharesACpuIsPushedOffNotBlocked) {
  cpu_set_t one;
  CPU_ZERO(&one);
  const int cpu = ::sched_getcpu();
  ASSERT_GE(cpu, 0);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  const auto work = [one](Stretch* all) {
    ::sched_setaffinity(0, sizeof one, &one);
    const pid_t rival = ::fork();
    if (rival == 0) {
      compute(3 * compute_ns);
      ::_exit(0);
    }
    measure(all[0], [] { compute(3 * compute_ns); });
    ::waitpid(rival, nullptr, 0);
  };
  expect_cpu_times(work, 1, [](const EventBatch& batch, const Observed& observed) {
    const auto times = times_in(batch, observed.pid(), observed.stretch(0));
    EXPECT_EQ(times[blocked], 0);
    EXPECT_GT(times[runnable], compute_ns / 4) << "two processes on one CPU take turns";
  });
}

TEST_F(SwitchEventsTest, WhenAllThatIsObservedHasEndedThereIsNothingToBeWokenFor) {
  Observed process([](Stretch*) {});
  SwitchEvents events;
  ASSERT_EQ(events.attach(process.pid()).error, 0);
  process.run();
  RunStates states;
  bool has_hung_up = false;
  const auto is_woken = [&] {
    std::vector<pollfd> polled = events.polled();
    const int ready = ::poll(polled.data(), polled.size(), 0);
    for (const pollfd& entry : polled) {
      has_hung_up = has_hung_up || (entry.revents & POLLHUP) != 0;
    }
    events.note_polled(polled);
    events.read(states);
    return ready != 0;
  };
  EXPECT_TRUE(test::wait_until([&] { return !is_woken() && has_hung_up; }));
  EXPECT_FALSE(is_woken());
}

TEST_F(SwitchEventsTest, StatesHaveTheCpuThatTheThreadWasBoundTo) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<std::uint32_t> cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      cpus.push_back(cpu);
    }
  }
  if (cpus.size() < 2) {
    GTEST_SKIP() << "there is one CPU only";
  }
  const auto cpu_of = [cpus](std::size_t stretch) { return cpus[stretch % 2]; };
  Observed observed([cpu_of](Stretch* all) {
    for (std::size_t i = 0; i < stretches; ++i) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu_of(i), &one);
      ::sched_setaffinity(0, sizeof one, &one);
      measure(all[i], [] { compute(1'000'000); });
    }
  });
  ASSERT_EQ(events_.attach(observed.pid()).error, 0);
  observed.run();
  events_.read_last(states_);
  EventBatch batch;
  states_.collect(events_.complete_until_ns(), 0, batch);
  for (std::size_t i = 0; i < stretches; ++i) {
    std::size_t rows = 0;
    for_states_in(batch, observed.pid(), observed.stretch(i), [&](const ThreadState& state, std::int64_t) {
      EXPECT_EQ(state.cpu, cpu_of(i)) << "stretch " << i;
      ++rows;
    });
    EXPECT_GT(rows, 0U);
  }
}

TEST_F(SwitchEventsTest, AFloodOfSwitchesThatNobodyReadsIsALossAndMakesNothingUp) {
  Observed observed([](Stretch* all) {
    measure(all[0], [] {
      // Both processes leave the one CPU so often that their records, two each time, are more than its ring holds.
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(0, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      const pid_t rival = ::fork();
      constexpr std::int64_t enough = 5'000;
      for (int i = 0; i < 60'000 && own_switches() < enough; ++i) {
        ::sched_yield();
      }
      if (rival == 0) {
        ::_exit(0);
      }
      ::waitpid(rival, nullptr, 0);
    });
    measure(all[1], [] { compute(1'000'000); });
  });
  ASSERT_EQ(events_.attach(observed.pid()).error, 0);
  observed.run();
  events_.read_last(states_);
  EventBatch batch;
  states_.collect(events_.complete_until_ns(), 0, batch);
  EXPECT_GT(events_.lost_records() + events_.overruns(), 0U);
  const auto times = times_in(batch, observed.pid(), observed.stretch(0));
  EXPECT_GT(times[3], 0) << "what was lost is not known";
  EXPECT_LE(times[running], observed.stretch(0).cpu_ns + 1'000'000);
}

}  // namespace
}  // namespace kymo::threads
