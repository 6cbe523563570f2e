// The process tree on machines made of files: who is in it, and that nothing is lost or counted twice.
#include "sense/process/process_tree.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"
#include "support/rounds.hpp"

namespace kymo::sense {

SensorMaker make_process_sensors;
namespace {

using test::ms;

/// A process as the files of a machine show it; times in ticks of 10 ms.
struct Process {
  std::uint64_t parent = 1;
  std::uint64_t start = 100;
  std::uint64_t ticks = 0;
  std::uint64_t waited_ticks = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t waited_minor_faults = 0;
  std::uint64_t written = 0;  // with that of the children waited for
  std::uint64_t pages = 10;
  std::uint64_t threads = 1;
  std::uint64_t switches = 0;
  char state = 'S';
};

/// A machine whose only files are those of its processes.
class Machine {
 public:
  explicit Machine(bool has_children_files = true) : has_children_files_(has_children_files) {}

  std::map<std::uint64_t, Process> processes;

  /// Writes what has changed.
  void show() {
    for (auto shown = shown_.begin(); shown != shown_.end();) {
      const bool is_there = processes.count(shown->first) != 0;
      if (!is_there) {
        tree_.remove("/proc/" + std::to_string(shown->first));
      }
      shown = is_there ? std::next(shown) : shown_.erase(shown);
    }
    for (const auto& [pid, process] : processes) {
      std::string children;
      for (const auto& [other, child] : processes) {
        children += child.parent == pid ? std::to_string(other) + " " : "";
      }
      std::map<std::string, std::string> files;
      const std::string task = "task/" + std::to_string(pid) + "/";
      files["stat"] = stat_of(pid, process);
      files["statm"] = "999 " + std::to_string(process.pages) + " 3 1 0 5 0\n";
      files["io"] = "rchar: 7\nwchar: " + std::to_string(process.written) +
                    "\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: " + std::to_string(process.written) +
                    "\ncancelled_write_bytes: 0\n";
      files["smaps_rollup"] = "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 90 kB\nPss:               " +
                              std::to_string(process.pages) + " kB\nPss_Dirty: 1 kB\n";
      files[task + "status"] = "Name:\tx\nvoluntary_ctxt_switches:\t" + std::to_string(process.switches) +
                               "\nnonvoluntary_ctxt_switches:\t0\n";
      if (has_children_files_) {
        files[task + "children"] = children;
      }
      for (const auto& [name, content] : files) {
        std::string& shown = shown_[pid][name];
        if (shown != content || content.empty()) {
          tree_.write("/proc/" + std::to_string(pid) + "/" + name, content);
          shown = content;
        }
      }
    }
  }
  /// Shows all of it again: a test has written over some files.
  void show_anew() {
    shown_.clear();
    show();
  }

  static std::string stat_of(std::uint64_t pid, const Process& process) {
    const auto text = [](std::uint64_t number) { return std::to_string(number) + " "; };
    return text(pid) + "(a (wild)\nname) " + process.state + " " + text(process.parent) + "1 1 0 -1 4194304 " +
           text(process.minor_faults) + text(process.waited_minor_faults) + "0 0 " + text(process.ticks) + "0 " +
           text(process.waited_ticks) + "0 20 0 " + text(process.threads) + "0 " + text(process.start) +
           "3133440 381 18446744073709551615 1 1\n";
  }

  /// The end of a process whose parent waits for it.
  void end(std::uint64_t pid) {
    const Process ended = processes.at(pid);
    Process& parent = processes.at(ended.parent);
    parent.waited_ticks += ended.ticks + ended.waited_ticks;
    parent.waited_minor_faults += ended.minor_faults + ended.waited_minor_faults;
    parent.written += ended.written;
    processes.erase(pid);
  }

  test::MachineTree& tree() { return tree_; }
  [[nodiscard]] SensorList sensors(std::uint64_t root) const {
    SensorList list;
    make_process_sensors(tree_.context(root), list);
    return list;
  }

 private:
  test::MachineTree tree_;
  std::map<std::uint64_t, std::map<std::string, std::string>> shown_;
  bool has_children_files_;
};

std::set<std::uint64_t> pids_of(const ProcessTree& tree) {
  std::set<std::uint64_t> pids;
  for (const ProcessStat& process : tree.processes()) {
    pids.insert(process.pid);
  }
  return pids;
}

TEST(ProcessStat, IsReadWhateverTheNameIs) {
  Process process;
  process.parent = 44;
  process.ticks = 12;
  process.waited_ticks = 34;
  process.threads = 5;
  process.start = 778;
  const auto stat = parse_process_stat(Machine::stat_of(4'000'123, process));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4'000'123);
  EXPECT_EQ(stat->parent, 44);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->ticks, 12);
  EXPECT_EQ(stat->waited_ticks, 34);
  EXPECT_EQ(stat->threads, 5);
  EXPECT_EQ(stat->start_ticks, 778);
}

TEST(ProcessStat, ATextThatIsCutAnywhereIsNoProcess) {
  const std::string text = Machine::stat_of(12, {});
  const std::size_t whole = text.find(" 3133440");
  for (std::size_t size = 0; size <= whole; ++size) {
    EXPECT_FALSE(parse_process_stat(std::string_view(text).substr(0, size))) << size;
  }
  EXPECT_TRUE(parse_process_stat(std::string_view(text).substr(0, whole + 1)));
  for (const char* garbage : {"", "x", "1 (a) S", "1 (a) SS 1 2 3", ") (", "99999999999999999999999 (a) S 1 1 1 1"}) {
    EXPECT_FALSE(parse_process_stat(garbage)) << garbage;
  }
}

TEST(ProcessTree, HoldsWhatDescendsFromItsRootAndNothingElse) {
  for (const bool has_children_files : {true, false}) {
    Machine machine(has_children_files);
    machine.processes = {{10, {.parent = 1}}, {20, {.parent = 10}}, {21, {.parent = 10}},
                         {5, {.parent = 20}}, {99, {.parent = 1}},  {100, {.parent = 99}}};
    machine.show();
    ProcessTree tree(machine.tree().context(10));
    ASSERT_TRUE(tree.look());
    EXPECT_EQ(pids_of(tree), (std::set<std::uint64_t>{10, 20, 21, 5}));
    EXPECT_EQ(tree.processes().front().pid, 10U);
    EXPECT_TRUE(tree.gone().empty());
  }
}

TEST(ProcessTree, TellsWhoInheritsWhatAProcessHad) {
  Machine machine;
  machine.processes = {{10, {}}, {20, {.parent = 10}}, {30, {.parent = 20}}, {40, {.parent = 30}}};
  machine.show();
  ProcessTree tree(machine.tree().context(10));
  ASSERT_TRUE(tree.look());
  // 20 ended and 40 is an orphan now, of init; 30 ended as well.
  machine.processes = {{10, {}}, {40, {.parent = 1}}};
  machine.show();
  ASSERT_TRUE(tree.look());
  std::map<std::uint64_t, std::uint64_t> heirs;
  for (const auto& gone : tree.gone()) {
    heirs[gone.pid] = gone.heir;
  }
  EXPECT_EQ(heirs, (std::map<std::uint64_t, std::uint64_t>{
                       {20, 10}, {30, ProcessLedger<1>::unknown}, {40, ProcessLedger<1>::outside}}));
}

TEST(ProcessTree, AnOrphanThatARootAdoptsStays) {
  Machine machine;
  machine.processes = {{10, {}}, {20, {.parent = 10}}, {30, {.parent = 20}}};
  machine.show();
  ProcessTree tree(machine.tree().context(10));
  ASSERT_TRUE(tree.look());
  machine.processes = {{10, {}}, {30, {.parent = 10}}};
  machine.show();
  machine.tree().write("/proc/10/task/10/children", "");  // read before the adoption
  ASSERT_TRUE(tree.look());
  EXPECT_EQ(pids_of(tree), (std::set<std::uint64_t>{10, 30}));
}

TEST(ProcessTree, APidThatIsUsedAnewIsAnotherProcess) {
  Machine machine;
  machine.processes = {{10, {}}, {20, {.parent = 10, .start = 5, .ticks = 100}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  EXPECT_EQ(test::read_all(sensors, 1'000 * ms).at("process_cpu_time"), 1.0);
  machine.end(20);
  machine.processes[20] = {.parent = 10, .start = 6, .ticks = 1};
  machine.show();
  EXPECT_EQ(test::read_all(sensors, 1'100 * ms).at("process_cpu_time"), 1.01);
}

TEST(ProcessTree, ARootThatHasEndedIsSaidAndIsNotMistakenForAnother) {
  Machine machine;
  machine.processes = {{10, {.start = 5}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  ASSERT_FALSE(test::read_all(sensors, 1'000 * ms).empty());
  machine.processes[10].start = 6;
  machine.show();
  const test::Readings readings = test::read_all(sensors, 1'100 * ms);
  EXPECT_TRUE(std::isnan(readings.at("process_cpu_time")));
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_TRUE(sensors[0]->has_ended()) << "its end is no gap";
  EXPECT_NE(sensors[0]->trouble().find("the process has ended"), std::string::npos) << sensors[0]->trouble();
}

TEST(ProcessTree, IsBoundedAndKeepsWhomItKnows) {
  Machine machine;
  machine.processes[10] = {};
  for (std::uint64_t pid = 100; pid < 115; ++pid) {
    machine.processes[pid] = {.parent = 10};
  }
  machine.show();
  ProcessTree tree(machine.tree().context(10), 12);
  ASSERT_TRUE(tree.look());
  EXPECT_TRUE(tree.is_cut());
  EXPECT_EQ(tree.processes().size(), 12U);
  const std::set<std::uint64_t> known = pids_of(tree);
  machine.processes[50] = {.parent = 10};
  machine.show();
  ASSERT_TRUE(tree.look());
  EXPECT_EQ(pids_of(tree), known);
  EXPECT_TRUE(tree.gone().empty());
}

TEST(ProcessLoad, ChildrenThatEndAreNeitherLostNorCountedTwice) {
  Machine machine;
  machine.processes = {{10, {.ticks = 5}}, {20, {.parent = 10, .ticks = 30, .minor_faults = 100, .written = 1000}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  test::Readings readings = test::read_all(sensors, 1'000 * ms);
  EXPECT_EQ(readings.at("process_cpu_time"), 0.35);
  EXPECT_EQ(readings.at("process_count"), 2);
  EXPECT_EQ(readings.at("process_threads"), 2);
  EXPECT_EQ(readings.at("process_written_bytes"), 1000);
  EXPECT_EQ(readings.at("process_pss"), 20 * 1024);
  EXPECT_EQ(readings.count("process_cpu"), 0U) << "a rate needs two looks";
  machine.processes[20].ticks += 5;
  machine.processes[20].minor_faults += 60;
  machine.end(20);
  machine.show();
  readings = test::read_all(sensors, 1'100 * ms);
  EXPECT_EQ(readings.at("process_cpu_time"), 0.4);
  EXPECT_EQ(readings.at("process_cpu"), 50);
  EXPECT_EQ(readings.at("process_minor_faults"), 600);
  EXPECT_EQ(readings.at("process_written_bytes"), 1000);
  EXPECT_EQ(readings.at("process_count"), 1);
  EXPECT_EQ(test::read_all(sensors, 1'200 * ms).at("process_cpu_time"), 0.4);
}

TEST(ProcessLoad, AChildThatStartsAndEndsBetweenTwoLooksIsCounted) {
  Machine machine;
  machine.processes = {{10, {}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  ASSERT_FALSE(test::read_all(sensors, 1'000 * ms).empty());
  machine.processes[20] = {.parent = 10, .ticks = 8, .written = 77};
  machine.end(20);
  machine.show();
  const test::Readings readings = test::read_all(sensors, 1'100 * ms);
  EXPECT_EQ(readings.at("process_cpu_time"), 0.08);
  EXPECT_EQ(readings.at("process_cpu"), 80);
  EXPECT_EQ(readings.at("process_written_chars"), 77);
}

TEST(ProcessLoad, AnOrphanThatLeavesTheTreeKeepsWhatItHad) {
  Machine machine;
  machine.processes = {{10, {}}, {20, {.parent = 10, .ticks = 3}}, {30, {.parent = 20, .ticks = 40, .written = 9}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  ASSERT_FALSE(test::read_all(sensors, 1'000 * ms).empty());
  machine.end(20);
  machine.processes[30].parent = 1;
  machine.processes[30].ticks = 90;
  machine.show();
  for (int i = 1; i < 4; ++i) {
    const test::Readings readings = test::read_all(sensors, (1'000 + i * 100) * ms);
    EXPECT_EQ(readings.at("process_cpu_time"), 0.43);
    EXPECT_EQ(readings.at("process_written_bytes"), 9);
    machine.processes.erase(30);
    machine.show();
  }
}

TEST(ProcessLoad, WhatALookFindsLateIsSpreadOverTheTimeSinceTheLookBefore) {
  // At 1 kHz a burning child is found 90 ms after its start: no stretch of 100 ms may show more than one core.
  Machine machine;
  machine.processes = {{10, {}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  for (std::int64_t now = 1'000; now < 1'400; ++now) {
    const std::int64_t since = now - 1'100;
    if (since > 0 && since % 10 == 0) {
      machine.processes[20] = {.parent = 10, .ticks = static_cast<std::uint64_t>(since / 10)};
      machine.show();
    }
    const test::Readings readings = test::read_all(sensors, now * ms);
    if (readings.count("process_cpu") != 0) {
      EXPECT_LE(readings.at("process_cpu"), 111) << now;
    }
    EXPECT_EQ(readings.count("process_cpu_time"), 1U);
  }
}

TEST(ProcessLoad, TotalsHoldThroughRandomLives) {
  std::mt19937 random(11);
  for (int round = 0; round < test::rounds(2); ++round) {
    Machine machine;
    machine.processes = {{10, {}}};
    double all_ticks = 0;
    double all_written = 0;
    std::uint64_t next_pid = 20;
    machine.show();
    const SensorList sensors = machine.sensors(10);
    double before = 0;
    for (std::int64_t now = 1'000; now < 5'000; now += 100) {
      for (int event = 0; event < 4; ++event) {
        auto any = machine.processes.begin();
        std::advance(any, static_cast<std::ptrdiff_t>(random() % machine.processes.size()));
        const std::uint64_t ticks = random() % 5;
        any->second.ticks += ticks;
        any->second.written += ticks * 100;
        all_ticks += static_cast<double>(ticks);
        all_written += static_cast<double>(ticks) * 100;
        const std::uint64_t parent = any->first;
        if (random() % 2 == 0 && machine.processes.size() < 12) {
          machine.processes[next_pid] = {.parent = parent, .start = next_pid};
          ++next_pid;
        } else if (parent != 10) {
          // The root adopts orphans, as a subreaper does.
          for (auto& [pid, process] : machine.processes) {
            process.parent = process.parent == parent ? 10 : process.parent;
          }
          machine.end(parent);
        }
      }
      machine.show();
      const test::Readings readings = test::read_all(sensors, now * ms);
      EXPECT_NEAR(readings.at("process_cpu_time"), all_ticks / 100, 1e-9);
      if (readings.count("process_written_chars") != 0) {  // a large tree is looked at less often
        EXPECT_EQ(readings.at("process_written_chars"), all_written);
      }
      EXPECT_GE(readings.at("process_cpu_time"), before);
      before = readings.at("process_cpu_time");
    }
  }
}

TEST(ProcessLoad, GarbageIsAGapAndEndsWithIt) {
  Machine machine;
  machine.processes = {{10, {.ticks = 7}}};
  machine.show();
  const SensorList sensors = machine.sensors(10);
  ASSERT_FALSE(test::read_all(sensors, 1'000 * ms).empty());
  machine.tree().write("/proc/10/stat", "10 (x) S garbage");
  machine.tree().write("/proc/10/statm", "-3 x");
  machine.tree().write("/proc/10/io", "rchar: 99999999999999999999999999\n");
  test::Readings readings = test::read_all(sensors, 1'100 * ms);
  EXPECT_TRUE(std::isnan(readings.at("process_cpu_time")));
  EXPECT_TRUE(std::isnan(readings.at("process_rss")));
  machine.processes[10].ticks = 9;
  machine.show_anew();
  readings = test::read_all(sensors, 2'200 * ms);
  EXPECT_EQ(readings.at("process_cpu_time"), 0.09);
  EXPECT_FALSE(std::isnan(readings.at("process_rss")));
  EXPECT_TRUE(sensors[0]->trouble().empty());
}

TEST(ProcessActivity, SwitchesAreThoseOfAllThreads) {
  Machine machine;
  machine.processes = {{10, {.switches = 100}}};
  machine.show();
  machine.tree().write("/proc/10/task/11/status", "x\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n");
  const SensorList sensors = machine.sensors(10);
  ASSERT_FALSE(test::read_all(sensors, 1'000 * ms).empty());
  machine.tree().write("/proc/10/task/10/status", "x\nvoluntary_ctxt_switches:\t104\nnonvoluntary_ctxt_switches:\t1\n");
  machine.tree().write("/proc/10/task/11/status", "x\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t5\n");
  machine.tree().write("/proc/10/task/12/status", "x\nvoluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t0\n");
  EXPECT_EQ(test::read_all(sensors, 1'100 * ms).at("process_context_switches"), 200);
  machine.tree().remove("/proc/10/task/11");
  EXPECT_EQ(test::read_all(sensors, 1'200 * ms).at("process_context_switches"), 0);
}

/// A thread's files: its name, whether it could run, its switches and its faults.
void show_thread(Machine& machine, const std::string& thread, const std::string& state, int switches,
                 std::uint64_t minor, std::uint64_t major) {
  const std::string folder = "/proc/10/task/" + thread + "/";
  machine.tree().write(folder + "status", "Name:\tloader\nState:\t" + state + "\nvoluntary_ctxt_switches:\t" +
                                              std::to_string(switches) + "\nnonvoluntary_ctxt_switches:\t0\n");
  machine.tree().write(folder + "stat", thread + " (a) b) S 1 1 1 0 -1 64 " + std::to_string(minor) + " 0 " +
                                            std::to_string(major) + " 0 3 0 0 0 20 0 2 0 77 3133440 381\n");
}

TEST(ProcessActivity, FaultsOfAThreadCountFromTheFirstLookOn) {
  const std::string minor_of_10 = "thread_minor_faults{thread=10,pid=10,name=loader}";
  const std::string minor_of_11 = "thread_minor_faults{thread=11,pid=10,name=loader}";
  Machine machine;
  machine.processes = {{10, {}}};
  machine.show();
  show_thread(machine, "10", "S (sleeping)", 1, 500, 3);
  const SensorList sensors = machine.sensors(10);
  EXPECT_EQ(test::read_all(sensors, 1'000 * ms).at(minor_of_10), 0);
  show_thread(machine, "10", "S (sleeping)", 2, 520, 4);
  show_thread(machine, "11", "S (sleeping)", 1, 90, 1);
  test::Readings readings = test::read_all(sensors, 1'200 * ms);
  EXPECT_EQ(readings.at(minor_of_10), 20);
  EXPECT_EQ(readings.at("thread_major_faults{thread=10,pid=10,name=loader}"), 1);
  EXPECT_EQ(readings.count(minor_of_11), 0U) << "it may be gone at once";
  readings = test::read_all(sensors, 1'400 * ms);
  EXPECT_EQ(readings.at(minor_of_11), 90) << "all of it is of the recording";
  EXPECT_EQ(readings.at("thread_major_faults{thread=11,pid=10,name=loader}"), 1);
}

TEST(ProcessActivity, FaultsAreReadOfThreadsThatRanAndStandForTheOthers) {
  const std::string minor = "thread_minor_faults{thread=10,pid=10,name=loader}";
  Machine machine;
  machine.processes = {{10, {}}};
  machine.show();
  show_thread(machine, "10", "S (sleeping)", 1, 500, 0);
  const SensorList sensors = machine.sensors(10);
  static_cast<void>(test::read_all(sensors, 1'000 * ms));
  show_thread(machine, "10", "S (sleeping)", 1, 600, 0);
  EXPECT_EQ(test::read_all(sensors, 1'200 * ms).at(minor), 0) << "no switch: it slept, and the file is not read";
  show_thread(machine, "10", "R (running)", 1, 600, 0);
  EXPECT_EQ(test::read_all(sensors, 1'400 * ms).at(minor), 100) << "it may have run all the time";
  show_thread(machine, "10", "S (sleeping)", 2, 700, 0);
  EXPECT_EQ(test::read_all(sensors, 1'600 * ms).at(minor), 200);
  show_thread(machine, "10", "S (sleeping)", 1, 5, 0);
  EXPECT_EQ(test::read_all(sensors, 1'800 * ms).at(minor), 5) << "another thread of this number";
  machine.tree().write("/proc/10/task/10/stat", "10 (a) S 1 1 1 0 -1 64 9");
  show_thread(machine, "12", "S (sleeping)", 1, 5, 0);
  machine.tree().remove("/proc/10/task/12/stat");
  EXPECT_NO_THROW(static_cast<void>(test::read_all(sensors, 2'000 * ms)));
  EXPECT_EQ(test::read_all(sensors, 2'200 * ms).count("thread_minor_faults{thread=12,pid=10,name=loader}"), 0U);
}

TEST(ProcessActivity, BytesOfAProcessThatMayNotBeReadAreAGapWithItsReason) {
  Machine machine;
  machine.processes = {{10, {.written = 4}}, {20, {.parent = 10, .written = 5}}};
  machine.show();
  machine.tree().remove("/proc/20/io");
  std::filesystem::create_directory(machine.tree().at("/proc/20/io"));
  const SensorList sensors = machine.sensors(10);
  EXPECT_EQ(test::read_all(sensors, 1'000 * ms).count("process_written_bytes"), 0U);
  EXPECT_NE(sensors[1]->trouble().find("/proc/20/io"), std::string::npos) << sensors[1]->trouble();
  machine.end(20);
  machine.show();
  EXPECT_EQ(test::read_all(sensors, 1'100 * ms).at("process_written_bytes"), 9);
  EXPECT_TRUE(sensors[1]->trouble().empty());
}

}  // namespace
}  // namespace kymo::sense
