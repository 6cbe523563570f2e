// The books of a process tree, kept while processes start, work, end and are adopted between any two reads of a look.
#include "sense/process/process_ledger.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "support/rounds.hpp"

namespace kymo::sense {
namespace {

/// A kernel: processes, what they have, and what they waited for.
class Kernel {
 public:
  struct Process {
    std::uint64_t parent = 0;
    std::int64_t own = 0;
    std::int64_t waited = 0;
  };

  explicit Kernel(unsigned seed) : random_(seed) { processes[root] = {}; }

  static constexpr std::uint64_t root = 1;
  std::map<std::uint64_t, Process> processes;
  std::int64_t used = 0;  // by all that ever were

  /// Something happens somewhere.
  void act() {
    auto any = processes.begin();
    std::advance(any, static_cast<std::ptrdiff_t>(random_() % processes.size()));
    const auto work = static_cast<std::int64_t>(random_() % 50);
    any->second.own += work;
    used += work;
    const auto choice = random_() % 8;
    if (choice < 2 && processes.size() < 15) {
      processes[next_pid_++] = {any->first, 0, 0};
    } else if (choice == 2 && any->first != root) {
      end(any->first);
    }
  }
  [[nodiscard]] unsigned long number() { return random_(); }

  /// The parent waits; the root adopts orphans, as a subreaper does.
  void end(std::uint64_t pid) {
    const Process ended = processes.at(pid);
    for (auto& [other, process] : processes) {
      process.parent = process.parent == pid ? root : process.parent;
    }
    processes.at(ended.parent).waited += ended.own + ended.waited;
    processes.erase(pid);
  }

 private:
  std::mt19937 random_;
  std::uint64_t next_pid_ = 2;
};

/// Looks at a kernel as ProcessTree and the sensors do, while it goes on.
class Watcher {
 public:
  void look(Kernel& kernel, unsigned most_events) {
    std::map<std::uint64_t, Kernel::Process> found;
    std::vector<std::uint64_t> order{Kernel::root};
    const auto read = [&](std::uint64_t pid) {
      for (unsigned long i = most_events == 0 ? 0 : kernel.number() % most_events; i > 0; --i) {
        kernel.act();
      }
      const auto process = kernel.processes.find(pid);
      if (process != kernel.processes.end()) {
        found[pid] = process->second;
      }
      return process != kernel.processes.end();
    };
    read(Kernel::root);
    const auto follow = [&](std::size_t from) {
      for (std::size_t i = from; i < order.size(); ++i) {
        std::vector<std::uint64_t> children;
        for (const auto& [pid, process] : kernel.processes) {
          if (process.parent == order[i] && found.count(pid) == 0) {
            children.push_back(pid);
          }
        }
        for (const std::uint64_t child : children) {
          if (read(child)) {
            order.push_back(child);
          }
        }
      }
    };
    follow(0);
    for (const auto& [pid, process] : before_) {
      if (found.count(pid) == 0 && read(pid)) {
        order.push_back(pid);
        follow(order.size() - 1);
      }
    }
    for (const auto& [pid, process] : before_) {
      if (found.count(pid) == 0) {
        ledger_.retire(pid, found.count(process.parent) != 0 ? process.parent : ProcessLedger<1>::unknown);
      }
    }
    for (const auto& [pid, process] : found) {
      auto& account = ledger_.account(pid);
      account.own[0] = process.own;
      ledger_.take(account, {process.waited});
    }
    ledger_.settle();
    before_ = std::move(found);
  }
  [[nodiscard]] std::int64_t total() const { return ledger_.total()[0]; }

 private:
  ProcessLedger<1> ledger_;
  std::map<std::uint64_t, Kernel::Process> before_;
};

TEST(ProcessLedger, ComesToTheTruthWhateverHappensBetweenTwoReads) {
  // Far worse than life: at every single read some of the processes work, start and end. What is left then is the case
  // that several orphans and their parents end within one look, so that it cannot be told who waited for whom.
  int exact = 0;
  constexpr int all = test::rounds(1000);
  for (unsigned seed = 1; seed <= all; ++seed) {
    Kernel kernel(seed);
    Watcher watcher;
    std::int64_t last = 0;
    for (int look = 0; look < 40; ++look) {
      watcher.look(kernel, 1 + seed % 6);
      ASSERT_GE(watcher.total(), last) << seed << " at look " << look;
      last = watcher.total();
    }
    watcher.look(kernel, 0);
    watcher.look(kernel, 0);
    const auto truth = static_cast<double>(kernel.used);
    ASSERT_NEAR(static_cast<double>(watcher.total()), truth, truth * 0.01) << seed;
    exact += watcher.total() == kernel.used ? 1 : 0;
  }
  EXPECT_GT(exact, all * 95 / 100);
}

TEST(ProcessLedger, IsExactWhereNothingHappensWithinALook) {
  for (unsigned seed = 1; seed <= test::rounds(200U); ++seed) {
    Kernel kernel(seed);
    Watcher watcher;
    for (int look = 0; look < 40; ++look) {
      for (unsigned i = 0; i < seed % 40; ++i) {
        kernel.act();
      }
      watcher.look(kernel, 0);
      ASSERT_EQ(watcher.total(), kernel.used) << seed << " at look " << look;
    }
  }
}

TEST(PacedCpuTime, GrowsNoFasterThanTheCpusAndLosesNothing) {
  PacedCpuTime time(2);
  EXPECT_EQ(time.take(1'000, 500), 500) << "what was used before";
  EXPECT_EQ(time.take(1'010, 515), 515);
  EXPECT_EQ(time.take(1'020, 590), 535) << "a child's 60 are seen at its end";
  EXPECT_EQ(time.take(1'030, 590), 555);
  EXPECT_EQ(time.take(1'060, 595), 595);
  EXPECT_EQ(time.take(1'070, 600), 600);
}

TEST(FinishedSum, AChildThatWasSeenIsCountedOnceHoweverItsEndIsSeen) {
  // In the parent's numbers at the look that misses it.
  FinishedSum at_once(7);
  EXPECT_EQ(at_once.take(57, 48), 2);
  EXPECT_EQ(at_once.counted(), 57);
  EXPECT_EQ(at_once.take(57, 0), 0);
  EXPECT_EQ(at_once.counted(), 57);
  // The parent was read just before it waited.
  FinishedSum later(7);
  EXPECT_EQ(later.take(7, 48), 0);
  EXPECT_EQ(later.counted(), 55);
  EXPECT_EQ(later.take(57, 0), 2);
  EXPECT_EQ(later.counted(), 57);
  // Nobody waits: SIGCHLD is ignored. Another child that nobody saw ends much later.
  FinishedSum never(7);
  EXPECT_EQ(never.take(7, 48), 0);
  EXPECT_EQ(never.take(7, 0), 0);
  EXPECT_EQ(never.take(10, 0), 3);
  EXPECT_EQ(never.counted(), 58);
}

TEST(FinishedSum, ManyChildrenShorterThanATickAddUpToWhatTheyHad) {
  // Each child has 3 ms, and is seen with all of them; the parent's numbers are cut to ticks of 10 ms.
  FinishedSum sum(0, 20);
  for (std::int64_t child = 1; child <= 1000; ++child) {
    sum.take(child * 3 / 10 * 10, 3);
    sum.take(child * 3 / 10 * 10, 0);
    EXPECT_NEAR(static_cast<double>(sum.counted()), static_cast<double>(child * 3), 20);
  }
}

}  // namespace
}  // namespace kymo::sense
